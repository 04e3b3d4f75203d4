#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine, one adapter, and roce_hca_mlx5 in place of the in-tree driver: the same clients
# with the same library.
#
# usage: ours.sh [smoke]
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5

# The device is the adapter's, and its library that of adapters.
all_devinfo() {
	ibv_devinfo -v -d "$rdma" | tee "$work/devinfo" &&
		grep -q 'state:.*PORT_ACTIVE' "$work/devinfo" &&
		grep -q 'atomic_cap:.*ATOMIC_HCA' "$work/devinfo" &&
		grep -q 'vendor_part_id:.*4119' "$work/devinfo" &&
		is_served_by mlx5
}

is_served_by() {
	[ "$(cat "/sys/class/infiniband/$rdma/backend")" = "$1" ]
}

traffic_runs() {
	[ "$(counter rx_roce_unicast_packets)" -gt $(($1 + 50)) ]
}

# start_endless: two processes that poll until they are stopped; their ids are in $endless
start_endless() {
	local before

	before=$(counter rx_roce_unicast_packets)
	ibv_rc_pingpong -d "$rdma" -g "$gid" -n 100000000 > "$work/endless.a" 2>&1 &
	endless=$!
	until_listening "$endless"
	ibv_rc_pingpong -d "$rdma" -g "$gid" -n 100000000 localhost > "$work/endless.b" 2>&1 &
	endless+=" $!"
	wait_for traffic_runs "$before"
}

# A process that polls must learn that its queue pair no longer has an adapter.
unload_under_traffic() {
	local pid status=0

	start_endless || status=1
	modprobe -r roce_hca_mlx5 || status=1
	for pid in $endless; do
		wait "$pid" && status=1		# it cannot have succeeded
	done
	cat "$work"/endless.*
	grep -q 'Flushed' "$work/endless.a" && grep -q 'Flushed' "$work/endless.b" &&
		[ $status -eq 0 ]
}

# The adapter's objects of the kinds that an RDMA driver creates.
# shellcheck disable=SC2034 # for guest-lib.sh
kinds='CQ|PD|QP|Q counter|RMP|UAR|mkey'

is_alone() {
	[ "$(ls /sys/class/infiniband)" = "$(basename "$(driver=mlx5_ib has_rdma)")" ]
}

in_tree_driver_takes_over() {
	modprobe mlx5_ib && driver=mlx5_ib bind_functions &&
		driver=mlx5_ib wait_for has_rdma && wait_for is_alone
}

modprobe mlx5_core "$no_keys_in_advance"
start_alone
check bring-up bring_up 10.7.0.1
check devinfo all_devinfo
at="-d $rdma -g $gid"
pair rc "ibv_rc_pingpong $at -n 200" "ibv_rc_pingpong $at -n 200 localhost"
pair rping "rping -s -a $address -C 20 -v" "rping -c -a $address -C 20 -v"
if [ "${1-}" = smoke ]; then
	check unload-under-traffic unload_under_traffic
	check software-stands-in wait_for is_served_by software
	finish
fi
pair rc-events "ibv_rc_pingpong -e $at -n 200" "ibv_rc_pingpong -e $at -n 200 localhost"
for kind in uc ud srq; do
	pingpong="ibv_${kind}_pingpong $at -n 200"
	pair $kind "$pingpong" "$pingpong localhost"
	pair $kind-events "$pingpong -e" "$pingpong -e localhost"
done
pair rc-v1 "ibv_rc_pingpong -d $rdma -g $gid1 -n 200" \
	"ibv_rc_pingpong -d $rdma -g $gid1 -n 200 localhost"
pair ucmatose "ucmatose" "ucmatose -s $address"
pair udaddy "udaddy" "udaddy -s $address"
perf="-d $rdma -x $gid -F"
for op in write read send; do
	pair "$op-1MiB" "ib_${op}_bw $perf -n 5 -s 1048576" \
		"ib_${op}_bw $perf -n 5 -s 1048576 localhost"
done
pair fetch-add "ib_atomic_bw $perf -n 50" "ib_atomic_bw $perf -n 50 localhost"
pair compare-swap "ib_atomic_lat -A CMP_AND_SWAP $perf -n 50" \
	"ib_atomic_lat -A CMP_AND_SWAP $perf -n 50 localhost"
check unload-under-traffic unload_under_traffic
check software-stands-in wait_for is_served_by software
check nothing-left nothing_left "$alone"
check bring-up-again bring_up 10.7.0.1
at="-d $rdma -g $gid"
pair rc-again "ibv_rc_pingpong $at -n 200" "ibv_rc_pingpong $at -n 200 localhost"
check unload modprobe -r roce_hca_mlx5
check in-tree-driver-takes-over in_tree_driver_takes_over
finish
