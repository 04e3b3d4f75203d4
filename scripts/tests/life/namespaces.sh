#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 900
#
# RDMA devices in network namespaces. Shared mode: every namespace sees all
# devices. Exclusive mode: a device is in one namespace, and is moved to
# another and back. In both, v1 and v2 between two namespaces; a namespace that
# is deleted under a QP takes its netdev and the device on it with it; a netdev
# that moves while its device is being made, or moved, leaves no device behind. A
# VLAN that is moved to another namespace is no way out of this one.
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

PORT=23000 INITIAL=
netns_mode() { rdma system show netns | grep -oE 'shared|exclusive'; }
set_mode() { rdma system set netns "$1"; }	# fails while namespaces exist
end_exclusive() { teardown_pair; ip netns del "$INITIAL" 2> /dev/null; busywait 60 set_mode shared; }
in_init() { "$@"; }
sees() { # sees a|b|init DEVICE: it is listed in that namespace
	"in_$1" rdma dev show 2> /dev/null | grep -q ": $2:"
}
not() { ! "$@"; }

# The verbs device has a new node after a move.
nodes() { make_device_nodes; }

traffic() { # traffic LABEL
	local type
	for type in v1 v2; do
		PORT=$((PORT + 1))
		pair "$1-$type" tcp:$PORT \
			"ibv_rc_pingpong -d $DEV_A -g ${INDEX_A[$type]} -p $PORT -n 20 -s 3000" \
			"ibv_rc_pingpong -d $DEV_B -g ${INDEX_B[$type]} -p $PORT -n 20 -s 3000 $IP4_A"
	done
}

hold() { # hold a|b DEVICE INDEX: a process there with a QP
	rm -f "$WORK/hold"
	"spawn_$1" $PYTHON "$LIB/mcast.py" --hold "$2" "$3" ::ffff:239.9.3.1 > "$WORK/hold" 2>&1
	HOLDER=$!
	busywait 60 grep -q attached "$WORK/hold" || fail "no QP in $1: $(cat "$WORK/hold")"
}

declare -A INDEX_A INDEX_B
indices() {
	local type
	for type in v1 v2; do
		INDEX_A[$type]=$(gid_index "$DEV_A" $type $IP4_A)
		INDEX_B[$type]=$(gid_index "$DEV_B" $type $IP4_B)
	done
}

pair_gone() { [ ! -d "$IB/$DEV_A" ] && not in_b ip link show "$IF_B"; }

: "shared"
load_driver
check "mode at first" shared "$(netns_mode)"
setup_pair 1500
indices
check_ok "a sees the device of b" sees a "$DEV_B"
traffic shared
hold b "$DEV_A" "${INDEX_A[v2]}"
show ip netns del "$NS_A"
wait_check 60 "shared: a namespace deleted under a QP takes netdev and device along" pair_gone
check "shared: the process continues" 0 "$(kill -0 $HOLDER; echo $?)"
kill -9 $HOLDER
wait $HOLDER 2> /dev/null
teardown_pair

: "exclusive"
defer end_exclusive
wait_check 60 "exclusive is taken once no namespace is left" set_mode exclusive
setup_pair 1500
indices
INITIAL=rhca-init-$$
show ip netns attach "$INITIAL" 1
check_ok "exclusive: a new device is in the initial namespace" sees init "$DEV_A"
check_ok "exclusive: and not in its netdev's" not sees a "$DEV_A"
for round in 1 2; do
	show rdma dev set "$DEV_A" netns "$NS_A" || fail "$DEV_A does not move"
	show rdma dev set "$DEV_B" netns "$NS_B" || fail "$DEV_B does not move"
	check_ok "round $round: a has its own" sees a "$DEV_A"
	check_ok "round $round: a does not see b's" not sees a "$DEV_B"
	check_ok "round $round: nor does the initial namespace" not sees init "$DEV_A"
	nodes
	traffic "exclusive-$round"
	[ $round = 2 ] && break
	show_a rdma dev set "$DEV_A" netns "$INITIAL" || fail "$DEV_A does not come back"
	show_b rdma dev set "$DEV_B" netns "$INITIAL" || fail "$DEV_B does not come back"
	check_ok "both are in the initial namespace again" sees init "$DEV_A"
	check_ok "both are in the initial namespace again" sees init "$DEV_B"
done
hold a "$DEV_A" "${INDEX_A[v2]}"
show ip netns del "$NS_A"
wait_check 60 "exclusive: a namespace deleted under a QP takes netdev and device along" pair_gone
check_ok "exclusive: the device no longer exists" not sees init "$DEV_A"
kill -9 $HOLDER
wait $HOLDER 2> /dev/null
end_exclusive
check "mode at last" shared "$(netns_mode)"

: "a VLAN in another namespace, with an index that is another netdev's here"
# Index and name of the VLAN in its own namespace are those of $1 in the device's.
vlan_elsewhere() {
	local index=7007 ns=rhca-vlan-$$ gid

	show ip netns add "$ns"
	defer "ip netns del $ns"
	show_a ip link add link "$IF_A" name "$IF_A.9" index $index type vlan id 9 ||
		{ say "no VLAN: not tried"; return; }
	show_a ip link set "$IF_A.9" netns "$ns"
	show_a ip link add "$1" index $index type dummy
	in_a ip link set "$1" up
	show ip -n "$ns" addr add 10.9.99.1/24 dev "$IF_A.9"
	show ip -n "$ns" link set "$IF_A.9" up
	check "index of the VLAN there and of $1 here" "$index $index" \
		"$(ip -n "$ns" -o link show "$IF_A.9" | cut -d: -f1) $(in_a ip -o link show "$1" | cut -d: -f1)"
	wait_check 60 "its address is a GID" gid_index "$DEV_A" v2 10.9.99.1
	gid=$(gid_index "$DEV_A" v2 10.9.99.1)
	check "an address handle that names it: errno" 19 "$($PYTHON - "$DEV_A" "$gid" <<- 'END'
		import sys
		import pyverbs.device as d
		from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
		from pyverbs.pd import PD
		from pyverbs.pyverbs_error import PyverbsRDMAError
		pd = PD(d.Context(name=sys.argv[1]))
		try:
		    AH(pd, attr=AHAttr(port_num=1, is_global=1, gr=GlobalRoute(
		        dgid=GID('0000:0000:0000:0000:0000:ffff:ef09:0301'), sgid_index=int(sys.argv[2]))))
		    print('made')
		except PyverbsRDMAError as ex:
		    print(ex.error_code)
	END
	)"
	hold a "$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)"
	check_match "a group is joined at the port's netdev" 239.9.3.1 "$(in_a ip maddr show dev "$IF_A")"
	check "and at $1: memberships" 0 "$(in_a ip maddr show dev "$1" | grep -c 239.9.3.1)"
	kill -9 $HOLDER
	wait $HOLDER 2> /dev/null
	in_a ip link del "$1"
	ip netns del "$ns"
}
setup_pair 1500
vlan_elsewhere dm$$
teardown_pair

: "a netdev that moves while its device is made"
setup_wire 1500
made=0 always="0 0.002 0.005 0.01 0.02"
# If programs start slowly, longer delays follow until one fits.
for delay in $always 0.04 0.08 0.16 0.32 0.64 1.3 2.6; do
	[[ $made = 0 || " $always " = *" $delay "* ]] || break
	in_a rdma link add "race$$" type roce netdev "$IF_A" 2> /dev/null &
	sleep $delay
	in_a ip link set "$IF_A" netns "$NS_B"
	! wait $! || made=$((made + 1))
	wait_check 60 "a device whose netdev moved goes (after $delay s)" test ! -d "$IB/race$$"
	[ -d "$IB/race$$" ] && rdma link del "race$$"
	in_b ip link set "$IF_A" netns "$NS_A"
	in_a ip link set "$IF_A" up
done
check_match "devices that were made meanwhile: $made" '^[1-9]' $made

: "a netdev that moves while its device changes its RDMA namespace"
teardown_pair
wait_check 60 "exclusive again" set_mode exclusive
setup_wire 1500
is_nowhere() { not sees init "$1" && not sees a "$1" && not sees b "$1"; }
on_the_way=0 ttl=0
mkfifo "$WORK/mover"
always="0 0.002 0.004 0.008 0.016 0.04"
# If programs start slowly, longer delays follow until one fits.
for delay in $always 0.05 0.065 0.085 0.11 0.14 0.18 0.24 0.31 0.4 0.52 0.68 0.88 1.1 1.5; do
	[[ $on_the_way = 0 || " $always " = *" $delay "* ]] || break
	in_a rdma link add "move$$" type roce netdev "$IF_A" || fail "refused"
	# As set in the round before: that device ended because its netdev moved, not by its user
	check "TTL (after $delay s)" "$ttl" "$(cat "$IB/move$$/ttl/1/ttl")"
	ttl=$((ttl + 1))
	echo $ttl > "$IB/move$$/ttl/1/ttl"
	# Starting a program takes longer than the move: start it before the command is sent
	ip -n "$NS_A" -batch "$WORK/mover" &
	mover=$!
	exec {told}> "$WORK/mover"
	rdma dev set "move$$" netns "$NS_B" 2> "$WORK/set" &
	setter=$!
	sleep $delay
	# In progress, and successful: it ends after the netdev's move starts
	kill -0 $setter 2> /dev/null && unfinished=1 || unfinished=0
	echo "link set $IF_A netns $NS_B" >&"$told"
	exec {told}>&-
	wait $mover || fail "$IF_A does not move"
	if wait $setter; then on_the_way=$((on_the_way + unfinished))
	else check_match "the device does not move (after $delay s), since it has gone" \
		'Invalid argument|No such|Wrong device' "$(< "$WORK/set")"; fi
	wait_check 60 "a device whose netdev moved goes (after $delay s)" is_nowhere "move$$"
	in_b ip link set "$IF_A" netns "$NS_A"
	in_a ip link set "$IF_A" up
done
check_ok "moves that began while the device was on its way: $on_the_way" test $on_the_way -gt 0
end_exclusive
finish
