# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Two hosts with two wires between them that may be bonded, on top of lib.sh.
#
#   namespace rhca-a-PID                         namespace rhca-b-PID
#    ba$$ 10.9.0.1/24 -+- va1 ===== veth ===== vb1 -+- bb$$ 10.9.0.2/24
#                      +- va2 ===== veth ===== vb2 -+
#
# The devices of va1 to vb2 are la1 to lb2, that of a bond is roce_bond and a number.

BOND_A=ba$$ BOND_B=bb$$

lag_setup() {
	local i
	ip link add "$BOND_A" type bond 2> /dev/null || modprobe bonding || skip "no bonding on this kernel"
	ip link del "$BOND_A" 2> /dev/null
	load_driver
	show ip netns add "$NS_A"
	show ip netns add "$NS_B"
	in_a ip link set lo up
	in_b ip link set lo up
	for i in 1 2; do
		show ip link add va$i netns "$NS_A" mtu 4200 type veth peer name vb$i netns "$NS_B" mtu 4200
	done
}

lag_links() {
	show_a rdma link add la1 type roce netdev va1
	show_a rdma link add la2 type roce netdev va2
	show_b rdma link add lb1 type roce netdev vb1
	show_b rdma link add lb2 type roce netdev vb2
}

lag_devices() {
	local i
	for i in 1 2; do
		in_a ip link set va$i up
		in_b ip link set vb$i up
	done
	lag_links
	make_device_nodes
}

# device_on NETDEV: the RDMA device with a port on it
device_on() {
	local dir
	for dir in "$IB"/*/; do
		grep -qx "$1" "$dir/parent" 2> /dev/null && { basename "$dir"; return 0; }
	done
	return 1
}

devices() { local n; for n; do device_on "$n" || echo none; done | paste -sd' '; }

are() { # are "DEVICE ..." NETDEV...
	local want=$1
	shift
	[ "$(devices "$@")" = "$want" ]
}

become() { # become WHAT "DEVICE ..." NETDEV...
	local what=$1 want=$2
	shift 2
	wait_check 60 "$what: RDMA devices on $*: $want" are "$want" "$@" || say "they are: $(devices "$@")"
}

bond_up() { # bond_up MODE: both hosts, with miimon 50 ms
	local i
	show_a ip link add "$BOND_A" mtu 4200 type bond mode "$1" miimon 50
	show_b ip link add "$BOND_B" mtu 4200 type bond mode "$1" miimon 50
	for i in 1 2; do
		in_a ip link set va$i down
		in_b ip link set vb$i down
		show_a ip link set va$i master "$BOND_A"
		show_b ip link set vb$i master "$BOND_B"
	done
	in_a ip addr add $IP4_A/24 dev "$BOND_A"
	in_b ip addr add $IP4_B/24 dev "$BOND_B"
	in_a ip link set "$BOND_A" up
	in_b ip link set "$BOND_B" up
	busywait 60 in_a ping -c1 -W1 $IP4_B || die "no ping over the bond"
}

# find_lag [v1|v2]: DEV_A, DEV_B and their GIDs' indices ia, ib
find_lag() {
	DEV_A=$(device_on "$BOND_A") DEV_B=$(device_on "$BOND_B")
	make_device_nodes
	wait_gids
	busywait 60 port_active "$DEV_A"
	# shellcheck disable=SC2034
	ia=$(gid_index "$DEV_A" "${1:-v2}" $IP4_A) ib=$(gid_index "$DEV_B" "${1:-v2}" $IP4_B)
}
