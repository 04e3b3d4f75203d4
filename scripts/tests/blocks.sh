#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 900
#
# Packets in blocks: every operation with its data checked, blocks that pass
# whole, blocks that the kernel cuts, blocks that are lost, copied and damaged on
# the way. A block that is cut wrongly would show as a wrong ICRC.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)

. "$(dirname "$0")/lib.sh"

only_ours
need tc ethtool
setup_pair 9000
blocks=/sys/module/roce_hca/parameters/blocks
[ -e $blocks ] || skip "this driver has no blocks"
before=$(< $blocks)
defer "echo $before > $blocks"
echo Y > $blocks

icrc_errors() {
	echo $(($(hw_counter "$DEV_A" rx_icrc_encapsulated) + $(hw_counter "$DEV_B" rx_icrc_encapsulated)))
}

skbs() { in_a cat "/sys/class/net/$IF_A/statistics/tx_packets"; }

# traffic FAMILY ARGUMENT...
traffic() {
	local family=$1 a=IP${1}_A b=IP${1}_B
	shift
	LIMIT=300 python traffic.py "$DEV_A" "$(gid_index "$DEV_A" v2 "${!a}")" \
		"$DEV_B" "$(gid_index "$DEV_B" v2 "${!b}")" "$@"
}

ops() {
	local a=IP${1}_A b=IP${1}_B
	LIMIT=300 python ops.py "$DEV_A" "$(gid_index "$DEV_A" v2 "${!a}")" \
		"$DEV_B" "$(gid_index "$DEV_B" v2 "${!b}")" --mtu "$2" --types RC --label "v2 IPv$1 $3 "
}

for family in 4 6; do
	packets=$(hw_counter "$DEV_A" tx_packets) sent=$(skbs)
	ops $family 1024 whole
	packets=$(($(hw_counter "$DEV_A" tx_packets) - packets)) sent=$(($(skbs) - sent))
	check_ok "IPv$family: $packets packets leave as $sent" [ $((2 * sent)) -lt $packets ]
	show_a ethtool -K "$IF_A" tx-udp-segmentation off > /dev/null
	show_b ethtool -K "$IF_B" tx-udp-segmentation off > /dev/null
	ops $family 4096 single
	show_a ethtool -K "$IF_A" tx-udp-segmentation on > /dev/null
	show_b ethtool -K "$IF_B" tx-udp-segmentation on > /dev/null
done

: "cut by a queue that takes no packet as large as a block"
show_a tc qdisc replace dev "$IF_A" root tbf rate 1gbit burst 9000 limit 3000000
show_b tc qdisc replace dev "$IF_B" root tbf rate 1gbit burst 9000 limit 3000000
ops 4 1024 cut
ops 6 4096 cut
show_a tc qdisc del dev "$IF_A" root
show_b tc qdisc del dev "$IF_B" root
check "wrong ICRCs" 0 "$(icrc_errors)"

: "lost, doubled, out of order"
for what in "loss 2%" "duplicate 20%" "delay 2ms reorder 25% 50%"; do
	# shellcheck disable=SC2086
	show_a tc qdisc replace dev "$IF_A" root netem limit 10000 $what &&
		show_b tc qdisc replace dev "$IF_B" root netem limit 10000 $what
	traffic 4 --seconds 4 --timeout 14 --least 10 --read
done
show_a tc qdisc del dev "$IF_A" root
show_b tc qdisc del dev "$IF_B" root
check "wrong ICRCs" 0 "$(icrc_errors)"
finish
