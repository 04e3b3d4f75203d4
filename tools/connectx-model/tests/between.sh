#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Two adapters of one machine, back to back ("--adapters 2"), each in a network namespace that
# also has its RDMA device. The drivers change:
#
#	a 10.7.0.1		b 10.7.0.2
#	roce_hca_mlx5	-----	mlx5_ib
#	roce_hca_mlx5	-----	a software device of roce_hca
#	mlx5_ib		-----	a software device of roce_hca
#
# The third checks the second: its failures are not due to roce_hca_mlx5.
#
# usage: between.sh [PAIRING...]   ours-intree, ours-software, intree-software (all)
. "$(dirname "$0")/guest-lib.sh"

wanted="${*:-ours-intree ours-software intree-software}"
library=$(realpath "$(dirname "$0")/guest-lib.sh")
drivers=/sys/bus/auxiliary/drivers
driver=roce_hca_mlx5	# of a, the client
address_a=10.7.0.1
address_b=10.7.0.2

in_a() { ip netns exec a "$@"; }
in_b() { ip netns exec b "$@"; }

# netdev_of FUNCTION: before it moves to a namespace
netdev_of() {
	basename "$(readlink -f "/sys/bus/auxiliary/devices/mlx5_core.rdma.$1/..")/net/"*
}

has_both_netdevs() {
	[ -e "/sys/class/net/$(netdev_of 0)" ] && [ -e "/sys/class/net/$(netdev_of 1)" ]
}

# move NAMESPACE NETDEV ADDRESS
move() {
	ip netns add "$1" && ip link set "$2" netns "$1" || return 1
	ip -n "$1" link set lo up
	ip -n "$1" address add "$3/24" dev "$2" && ip -n "$1" link set "$2" mtu 4200 up
}

prepare() {
	local module

	modprobe ib_core && rdma system set netns exclusive || return 1
	modprobe mlx5_core "$no_keys_in_advance"
	for module in ib_uverbs rdma_ucm ib_umad; do
		modprobe $module
	done
	wait_for has_both_netdevs || return 1
	netdev_a=$(netdev_of 0)
	netdev_b=$(netdev_of 1)
	move a "$netdev_a" $address_a && move b "$netdev_b" $address_b
}

# A device's folder in sysfs is visible only in its own namespace.
new_device() {
	compgen -G "/sys/class/infiniband/*" > "$work/devices" && xargs -n 1 basename < "$work/devices"
}

# adopt NAMESPACE: move the newest device there; sets rdma_$1, gid_$1, gid1_$1
adopt() {
	local name

	wait_for new_device && name=$(new_device) || return 1
	rdma dev set "$name" netns "$1" || return 1
	ip netns exec "$1" bash -c ". '$library'; rdma=$name; wait_for is_active &&
		wait_for find_gid v1 ffff && wait_for find_gid v2 ffff" || return 1
	printf -v "rdma_$1" %s "$name"
	printf -v "gid_$1" %s "$(gid_in "$1" "$name" v2)"
	printf -v "gid1_$1" %s "$(gid_in "$1" "$name" v1)"
	echo "$1 has $name"
}

gid_in() { # gid_in NAMESPACE DEVICE VERSION
	ip netns exec "$1" bash -c ". '$library'; rdma=$2; find_gid $3 ffff"
}

ours_and_in_tree() {
	modprobe roce_hca_mlx5 "ports=$(pci_of 0)" && adopt a && modprobe mlx5_ib && adopt b
}

pci_of() {
	basename "$(readlink -f "/sys/bus/auxiliary/devices/mlx5_core.rdma.$1/..")"
}

software_in_b() {
	echo mlx5_core.rdma.1 > $drivers/mlx5_ib.rdma/unbind &&
		in_b rdma link add soft type roce netdev "$netdev_b" && adopt b
}

# One of our software devices stands in for roce_hca_mlx5 meanwhile, and makes room.
in_tree_in_a() {
	modprobe -r roce_hca_mlx5 && echo mlx5_core.rdma.0 > $drivers/mlx5_ib.rdma/bind &&
		wait_for has_in_tree && adopt a
}

has_in_tree() {
	[ "$(new_device | wc -l)" = 1 ] && has_rdma
}

# both NAME SERVER CLIENT: in b and in a
both() {
	pair "$pairing-$1" "ip netns exec b $2" "ip netns exec a $3"
}

# The sender repeats the message until the receiver has got it.
multicast() { # multicast RECEIVER RECEIVER-ADDRESS SENDER SENDER-ADDRESS
	local receiver

	ip netns exec "$1" timeout 60 mckey -m 239.7.7.7 -b "$2" &
	receiver=$!
	while kill -0 $receiver 2> /dev/null; do
		ip netns exec "$3" timeout 30 mckey -m 239.7.7.7 -b "$4" -s || return 1
		sleep 0.5
	done
	wait $receiver
}

verbs() {
	local a="-d $rdma_a -g $gid_a" b="-d $rdma_b -g $gid_b" kind

	for kind in rc uc ud srq; do
		both $kind "ibv_${kind}_pingpong $b -s 1024 -n 100" \
			"ibv_${kind}_pingpong $a -s 1024 -n 100 $address_b"
	done
	both rc-events "ibv_rc_pingpong -e $b -n 100" "ibv_rc_pingpong -e $a -n 100 $address_b"
	a="-d $rdma_a -g $gid1_a" b="-d $rdma_b -g $gid1_b"
	for kind in rc ud; do
		both $kind-v1 "ibv_${kind}_pingpong $b -s 1024 -n 100" \
			"ibv_${kind}_pingpong $a -s 1024 -n 100 $address_b"
	done
}

# The number of READs and atomics in flight that a software device supports
few_reads="-o 4"

performance() {
	local a="-d $rdma_a -x $gid_a -F -m 1024" b="-d $rdma_b -x $gid_b -F -m 1024" op

	for op in write send; do
		both $op "ib_${op}_bw $b -n 10 -s 65536" \
			"ib_${op}_bw $a -n 10 -s 65536 $(client_of $op) $address_b"
	done
	both read "ib_read_bw $b $few_reads -n 10 -s 65536" \
		"ib_read_bw $a $few_reads -n 10 -s 65536 $address_b"
	both write-latency "ib_write_lat $b -n 50" "ib_write_lat $a -n 50 $address_b"
	both write-uc "ib_write_bw $b -c UC -n 10 -s 16384" \
		"ib_write_bw $a -c UC -n 10 -s 16384 $address_b"
	both send-ud "ib_send_bw $b -c UD -n 50 -s 1024" \
		"ib_send_bw $a -c UD -n 50 -s 1024 $(client_of send) $address_b"
	both fetch-add "ib_atomic_bw $b $few_reads -n 20" \
		"ib_atomic_bw $a $few_reads -n 20 $address_b"
	both compare-swap "ib_atomic_lat -A CMP_AND_SWAP $b $few_reads -n 20" \
		"ib_atomic_lat -A CMP_AND_SWAP $a $few_reads -n 20 $address_b"
}

connections() {
	both rping "rping -s -a $address_b -C 10 -v" "rping -c -a $address_b -C 10 -v"
	pair "$pairing-rping-from-b" "ip netns exec a rping -s -a $address_a -C 10 -v" \
		"ip netns exec b rping -c -a $address_a -C 10 -v"
	both ucmatose "ucmatose -b $address_b" "ucmatose -s $address_b"
	both udaddy "udaddy -b $address_b" "udaddy -s $address_b"
	check "$pairing-multicast" multicast b $address_b a $address_a
	check "$pairing-multicast-from-b" multicast a $address_a b $address_b
}

# All operations of RC, UC and UD, data compared
operations() {
	local script

	script=$(dirname "$0")/operations.py
	both operations "/usr/bin/python3 $script $rdma_b $gid_b" \
		"/usr/bin/python3 $script $rdma_a $gid_a $address_b"
}

# of the pairing, if it is wanted
everything() {
	[[ " $wanted " == *" $pairing "* ]] || return 0
	verbs
	connections
	performance
	operations
}

check prepare prepare
pairing=ours-intree
check $pairing-devices ours_and_in_tree
check ping in_a ping -c 3 -W 20 $address_b
everything
pairing=ours-software
check $pairing-devices software_in_b
everything
pairing=intree-software
driver=mlx5_ib
check $pairing-devices in_tree_in_a
everything
finish
