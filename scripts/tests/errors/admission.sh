#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# timeout: 300
#
# A QP accepts a packet only if it arrived on the netdev of its destination GID. VLANs of a
# netdev share its MAC, so link-local GIDs are the same on each and only the VLAN differs. A
# datagram has no connection: it must arrive on the VLAN of a GID of its port.
#
#   a (ra$$): va$$.10, va$$.20  ====== veth ======  b (rb$$): vb$$.10, vb$$.20

. "$(dirname "$0")/../lib/lib.sh"
only_ours

setup_pair 1500
for vlan in 10 20; do
	show_a ip link add link "$IF_A" name "$IF_A.$vlan" type vlan id $vlan
	show_b ip link add link "$IF_B" name "$IF_B.$vlan" type vlan id $vlan
	in_a ip link set "$IF_A.$vlan" up
	in_b ip link set "$IF_B.$vlan" up
done
link_local() { # link_local in_a|in_b NETDEV: its address, once it may be used
	$1 ip -6 addr show dev "$2" scope link -tentative | grep -o 'fe80:[0-9a-f:]*'
}
for vlan in 10 20; do
	busywait 60 link_local in_a "$IF_A.$vlan" || die "no link-local address on $IF_A.$vlan"
	busywait 60 link_local in_b "$IF_B.$vlan" || die "no link-local address on $IF_B.$vlan"
done
ll_a=$(link_local in_a "$IF_A.10")
ll_b=$(link_local in_b "$IF_B.10")

for type in v1 v2; do
	for vlan in 10 20; do
		busywait 60 gid_index "$DEV_A" $type "$ll_a" "$IF_A.$vlan" || die "no $type GID on $IF_A.$vlan"
		busywait 60 gid_index "$DEV_B" $type "$ll_b" "$IF_B.$vlan" || die "no $type GID on $IF_B.$vlan"
	done
	ia=$(gid_index "$DEV_A" $type "$ll_a" "$IF_A.10")
	ib=$(gid_index "$DEV_B" $type "$ll_b" "$IF_B.10")
	python admission.py "$DEV_A" "$ia" "$DEV_B" "$ib" --label "$type VLAN 10 to 10 "
	ib=$(gid_index "$DEV_B" $type "$ll_b" "$IF_B.20")
	python admission.py "$DEV_A" "$ia" "$DEV_B" "$ib" --refused --types RC,UC --label "$type VLAN 20 to 10 "
done
finish
