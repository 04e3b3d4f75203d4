#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Events of a real adapter: the link goes down, switches mark congestion, the card is pulled out
# while in use (its driver takes a minute to notice).
#
# usage: faults.sh [DRIVER [short]]   mlx5_ib (default) or roce_hca_mlx5
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=${1-mlx5_ib}

hw_counter() {
	cat "/sys/class/infiniband/$rdma/ports/1/hw_counters/$1"
}

is_down() {
	grep -q DOWN "/sys/class/infiniband/$rdma/ports/1/state"
}

link_flap() {
	control '{"cmd":"link","up":false}' && wait_for is_down &&
		wait_for grep -q 0 "/sys/class/net/$netdev/carrier" || return 1
	control '{"cmd":"link","up":true}' && wait_for is_active
}

marks_make_notifications() {
	local sent

	sent=$(counter cnp_sent)
	echo "cnp_sent $sent, driver: np_cnp_sent $(hw_counter np_cnp_sent)" \
		"rp_cnp_handled $(hw_counter rp_cnp_handled)" \
		"np_ecn_marked_roce_packets $(hw_counter np_ecn_marked_roce_packets)"
	[ "$sent" -gt 0 ] && [ "$(hw_counter np_cnp_sent)" -gt 0 ] &&
		[ "$(hw_counter rp_cnp_handled)" -gt 0 ] &&
		[ "$(hw_counter np_ecn_marked_roce_packets)" -gt 0 ]
}

# A client without a server ends with a retry error, instead of hanging.
no_answer() {
	local status=0

	timeout 100 /usr/bin/python3 "$(dirname "$0")/no-answer.py" "$rdma" "$gid" || status=$?
	return $status
}

is_compromised() {
	dmesg | grep -q 'health compromised'
}

# Firmware that stalls for a while is detected, and continues where it was.
hang() {
	control '{"cmd":"hang","on":true}'
	wait_for is_compromised || return 1
	control '{"cmd":"hang","on":false}'
	timeout 60 ethtool -i "$netdev" && timeout 60 ibv_devinfo -d "$rdma" > /dev/null
}

has_recovered() {
	dmesg | grep -q 'health recovery succeeded'
}

# The driver resets the function and starts again.
fatal_error_recovery() {
	control '{"cmd":"fatal","syndrome":1}'
	wait_for has_recovered || wait_for has_recovered || return 1
	wait_for has_netdev && wait_for has_rdma || return 1
	netdev=$(basename "$(has_netdev | head -n 1)")
	rdma=$(basename "$(has_rdma | head -n 1)")
	ip address replace "$address/24" dev "$netdev"
	ip link set "$netdev" up
	wait_for is_active && wait_for find_gid v2 ffff && gid=$(find_gid v2 ffff)
}

unplug_under_traffic() {
	local device status=0 server client

	device=$(readlink -f "/sys/class/infiniband/$rdma/device")
	timeout 60 ib_write_bw -d "$rdma" -x "$gid" -F -D 40 -s 65536 &
	server=$!
	# The server may need some time to listen
	for _ in 1 2 3 4 5; do
		sleep 2
		timeout 60 ib_write_bw -d "$rdma" -x "$gid" -F -D 40 -s 65536 localhost &
		client=$!
		sleep 4
		! kill -0 $client || break
	done
	kill -0 $server && kill -0 $client || status=1
	control '{"cmd":"unplug"}'
	timeout 100 sh -c "echo 1 > $device/remove" || status=1
	kill $server $client 2> /dev/null
	wait $server $client
	[ $status -eq 0 ] && [ ! -e "$device" ] && ! has_rdma
}

check bring-up bring_up 10.7.0.1
check link-flap link_flap
control '{"cmd":"impair","mark_ppm":1000000}' > /dev/null
perf="-d $rdma -x $gid -F"
pair marked-write "ib_write_bw $perf -n 20 -s 65536" "ib_write_bw $perf -n 20 -s 65536 localhost"
control '{"cmd":"impair","mark_ppm":0}' > /dev/null
check ecn-and-cnp marks_make_notifications
check no-answer no_answer
check kernel-log-clean no_warning
if [ "${2-}" != short ]; then
	check hang hang
	check fatal-error-recovery fatal_error_recovery
	pair rc-after-recovery "ibv_rc_pingpong -d $rdma -g $gid" \
		"ibv_rc_pingpong -d $rdma -g $gid localhost"
	check unplug-under-traffic unplug_under_traffic
fi
exit $failed
