#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two adapters of one machine, back to back ("--adapters 2"), each in a network namespace that
# also has its RDMA device:
#
#	a: mlx5_0 10.7.0.1 ----- b: mlx5_1 10.7.0.2
#
# With two processors each netdev has two channels, unlike one machine of wire.sh. The capture
# is examined here for the values that the client requested.
. "$(dirname "$0")/guest-lib.sh"

in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }

netdev_of() {
	basename "$(readlink -f "/sys/class/infiniband/$1/device")/net/"*
}

has_both() {
	[ -e /sys/class/infiniband/mlx5_0 ] && [ -e /sys/class/infiniband/mlx5_1 ]
}

load() {
	local module

	modprobe ib_core && rdma system set netns exclusive || return 1
	for module in mlx5_core mlx5_ib ib_uverbs rdma_ucm ib_umad; do
		modprobe $module
	done
	wait_for has_both || return 1
	netdev_a=$(netdev_of mlx5_0)
	netdev_b=$(netdev_of mlx5_1)
}

# move NAMESPACE DEVICE NETDEV ADDRESS
move() {
	ip netns add "$1" && ip link set "$3" netns "$1" && rdma dev set "$2" netns "$1" || return 1
	ip -n "$1" link set lo up
	ip -n "$1" address add "$4/24" dev "$3" && ip -n "$1" link set "$3" mtu 4200 up
}

# An RDMA device's folder in sysfs is visible only in its own namespace.
gid_in() { # gid_in NAMESPACE DEVICE
	ip netns exec "$1" bash -c ". '$library'; rdma=$2; wait_for is_active &&
		wait_for find_gid v2 ffff > /dev/null && find_gid v2 ffff"
}
library=$(realpath "$(dirname "$0")/guest-lib.sh")

gids() {
	gid_a=$(gid_in a mlx5_0) && gid_b=$(gid_in b mlx5_1)
}

# Each stream has its own port; both channels get some of sixteen.
spread() {
	local channel

	in_b timeout 100 iperf3 -s -1 > /dev/null &
	wait_for in_b sh -c 'ss -Hltn "( sport = :5201 )" | grep -q .' || return 1
	in_a timeout 90 iperf3 -c 10.7.0.2 -P 16 -n 4M > /dev/null || return 1
	wait $!
	in_b ethtool -S "$netdev_b" | grep -E ' rx[01]_packets:'
	for channel in 0 1; do
		[ "$(in_b ethtool -S "$netdev_b" |
			sed -n "s/ *rx${channel}_packets: //p")" -gt 20 ] || return 1
	done
}

# both NAME SERVER CLIENT
both() {
	pair "$1" "ip netns exec b $2" "ip netns exec a $3"
}

link_flap() {
	control '{"cmd":"link","device":1,"up":false}'
	wait_for in_b grep -q 0 "/sys/class/net/$netdev_b/carrier" || return 1
	! in_a ping -c 1 -W 2 10.7.0.2 || return 1
	control '{"cmd":"link","device":1,"up":true}'
	wait_for in_b grep -q 1 "/sys/class/net/$netdev_b/carrier" &&
		in_a ping -c 3 -W 20 10.7.0.2
}

check load load
check move-a move a mlx5_0 "$netdev_a" 10.7.0.1
check move-b move b mlx5_1 "$netdev_b" 10.7.0.2
check gids gids
check ping in_a ping -c 3 -W 20 10.7.0.2
check channels spread
a="-d mlx5_0 -g $gid_a" b="-d mlx5_1 -g $gid_b"
perf_a="-d mlx5_0 -x $gid_a -F" perf_b="-d mlx5_1 -x $gid_b -F"
both rc "ibv_rc_pingpong $b -n 200" "ibv_rc_pingpong $a -n 200 10.7.0.2"
both operations "/usr/bin/python3 $(dirname "$0")/operations.py mlx5_1 $gid_b" \
	"/usr/bin/python3 $(dirname "$0")/operations.py mlx5_0 $gid_a 10.7.0.2"
both rping "rping -s -a 10.7.0.2 -C 20 -v" "rping -c -a 10.7.0.2 -C 20 -v"
both ucmatose "ucmatose -b 10.7.0.2" "ucmatose -s 10.7.0.2"
both udaddy "udaddy -b 10.7.0.2" "udaddy -s 10.7.0.2"
both write-uc "ib_write_bw $perf_b -c UC -n 20 -s 16384" \
	"ib_write_bw $perf_a -c UC -n 20 -s 16384 10.7.0.2"
both send-ud "ib_send_bw $perf_b -c UD -n 50 -s 1024" \
	"ib_send_bw $perf_a -c UD -n 50 -s 1024 $(client_of send) 10.7.0.2"
if [ -e "$RHCA_SHARE/pcap" ]; then
	both traffic-class "ib_write_bw $perf_b -n 10 -s 4096 --tclass=104" \
		"ib_write_bw $perf_a -n 10 -s 4096 --tclass=104 10.7.0.2"
	# DSCP 26 (ECN is masked), the hop limit of operations.py, the ports.
	check dscp on_wire 'udp dst port 4791 and ip[1] & 0xfc = 104'
	check hop-limit on_wire 'udp dst port 4791 and ip[8] = 33'
	check source-port on_wire 'udp dst port 4791 and udp[0:2] >= 0xc000'
fi
check link-flap link_flap
both rc-after-flap "ibv_rc_pingpong $b -n 100" "ibv_rc_pingpong $a -n 100 10.7.0.2"
finish
