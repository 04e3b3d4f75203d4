#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The machine is suspended under traffic of processes and of the kernel, and resumed. An
# adapter's device is removed with its queue pairs, and returns under its name; a software
# device remains, and its queue pairs continue. mlx5_ib and roce_hca_mlx5 are judged by the same
# criteria.
#
# usage: suspend.sh [deep] [DRIVER...]
#   deep     it sleeps (S3) until its clock wakes it; wants run --sleeps
#   DRIVER   mlx5_ib, roce_hca_mlx5, roce_hca (software in the place of an adapter's
#            driver); default: each, in this order
# Without deep its module must be built, see scripts/vm/stay_awake.
. "$(dirname "$0")/guest-lib.sh"
# shellcheck source=tools/connectx-model/tests/nvme-lib.sh
. "$(dirname "$0")/nvme-lib.sh"
tree=$(realpath "$(dirname "$0")/../../..")

folder() {
	echo "/sys/class/infiniband/$rdma"
}

has_software() {
	local file

	file=$(grep -slx software /sys/class/infiniband/*/backend) && dirname "$file"
}

# has_device: of the driver under test
has_device() {
	case $driver in
	roce_hca) has_software ;;
	*) has_rdma ;;
	esac
}

# suspend STATE LEVEL: the kernel goes as far as that, and wakes by itself two seconds later:
# "devices": each was notified, "platform": interrupts are off as well, "core": all but the
# sleep itself. With "none" the machine sleeps.
suspend() {
	local before

	before=$(cat /sys/power/suspend_stats/success)
	echo "$2" > /sys/power/pm_test || return 1
	if [ "$2" = none ]; then
		sleep_until_alarm "$1" || return 1
	else
		echo "$1" > /sys/power/state || return 1
	fi
	[ "$(cat /sys/power/suspend_stats/success)" -gt "$before" ]
}

clock=/sys/class/rtc/rtc0
alarm_s=20	# falling asleep takes seconds when emulated
chipset=/sys/bus/pci/devices/0000:00:1f.0/config

# sleep_until_alarm STATE: QEMU resets the devices of a machine that wakes. Virtio's driver of
# the shared folder does not recover from that, and SeaBIOS does not set PMBASE and ACPI_CNTL of
# the chipset again, without which the kernel only believes that it sleeps the next time, and
# the machine is not switched off.
sleep_until_alarm() {
	local begin said status=0

	begin=$(< $clock/since_epoch)
	said=$(dmesg | wc -l)
	leave_folder || return 1
	dd if=$chipset of="$work/chipset" bs=8 skip=8 count=1 status=none
	echo +$alarm_s > $clock/wakealarm && echo "$1" > /sys/power/state || status=1
	dd if="$work/chipset" of=$chipset bs=8 seek=8 count=1 conv=notrunc status=none
	return_to_folder || return 1
	dmesg | tail -n +$((said + 1)) | grep 'ACPI: PM: Low-level resume complete' &&
		[ $(($(< $clock/since_epoch) - begin)) -ge $alarm_s ] && return $status
}

virtio=/sys/bus/virtio/drivers/9pnet_virtio

leave_folder() {
	local device

	umount "$RHCA_SHARE" || return 1
	for device in "$virtio"/virtio*; do
		basename "$device" > $virtio/unbind
	done
}

return_to_folder() {
	local device

	for device in /sys/bus/virtio/devices/*; do
		[ -e "$device/driver" ] || basename "$device" > $virtio/bind
	done
	mount -t 9p -o trans=virtio,version=9p2000.L,msize=524288 share "$RHCA_SHARE"
}

# The device exists again, under its name, and has its address
is_back() {
	[ "$(basename "$(has_device | head -n 1)")" = "$rdma" ] && is_active &&
		gid=$(find_gid v2 ffff)
}

next_connection() {
	pair "$driver-$1-then-rc" "ibv_rc_pingpong -d $rdma -g $gid -n 100" \
		"ibv_rc_pingpong -d $rdma -g $gid -n 100 localhost"
}

set_policy() {
	[ "$driver" = mlx5_ib ] && return
	echo 104 > "$(folder)/tc/1/traffic_class" && echo 33 > "$(folder)/tc/1/ttl"
}

has_policy() {
	[ "$driver" = mlx5_ib ] && return
	grep -q 104 "$(folder)/tc/1/traffic_class" && [ "$(cat "$(folder)/tc/1/ttl")" = 33 ]
}

start_traffic() {
	stdbuf -oL ibv_asyncwatch -d "$rdma" > "$work/events" 2>&1 &
	watching=$!
	start_polling && sleep 1
}

hears() {
	grep -qiE "FATAL|catastrophic" "$work/events"
}

has_ended() {
	local pid

	for pid in $polling; do
		! kill -0 "$pid" 2> /dev/null || return 1
	done
}

# Programs that wait for events are notified. mlx5_ib does not notify those that poll.
traffic_has_ended() {
	local status=0

	wait_for hears || status=1
	[ "$driver" = mlx5_ib ] || wait_for has_ended || status=2
	grep -H . "$work"/poll.[ab] "$work/events"
	# shellcheck disable=SC2086
	kill $watching $polling 2> /dev/null
	# shellcheck disable=SC2086
	wait $watching $polling
	[ $status = 0 ]
}

packets() {
	cat "$(folder)/ports/1/hw_counters/rx_packets"
}

has_more_packets() {
	[ "$(packets)" -gt $((seen + 100)) ]
}

traffic_goes_on() {
	local status=0 pid

	seen=$(packets)
	wait_for has_more_packets || status=1
	for pid in $polling; do
		kill -0 "$pid" || status=2
	done
	! hears || status=3
	grep -H . "$work"/poll.[ab] "$work/events"
	end_polling
	kill "$watching"
	[ $status = 0 ]
}

# of_adapter STATE LEVEL
of_adapter() {
	start_traffic && suspend "$@" && traffic_has_ended && wait_for is_back && has_policy
}

# of_software STATE LEVEL
of_software() {
	start_traffic && suspend "$@" && traffic_goes_on && is_back && has_policy
}

write_and_compare() {
	head -c 1M /dev/urandom > "$work/data"
	dd if="$work/data" of="$disk" bs=64k oflag=direct status=none &&
		dd if="$disk" of="$work/back" bs=64k count=16 iflag=direct status=none &&
		cmp "$work/data" "$work/back" && cmp -n 1048576 "$work/data" "$backing"
}

# Until the disk is removed; the node must not be replaced by a file then
start_writing() {
	(
		while dd if=/dev/zero of="$disk" bs=64k count=64 seek=16 oflag=direct \
			conv=nocreat status=none; do
			:
		done
	) &
	writing=$!
	sleep 1
}

has_no_disk() {
	! has_disk
}

# nvmet_rdma does not listen again by itself on a device that returns.
listen_again() {
	rm "$target/ports/1/subsystems/$nqn" &&
		ln -s "$target/subsystems/$nqn" "$target/ports/1/subsystems/$nqn"
}

# A disk is removed with the adapter's device, as on surprise removal.
disk_of_adapter() {
	start_writing && suspend "${short[@]}" || return 1
	wait $writing
	wait_for has_no_disk && wait_for is_back && listen_again && connect && write_and_compare
}

disk_of_software() {
	start_writing && suspend "${short[@]}" && kill -0 $writing || return 1
	kill $writing
	wait $writing
	write_and_compare
}

# The driver is unloaded just before, and the netdev is absent when a stand-in is due: it is
# created after the resume.
unloaded() {
	local end

	rmmod mlx5_ib && suspend "${short[@]}" || return 1
	end=$((SECONDS + 60))
	until has_software; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.5
	done
}

has_no_software() {
	! has_software
}

loaded() {
	modprobe mlx5_ib && wait_for is_back && wait_for has_no_software
}

adapter() {
	check "$driver-bring-up" bring_up 10.7.0.1
	modprobe mlx5_ib
	check "$driver-policy" set_policy
	if [ -n "$deep" ]; then
		check "$driver-sleep" of_adapter mem none
	else
		check "$driver-freeze" of_adapter freeze platform
		next_connection freeze
		check "$driver-mem" of_adapter mem core
	fi
	next_connection mem
	check "$driver-target" make_target
	check "$driver-connect" connect
	check "$driver-disk" disk_of_adapter
	check "$driver-disconnect" disconnect
	check "$driver-remove-target" remove_target
}

# The driver of the adapter is unloaded: software stands in.
software() {
	local module

	for module in roce_hca_mlx5 mlx5_ib; do
		! grep -q "^$module " /proc/modules || rmmod $module
	done
	modprobe rdma_ucm
	netdev=$(basename "$(has_netdev | head -n 1)")
	address=10.7.0.1
	ip address replace "$address/24" dev "$netdev"
	ip link set "$netdev" mtu 4200 up
	wait_for has_software
	rdma=$(basename "$(has_software | head -n 1)")
	check "$driver-bring-up" wait_for is_back
	check "$driver-policy" set_policy
	if [ -n "$deep" ]; then
		check "$driver-sleep" of_software mem none
	else
		check "$driver-freeze" of_software freeze platform
		check "$driver-mem" of_software mem core
	fi
	next_connection mem
	check "$driver-target" make_target
	check "$driver-connect" connect
	check "$driver-disk" disk_of_software
	check "$driver-disconnect" disconnect
	check "$driver-remove-target" remove_target
}

# Levels that a disk, and a stand-in that is due, survive
short=(freeze devices)
deep=
if [ "${1-}" = deep ]; then
	shift
	deep=1
	short=(mem none)
	echo deep > /sys/power/mem_sleep || exit 1
else
	insmod "$tree/build/$(uname -r)/stay_awake/stay_awake.ko" || exit 1
fi
drivers=("$@")
[ $# -gt 0 ] || drivers=(mlx5_ib roce_hca_mlx5 roce_hca)
echo 2 > /sys/module/suspend/parameters/pm_test_delay
modprobe mlx5_core "$no_keys_in_advance"
wait_for has_netdev
modprobe roce_hca "netdevs=$(basename "$(has_netdev | head -n 1)"):standin"
for driver in "${drivers[@]}"; do
	case $driver in
	roce_hca) software ;;
	*) adapter ;;
	esac
	if [ "$driver" = mlx5_ib ]; then
		check mlx5_ib-unloaded unloaded
		check mlx5_ib-loaded loaded
		rmmod mlx5_ib
	fi
done
finish
