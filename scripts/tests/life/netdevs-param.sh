#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# Module parameter netdevs=: names, shell patterns, several; eth1+eth2 makes one device of two
# ports, each with its own state, GID table and counters. Settings follow a netdev to another
# namespace, a device removed by the user is not created again, and netdevs in namespaces owned
# by users get no device automatically.
#
#   initial namespace:  n0 === n1   n2 === n3   other0 === other1

. "$(dirname "$0")/../lib/lib.sh"
only_ours

load_support
remove_driver rdma_rxe
for p in "n0 n1" "n2 n3" "other0 other1"; do
	# shellcheck disable=SC2086
	set -- $p
	show ip link add "$1" type veth peer name "$2" || die "no veth"
	defer "ip link del $1"
	show ip link set "$1" up
	show ip link set "$2" up
done
show ip addr add 10.71.0.1/24 dev n0
show ip addr add 10.72.0.1/24 dev n2

devices_on() { # netdevs that have an RDMA device, sorted
	rdma link show | sed -n 's/.*netdev \([^ ]*\).*/\1/p' | sort | paste -sd' '
}
are() { [ "$(devices_on)" = "$1" ]; }

reload_driver || die "does not load"
check "no netdevs= by default: RDMA devices" "" "$(devices_on)"

reload_driver netdevs=n0 || die "does not load with netdevs=n0"
busywait 60 are n0
check "netdevs=n0" n0 "$(devices_on)"
check_match "its name" '^link (roce|roce[0-9]+|rocex)' "$(rdma link show | grep 'netdev n0')"

reload_driver 'netdevs=n?,other0' || die "does not load with a pattern"
busywait 60 are "n0 n1 n2 n3 other0"
check "netdevs=n?,other0" "n0 n1 n2 n3 other0" "$(devices_on)"
# Devices are numbered in the order of their creation.
in_order() {
	rdma link show | sed -n 's/.*netdev \([^ ]*\).*/\1/p' |
		while read -r n; do cat "/sys/class/net/$n/ifindex"; done | sort -nC
}
check_ok "they are made in the order of their netdevs" in_order

# A netdev that appears later is served too; removing one removes its device.
show ip link add n4 type veth peer name later0
defer "ip link del n4"
busywait 60 are "n0 n1 n2 n3 n4 other0"
check "a netdev that appears later" "n0 n1 n2 n3 n4 other0" "$(devices_on)"
show ip link del n4
busywait 60 are "n0 n1 n2 n3 other0"
check "and is removed again" "n0 n1 n2 n3 other0" "$(devices_on)"

: "a netdev that moves to another namespace and back"
here_on() { # here_on NETDEV: its device, by the netdev's name in any namespace
	local dir
	for dir in "$IB"/*/; do
		grep -qx "$1" "$dir/parent" 2> /dev/null && { basename "$dir"; return 0; }
	done
	return 1
}
# Rules are applied in the order in which netdevs appear: when a later one has its device,
# nothing is pending for earlier ones.
rules_are_followed() {
	show ip link add nf type dummy || die "no dummy"
	busywait 60 here_on nf || fail "no device on nf"
	ip link del nf
}
ns=rhca-ns-$$
show ip netns add "$ns" || die "no network namespaces"
defer "ip netns del $ns"
dev=$(here_on n0)
show sh -c "echo 9 > $IB/$dev/ttl/1/ttl"
show sh -c "echo 1 0x8001 > $IB/$dev/partitions/1/pkeys"
pkeys=$(cat "$IB/$dev/partitions/1/pkeys")
show ip link set n0 netns "$ns"
moved() { dev=$(here_on n0) && ip netns exec "$ns" rdma link show | grep -q 'netdev n0'; }
wait_check 60 "its device in the other namespace" moved
check "TTL there" 9 "$(cat "$IB/$dev/ttl/1/ttl")"
check "partitions there" "$pkeys" "$(cat "$IB/$dev/partitions/1/pkeys")"
# Some of these moves happen while the device requested by the previous move is being created
for _ in $(seq 20); do
	ip -n "$ns" link set n0 netns 1
	sleep 0.0$((RANDOM % 5))
	ip link set n0 netns "$ns"
	sleep 0.0$((RANDOM % 5))
done
rules_are_followed
wait_check 60 "its device after many moves" moved
check "TTL then" 9 "$(cat "$IB/$dev/ttl/1/ttl")"
check "partitions then" "$pkeys" "$(cat "$IB/$dev/partitions/1/pkeys")"
show rdma link del "$dev"
show ip -n "$ns" link set n0 netns 1
rules_are_followed
check "removed by its user, and moved: RDMA device" "" "$(here_on n0)"
show ip link set n0 down
show ip link set n0 name n9
rules_are_followed
check "and renamed" "" "$(here_on n9)"
show ip link set n9 name n0
show rdma link add again$$ type roce netdev n0
dev=$(here_on n0)
check "until the user adds one, without the old settings: TTL" 0 "$(cat "$IB/$dev/ttl/1/ttl")"
show sh -c "echo 0 > $IB/$dev/roce_lag_enable"
show ip link set n0 netns "$ns"
wait_check 60 "from then on it goes along" moved
check "no LAG of it, there either" 0 "$(cat "$IB/$dev/roce_lag_enable")"
show sh -c "echo 1 > $IB/$dev/roce_lag_enable"
show ip -n "$ns" link set n0 netns 1
show ip link set n0 up
show ip addr add 10.71.0.1/24 dev n0
busywait 60 here_on n0
check_match "and back" . "$(here_on n0)"

: "a netdev that leaves a LAG by moving"
dev=$(here_on n0)
for d in "$dev" "$(here_on n2)"; do show sh -c "echo 1 0x8001 > $IB/$d/partitions/1/pkeys"; done
show sh -c "echo n2 > $IB/$dev/roce_lag_ecmp_dev"
wait_check 60 "one device for n0 and n2" test -d "$IB/roce_lag0"
show sh -c "echo 2 0x8002 > $IB/roce_lag0/partitions/1/pkeys"
show ip link set n2 netns "$ns"
has_left() { dev=$(here_on n2) && ip netns exec "$ns" rdma link show | grep -q 'netdev n2'; }
wait_check 60 "n2's device in the other namespace" has_left
check "the LAG's partitions there" "0 0xffff 1 0x8001 2 0x8002" "$(xargs < "$IB/$dev/partitions/1/pkeys")"
wait_check 60 "n0's device is back" here_on n0
check "and here" "0 0xffff 1 0x8001 2 0x8002" "$(xargs < "$IB/$(here_on n0)/partitions/1/pkeys")"
show ip -n "$ns" link set n2 netns 1
show ip link set n2 up
show ip addr add 10.72.0.1/24 dev n2

: "a namespace that an unprivileged user could have made"
if unshare --user --map-root-user --net true; then
	rm -f "$WORK/user"
	mkfifo "$WORK/user"
	unshare --user --map-root-user --net sh -c "ip link add n6 type dummy; ip link add n7 type veth peer name n8
		echo ready; exec sleep 1000" > "$WORK/user" &
	user=$!
	defer "kill $user"
	read -r ready < "$WORK/user"
	check "made netdevs" ready "$ready"
	show ip link add pushed type veth peer name n5 netns $user || fail "no veth into it"
	rules_are_followed
	check "n5 to n8 there: RDMA devices" "" "$(for n in n5 n6 n7 n8; do here_on $n; done)"
	check_match "the log says so" 'leaves out' "$(kernel_log)"
	check_ok "the administrator can make one" nsenter -t $user -n rdma link add "user$$" type roce netdev n6
	check_match "on n6" . "$(here_on n6)"
	kill $user
	wait $user 2> /dev/null
	ip link del pushed 2> /dev/null
	none_on_n6() { ! here_on n6; }
	wait_check 60 "it ends with the namespace" none_on_n6
else
	say "no user namespaces: not tried"
fi

# Two ports.
reload_driver netdevs=n0+n2 || die "does not load with netdevs=n0+n2"
busywait 60 are "n0 n2"
dev=$(rdma link show | sed -n 's/^link \([^ /]*\)\/1 .*/\1/p' | head -1)
check "netdevs=n0+n2: devices" 1 "$(ls $IB | wc -l)"
check "its ports" "1 2" "$(ls $IB/"$dev"/ports | paste -sd' ')"
check_match "port 1" "link $dev/1 .* netdev n0" "$(rdma link show)"
check_match "port 2" "link $dev/2 .* netdev n2" "$(rdma link show)"
check "ibv_devinfo phys_port_cnt" 2 "$(ibv_devinfo -d "$dev" | awk '$1 == "phys_port_cnt:" { print $2 }')"
has_gid() { gids "$dev" "$1" | grep -q "$2"; }
wait_check 60 "GID of 10.71.0.1 on port 1" has_gid 1 ffff:0a47:0001
wait_check 60 "GID of 10.72.0.1 on port 2" has_gid 2 ffff:0a48:0001
check "GID of 10.72.0.1 on port 1" "" "$(gids "$dev" 1 | grep ffff:0a48:0001)"
check "GID of 10.71.0.1 on port 2" "" "$(gids "$dev" 2 | grep ffff:0a47:0001)"
show ip link set n2 down
is_down() { grep -q DOWN $IB/"$dev"/ports/2/state; }
wait_check 60 "port 2 goes down with n2" is_down
check "port 1 stays" ACTIVE "$(port_state "$dev" 1)"
show ip link set n2 up
wait_check 60 "port 2 comes back" port_active "$dev" 2

: "traffic over each port of the one device, to a host of its own"
for port in 1 2; do
	peer=n$((port * 2 - 1)) ns=rhca-p$port-$$
	show ip netns add "$ns" || die "no network namespaces"
	defer "rdma link del pe$port$$; ip netns del $ns"
	show ip link set "$peer" netns "$ns"
	show ip -n "$ns" addr add 10.7$port.0.2/24 dev "$peer"
	show ip -n "$ns" link set "$peer" up
	show ip netns exec "$ns" rdma link add "pe$port$$" type roce netdev "$peer" || die "refused"
	make_device_nodes
	busywait 60 ping -c1 -W1 10.7$port.0.2 || fail "10.7$port.0.2 does not answer ping"
	busywait 60 port_active "pe$port$$"
	busywait 60 port_active "$dev" $port
	for type in v1 v2; do
		here=$(gids "$dev" $port | awk -v t=$type -v g="$(gid_of 10.7$port.0.1)" '$2 == t && $3 == g { print $1 }')
		busywait 60 gid_index "pe$port$$" $type 10.7$port.0.2
		there=$(gid_index "pe$port$$" $type 10.7$port.0.2)
		tcp=1980$port
		[ $type = v2 ] && tcp=1981$port
		echo "+ ibv_rc_pingpong -d $dev -i $port -g $here"
		timeout 120 ibv_rc_pingpong -d "$dev" -i $port -g "$here" -p $tcp -n 10 > "$WORK/srv" 2>&1 &
		pid=$!
		busywait 60 listens_tcp $pid $tcp
		check_ok "port $port, $type: pingpong" quietly "$WORK/cli" ip netns exec "$ns" timeout 120 \
			ibv_rc_pingpong -d "pe$port$$" -g "$there" -p $tcp -n 10 10.7$port.0.1
		wait $pid
		check "port $port, $type: the other side's status" 0 $?
	done
done
for port in 1 2; do
	check_match "port $port has its own counters" '[1-9]' "$(ls $IB/"$dev"/ports/$port/hw_counters | wc -l)"
done

# Invalid values are rejected, and never crash.
for value in 'n0+n0' '+' 'n0+' ',,,' "$(printf 'x%.0s' {1..300})"; do
	remove_driver roce_hca
	log_mark "netdevs=${value:0:20}"
	check_fails "netdevs=${value:0:20} is refused" insert roce_hca "netdevs=$value" 2> /dev/null
	check_match "netdevs=${value:0:20}: the refusal names the parameter" 'netdevs|too long|string parameter' \
		"$(log_since "netdevs=${value:0:20}")"
done
finish
