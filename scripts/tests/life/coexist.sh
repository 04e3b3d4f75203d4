#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: wide
# every: 3
# timeout: 1500
#
# rdma_rxe and roce_hca on one host, loaded, used and removed in every order. They share a
# driver id, and rdma_rxe's exit unregisters every device with that id. So afterwards ours
# may be removed or created again, but nothing hangs, leaks or crashes, and a device can be
# added and used. (rdma_rxe holds UDP 4791 of the initial namespace; ours are in their own.)
#
#   initial namespace: x0$$ (rxe) ==== x1$$      a ====== veth ====== b (ours)

. "$(dirname "$0")/../lib/lib.sh"
only_ours
RHCA_KEEP_OTHER=1

load_support
remove_driver rdma_rxe
remove_driver roce_hca
modprobe -n -q rdma_rxe || module_file rdma_rxe > /dev/null || skip "no rdma_rxe for $(uname -r)"
show ip link add "x0$$" type veth peer name "x1$$" || die "no veth"
defer "ip link del x0$$"
show ip addr add 10.88.0.1/24 dev "x0$$"
show ip link set "x0$$" up
show ip link set "x1$$" up
PORT=19500
defer 'remove_driver rdma_rxe'

load_ours() { loaded roce_hca || insert roce_hca || die "roce_hca does not load"; }
load_rxe() { loaded rdma_rxe || insert rdma_rxe || die "rdma_rxe does not load"; }
use_ours() {
	[ -e "/run/netns/$NS_A" ] || setup_wire 1500
	# Whatever happened before, the devices exist or can be created.
	[ -e "$IB/$DEV_A" ] || add_link a "$DEV_A" "$IF_A"
	[ -e "$IB/$DEV_B" ] || add_link b "$DEV_B" "$IF_B"
	make_device_nodes
	wait_gids
	local type
	for type in v1 v2; do
		PORT=$((PORT + 1))
		pair "ours-$type-$1" tcp:$PORT \
			"ibv_rc_pingpong -d $DEV_A -g $(gid_index "$DEV_A" $type $IP4_A) -p $PORT -n 5" \
			"ibv_rc_pingpong -d $DEV_B -g $(gid_index "$DEV_B" $type $IP4_B) -p $PORT -n 5 $IP4_A"
	done
}
use_rxe() {
	[ -e "$IB/rx$$" ] || show rdma link add "rx$$" type rxe netdev "x0$$" || { fail "rxe link"; return; }
	make_device_nodes
	busywait 60 gid_index "rx$$" v2 10.88.0.1
	# Its own loopback is enough: the device answers itself.
	timeout 120 ibv_rc_pingpong -d "rx$$" -g "$(gid_index "rx$$" v2 10.88.0.1)" -p 19499 -n 5 > "$WORK/rx.srv" 2>&1 &
	local pid=$!
	busywait 60 listens_tcp $pid 19499
	check_ok "rdma_rxe works, $1" quietly "$WORK/rx.cli" timeout 120 ibv_rc_pingpong -d "rx$$" \
		-g "$(gid_index "rx$$" v2 10.88.0.1)" -p 19499 -n 5 10.88.0.1
	wait $pid
}
del_ours() { for d in "$DEV_A" "$DEV_B"; do [ ! -e "$IB/$d" ] || within 60 "rdma link del $d" rdma link del "$d"; done; }
del_rxe() { [ ! -e "$IB/rx$$" ] || within 60 "rdma link del rx" rdma link del "rx$$"; }
rm_ours() { within 60 "rmmod roce_hca" rmmod roce_hca; }
rm_rxe() { within 60 "rmmod rdma_rxe" rmmod rdma_rxe; }
both_back() { [ -e "$IB/$DEV_A" ] && [ -e "$IB/$DEV_B" ]; }
order() { say "order: $*"; }

order "ours, rxe, both used, ours removed first"
load_ours; use_ours alone
load_rxe; use_rxe "second"; use_ours "beside rxe"
rm_ours; use_rxe "after ours went"
rm_rxe

order "rxe, ours, both used, rxe removed first with our devices up"
load_rxe; use_rxe alone
load_ours; use_ours "second"; use_rxe "beside ours"
echo 5 0x8001 > "$IB/$DEV_A/partitions/1/pkeys"
echo 9 > "$IB/$DEV_A/ttl/1/ttl"
rm_rxe
wait_check 60 "our devices are back after rdma_rxe went" both_back
use_ours "after rxe went"
check "its partitions are restored" "0 0xffff 5 0x8001" "$(xargs < "$IB/$DEV_A/partitions/1/pkeys")"
check "and its TTL" 9 "$(cat "$IB/$DEV_A/ttl/1/ttl")"
rm_ours

order "both, links deleted crosswise, modules removed in load order"
load_ours; load_rxe; use_ours "third"; use_rxe third
del_rxe; use_ours "after rxe's link went"; del_ours
use_rxe "with our links gone"
rm_ours; rm_rxe

order "both, modules removed against load order"
load_rxe; load_ours; use_rxe fourth; use_ours "fourth"
del_ours; del_rxe
rm_ours; rm_rxe

order "rmmod rdma_rxe while a process holds one of our devices under traffic"
load_ours; use_ours "fifth"; load_rxe; use_rxe fifth
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
traffic_start held "$ia" "$ib" --seconds 600 --until-error
rm_rxe
wait_check 60 "our devices are back while the old process holds on" both_back
kill -9 $TRAFFIC_PID 2> /dev/null
wait $TRAFFIC_PID 2> /dev/null
use_ours "after all"
rm_ours

order "rmmod rdma_rxe, and the netdev moves before our device is back"
ns=rhca-moved-$$
show ip netns add "$ns" || die "no network namespaces"
defer "ip netns del $ns"
show ip link add "d0$$" type dummy || die "no dummy"
defer "ip link del d0$$"
insert roce_hca "netdevs=d0$$" || die "roce_hca does not load"
on_dummy() { # on_dummy [in_NAMESPACE...]: the device on d0$$ there
	"$@" rdma link show | sed -n "s/^link \([^ /]*\)\/1 .* netdev d0$$ .*/\1/p"
}
there() { [ -n "$(on_dummy "$@")" ]; }
in_moved() { ip netns exec "$ns" "$@"; }
wait_check 60 "a device by netdevs=" there
# Up to 6.12 it needs the port in the initial namespace when loaded, which ours occupies
if insert rdma_rxe; then
	dev=$(on_dummy)
	echo 5 0x8001 > "$IB/$dev/partitions/1/pkeys"
	echo 9 > "$IB/$dev/ttl/1/ttl"
	# Starting a program takes as long as our device takes to return: start it beforehand
	mkfifo "$WORK/mover"
	ip -batch "$WORK/mover" &
	mover=$!
	exec {told}> "$WORK/mover"
	log_mark moved
	show rmmod rdma_rxe
	echo "link set d0$$ netns $ns" >&"$told"
	exec {told}>&-
	wait $mover || fail "d0$$ does not move"
	say "back before that: $(log_since moved | grep -c 'it is back') devices"
	wait_check 60 "one in the other namespace" there in_moved
	dev=$(on_dummy in_moved)
	check "its partitions are there" "0 0xffff 5 0x8001" "$(xargs < "$IB/$dev/partitions/1/pkeys")"
	check "and its TTL" 9 "$(cat "$IB/$dev/ttl/1/ttl")"
else
	say "not run: rdma_rxe of this kernel does not load beside a device of the initial namespace"
fi
rm_ours

order "rmmod rdma_rxe takes LAGs and their members along"
load_rxe; load_ours
for i in 1 2 3 4; do
	in_moved ip link add l$i type dummy
	show in_moved rdma link add m$i type roce netdev l$i
done
echo l2 > "$IB/m1/roce_lag_ecmp_dev"
wait_check 60 "a pair" test -e "$IB/roce_lag0"
show rdma dev set roce_lag0 name both
echo 9 > "$IB/both/ttl/1/ttl"
if in_moved ip link add lb type bond mode balance-xor || modprobe bonding; then
	in_moved ip link add lb type bond mode balance-xor 2> /dev/null
	show in_moved rdma link add own type roce netdev lb
	for i in 3 4; do in_moved ip link set l$i master lb; done
	members="own m3 m4"
else
	members="m3 m4"
fi
all_there() { for d in both $members; do [ -e "$IB/$d" ] || return 1; done; }
check_ok "all are there" all_there
log_mark lags
rm_rxe
all_back() { [ "$(log_since lags | grep -cE 'it is back|is one RDMA device')" -ge "$(wc -w <<< "both $members")" ]; }
wait_check 60 "as many are back" all_back
check_ok "under their names" all_there
check "the pair's TTL" 9 "$(cat "$IB/both/ttl/1/ttl")"
rm_ours

order "one netdev, one driver after the other"
load_rxe; load_ours
for _ in 1 2; do
	show rdma link add "rx$$" type rxe netdev "x0$$" || fail "rxe on x0: expected success"
	show rdma link del "rx$$"
	show rdma link add "ro$$" type roce netdev "x0$$" || fail "ours on x0: expected success"
	show rdma link del "ro$$"
done
rm_rxe; rm_ours
finish
