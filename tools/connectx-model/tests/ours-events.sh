#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Events of a port served by roce_hca_mlx5: its adapter is removed, dies, is reloaded or has its
# RoCE switched off, each under traffic. Programs that poll come to an end, the device returns
# under its name, and the next connection works. mlx5_ib is loaded all the time, and must not
# get the port.
#
# usage: ours-events.sh [EVENT...] switchdev_in_tree, switchdev_software and legacy (after
# either) need an adapter with a switch (run --switch)
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5
bound=/sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma

is_bound() {
	compgen -G "$bound/mlx5_core.rdma.*" > /dev/null
}

mlx5_ib_has_none() {
	! compgen -G '/sys/bus/auxiliary/drivers/mlx5_ib.rdma/mlx5_core.*' &&
		! compgen -G '/sys/class/infiniband/mlx5_*'
}

is_served_by() {
	[ "$(cat "/sys/class/infiniband/$rdma/backend")" = "$1" ]
}

slot() {
	basename "$(readlink -f /sys/bus/pci/drivers/mlx5_core/0000:*)"
}

# Besides the two that poll, a process waits for events of the device.
start_traffic() {
	stdbuf -oL ibv_asyncwatch -d "$rdma" > "$work/events" 2>&1 &
	watching=$!
	start_polling && sleep 1
}

# traffic_ends [WORD]: by itself, with an error, or after the event WORD
traffic_ends() {
	local pid tries=600 word=${1-}

	for pid in $polling; do
		while kill -0 "$pid" 2> /dev/null; do
			[ -z "$word" ] || ! grep -qiE "$word" "$work/events" || break
			tries=$((tries - 1))
			[ $tries -gt 0 ] || break 2
			sleep 0.1
		done
	done
	grep -H . "$work"/poll.[ab] "$work/events"
	# shellcheck disable=SC2086
	kill $polling $watching 2> /dev/null
	# shellcheck disable=SC2086
	wait $polling $watching
	[ $tries -gt 0 ]
}

# The device exists again, under its name, and works
is_back() {
	netdev=$(basename "$(has_netdev | head -n 1)")
	ip address replace "$address/24" dev "$netdev"
	ip link set "$netdev" mtu 4200 up
	[ "$(basename "$(has_rdma | head -n 1)")" = "$rdma" ] && is_active &&
		gid=$(find_gid v2 ffff)
}

serves_again() {
	wait_for is_back || wait_for is_back || return 1
	is_bound && mlx5_ib_has_none && is_served_by mlx5
}

next_connection() {
	pair "$1-then-rc" "ibv_rc_pingpong -d $rdma -g $gid -n 100" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 100 localhost"
}

reload() {
	start_traffic || return 1
	timeout 100 devlink dev reload "pci/$(slot)" || return 1
	traffic_ends && serves_again
}

has_recovered() {
	[ "$(dmesg | grep -c 'health recovery succeeded')" -gt "$1" ]
}

# Programs that poll are notified at once; the reset takes seconds.
fatal() {
	local before

	before=$(dmesg | grep -c 'health recovery succeeded')
	start_traffic || return 1
	control '{"cmd":"fatal","syndrome":1}'
	traffic_ends "FATAL|catastrophic" || return 1
	wait_for has_recovered "$before" || wait_for has_recovered "$before" || return 1
	serves_again
}

said_since() { # said_since MESSAGES WORDS: by the kernel, after so many messages
	dmesg | tail -n +$(($1 + 1)) | grep -q "$2"
}

left_or_recovered() {
	said_since "$1" 'error state. Unloading' || said_since "$1" 'health recovery succeeded'
}

# For the second time within the grace period (a minute): mlx5_core does not reset it by itself,
# and removes its functions until told to reset it.
fatal_again() {
	local before

	before=$(dmesg | wc -l)
	start_traffic || return 1
	control '{"cmd":"fatal","syndrome":1}'
	traffic_ends "FATAL|catastrophic" || return 1
	wait_for left_or_recovered "$before" || wait_for left_or_recovered "$before" || return 1
	if said_since "$before" 'error state. Unloading'; then
		! has_rdma && ! is_bound || return 1
		timeout 100 devlink health recover "pci/$(slot)" reporter fw_fatal || return 1
		echo "recovered by hand"
	fi
	serves_again
}

# Removed under traffic, and added again.
replug() {
	local path

	path=/sys/bus/pci/devices/$(slot)
	start_traffic || return 1
	timeout 100 sh -c "echo 1 > $path/remove" || return 1
	traffic_ends && ! has_rdma && ! is_bound || return 1
	echo 1 > /sys/bus/pci/rescan
	wait_for has_netdev && serves_again
}

# Surprise removal: reads return all ones. No command can flush the requests of programs that
# poll: the event tells them. Until mlx5_core has noticed, it waits a minute for an answer, and
# its netdev for packets to be sent, which it logs.
pull() {
	local path

	path=/sys/bus/pci/devices/$(slot)
	no_warning && start_traffic || return 1
	control '{"cmd":"unplug"}'
	timeout 200 sh -c "echo 1 > $path/remove" || return 1
	provoked="$provoked|TX timeout" no_warning || return 1
	said_before=$(dmesg | wc -l)
	traffic_ends "FATAL|catastrophic" && ! has_rdma && ! is_bound || return 1
	control '{"cmd":"plug"}'
	echo 1 > /sys/bus/pci/rescan
	wait_for has_netdev && serves_again
}

stands_in() {
	netdev=$(basename "$(has_netdev | head -n 1)")
	ip address replace "$address/24" dev "$netdev"
	ip link set "$netdev" mtu 4200 up
	is_served_by software && is_active && gid=$(find_gid v2 ffff)
}

# The binding remains: mlx5_ib would register a device for raw packets, and prevent the software
# device.
roce_off() {
	start_traffic || return 1
	devlink dev param set "pci/$(slot)" name enable_roce value false cmode driverinit &&
		timeout 100 devlink dev reload "pci/$(slot)" || return 1
	traffic_ends && is_bound && mlx5_ib_has_none && wait_for stands_in
}

roce_on() {
	start_traffic || return 1
	devlink dev param set "pci/$(slot)" name enable_roce value true cmode driverinit &&
		timeout 100 devlink dev reload "pci/$(slot)" || return 1
	traffic_ends && serves_again
}

# The adapter of this model has no switch: the request is refused, and traffic continues. With a
# switch, the representors' devices have another name, which we do not serve.
switchdev() {
	start_traffic || return 1
	! timeout 60 devlink dev eswitch set "pci/$(slot)" mode switchdev || return 1
	sleep 1
	# shellcheck disable=SC2086
	kill -0 $polling || return 1
	# shellcheck disable=SC2086
	kill $polling
	traffic_ends && is_back
}

has_representor() {
	compgen -G '/sys/bus/auxiliary/devices/mlx5_core.rdma-rep.*'
}

eswitch() {
	timeout 100 devlink dev eswitch set "pci/$(slot)" mode "$1"
}

said_of_switch() {
	dmesg | grep -c "left to another driver: its switch is in switchdev mode"
}

# to_switchdev: with a switch (run --switch). The function is a different one, and is refused.
to_switchdev() {
	local before

	before=$(said_of_switch)
	start_traffic && eswitch switchdev && traffic_ends && ! is_bound &&
		has_representor && [ "$(said_of_switch)" -gt "$before" ]
}

# mlx5_ib serves the representors' device, which is for raw packets.
switchdev_in_tree() {
	to_switchdev && wait_for compgen -G '/sys/bus/auxiliary/devices/mlx5_core.rdma-rep.*/driver'
}

switchdev_software() {
	modprobe -r mlx5_ib && to_switchdev && wait_for stands_in
}

legacy() {
	eswitch legacy && ! has_representor && serves_again
}

# When the link goes down and up, queue pairs remain and continue.
link_flap() {
	start_traffic || return 1
	control '{"cmd":"link","up":false}' && wait_for grep -q DOWN \
		"/sys/class/infiniband/$rdma/ports/1/state" || return 1
	control '{"cmd":"link","up":true}' && wait_for is_active || return 1
	# shellcheck disable=SC2086
	kill $polling 2> /dev/null
	traffic_ends && wait_for is_back
}

events=("$@")
[ $# -gt 0 ] || events=(link_flap switchdev reload fatal fatal_again roce_off roce_on replug pull)
# Messages of mlx5_core about an adapter that is dead or removed
# shellcheck disable=SC2034
provoked='mlx5_cmd_out_err|mlx5_cmd_check|firmware'
check bring-up bring_up 10.7.0.1
modprobe mlx5_ib
check mlx5_ib-stays-away mlx5_ib_has_none
for event in "${events[@]}"; do
	check "$event" "$event"
	case $event in
	roce_off | switchdev_software)
		next_connection "$event"
		check "$event-software" is_served_by software
		;;
	switchdev | switchdev_in_tree | link_flap) ;;
	*) next_connection "$event" ;;
	esac
done
check unload modprobe -r roce_hca_mlx5
finish
