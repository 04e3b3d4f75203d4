#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: core
# timeout: 600
#
# A kernel user with many connections posts to one after the other: single packets of
# several QPs share blocks, and so do ACKs. Over IPv4 and IPv6, with one address and two,
# with loss and reordering, and with packets rejected by the queue.
#
#   10.9.0.1 a  ====== veth, MTU 9000 ======  b 10.9.0.2    (one namespace;
#   routing rules send packets over the veth instead of lo)

. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/blocks-lib.sh"

only_ours
need tc taskset
ko=$TOP/build/$RHCA_KERNEL/bench/rhca_bench.ko
[ -e "$ko" ] || need gcc make
[ -e "$ko" ] || show "$TOP/scripts/bench/rhca_bench/build" "$RHCA_KERNEL" > /dev/null || die "rhca_bench is not built"
NETNS=
unset RHCA_PARAMS
reload_driver || die "does not load"
load_driver
show insmod "$ko" || die "rhca_bench does not load"
defer "rmmod rhca_bench"
bench=/sys/kernel/debug/rhca_bench/run
[ -e $bench ] || mount -t debugfs debugfs /sys/kernel/debug
setup_wire 9000
add_links
busywait 60 gid_index "$DEV_A" v2 $IP6_A || die "no v2 GID for $IP6_A on $DEV_A"
busywait 60 gid_index "$DEV_B" v2 $IP6_B || die "no v2 GID for $IP6_B on $DEV_B"

# bench FAMILY KIND SIZE DEPTH ROUNDS LIST QPS: all requests complete without an error. A veth
# delivers on the sender's processor: after a migration, new packets would overtake those
# waiting on the first processor, so the sender is pinned.
bench() {
	local a=IP${1}_A b=IP${1}_B job
	job="$DEV_A $(gid_index "$DEV_A" v2 "${!a}") $DEV_B $(gid_index "$DEV_B" v2 "${!b}")"
	job="$job $2 $3 $4 1024 $5 128 $6 $7"
	# shellcheck disable=SC2016
	taskset -c 0 sh -c 'echo "$1" > "$2"' sh "$job" $bench
}

# shared WHAT ARGUMENT...: packets share skbs. How many depends on how often the completion
# queue is found empty meanwhile.
shared() { leave_together 3/4 "$1" check_ok "$1" bench "${@:2}"; }

: "a debug kernel does not post as often as doorbells wait for"
gap=/sys/module/roce_hca/parameters/doorbell_gap_ns
before=$(< $gap)
defer "echo $before > $gap"
echo 50000000 > $gap
for family in 4 6; do
	shared "IPv$family, WRITE to 64 QPs" $family write 64 64 20 1 64
	shared "IPv$family, SEND to 96 QPs" $family send 60 64 20 1 96
	check_ok "IPv$family, 4 KiB SEND to 96 QPs" bench $family send 4096 64 10 1 96
	check_ok "IPv$family, READ of 64 QPs" bench $family read 64 64 10 1 64
	check_ok "IPv$family, lists to 8 QPs" bench $family write 64 64 10 8 8
done
check "wrong ICRCs" 0 "$(both_count rx_icrc_encapsulated)"
check "packets out of sequence" 0 "$(both_count out_of_sequence)"

: "each alone"
echo off > $BLOCKS_FILE
packets=$(both_count tx_packets) sent=$(skbs)
check_ok "blocks=off" bench 4 write 64 64 10 1 64
packets=$(($(both_count tx_packets) - packets)) sent=$(($(skbs) - sent))
check_ok "blocks=off: $packets packets leave as $sent" [ "$sent" -ge "$packets" ]
echo known > $BLOCKS_FILE

: "cut by a queue that takes no packet as large as a block"
both tc qdisc replace dev IF root tbf rate 1gbit burst 9000 limit 3000000
check_ok "cut" bench 4 send 1000 64 5 1 64
: "refused by a queue"
both tc qdisc replace dev IF root tbf rate 100mbit burst 9000 limit 12000
check_ok "refused" bench 4 send 1000 64 5 1 64
: "lost, doubled, out of order"
for what in "loss 1%" "duplicate 20%" "delay 1ms reorder 25% 50%"; do
	# shellcheck disable=SC2086
	both tc qdisc replace dev IF root netem limit 10000 $what
	check_ok "$what" bench 4 send 64 64 5 1 64
done
both tc qdisc del dev IF root
check "wrong ICRCs" 0 "$(both_count rx_icrc_encapsulated)"
finish
