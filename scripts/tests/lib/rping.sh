# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What rping's exit status means, for whoever runs it.

# rping_status STATUS FILE: 0 if rping with the output FILE did all that it should. Before
# rdma-core 59 its main thread closes the event channel, after all rounds are done and checked,
# while the other is on its way back to it: with luck the process ends first, otherwise with 255.
# The line may stand anywhere: what "-v" prints is written late.
rping_status() {
	if [ "$1" = 255 ] && grep -q 'DISCONNECT EVENT' "$2" && ! grep -qE 'failed|mismatch' "$2" &&
		grep -qx 'rdma_get_cm_event: Bad file descriptor' "$2"; then
		echo 0
	else
		echo "$1"
	fi
}
