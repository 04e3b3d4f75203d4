#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A function of an adapter and a virtual function of it, both in one machine with one driver
# ("run --vf"). They communicate; operations on the virtual one do not affect processes that use
# the function itself:
#
#	here: the function 10.7.0.1 ----- namespace vf: the virtual function 10.7.0.2
#
# usage: virtual.sh [DRIVER]   roce_hca_mlx5 (the default) or mlx5_ib
. "$(dirname "$0")/guest-lib.sh"
library=$(realpath "$(dirname "$0")/guest-lib.sh")
driver=${1-roce_hca_mlx5}
infiniband=/sys/class/infiniband

in_vf() { ip netns exec vf "$@"; }

# of_function PCI: its RDMA device, if it is in this namespace
of_function() {
	local device

	for device in $infiniband/*; do
		[ "$(basename "$(readlink -f "$device/device")")" != "$1" ] || basename "$device"
	done | grep .
}

of_vf() {
	of_function "$vf" || in_vf ls $infiniband | grep .
}

vf_netdev() {
	basename "/sys/bus/pci/devices/$vf/net/"* | grep -v '\*'
}

vf_file() {
	in_vf cat "$infiniband/$rdma_vf/$1"
}

# is_served_by BACKEND: the virtual function; mlx5_ib's devices have no such file
is_served_by() {
	[ "$driver" = mlx5_ib ] || [ "$(vf_file backend)" = "$1" ]
}

# If its netdev has moved, the device may be created again, here: wait until it exists and
# works, and is not the one that was to make room
is_given() {
	! rdma_vf=$(of_function "$vf") || rdma dev set "$rdma_vf" netns vf
	rdma_vf=$(in_vf ls $infiniband | grep .) && gid_vf=$(in_vf bash -c \
		". '$library'; rdma=$rdma_vf; is_active && find_gid v2 0a07:0002") &&
		is_served_by "$1"
}

# give_vf [BACKEND]: move netdev and RDMA device to the namespace, to be served there by the
# adapter, or by another backend; sets rdma_vf and gid_vf
give_vf() {
	local netdev_vf

	# Until it is given a MAC, each new netdev on it has a different one
	ip neighbour flush dev "$netdev"
	wait_for vf_netdev && netdev_vf=$(vf_netdev) && ip link set "$netdev_vf" netns vf &&
		ip -n vf address replace 10.7.0.2/24 dev "$netdev_vf" &&
		ip -n vf link set "$netdev_vf" mtu 4200 up || return 1
	wait_for is_given "${1-mlx5}"
}

load() {
	local module

	modprobe ib_core && rdma system set netns exclusive && modprobe mlx5_core "$no_keys_in_advance"
	for module in "$driver" ib_uverbs rdma_ucm ib_umad; do
		modprobe "$module"
	done
	wait_for has_netdev || return 1
	pf=$(basename /sys/bus/pci/drivers/mlx5_core/*.0)
	vf=$(basename /sys/bus/pci/drivers/mlx5_core/*.1)
	ip netns add vf && ip -n vf link set lo up && wait_for of_function "$pf" || return 1
	rdma=$(of_function "$pf")
	netdev=$(basename "/sys/bus/pci/devices/$pf/net/"*)
	ip address add 10.7.0.1/24 dev "$netdev"
	ip link set "$netdev" mtu 4200 up
	give_vf && wait_for is_active && wait_for find_gid v2 ffff &&
		gid=$(find_gid v2 ffff)
}

# both NAME SERVER CLIENT: on the virtual function and on the function
both() {
	pair "$1" "ip netns exec vf $2" "$3"
}

rc() {
	both "$1" "ibv_rc_pingpong -d $rdma_vf -g $gid_vf -n 100" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 100 10.7.0.2"
}

# One adapter, but two devices
guids() {
	local node node_vf

	[ "$(cat "$infiniband/$rdma/sys_image_guid")" = "$(vf_file sys_image_guid)" ] || return 1
	node=$(cat "$infiniband/$rdma/node_guid")
	node_vf=$(vf_file node_guid)
	echo "node GUIDs: $node, of the virtual function $node_vf"
	[ "$node" != "$node_vf" ] || return 1
	# mlx5_ib reports the adapter's value, which virtual functions do not have at first
	[ "$driver" = mlx5_ib ] || [ "$node_vf" != 0000:0000:0000:0000 ]
}

# Each has its own netdev's address, and not the other's
gids() {
	find_gid v2 0a07:0001 && ! find_gid v2 0a07:0002 &&
		in_vf bash -c ". '$library'; rdma=$rdma_vf; find_gid v2 0a07:0002 &&
			! find_gid v2 0a07:0001"
}

# sent [COMMAND...]: packets sent by a device, read by the command from its port's counter
sent() {
	local device=$1

	shift
	"$@" cat "$infiniband/$device/ports/1/counters/port_xmit_packets"
}

# loops NAME: 100 messages of the virtual function to itself only move its own counters
loops() {
	local before before_vf

	before=$(sent "$rdma" env) && before_vf=$(sent "$rdma_vf" in_vf) || return 1
	in_vf ibv_rc_pingpong -d "$rdma_vf" -g "$gid_vf" -n 100 &
	wait_for in_vf bash -c ". '$library'; is_listening" || return 1
	in_vf ibv_rc_pingpong -d "$rdma_vf" -g "$gid_vf" -n 100 127.0.0.1 && wait $! || return 1
	sleep 1
	echo "sent by the function: $before, then $(sent "$rdma" env);" \
		"by the virtual one: $before_vf, then $(sent "$rdma_vf" in_vf)"
	[ "$(sent "$rdma" env)" = "$before" ] &&
		[ "$(sent "$rdma_vf" in_vf)" -ge $((before_vf + 200)) ]
}

# Settings of the port belong to the function
congestion() {
	[ -d "$infiniband/$rdma/ports/1/cc" ] &&
		! in_vf ls -d "$infiniband/$rdma_vf/ports/1/cc"
}

has_sent_more() {
	[ "$(sent "$rdma" env)" -gt "$1" ]
}

# beside COMMAND...: while the function has traffic with itself, which continues
beside() {
	local pid status=0 before

	start_polling || return 1
	"$@" || status=$?
	before=$(sent "$rdma" env) && wait_for has_sent_more "$before" || status=1
	for pid in $polling; do
		kill -0 "$pid" || status=1
	done
	end_polling
	return $status
}

has_none() {
	! of_vf
}

reload_with_roce() {
	devlink dev param set "pci/$vf" name enable_roce value "$1" cmode driverinit &&
		timeout 100 devlink dev reload "pci/$vf"
}

# With roce_hca_mlx5, a software device stands in; with mlx5_ib there is none for RoCE
roce_off() {
	reload_with_roce false || return 1
	if [ "$driver" = mlx5_ib ]; then
		wait_for of_function "$vf" || return 1
		! grep -h . "$infiniband/$(of_function "$vf")"/ports/1/gids/* |
			grep -v '^0000:0000:0000:0000:0000:0000:0000:0000$'
	else
		give_vf software
	fi
}

roce_on() {
	reload_with_roce true && give_vf
}

# end_of PID: by itself, within a minute
end_of() {
	local _

	for _ in {1..600}; do
		kill -0 "$1" 2> /dev/null || return 0
		sleep 0.1
	done
	kill "$1"
	return 1
}

# The virtual function is passed on, as to a virtual machine, and returns: programs that polled
# on it have ended, and the function continues.
pass_on() {
	local server client device=/sys/bus/pci/devices/$vf

	stdbuf -oL ip netns exec vf ibv_rc_pingpong -d "$rdma_vf" -g "$gid_vf" -n 100000000 &
	server=$!
	wait_for in_vf bash -c ". '$library'; is_listening" || return 1
	ibv_rc_pingpong -d "$rdma" -g "$gid" -n 100000000 10.7.0.2 &
	client=$!
	sleep 3
	kill -0 $server $client && modprobe pci-stub && echo pci-stub > "$device/driver_override" &&
		timeout 100 sh -c "echo $vf > $device/driver/unbind" &&
		echo "$vf" > /sys/bus/pci/drivers_probe || return 1
	[ "$(basename "$(readlink "$device/driver")")" = pci-stub ] && has_none || return 1
	# On mlx5_ib programs that poll are only notified by an event
	[ "$driver" != mlx5_ib ] || kill $server
	end_of $server || return 1
	# The other end is not notified, and would continue until its retries are used up
	kill $client 2> /dev/null
	wait $client
	return 0
}

take_back() {
	local device=/sys/bus/pci/devices/$vf

	echo > "$device/driver_override" && echo "$vf" > "$device/driver/unbind" &&
		echo "$vf" > /sys/bus/pci/drivers_probe &&
		[ "$(basename "$(readlink "$device/driver")")" = mlx5_core ] && give_vf
}

check load load
[ $failed = 0 ] || finish
both ud "ibv_ud_pingpong -d $rdma_vf -g $gid_vf -n 100" \
	"ibv_ud_pingpong -d $rdma -g $gid -n 100 10.7.0.2"
rc rc
both write "ib_write_bw -d $rdma_vf -x $gid_vf -F -n 20 -s 65536" \
	"ib_write_bw -d $rdma -x $gid -F -n 20 -s 65536 10.7.0.2"
# librdmacm finds devices by their node GUIDs, and fails badly if one is 0
[ "$driver" = mlx5_ib ] ||
	both rping "rping -s -a 10.7.0.2 -C 20 -v" "rping -c -a 10.7.0.2 -C 20 -v"
check guids guids
check gids gids
check counters loops
[ "$driver" = mlx5_ib ] || check congestion congestion
check roce-off beside roce_off
[ "$driver" = mlx5_ib ] || rc rc-by-software
check roce-on beside roce_on
rc rc-after-roce
check passed-on beside pass_on
check taken-back beside take_back
rc rc-taken-back
check gids-taken-back gids
finish
