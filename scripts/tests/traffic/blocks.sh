#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# every: 3
# timeout: 1800
#
# Packets in blocks: every operation with its data checked, over blocks that pass
# unsegmented, are segmented by the kernel, merged again by GRO, lost, duplicated, reordered
# or rejected; over a VLAN and a bond; to groups; from and to rdma_rxe, which has no blocks.
# A wrongly segmented or merged block would cause a wrong ICRC.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/blocks-lib.sh"

only_ours
need tc ethtool
unset RHCA_PARAMS
reload_driver || die "does not load"
setup_pair 9000
keep_order
blocks=/sys/module/roce_hca/parameters/blocks
check "blocks are sent by default" known "$(< $blocks)"

icrc_errors() { both_count rx_icrc_encapsulated; }

# Packets that RC considers lost, at requesters and responders
repeats() {
	local name sum=0
	for name in packet_seq_err out_of_sequence implied_nak_seq_err; do
		sum=$((sum + $(both_count $name)))
	done
	echo $sum
}

# with_ends SCRIPT FAMILY ARGUMENT...
with_ends() {
	local script=$1 a=IP${2}_A b=IP${2}_B
	shift 2
	LIMIT=300 python "$script" "$DEV_A" "$(gid_index "$DEV_A" v2 "${!a}")" \
		"$DEV_B" "$(gid_index "$DEV_B" v2 "${!b}")" "$@"
}
traffic() { with_ends traffic.py "$@"; }
batch() { with_ends batch.py "$1" --label "v2 IPv$1 $2 " "${@:3}"; }
ops() { with_ends ops.py "$1" --mtu "$2" --types RC,UC --label "v2 IPv$1 $3 " --quick; }

# in_blocks WHAT COMMAND...: both ends together sent more packets than skbs
in_blocks() { leave_together 1/2 "$@"; }

: "whole"
for family in 4 6; do
	emulated || with_ends ops.py $family --mtu 1024 --types RC,UC --label "v2 IPv$family "
	in_blocks "IPv$family RC, long" traffic $family --messages 60 --read
	in_blocks "IPv$family RC, short" batch $family whole --type RC --size 60
	in_blocks "IPv$family RC, answers to short READs" batch $family whole --type RC --size 60 --read
	# Each has two PSNs; as many as may be outstanding
	in_blocks "IPv$family RC, requests for READs" batch $family whole --type RC --size 1800 --read --count 16
	in_blocks "IPv$family UC" batch $family whole --type UC
	in_blocks "IPv$family UD" batch $family whole --type UD
done
in_blocks "IPv4 multicast" batch 4 group --group ::ffff:239.9.1.1
in_blocks "IPv6 multicast" batch 6 group --group ff15::9:1:1
check "wrong ICRCs" 0 "$(icrc_errors)"

: "doorbells that wait: no process rings as often as that on its own here"
gap=/sys/module/roce_hca/parameters/doorbell_gap_ns
before=$(< $gap)
defer "echo $before > $gap"
echo 50000000 > $gap
ops 4 1024 "late doorbells"
in_blocks "late doorbells" batch 4 "late doorbells" --type RC
traffic 4 --messages 200 --size 64 --read
echo "$before" > $gap

: "no device that takes them, and switched off"
both ethtool -K IF tx-udp-segmentation off > /dev/null
ops 4 4096 single
both ethtool -K IF tx-udp-segmentation on > /dev/null
echo off > $blocks
packets=$(both_count tx_packets) sent=$(skbs)
traffic 4 --messages 20
packets=$(($(both_count tx_packets) - packets)) sent=$(($(skbs) - sent))
check_ok "blocks=off: $packets packets leave as $sent" [ "$sent" -ge "$packets" ]
echo known > $blocks
check_fails "an unknown policy" sh -c "echo some > $blocks"

: "cut by a queue that takes no packet as large as a block, and put together by GRO"
# A veth uses GRO for packets from one that does not segment TCP. Of 16 packets 15 are a block:
# after segmentation they have UDP checksums, and so has the last, otherwise GRO would pass it
# on. The rate of the queue is very high, so that all packets of a message arrive at once; and
# one message is in flight at a time, as a veth's ring holds 256 packets.
both tc qdisc replace dev IF root tbf rate 20gbit burst 20000 limit 3000000
for gro in off on; do
	both ethtool -K IF gro $gro tso "$([ $gro = on ] && echo off || echo on)" > /dev/null
	ops 4 1024 "cut, GRO $gro"
	ops 6 4096 "cut, GRO $gro"
	batch 4 "cut, GRO $gro" --type UD
	for family in 4 6; do
		before=$(repeats)
		traffic $family --messages 60 --size 65536 --mtu 4096 --window 1 --read
		check "cut, GRO $gro, IPv$family: nothing overtakes" "$before" "$(repeats)"
	done
done
both ethtool -K IF gro off tso on > /dev/null

: "refused in the middle"
both tc qdisc replace dev IF root tbf rate 200mbit burst 9000 limit 30000
traffic 4 --messages 60 --timeout 14 --read
batch 4 refused --type RC
both tc qdisc del dev IF root
check "wrong ICRCs" 0 "$(icrc_errors)"

: "lost, doubled, out of order, damaged"
long='--seconds 4 --least 10'
! emulated || long='--messages 40'
for what in "loss 2%" "duplicate 20%" "delay 2ms reorder 25% 50%" "corrupt 2%"; do
	# shellcheck disable=SC2086
	both tc qdisc replace dev IF root netem limit 10000 $what
	traffic 4 $long --timeout 14 --read
done
both tc qdisc del dev IF root

: "over a VLAN"
add_vlan
IP4_A=10.9.7.1 IP4_B=10.9.7.2
wait_gids
before=$(icrc_errors)
in_blocks "VLAN, RC" traffic 4 --messages 60 --read
in_blocks "VLAN, UD" batch 4 VLAN
IP4_A=10.9.0.1 IP4_B=10.9.0.2

: "over loopback, to itself"
DEV_C=$DEV_B DEV_B=$DEV_A IP4_C=$IP4_B IP4_B=$IP4_A
traffic 4 --messages 60 --read
batch 4 itself --type RC
DEV_B=$DEV_C IP4_B=$IP4_C
check "wrong ICRCs over a VLAN and loopback" "$before" "$(icrc_errors)"

: "between rdma_rxe at a and ours at b"
teardown_pair
A_IS_HERE=1
if modprobe -n -q rdma_rxe || module_file rdma_rxe > /dev/null; then
	insert rdma_rxe
	defer 'remove_driver rdma_rxe'
	show ip netns add "$NS_B"
	show ip link add "$IF_A" mtu 9000 type veth peer name "$IF_B" netns "$NS_B" mtu 9000
	in_b ip link set lo up
	show_a ip addr add $IP4_A/24 dev "$IF_A"
	show_b ip addr add $IP4_B/24 dev "$IF_B"
	show_a ip link set "$IF_A" up
	show_b ip link set "$IF_B" up
	busywait 60 in_a ping -c1 -W1 $IP4_B || die "$IP4_B does not answer ping"
	RHCA_LINK_TYPE=rxe add_link a "$DEV_A" "$IF_A"
	add_link b "$DEV_B" "$IF_B"
	make_device_nodes
	wait_gids
	with_ends ops.py 4 --mtu 1024 --types RC,UC,UD --label "with rdma_rxe " --quick
	traffic 4 --messages 60 --read
	check "wrong ICRCs from rdma_rxe" 0 "$(hw_counter "$DEV_B" rx_icrc_encapsulated)"
else
	say "no rdma_rxe for $(uname -r)"
fi
finish
