# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Shared by the scenarios of UCX: its perftest between two hosts, with tags, active messages,
# streams, one-sided operations and atomics, without any variable set, over v2 with IPv4, which
# UCX selects. Then UD alone, v1, a link flap, and removal of a device.
#
# Each scenario calls check_ucx.

. "$(dirname "${BASH_SOURCE[0]}")/consumer-lib.sh"

PORT=22000
PERFTEST=
# Shared memory is for processes of one host; these are on two.
HOST="unshare --ipc --uts --pid --fork --kill-child"

# perf NAME LEAST-PACKETS OPTION...
perf() {
	local name=$1 least=$2 before
	shift 2
	PORT=$((PORT + 1))
	before=$(sent)
	KILL_SERVER=1 pair "$name" tcp:$PORT "$HOST $PERFTEST -p $PORT" "$HOST $PERFTEST $IP4_A -p $PORT $*"
	used "$name" "$before" "$least"
}

# All tests of ucx_perftest for the layer that programs use (UCP).
check_operations() {
	perf "tag matching, latency" 200 -t tag_lat -n 200 -w 20 -s 1000
	perf "tag matching, 1 MiB" 200 -t tag_bw -n 20 -w 2 -s 1048576
	perf "tag matching with an answer, latency" 200 -t tag_sync_lat -n 200 -w 20 -s 1000
	perf "tag matching with an answer, 64 KiB" 200 -t tag_sync_bw -n 20 -w 2 -s 65536
	perf "active messages, latency" 200 -t ucp_am_lat -n 200 -w 20 -s 8000
	perf "active messages, 64 KiB" 200 -t ucp_am_bw -n 20 -w 2 -s 65536
	perf "stream, latency" 200 -t stream_lat -n 200 -w 20 -s 3000
	perf "stream, 64 KiB" 200 -t stream_bw -n 20 -w 2 -s 65536
	perf "put, latency" 200 -t ucp_put_lat -n 200 -w 20 -s 1000
	perf "put, 64 KiB" 200 -t ucp_put_bw -n 20 -w 2 -s 65536
	perf "get" 200 -t ucp_get -n 200 -w 20 -s 5000
	perf "add" 100 -t ucp_add -n 200 -w 20 -s 8
	perf "fetch and add" 100 -t ucp_fadd -n 200 -w 20 -s 8
	perf "swap" 100 -t ucp_swap -n 200 -w 20 -s 8
	perf "compare and swap" 100 -t ucp_cswap -n 200 -w 20 -s 8
}

# alone TRANSPORT TEST OPTION...
alone() {
	local transport=$1 test=$2
	shift 2
	# shellcheck disable=SC2086
	in_a $PERFTEST -l -d "$DEV_A:1" -x "$transport" -t "$test" -n 200 -w 20 "$@" > "$WORK/alone" 2>&1
	check "$transport: $test $*: status" 0 $?
	grep -q 'Final:' "$WORK/alone" || { fail "$transport: $test $*: no result"; tail -n 15 "$WORK/alone"; }
}

# All tests for the layer below (UCT) that the transports over verbs support: one process that
# communicates with itself, as both ends must use the same device name.
check_transports() {
	local test

	for test in am_lat am_bw; do
		alone ud_verbs $test -s 1000 -D bcopy
		alone rc_verbs $test -s 1000 -D bcopy
		alone rc_verbs $test -s 8000 -D zcopy
	done
	for test in put_lat put_bw get; do
		alone rc_verbs $test -s 1000 -D bcopy
		alone rc_verbs $test -s 65536 -D zcopy
	done
	for test in add_lat add_mr fadd cswap; do
		alone rc_verbs $test -s 8
	done
}

# Datagrams alone, by which UCX finds its peer.
check_datagrams() {
	UCX_TLS=ud perf "UD alone: tag matching" 200 -t tag_lat -n 200 -w 20 -s 1000
	UCX_TLS=ud perf "UD alone: 64 KiB" 200 -t tag_bw -n 20 -w 2 -s 65536
}

check_versions() {
	local type

	for type in v1 v2; do
		UCX_IB_GID_INDEX=$(own_index $type)
		export UCX_IB_GID_INDEX
		watch_wire $type
		perf "$type by its GID index" 200 -t tag_bw -n 20 -w 2 -s 65536
		UCX_TLS=ud perf "UD alone, $type by its GID index" 200 -t tag_lat -n 200 -w 20 -s 1000
		seen_on_wire "$type is what was sent"
	done
	unset UCX_IB_GID_INDEX
}

check_flap() {
	local flap

	flap_under_load "$(sent)" 2000 &
	flap=$!
	perf "while the link flaps" 20000 -t tag_bw -n 10000 -w 2 -s 16384
	flapped "while the link flaps" $flap
}

# UCX then ends the program, and may crash while it prints a backtrace.
check_removal() {
	echo 'rhca-test: expect ucx_perftest\[[0-9]+\]: segfault' > /dev/kmsg
	removed_under_load "removed" tcp:22900 "$HOST $PERFTEST -p 22900" \
		"$HOST $PERFTEST $IP4_A -p 22900 -t tag_bw -n 100000000 -w 2 -s 16384"
	echo 'rhca-test: expect nothing' > /dev/kmsg
}

# check_ucx COMMAND: the command for ucx_perftest
check_ucx() {
	PERFTEST=$1
	setup_hosts
	check_operations
	check_transports
	check_datagrams
	check_versions
	check_flap
	check_removal
	finish
}
