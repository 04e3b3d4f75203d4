#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 1800
#
# Each row of the table of netdevs in netdevs.rst: a device on such a netdev supports
# exactly the RoCE versions of the row, carries messages with every byte checked, datagrams
# and rdma_cm connections, and is removed with its netdev. A netdev without IP is refused
# with a message, and so is a tunnel if only v1 is enabled.
#
# RHCA_KINDS="team ppp" selects these rows: on an emulated machine each takes a minute.
#
#   a: ka$$ over va$$  ====== veth ======  b: kb$$ over vb$$

. "$(dirname "$0")/../lib/lib.sh"
only_ours

PAGE=$TOP/Documentation/netdevs.rst
KA=ka$$ KB=kb$$
PORT=21000

load_driver
setup_wire 9000
# Otherwise modules of tunnels create a netdev each (tunl0, gre0, ...), which remains.
FALLBACK=/proc/sys/net/core/fb_tunnels_only_for_init_net
defer "echo $(cat $FALLBACK) > $FALLBACK"
echo 2 > $FALLBACK
for module in tun dummy macvlan ipvlan bridge team bonding 8021q vxlan ipip ip_gre sit wireguard \
	ppp_generic pppoe; do
	modprobe -q $module
done
if [ -d /sys/module/tun ] && [ ! -e /dev/net/tun ]; then
	mkdir -p /dev/net
	mknod /dev/net/tun c 10 200
fi
if [ -d /sys/module/ppp_generic ] && [ ! -e /dev/ppp ]; then
	mknod /dev/ppp c 108 0
fi

# --- creating netdevs ---------------------------------------------------------------

# over KIND OPTION...: one at each end, on the wire's netdevs
over() {
	in_a ip link add "$KA" link "$IF_A" type "$@" && in_b ip link add "$KB" link "$IF_B" type "$@"
}

# tunnel KIND OPTION...: between the wire's addresses
tunnel() {
	in_a ip link add "$KA" type "$@" local $IP4_A remote $IP4_B &&
		in_b ip link add "$KB" type "$@" local $IP4_B remote $IP4_A
}

# master KIND OPTION...: with the wire's netdev as its port
master() {
	in_a ip link add "$KA" type "$@" && in_b ip link add "$KB" type "$@" || return 1
	# Of the modes that need no teamd, one that gives its port the team's address
	[ "$1" != team ] || {
		in_a teamnl "$KA" setoption mode roundrobin
		in_b teamnl "$KB" setoption mode roundrobin
	}
	[ "$1" = bridge ] || { in_a ip link set "$IF_A" down; in_b ip link set "$IF_B" down; }
	in_a ip link set "$IF_A" master "$KA" && in_b ip link set "$IF_B" master "$KB" || return 1
	in_a ip link set "$IF_A" up
	in_b ip link set "$IF_B" up
}

# on_vlan: a bridge over a VLAN of the wire's netdev, as on hosts of guests
on_vlan() {
	in_a ip link add link "$IF_A" name "$IF_A.7" type vlan id 7 || return 1
	in_b ip link add link "$IF_B" name "$IF_B.7" type vlan id 7 || return 1
	in_a ip link set "$IF_A.7" up
	in_b ip link set "$IF_B.7" up
	IF_A=$IF_A.7 IF_B=$IF_B.7 master bridge
}

joined() { # joined tun|tap
	$PYTHON "$HERE/tunwire.py" "$1" "$NS_A" "$KA" "$NS_B" "$KB" > "$WORK/wire" 2>&1 &
	WIRE=$!
	busywait 60 grep -q joined "$WORK/wire" || { cat "$WORK/wire"; return 1; }
}

wireguard() {
	local key_a key_b
	in_a ip link add "$KA" type wireguard && in_b ip link add "$KB" type wireguard || return 1
	key_a=$(wg genkey) key_b=$(wg genkey)
	in_a wg set "$KA" private-key <(echo "$key_a") listen-port 5182 \
		peer "$(echo "$key_b" | wg pubkey)" endpoint $IP4_B:5182 allowed-ips 0.0.0.0/0,::/0
	in_b wg set "$KB" private-key <(echo "$key_b") listen-port 5182 \
		peer "$(echo "$key_a" | wg pubkey)" endpoint $IP4_A:5182 allowed-ips 0.0.0.0/0,::/0
}

# In L3 mode, the default. Both ends are created at once; older programs cannot name the second.
netkit() {
	local peer
	in_a ip link add "$KA" type netkit || return 1
	peer=$(in_a ip -o link show type netkit | sed 's/^[0-9]*: \([^:@]*\).*/\1/' | grep -vx "$KA")
	in_a ip link set "$peer" netns "$NS_B" name "$KB"
}

ppp() { # a PPPoE session over the wire
	local name_a name_b
	$PYTHON "$HERE/pppwire.py" "$NS_A" "$IF_A" "$(in_a cat "/sys/class/net/$IF_A/address")" \
		"$NS_B" "$IF_B" "$(in_b cat "/sys/class/net/$IF_B/address")" > "$WORK/wire" 2>&1 &
	WIRE=$!
	busywait 60 grep -q '^ppp' "$WORK/wire" || { cat "$WORK/wire"; return 1; }
	read -r name_a name_b < "$WORK/wire"
	in_a ip link set "$name_a" name "$KA" && in_b ip link set "$name_b" name "$KB"
}

# --- using them ---------------------------------------------------------------------

gone() { [ ! -d "$IB/$DEV_A" ] && [ ! -d "$IB/$DEV_B" ]; }

# take_away: remove the netdevs, and their devices with them
take_away() {
	[ "$KA" = lo ] && rdma link del "$DEV_A"
	[ -z "${WIRE:-}" ] || { kill $WIRE; wait $WIRE; } 2> /dev/null
	WIRE=
	[ "$KA" = lo ] || in_a ip link del "$KA" 2> /dev/null
	in_b ip link del "$KB" 2> /dev/null
	wait_check 60 "$KIND: its device goes with it" gone
	in_a ip link set "$IF_A" up
	in_b ip link set "$IF_B" up
}

# Before kernel 7 rdma_cm binds to Ethernet netdevs only.
cm_works() { [ "$KIND" != loopback ] && { [[ $VERSIONS = *v1* ]] || [[ $KIND = ipvlan || $KIND = netkit ]] || [ "$(uname -r | cut -d. -f1)" -ge 7 ]; }; }

use() { # use PEER-DEVICE ADDRESS-A ADDRESS-B
	local version ia ib

	for version in $VERSIONS; do
		ia=$(gid_index "$DEV_A" "$version" "$2") ib=$(gid_index "$1" "$version" "$3")
		python traffic.py "$DEV_A" "$ia" "$1" "$ib" --messages 100
		PORT=$((PORT + 1))
		[ "$1" = "$DEV_A" ] || [[ $2 = *:* ]] || pair "$KIND: datagrams, $version" tcp:$PORT \
			"ibv_ud_pingpong -d $DEV_A -g $ia -p $PORT -n 20 -s 500" \
			"ibv_ud_pingpong -d $1 -g $ib -p $PORT -n 20 -s 500 $2"
	done
	PORT=$((PORT + 1))
	[ "$1" = "$DEV_A" ] || ! cm_works || pair "$KIND: rdma_cm" cm:$PORT \
		"rping -s -a $2 -p $PORT -C 3 -V -S 3000" "rping -c -a $2 -I $3 -p $PORT -C 3 -V -S 3000"
}

# later: an address is added while the device exists, and removed again. On old kernels the
# driver cannot remove GIDs of netdevs other than Ethernet.
hasnt_gid() { ! gid_index "$DEV_A" v2 "$1" > /dev/null; }
takes_gids_off() { [ "$VERSIONS" != v2 ] || [ "$KIND" = ipvlan ] || grep -q ' roce_del_all_netdev_gids' /proc/kallsyms; }
later() {
	local address=10.21.0.1 prefix=32 nodad=

	[[ $1 != *:* ]] || { address=fd21::1 prefix=128 nodad=nodad; }
	in_a ip addr add $address/$prefix dev "$KA" $nodad
	wait_check 60 "$KIND: an address that comes later has a GID" gid_index "$DEV_A" v2 $address
	in_a ip addr del $address/$prefix dev "$KA"
	takes_gids_off || return
	wait_check 60 "$KIND: it goes with the address" hasnt_gid $address
	wait_check 60 "$KIND: and $1 keeps its own" gid_index "$DEV_A" v2 "$1"
}

# address ADDRESS-A ADDRESS-B
address() {
	local nodad=
	[[ $1 = *:* ]] && nodad=nodad
	# shellcheck disable=SC2086
	in_a ip addr add "$1/${PREFIX:-24}" dev "$KA" $nodad
	in_a ip link set "$KA" up
	[ "$KB" = none ] && return
	# shellcheck disable=SC2086
	in_b ip addr add "$2/${PREFIX:-24}" dev "$KB" $nodad
	in_b ip link set "$KB" up
	busywait 60 in_a ping -c1 -W1 "$2" || fail "$KIND: $2 does not answer ping"
}

# kind ROW VERSIONS ADDRESS-A ADDRESS-B COMMAND...: the row of the table, and the command that
# creates such netdevs
kind() {
	local a=$3 b=$4 peer=$DEV_B types

	KIND=$1 VERSIONS=$2
	[ -z "${RHCA_KINDS-}" ] || [[ " $RHCA_KINDS " = *" $1 "* ]] || return
	say "$1"
	grep -qE "^$1 +${VERSIONS/ /, }( |\$)" "$PAGE" ||
		fail "the table has no row '$1' with '${VERSIONS/ /, }'"
	"${@:5}" || { fail "$KIND: no such netdev here"; take_away; return; }
	address "$a" "$b"
	log_mark "$KIND"
	show_a rdma link add "$DEV_A" type roce netdev "$KA" || {
		fail "$KIND: refused: $(log_since "$KIND")"
		take_away
		return
	}
	if [ "$KB" = none ]; then peer=$DEV_A b=$a
	else show_b rdma link add "$DEV_B" type roce netdev "$KB"; fi
	make_device_nodes
	busywait 60 gid_index "$DEV_A" v2 "$a" || fail "$KIND: no v2 GID for $a"
	busywait 60 gid_index "$peer" v2 "$b" || fail "$KIND: no v2 GID for $b"
	busywait 60 port_active "$DEV_A"
	busywait 60 port_active "$peer"
	types=$(gids "$DEV_A" | awk '{ print $2 }' | sort -u | paste -sd' ')
	check "$KIND: GID types" "$VERSIONS" "$types"
	[ -z "$A_IS_HERE" ] || check "$KIND: roce_versions" "$VERSIONS" "$(cat "$IB/$DEV_A/ports/1/roce_versions")"
	use "$peer" "$a" "$b"
	later "$a"
	take_away
}

can_netkit() { ip link add "nk$$" type netkit && ip link del "nk$$"; } 2> /dev/null
can_ppp() { [ -e /dev/ppp ] && [ -e /sys/module/pppoe ]; }

can_team() { # a team without a mode sends nothing
	local status

	modprobe -q team_mode_roundrobin
	ip link add "tm$$" type team && teamnl "tm$$" setoption mode roundrobin
	status=$?
	ip link del "tm$$"
	return $status
} 2> /dev/null

alone() { KB=none; "$@"; }	# one netdev that talks to itself

kind macvlan "v1 v2" 10.20.2.1 10.20.2.2 over macvlan mode bridge
kind ipvlan v2 10.20.3.1 10.20.3.2 over ipvlan mode l2
kind bridge "v1 v2" 10.20.4.1 10.20.4.2 master bridge
kind bridge "v1 v2" 10.20.19.1 10.20.19.2 on_vlan
in_a ip link del "$IF_A.7" 2> /dev/null
in_b ip link del "$IF_B.7" 2> /dev/null
kind bond "v1 v2" 10.20.5.1 10.20.5.2 master bond mode active-backup
if can_team; then
	kind team "v1 v2" 10.20.6.1 10.20.6.2 master team
else
	say "no teamnl, or no mode in this kernel: team is left out"
fi
kind vxlan "v1 v2" 10.20.7.1 10.20.7.2 tunnel vxlan id 7 dstport 4789
kind gretap "v1 v2" 10.20.8.1 10.20.8.2 tunnel gretap
kind tap "v1 v2" 10.20.9.1 10.20.9.2 joined tap
kind tun v2 10.20.10.1 10.20.10.2 joined tun
kind ipip v2 10.20.11.1 10.20.11.2 tunnel ipip
kind gre v2 10.20.12.1 10.20.12.2 tunnel gre
PREFIX=64 kind sit v2 fd20::1 fd20::2 tunnel sit
if command -v wg > /dev/null; then
	kind wireguard v2 10.20.14.1 10.20.14.2 wireguard
else
	say "no wg: wireguard is left out"
fi
KB_BEFORE=$KB
if can_netkit; then
	kind netkit v2 10.20.17.1 10.20.17.2 netkit
else
	say "no netkit in this kernel: it is left out"
fi
if can_ppp; then
	kind ppp v2 10.20.18.1 10.20.18.2 ppp
else
	say "no PPPoE in this kernel: ppp is left out"
fi
kind dummy "v1 v2" 10.20.15.1 - alone in_a ip link add "$KA" type dummy
KA=lo
kind loopback "v1 v2" 10.20.16.1 - alone true
KA=ka$$ KB=$KB_BEFORE

# --- refusals --------------------------------------------------------------------------

# refused WHAT REASON NETDEV
refused() {
	log_mark "$1"
	check_fails "$1 is refused" in_a rdma link add "$DEV_A" type roce netdev "$3"
	check_match "$1: the log says why" "$2" "$(log_since "$1")"
}

in_a ip link add "$KA" link "$IF_A" type vlan id 7
refused "a VLAN" "$KA is a VLAN, whose addresses are GIDs of the RDMA device on $IF_A" "$KA"
in_a ip link del "$KA"
modprobe -q vcan
if in_a ip link add can$$ type vcan 2> /dev/null; then
	refused "a netdev without IP" "can$$ carries neither Ethernet frames nor IP packets" "can$$"
	in_a ip link del can$$
fi

: "netdevs=: a tunnel only where it is named in full"
show ip tuntap add mode tun tn$$
defer "ip link del tn$$"
on_tunnel() { rdma link show | grep -q "netdev tn$$ "; }
reload_driver "netdevs=tn$$" || die "does not load"
wait_check 60 "netdevs=tn$$ makes a device" on_tunnel
reload_driver "netdevs=tn*,dm$$" || die "does not load"
show ip link add dm$$ type dummy
defer "ip link del dm$$"
on_dummy() { rdma link show | grep -q "netdev dm$$ "; }
wait_check 60 "one of another rule, which comes later, has its device" on_dummy
check "netdevs=tn*: devices on the tunnel" "" "$(rdma link show | grep "netdev tn$$ ")"

reload_driver roce_mode=v1 || die "does not load"
in_a ip link add "$KA" type ipip local $IP4_A remote $IP4_B
refused "a tunnel where roce_mode=v1" "$KA carries RoCE v2 only, which roce_mode=v1 excludes" "$KA"
finish
