#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: core
# spread: yes
# every: 3
# timeout: 900
#
# The programs of perftest: ib_send/write/read/atomic, _bw and _lat, 1 byte to 1 MiB, MTU 256 to
# 4096, RC, UC and UD, polling and events, inline, bidirectional, several QPs, connected by hand
# and by rdma_cm, over v2; and what differs over v1. On an emulated machine a run takes five
# seconds, so there each tool runs once, over v2.
#
#   a (server, ra$$)  ====== veth, MTU 9000 ======  b (client, rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000

PORT=18800
n=${ITERS:-5}

# perf TYPE LABEL TOOL ARGUMENTS...
perf() {
	local type=$1 label=$2 tool=$3 ia ib ready=tcp on=
	shift 3
	PORT=$((PORT + 1))
	[[ " $* " != *" -R "* ]] || ready=cm
	# See one_cpu() in verbs.py.
	[[ " $* " != *" -c UC "* ]] || on="taskset 1"
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	pair "$tool-$type-$label" $ready:$PORT \
		"$tool -d $DEV_A -x $ia -p $PORT -F -n $n $*" \
		"$on $tool -d $DEV_B -x $ib -p $PORT -F -n $n $* $IP4_A" || return
	case $tool in
	*_bw) check_match "$tool-$type-$label reports a rate" ' +[0-9]+ +[0-9]+ +[0-9.]+ +[0-9]*\.?[0-9]+' \
		"$(grep -A1 '#bytes' "$WORK/$tool-$type-$label.cli" | tail -1)" ;;
	esac
}

# perf_cm TYPE: perftest 4.5 tells its client to connect before the server listens, and a client
# that is rejected for this crashes instead of trying again.
perf_cm() {
	echo 'rhca-test: expect ib_send_bw\[[0-9]+\]:? (segfault|general protection fault)' > /dev/kmsg
	EARLY_TRIES=2 perf "$1" rdma_cm ib_send_bw -R -s 4096
	echo 'rhca-test: expect nothing' > /dev/kmsg
}

for type in $(roce_versions); do
	sizes="1 4096 1048576"
	[ "$type" = v1 ] && sizes=65536
	if emulated; then
		[ "$type" = v2 ] || continue
		sizes=65536
	fi
	for tool in ib_send_bw ib_write_bw ib_read_bw ib_send_lat ib_write_lat ib_read_lat; do
		for size in $sizes; do
			perf "$type" "$size" $tool -s "$size" -m 1024
		done
	done
	perf "$type" 8 ib_atomic_bw
	perf "$type" cas ib_atomic_lat -A CMP_AND_SWAP
	perf "$type" fadd ib_atomic_lat -A FETCH_AND_ADD
	emulated || for mtu in 256 4096; do
		perf "$type" "mtu$mtu" ib_write_bw -s 65536 -m $mtu
	done
	perf "$type" uc ib_send_bw -c UC -s 65536
	perf "$type" ud ib_send_lat -c UD -s 64
	roce_mode_of "$DEV_A" "$type"
	roce_mode_of "$DEV_B" "$type"
	perf_cm "$type"
done
emulated && finish
for mtu in 256 512 2048 4096; do
	perf v2 "mtu$mtu" ib_read_bw -s 65536 -m $mtu
done
perf v2 uc ib_write_bw -c UC -s 65536
perf v2 ud ib_send_bw -c UD -s 1024
perf v2 events ib_send_bw -e -s 4096
perf v2 events ib_read_lat -e -s 4096
perf v2 bidirectional ib_write_bw -b -s 65536
perf v2 qps ib_write_bw -q 4 -s 16384
perf v2 srq ib_send_bw --use-srq -q 2 -s 4096
perf v2 inline ib_write_lat -I 64 -s 64
finish
