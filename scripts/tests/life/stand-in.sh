#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm kcsan debug-rt
# tier: full
# every: 3
# timeout: 900
#
# netdevs=eth0:standin: the netdev has our device while it has none of another driver. The
# other driver is rdma_rxe; a second device of it keeps UDP 4791, so that the first can
# return while ours exists, and ours uses RoCE v1 meanwhile. One server listens on 0.0.0.0
# throughout. RHCA_ROUNDS: number of rounds.
#
#   initial namespace: s0$$ (rxe, or the stand-in) ==== s1$$ (ours), namespace b
#                      k0$$ (rxe, always)          ==== k1$$

. "$(dirname "$0")/../lib/lib.sh"
only_ours
RHCA_KEEP_OTHER=1
ROUNDS=${RHCA_ROUNDS:-3}
WIRE=s0$$ PEER=s1$$ RXE=rx$$ KEEP=rk$$

load_support
remove_driver roce_hca
remove_driver rdma_rxe
modprobe -n -q rdma_rxe || module_file rdma_rxe > /dev/null || skip "no rdma_rxe for $(uname -r)"
show ip netns add "$NS_B" || die "no network namespaces"
show ip link add "$WIRE" type veth peer name "$PEER" netns "$NS_B" || die "no veth"
defer "ip link del $WIRE"
show ip link add "k0$$" type veth peer name "k1$$" || die "no veth"
defer "ip link del k0$$"
show ip link set "k0$$" up
show ip addr add $IP4_A/24 dev "$WIRE"
show_b ip addr add $IP4_B/24 dev "$PEER"
show ip link set "$WIRE" up
show_b ip link set "$PEER" up
busywait 60 ping -c1 -W1 $IP4_B || die "$IP4_B does not answer ping"
insert rdma_rxe || die "rdma_rxe does not load"
defer 'remove_driver rdma_rxe'
show rdma link add "$KEEP" type rxe netdev "k0$$" || die "no rxe"

other_there() { [ -e "$IB/$RXE" ]; }
ours_on() { # ours_on NETDEV: our device on it, if any
	local dev
	for dev in "$IB"/*; do
		[ -e "$dev/backend" ] && [ "$(cat "$dev/parent")" = "$1" ] && basename "$dev"
	done
}
is_there() { DEV=$(ours_on "$WIRE"); [ -n "$DEV" ] && port_active "$DEV"; }
is_gone() { [ -z "$(ours_on "$WIRE")" ]; }
has_v1() { [ -n "$(gid_index "$DEV" v1 $IP4_A)" ]; }

reach_server() {
	in_b timeout 120 rping -c -a $IP4_A -I $IP4_B -p 7900 -C 3 -V -S 100 > "$WORK/rping" 2>&1
	return "$(status_of $? "$WORK/rping")"
}

show rdma link add "$RXE" type rxe netdev "$WIRE" || die "no rxe on the wire"
reload_driver "netdevs=$WIRE:standin,$PEER" || die "does not load"
defer 'rdma link del '"$RXE"
check "the parameter reads back" "$WIRE:standin,$PEER" "$(cat /sys/module/roce_hca/parameters/netdevs)"
peer_served() { DEV_P=$(ours_on "$PEER"); [ -n "$DEV_P" ]; }
busywait 60 peer_served || die "no device on $PEER"
check "no stand-in beside rdma_rxe" "" "$(ours_on "$WIRE")"
make_device_nodes
# Connection requests of the peer must use RoCE v1, too.
check_ok "the peer's CM speaks RoCE v1" "$TOP/tools/user/cma_roce_mode" -d "$DEV_P" -p 1 -m 1
rping -s -P -a 0.0.0.0 -p 7900 > "$WORK/server" 2>&1 &
server=$!
defer "kill $server"

for round in $(seq $ROUNDS); do
	show rdma link del "$RXE" || die "rdma_rxe's device stays"
	wait_check 60 "round $round: a stand-in is there" is_there
	make_device_nodes
	wait_check 60 "round $round: it has its GIDs" has_v1
	busywait 60 gid_index "$DEV_P" v1 $IP4_B
	PORT=$((19600 + round * 2))
	echo "+ ibv_rc_pingpong -d $DEV"
	timeout 120 ibv_rc_pingpong -d "$DEV" -g "$(gid_index "$DEV" v1 $IP4_A)" -p $PORT -n 20 > "$WORK/srv" 2>&1 &
	pid=$!
	busywait 60 listens_tcp $pid $PORT
	check_ok "round $round: it works" quietly "$WORK/cli" in_b timeout 120 ibv_rc_pingpong -d "$DEV_P" \
		-g "$(gid_index "$DEV_P" v1 $IP4_B)" -p $PORT -n 20 $IP4_A
	wait $pid
	check "round $round: the other side's status" 0 $?
	check_ok "round $round: the old server is reached" reach_server

	# It makes room under traffic, and processes that poll are notified.
	PORT=$((PORT + 1))
	timeout 120 ibv_rc_pingpong -d "$DEV" -g "$(gid_index "$DEV" v1 $IP4_A)" -p $PORT -n 100000000 > "$WORK/srv" 2>&1 &
	pid=$!
	busywait 60 listens_tcp $pid $PORT
	in_b timeout 120 ibv_rc_pingpong -d "$DEV_P" -g "$(gid_index "$DEV_P" v1 $IP4_B)" \
		-p $PORT -n 100000000 $IP4_A > "$WORK/cli" 2>&1 &
	client=$!
	moves() { [ "$(hw_counter "$DEV" rx_packets)" -gt 100 ]; }
	busywait 60 moves || fail "round $round: no traffic"
	show rdma link add "$RXE" type rxe netdev "$WIRE" || die "rdma_rxe does not return"
	wait_check 60 "round $round: the stand-in is removed" is_gone
	check "round $round: rdma_rxe's device stays" 0 "$(other_there; echo $?)"
	wait $pid
	check "round $round: a polling process is notified (124: hangs)" 1 $?
	kill $client 2> /dev/null
	wait $client
done

# While the netdev is down no stand-in is created; once it is up, one is.
show ip link set "$WIRE" down
show rdma link del "$RXE"
show ip link set "$WIRE" up
wait_check 60 "a netdev that comes up gets its stand-in" is_there
check_match "the log says so" 'stands in' "$(kernel_log)"

# When down, it keeps its stand-in until the other driver has a device there again.
show ip link set "$WIRE" down
check "a netdev that is down keeps its stand-in" 0 "$([ -n "$(ours_on "$WIRE")" ]; echo $?)"
show rdma link add "$RXE" type rxe netdev "$WIRE" || die "rdma_rxe does not return"
wait_check 60 "down it gives way, too" is_gone
show ip link set "$WIRE" up

# A port of a bond: the adapter may have one device for all of the bond's ports, and gets their
# packets. No stand-in is created while it is one.
BOND=sb$$
if show ip link add "$BOND" type bond; then
	defer "ip link del $BOND"
	show ip link set "$WIRE" down
	show ip link set "$WIRE" master "$BOND" || die "no port of a bond"
	show ip link set "$BOND" up
	show rdma link del "$RXE"
	sleep 3		# the debounce time, and as long again
	check "no stand-in on a port of a bond" "" "$(ours_on "$WIRE")"
	show ip link set "$WIRE" nomaster
	show ip link set "$WIRE" up
	wait_check 60 "one when it has left the bond" is_there
else
	echo "# no bonding here: not tried on a port of a bond"
fi

# A device that its user requested there makes room and returns as well.
! other_there || show rdma link del "$RXE"
wait_check 60 "a stand-in again" is_there
show rdma link del "$DEV" || die "$DEV stays"
show rdma link add "ro$$" type roce netdev "$WIRE" || die "none in place of the stand-in"
show rdma link add "$RXE" type rxe netdev "$WIRE" || die "rdma_rxe does not return"
wait_check 60 "what was asked for gives way, too" is_gone
show rdma link del "$RXE"
wait_check 60 "and is back" is_there
check "under its name" "ro$$" "$DEV"
finish
