#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# every: 3
# timeout: 900
#
# RoCE v1 packets received as lists, as veth does with GRO: every operation with its data
# checked, with intact, lost, duplicated, reordered and damaged packets, and over a VLAN.
#
#   a (ra$$)  ====== veth, MTU 9000, GRO ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

only_ours
need tc ethtool
setup_pair 9000
both ethtool -K IF gro on > /dev/null

with_ends() { # with_ends SCRIPT ARGUMENT...
	LIMIT=300 python "$1" "$DEV_A" "$(gid_index "$DEV_A" v1 $IP4_A)" \
		"$DEV_B" "$(gid_index "$DEV_B" v1 $IP4_B)" "${@:2}"
}
icrc_errors() {
	echo $(($(hw_counter "$DEV_A" rx_icrc_encapsulated) + $(hw_counter "$DEV_B" rx_icrc_encapsulated)))
}

: "whole"
with_ends ops.py --mtu 1024 --types RC,UC,UD --label "v1 " --quick
with_ends traffic.py --messages 60 --read
for type in RC UC UD; do with_ends batch.py --label "v1 " --type $type; done
check "wrong ICRCs" 0 "$(icrc_errors)"

: "lost, doubled, out of order, damaged"
for what in "loss 2%" "duplicate 20%" "delay 2ms reorder 25% 50%" "corrupt 2%"; do
	# shellcheck disable=SC2086
	both tc qdisc replace dev IF root netem limit 10000 $what
	with_ends traffic.py --seconds 2 --timeout 14 --least 5 --read
done
both tc qdisc del dev IF root

: "over a VLAN"
add_vlan
IP4_A=10.9.7.1 IP4_B=10.9.7.2
wait_gids
with_ends traffic.py --messages 60 --read
with_ends batch.py --label "v1 VLAN " --type RC
finish
