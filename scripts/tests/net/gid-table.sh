#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# every: 3
# timeout: 900
#
# The GID table follows the netdev's addresses: (N+1)*K entries for N addresses
# and K types, defaults first, v1 at the even and v2 at the odd index; VLANs,
# alias addresses, IPv6, rename, down and up, a bond above the netdev.
#
#   a: va$$, va$$.7 (VLAN), bond$$ over va$$   ====== veth ======   b

. "$(dirname "$0")/../lib/lib.sh"

types=2
ours || types=1
setup_pair 1500

table() { gids "$DEV_A"; }
count() { table | wc -l; }
count_is() { [ "$(count)" = "$1" ]; }
expect_count() { # expect_count N WHAT
	# The number may be reached temporarily, on the way to another.
	stays() { count_is "$1" && sleep 0.3 && count_is "$1"; }
	wait_check 60 "$2: $1 entries" stays "$1" || table
}

# Addresses now: default (link-local of the MAC), IPv4, IPv6.
show table
expect_count $((3 * types)) "IPv4 and IPv6 address"
check_match "index 0 is the default GID" '^0 v[12] fe80:' "$(table | head -1)"
if ours; then
	while read -r index type gid _; do
		want=v1
		[ $((index % 2)) = 1 ] && want=v2
		check "type of index $index ($gid)" $want "$type"
	done < <(table)
	check "index 0 and 1 hold the same GID" "$(table | awk '$1 == 0 { print $3 }')" \
		"$(table | awk '$1 == 1 { print $3 }')"
	check "index 3 is IPv4 over v2" 3 "$(gid_index "$DEV_A" v2 $IP4_A)"
fi
for type in $(roce_versions); do
	check "netdev of the $type GID of $IP4_A" "$IF_A" "$(table | awk -v t=$type '$2 == t && /0a09:0001/ { print $4 }')"
done

: "alias addresses"
show_a ip addr add 10.10.0.1/24 dev "$IF_A" label "$IF_A:1"
show_a ip addr add fd10::1/64 dev "$IF_A" nodad
expect_count $((5 * types)) "two more addresses"
check_match "alias IPv4" '.' "$(gid_index "$DEV_A" v2 10.10.0.1)"
check_match "alias IPv6" '.' "$(gid_index "$DEV_A" v2 fd10::1)"
show_a ip addr del 10.10.0.1/24 dev "$IF_A"
show_a ip addr del fd10::1/64 dev "$IF_A"
expect_count $((3 * types)) "aliases removed"
check "index of a removed address" "" "$(gid_index "$DEV_A" v2 10.10.0.1)"

: "VLAN"
if show_a ip link add link "$IF_A" name "$IF_A.7" type vlan id 7; then
	show_a ip link set "$IF_A.7" up
	show_a ip addr add 10.9.7.1/24 dev "$IF_A.7"
	has_vlan() { gid_index "$DEV_A" v2 10.9.7.1 "$IF_A.7"; }
	wait_check 60 "GID of the VLAN's address, with the VLAN as its netdev" has_vlan
	show_a ip link del "$IF_A.7"
	hasnt() { ! gid_index "$DEV_A" v2 "$1"; }
	wait_check 60 "its GID goes with it" hasnt 10.9.7.1
	expect_count $((3 * types)) "after the VLAN"
fi

: "down and up: addresses of an interface that is down have no GID after it is removed, and all are back"
show_a ip link set "$IF_A" down
show_a ip link set "$IF_A" up
in_a ip -6 addr add $IP6_A/64 dev "$IF_A" nodad 2> /dev/null
expect_count $((3 * types)) "after down and up"
wait_check 60 "$IP4_A is still there" gid_index "$DEV_A" v2 $IP4_A

: "rename"
NEW=re$$
show_a ip link set "$IF_A" down
show_a ip link set "$IF_A" name "$NEW"
show_a ip link set "$NEW" up
in_a ip -6 addr add $IP6_A/64 dev "$NEW" nodad 2> /dev/null
renamed() { [ "$(table | awk '{ print $4 }' | sort -u)" = "$NEW" ]; }
wait_check 60 "every GID names the renamed netdev" renamed
expect_count $((3 * types)) "after the rename"
check_match "rdma link shows it as well" "netdev $NEW" "$(in_a rdma link show "$DEV_A/1")"
show_a ip link set "$NEW" down
show_a ip link set "$NEW" name "$IF_A"
show_a ip link set "$IF_A" up

: "a MAC change moves the default GID"
show_a ip link set "$IF_A" address 02:11:22:33:44:55
default_is() { table | grep -q 'fe80:0000:0000:0000:0011:22ff:fe33:4455'; }
wait_check 60 "default GID of the new MAC" default_is || table

: "bond: the master's addresses are this port's GIDs"
if ours && show_a ip link add "bd$$" type bond mode active-backup miimon 100; then
	show_a ip link set "$IF_A" down
	show_a ip link set "$IF_A" master "bd$$"
	show_a ip addr add 10.11.0.1/24 dev "bd$$"
	show_a ip link set "bd$$" up
	wait_check 60 "GID of the bond's address" gid_index "$DEV_A" v2 10.11.0.1
	wait_check 60 "the port is ACTIVE below the bond" port_active "$DEV_A"
	show_a ip link set "$IF_A" nomaster
	bond_gone() { ! gid_index "$DEV_A" v2 10.11.0.1; }
	wait_check 60 "the bond's address leaves with the bond" bond_gone
	show_a ip link del "bd$$"
elif ours; then
	say "no bonding on this kernel: left out"
fi

: "the table has room for 128 entries, more addresses are refused without harm"
if ours; then
	for i in $(seq 1 70); do echo "addr add 10.50.0.$i/32 dev $IF_A"; done > "$WORK/many"
	in_a ip -batch "$WORK/many"
	is_full() { [ "$(table | wc -l)" -ge 126 ]; }
	wait_check 60 "the table fills up" is_full
	check_match "entries in a full table" '^12[678]$' "$(count)"
	sed 's/add 1/del 1/' "$WORK/many" > "$WORK/less"
	in_a ip -batch "$WORK/less"
	fewer() { [ "$(table | wc -l)" -le 10 ]; }
	wait_check 60 "and empties again" fewer
fi
finish
