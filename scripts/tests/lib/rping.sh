# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What rping's exit status means, for whoever runs it.

# rping_status STATUS FILE: 0 if rping with the output FILE did all that it should. Before
# rdma-core 59 its main thread closes the event channel, after all rounds are done and checked,
# while the other is on its way back to it, from any event: with luck the process ends first,
# otherwise with 255. The line may stand anywhere, even within another: what "-v" and "-d" print is
# written late. Failures have a line, too.
rping_status() {
	if [ "$1" = 255 ] && grep -q 'rdma_get_cm_event: Bad file descriptor' "$2" &&
		! grep -E 'failed|mismatch|error|waiting for|CONNECT_REQUEST|rdma_[a-z_]*: ' "$2" |
			grep -qv 'rdma_get_cm_event: Bad file descriptor'; then
		echo 0
	else
		echo "$1"
	fi
}
