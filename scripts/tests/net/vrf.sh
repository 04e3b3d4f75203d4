#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# every: 3
# timeout: 600
#
# RoCE v2 over a netdev in a VRF, with udp_l3mdev_accept at 0: packets use the VRF's table
# and are received, while another port of the namespace is in no VRF. The VRF is created
# before or after the device, or only a VLAN is in it; two may have the same address; they
# have no effect on v1.
#
#   a (ra$$): va$$ in VRF red  ====== veth ======  b (rb$$): vb$$
#             vc$$ in none     ====== veth ======  b:        vd$$

. "$(dirname "$0")/../lib/lib.sh"
only_ours

table=$((1000 + $$ % 1000))
other4_a=192.168.77.1 other4_b=192.168.77.2

enslave() { # enslave NETDEV: this removes its IPv6 addresses
	show_a ip link set "$1" master red
	in_a ip -6 addr replace $IP6_A/64 dev "$1" nodad
}
carries() { # carries WHAT
	local type
	for type in $IP4_A $IP6_A; do
		busywait 60 gid_index "$DEV_A" v2 $type || die "$1: no v2 GID for $type"
	done
	for type in 4 6; do
		local a=IP${type}_A b=IP${type}_B
		LIMIT=200 python admission.py "$DEV_A" "$(gid_index "$DEV_A" v2 "${!a}")" \
			"$DEV_B" "$(gid_index "$DEV_B" v2 "${!b}")" --label "$1, IPv$type, "
		LIMIT=200 python admission.py "$DEV_B" "$(gid_index "$DEV_B" v2 "${!b}")" \
			"$DEV_A" "$(gid_index "$DEV_A" v2 "${!a}")" --label "$1, IPv$type, the other way, "
	done
}
sockets() { # sockets NS: number of sockets bound to UDP 4791
	nsenter "--net=/run/netns/$1" cat /proc/net/udp /proc/net/udp6 | grep -ci ':12B7 '
}

load_driver
setup_wire 1500
check "the kernel lets no socket without a VRF hear one" 0 "$(in_a sysctl -n net.ipv4.udp_l3mdev_accept)"

: "the VRF is there before the device"
show_a ip link add red type vrf table $table || skip "no VRF in this kernel"
show_a ip link set red up
enslave "$IF_A"
busywait 60 in_a ping -I red -c1 -W1 $IP4_B || die "$IP4_B does not answer in the VRF"
add_links
check "sockets: two for the VRF, two for the rest" 4 "$(sockets "$NS_A")"
check "and RoCE v2 is said to come in" "v1 v2" "$(< "$IB/$DEV_A/ports/1/roce_versions")"
check "no route to b but the VRF's" "" "$(in_a ip route show to match $IP4_B)"
carries "VRF first"

: "the VRF is removed, and the netdev is in none"
show_a ip link del red
gone() { [ "$(sockets "$NS_A")" = 2 ]; }
busywait 60 gone
check "sockets: none of the VRF are left" 2 "$(sockets "$NS_A")"
in_a ip -6 addr replace $IP6_A/64 dev "$IF_A" nodad
carries "no VRF"

: "the VRF comes after the device"
show_a ip link add red type vrf table $table
show_a ip link set red up
enslave "$IF_A"
opened() { [ "$(sockets "$NS_A")" = 4 ]; }
busywait 60 opened
carries "VRF later"

: "a group of a netdev in the VRF"
while read -r family group; do
	address=IP${family}
	a=${address}_A b=${address}_B
	python mcast.py "$DEV_B" "$(gid_index "$DEV_B" v2 "${!b}")" \
		"$DEV_A" "$(gid_index "$DEV_A" v2 "${!a}")" "$group"
done << END
6 ff15::9:1:1
4 ::ffff:239.9.1.1
END

: "the port number is ours alone, in the VRF and outside of it"
refused() { # refused OPTION: prints the error of bind()
	in_a $PYTHON -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.$1, 1)
try:
    s.bind(('', 4791)); print('bound')
except OSError as error:
    print(error.errno)"
}
check "SO_REUSEADDR: EADDRINUSE" 98 "$(refused SO_REUSEADDR)"
check "SO_REUSEPORT: EADDRINUSE" 98 "$(refused SO_REUSEPORT)"

: "a second netdev of the namespace, in no VRF, at the same time"
show ip link add vc$$ netns "$NS_A" mtu 1500 type veth peer name vd$$ netns "$NS_B" mtu 1500
show_a ip addr add $other4_a/24 dev vc$$
show_b ip addr add $other4_b/24 dev vd$$
show_a ip link set vc$$ up
show_b ip link set vd$$ up
add_link a rc$$ vc$$
add_link b rd$$ vd$$
make_device_nodes
busywait 60 gid_index rc$$ v2 $other4_a || die "no v2 GID on rc$$"
busywait 60 gid_index rd$$ v2 $other4_b || die "no v2 GID on rd$$"
LIMIT=200 python admission.py rc$$ "$(gid_index rc$$ v2 $other4_a)" \
	rd$$ "$(gid_index rd$$ v2 $other4_b)" --label "in no VRF, "
carries "beside it"
show rdma link del rc$$
show rdma link del rd$$
show_a ip link del vc$$	# the kernel looks for addresses that are in no VRF first

: "one address in two VRFs, each with a VLAN of the port: datagrams to itself"
show_a ip link add blue type vrf table $((table + 1))
show_a ip link set blue up
tag=0
for vrf in red blue; do
	vlan=$IF_A.$((++tag))
	show_a ip link add link "$IF_A" name "$vlan" type vlan id $tag || skip "no VLANs on this kernel"
	show_a ip link set "$vlan" master $vrf
	show_a ip link set "$vlan" up
	show_a ip addr add $other4_a/24 dev "$vlan"
	busywait 60 gid_index "$DEV_A" v2 $other4_a "$vlan" || die "no v2 GID on $vlan"
	index=$(gid_index "$DEV_A" v2 $other4_a "$vlan")
	LIMIT=200 python admission.py "$DEV_A" "$index" "$DEV_A" "$index" --types UD --label "$vrf, "
done

: "RoCE v1, which knows no routes"
LIMIT=200 python admission.py "$DEV_A" "$(gid_index "$DEV_A" v1 $IP4_A)" \
	"$DEV_B" "$(gid_index "$DEV_B" v1 $IP4_B)" --label "v1, "
finish
