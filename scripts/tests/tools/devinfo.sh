#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 900
#
# Device and port attributes as in ibv_devinfo -v, ibstat and rdma link, and the events of
# carrier, up/down and MTU changes.
#
#   a (ra$$)  ====== veth, MTU 1500 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
info() { in_a ibv_devinfo -v -d "$DEV_A" 2>&1; }
field() { info | awk -v f="$1:" '$1 == f { $1 = ""; sub(/^ +/, ""); print; exit }'; }
number() { field "$1" | cut -d' ' -f1; }

# modified EUI-64 of a MAC, as ibv_devinfo writes a GUID
guid_of_mac() {
	local m
	# shellcheck disable=SC2207
	m=($(in_a cat "/sys/class/net/$IF_A/address" | tr : ' '))
	printf '%02x%s:%sff:fe%s:%s%s\n' $((0x${m[0]} ^ 2)) "${m[@]:1:5}"
}

show info
check "link layer" Ethernet "$(field link_layer)"
check "transport" "InfiniBand (0)" "$(field transport)"
check "port_lid" 0 "$(field port_lid)"
check "sm_lid" 0 "$(field sm_lid)"
check "port_lmc" 0x00 "$(field port_lmc)"
check "state" "PORT_ACTIVE (4)" "$(field state)"
check "physical state" "LINK_UP (5)" "$(field phys_state)"
check "active_mtu for netdev MTU 1500" "1024 (3)" "$(field active_mtu)"
check "max_mtu" "4096 (5)" "$(field max_mtu)"
check "node GUID from the MAC" "$(guid_of_mac)" "$(field node_guid)"
check "vendor id: no company's" 0xffffff "$(field vendor_id)"
for what in max_qp max_cq max_mr max_pd max_ah max_srq max_qp_wr max_sge max_cqe max_qp_rd_atom max_msg_sz; do
	check_match "$what is a number above 0" '^(0x)?[0-9a-f]*[1-9a-f]' "$(field $what)"
done
if ours; then
	check_match "fw_ver is not empty" '[0-9]' "$(field fw_ver)"
	check "hca_type, which ibstat and node_exporter read" roce_hca "$(cat $IB/"$DEV_A"/hca_type)"
	check "hw_rev is the hw_ver of verbs" "$(($(field hw_ver)))" "$((0x$(cat $IB/"$DEV_A"/hw_rev)))"
	check "board_id" "$(cat $IB/"$DEV_A"/backend)" "$(cat $IB/"$DEV_A"/board_id)"
	check "ibstat's CA type" roce_hca "$(in_a ibstat "$DEV_A" | sed -n 's/.*CA type: //p')"
	check "number of ports" 1 "$(field phys_port_cnt)"
	check "GID table entries in sysfs" 128 "$(ls $IB/"$DEV_A"/ports/1/gids | wc -l)"
	check "one completion vector for each CPU" "$(nproc)" "$(number num_comp_vectors)"
	check_match "no automatic path migration" '^[^A]*$|^([^A]|A[^U])*$' "$(info | grep -o AUTO_PATH_MIG | tr '\n' ' ')"
	check_match "GID 0 is RoCE v1" 'GID\[ *0\].*RoCE v1' "$(info | grep 'GID\[')"
	check_match "GID 1 is RoCE v2" 'GID\[ *1\].*RoCE v2' "$(info | grep 'GID\[ *1\]')"
fi

# Speed and width: veth says 10 Gb/s. Their product must be that rate.
speed=$(in_a cat "/sys/class/net/$IF_A/speed")
rate=$(awk '{ print $1 }' $IB/"$DEV_A"/ports/1/rate)
check_match "sysfs rate is a number above 0" '^[0-9.]*[1-9]' "$rate"
if ours; then
	check "sysfs rate of a $speed Mb/s netdev, in Gb/s" $((speed / 1000)) "${rate%.*}"
fi

check_match "rdma link" "link $DEV_A/1 state ACTIVE physical_state LINK_UP" "$(rdma link show "$DEV_A/1")"
if command -v ibstat > /dev/null; then
	stat=$(ibstat "$DEV_A" 2>&1)
	check_match "ibstat: link layer" 'Link layer: Ethernet' "$stat"
	check_match "ibstat: state" 'State: Active' "$stat"
	check_match "ibstat: LID" 'Base lid: 0' "$stat"
fi

# Events: what ibv_asyncwatch sees while the link goes down and up.
spawn_a timeout 900 stdbuf -oL ibv_asyncwatch -d "$DEV_A" > "$WORK/events" 2>&1
watcher=$!
busywait 60 grep -q "" "$WORK/events" || die "ibv_asyncwatch says nothing"
sees() { grep -qi "$1" "$WORK/events"; }

: "down and up of the netdev itself"
show_a ip link set "$IF_A" down
wait_check 60 "state DOWN after ip link set down" grep -q DOWN $IB/"$DEV_A"/ports/1/state
ours && check "physical state" DISABLED "$(awk '{ print toupper($2) }' $IB/"$DEV_A"/ports/1/phys_state)"
wait_check 60 "port error event" sees PORT_ERR
show_a ip link set "$IF_A" up
wait_check 60 "state ACTIVE after ip link set up" port_active "$DEV_A"
wait_check 60 "port active event" sees PORT_ACTIVE

if ours; then
	: "carrier: the other end goes down"
	count=$(grep -ci PORT_ERR "$WORK/events")
	show_b ip link set "$IF_B" down
	wait_check 60 "state DOWN without carrier" grep -q DOWN $IB/"$DEV_A"/ports/1/state
	more() { [ "$(grep -ci "$1" "$WORK/events")" -gt "$2" ]; }
	wait_check 60 "port error event without carrier" more PORT_ERR "$count"
	show_b ip link set "$IF_B" up
	wait_check 60 "state ACTIVE with carrier" port_active "$DEV_A"
	: "addresses come and go: GID change events"
	count=$(grep -c GID_CHANGE "$WORK/events")
	show_a ip addr add 10.77.0.1/24 dev "$IF_A"
	wait_check 60 "GID change event" more GID_CHANGE "$count"
fi

: "MTU: the largest of 256 to 4096 that fits beside the headers"
for pair in 9000:4096 4200:4096 2300:2048 1500:1024 700:512; do
	show_a ip link set "$IF_A" mtu "${pair%:*}"
	mtu_is() { info | grep -q "active_mtu:.*${pair#*:} "; }
	wait_check 60 "active_mtu ${pair#*:} for netdev MTU ${pair%:*}" mtu_is
done
[ $FAILS = 0 ] || sed 's/^/     events: /' "$WORK/events"
kill $watcher 2> /dev/null
wait $watcher
finish
