#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 1500
#
# Routes and netfilter rules apply to RoCE v2, also on a VLAN and a bond: a tunnel reduces
# the MTU, and packets that do not fit are dropped and counted; a rule changes the route; a
# route adds a label. Last, the in-tree driver is the peer through IPsec.
#
# The hosts are in ipsec-lib.sh.

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/lag-lib.sh"
. "$LIB/ipsec-lib.sh"
only_ours
need tcpdump tshark
ipsec_setup

# --- MTU -----------------------------------------------------------------------------

# With an MTU of 4200 and IPv6, a path MTU of 4096 leaves 40 bytes; a tunnel needs 73. The first
# packet of a message has one more header.
too_long() { hw_counter "$DB" tx_dropped_too_long; }
MODE=tunnel SELECTOR=''
for row in "1 netdev $DEV_A $DEV_B" "7 VLAN $DEV_A $DEV_B" "5 bond la$$ lb$$"; do
	read -r n name da db <<< "$row"
	WHAT="IPv6, $name"
	on "$n" "$da" "$db" 6
	on_both require
	on_both add_states
	before=$(too_long)
	no_ping_pong "$WHAT: a path MTU that leaves no room for the tunnel" -n 3 -s 65536 -m 4096
	check_ok "$WHAT: tx_dropped_too_long counts ($before, $(too_long))" [ "$(too_long)" -gt "$before" ]
	ping_pong "$WHAT: one that does" -n 3 -s 65536 -m 2048
	on_both forget
done

# --- routes and rules ------------------------------------------------------------------

# tags: "untagged N, tagged M" of what left host b for UDP 4791
tags() { echo "untagged $(count_packets b 'udp.dstport == 4791 && !vlan'), tagged $(count_packets b 'udp.dstport == 4791 && vlan')"; }

# RoCE's source ports, A17.4.5: datagrams use one per pair of QPs, and one route serves many
# pairs. (An IPv4 route of type prohibit has no effect if the netdev is given.)
no_route() { hw_counter "$DB" tx_dropped_no_route; }
on 7 "$DEV_A" "$DEV_B" 6
in_b ip -6 route add prohibit "$A" table 78
if show_b ip -6 rule add ipproto udp sport 49152-65534 lookup 78; then
	before=$(no_route)
	spawn_a timeout 60 ibv_ud_pingpong -d "$DA" -g "$IA" -p 20099 -n 20 > /dev/null 2>&1
	server=$!
	busywait 60 listens_tcp $server 20099
	in_b timeout -k 1 10 ibv_ud_pingpong -d "$DB" -g "$IB_" -p 20099 -n 20 10.9.0.1 > /dev/null 2>&1
	check "datagrams that a rule by source ports prohibits get no answer" 124 $?
	check_ok "tx_dropped_no_route counts them ($before, $(no_route))" [ "$(no_route)" -gt "$before" ]
	kill $server
	wait $server 2> /dev/null
	in_b ip -6 rule del lookup 78
else
	say "no rules by ports on this kernel"
fi

# Table 77 routes to host a over the netdev instead of its VLAN
for prefix in 10.9.7.1/32 fd97::1/128; do
	in_b ip route add $prefix dev vb3 table 77
	# ND requests are answered only on the netdev that has the address.
	in_b ip neigh replace "${prefix%/*}" lladdr "$(in_a cat /sys/class/net/va3/address)" dev vb3
done

# Gateways that are a second MAC address of host a on the VLAN
in_a ip link add link va3.7 name gw3 type macvlan mode bridge
in_a ip link set gw3 up
gw_mac=$(in_a cat /sys/class/net/gw3/address)
declare -A gateway=([4]=10.9.7.254 [6]=fd97::fe)
for family in 4 6; do
	in_b ip neigh replace ${gateway[$family]} lladdr "$gw_mac" dev vb3.7
done

if command -v nft > /dev/null && in_b nft add table inet rhca$$; then
	for family in 4 6; do
		on 7 "$DEV_A" "$DEV_B" $family
		word=ip
		[ $family = 4 ] || word=ip6
		in_b nft -f - <<- END
			flush table inet rhca$$
			table inet rhca$$ {
				chain out { type route hook output priority mangle; $word daddr $A udp dport 4791 meta mark set 7; }
			}
		END
		in_b ip -$family rule add fwmark 7 lookup 77
		listen 3
		ping_pong "IPv$family: a rule of netfilter changes the route" -n 20 -s 8192
		heard
		check_match "IPv$family: not by the VLAN, but by the route for the mark" 'untagged [1-9].*, tagged 0' "$(tags)"
		in_b ip -$family route replace "$A" via ${gateway[$family]} dev vb3.7 table 77
		listen 3
		ping_pong "IPv$family: it changes the gateway on the VLAN" -n 20 -s 8192
		heard
		check_match "IPv$family: all by the VLAN" 'untagged 0, tagged [1-9]' "$(tags)"
		check "IPv$family: not to the gateway" 0 \
			"$(count_packets b "udp.dstport == 4791 && eth.dst != $gw_mac")"
		in_b ip -$family rule del fwmark 7
		in_b nft delete chain inet rhca$$ out
	done
else
	say "no nftables on this kernel"
fi

modprobe -q mpls_router
modprobe -q mpls_iptunnel
if [ -d /proc/sys/net/mpls ]; then
	on 7 "$DEV_A" "$DEV_B" 4
	in_a sh -c 'echo 100 > /proc/sys/net/mpls/platform_labels; echo 1 > /proc/sys/net/mpls/conf/va3.7/input'
	show_a ip -f mpls route add 42 dev lo
	if show_b ip route add "$A/32" encap mpls 42 via inet "$A" dev vb3.7; then
		listen
		ping_pong "a route with an MPLS label" -n 20 -s 8192
		heard
		check "what b sends without its label" 0 "$(count_packets b "udp.dstport == 4791 && !mpls")"
		check_ok "and with it" [ "$(count_packets b mpls)" -gt 20 ]
		in_b ip route del "$A/32"
	else
		say "no routes with MPLS labels on this kernel"
	fi
else
	say "no MPLS on this kernel: routes with a tunnel are left out"
fi

# --- a peer with the in-tree driver -----------------------------------------------------

rxe_at_b() { # from 7.1 on it can be in a namespace
	insert rdma_rxe 2> /dev/null && defer 'remove_driver rdma_rxe' &&
		rdma link del "$DEV_B" && in_b rdma link add "$DEV_B" type rxe netdev vb3
}
rdma link del "lb$$"
if rxe_at_b 2> /dev/null; then
	make_device_nodes
	for family in 4 6; do
		on 1 "$DEV_A" "$DEV_B" $family
		MODE=transport WHAT="IPv$family, rdma_rxe at b"
		on_both require
		on_both add_states
		listen
		ping_pong "$WHAT" -n 20 -s 65536
		heard
		check "$WHAT: packets in clear" "0 0" "$CLEAR_a $CLEAR_b"
		on_both forget
	done
else
	say "no rdma_rxe, or not in a namespace: it is left out"
fi
finish
