#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# roce_hca_mlx5 on firmware that needs two seconds for each command, and on one that never
# answers some (silent.py): processes that wait can be killed and are gone when mlx5_core's
# minute is over; other network devices of the host work, also while the driver is unbound; it
# can be bound again and unloaded, and nothing is left. mlx5_core itself starts before the
# firmware is slow. Last, mlx5_core has no free slot for a command (slots.py).
#
# usage: ours-slow.sh [DRIVER]   roce_hca_mlx5 (default), or mlx5_ib to compare times
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")
# shellcheck disable=SC2034 # for guest-lib.sh
{
	driver=${1-roce_hca_mlx5}
	kinds='CQ|PD|QP|Q counter|RMP|UAR|XRC SRQ|XRC domain'
	# mlx5_core logs the commands that it gave up, and processes that waited long.
	provoked='mlx5_cmd_out_err|timeout|Timeout'
}
latency_us=2000000

slow() {
	control "{\"cmd\":\"latency\",\"us\":${1-0}}" > /dev/null
}

# timed COMMAND...: also prints how long it took
timed() {
	local begin=$SECONDS status=0

	"$@" || status=$?
	echo "$((SECONDS - begin)) s: $*"
	return $status
}

# The rest of the host is not blocked: network devices are created and removed, each within a
# second, or a few if processors are emulated.
host_goes_on() {
	timed timeout 20 ip link add other type dummy && timed timeout 20 ip link del other
}

# while_host_goes_on COMMAND...
while_host_goes_on() {
	local running status=0

	timed "$@" &
	running=$!
	while kill -0 $running 2> /dev/null; do
		host_goes_on >> "$work/host" 2>&1 || status=1
		sleep 2
	done
	grep -v '^[012] s' "$work/host"
	wait $running && [ $status -eq 0 ]
}

connects() {
	timed timeout 200 /usr/bin/python3 "$here/cost.py" "$rdma" "$gid" connect 1
}

have_ended() {
	# shellcheck disable=SC2086
	! kill -0 $polling 2> /dev/null
}

# Destroying the objects of the two takes some commands each.
killed() {
	start_polling || return 1
	slow $latency_us
	# shellcheck disable=SC2086
	kill -9 $polling
	timed wait_for have_ended
}

# Usable by processes, which is long after it is in sysfs
has_verbs() {
	ibv_devices | grep -q "$rdma "
}

# While a device is being registered the rest of the host is blocked: ib_core queries the
# netdev's speed under RTNL, and mlx5e asks the firmware.
bind_again() {
	bind_functions && wait_for has_rdma && wait_for has_verbs && wait_for is_active &&
		wait_for find_gid v2 ffff
}

unbound_under_traffic() {
	slow
	start_polling || return 1
	slow $latency_us
	while_host_goes_on unbind_functions && timed wait_for have_ended
}

# No task was blocked for as long as the kernel's hung task detection allows
nobody_hung() {
	! dmesg | grep 'blocked for more than'
}

modprobe mlx5_core "$no_keys_in_advance"
start_alone
check bring-up bring_up 10.7.0.1
timeout 400 /usr/bin/python3 "$here/silent.py" "$rdma" "$gid" || failed=1
slow $latency_us
check connects-slowly connects
slow
check killed-slowly killed
check unbound-slowly unbound_under_traffic
check bound-slowly timed bind_again
gid=$(find_gid v2 ffff)
slow
pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
	"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
slow $latency_us
check unloaded-slowly timed timeout 400 modprobe -r "$driver"
slow
check nobody-hung nobody_hung
check nothing-left nothing_left "$alone"
# Last, as UARs are lost
check bring-up-again bring_up 10.7.0.1
timeout 500 /usr/bin/python3 "$here/slots.py" "$rdma" || failed=1
check unload-with-lost-uars modprobe -r "$driver"
check nobody-hung-either nobody_hung
[ ! -e "$work/host" ] || cat "$work/host" > "$RHCA_SHARE/host"
finish
