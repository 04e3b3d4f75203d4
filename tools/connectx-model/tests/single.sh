#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine, one adapter: its own clients communicate through it.
#
# usage: single.sh [smoke | short]
. "$(dirname "$0")/guest-lib.sh"

all_devinfo() {
	ibv_devinfo -v -d "$rdma" | tee "$work/devinfo" &&
		grep -q 'state:.*PORT_ACTIVE' "$work/devinfo" &&
		grep -q 'atomic_cap:.*ATOMIC_HCA' "$work/devinfo"
}

reload() {
	modprobe -r mlx5_ib && modprobe -r mlx5_core && bring_up 10.7.0.1
}

counts_packets() {
	local counter=/sys/class/infiniband/$rdma/ports/1/counters/port_xmit_packets

	[ "$(cat "$counter")" -gt 1000 ]
}

# The driver's debugfs files for congestion control: each is read, one is written.
congestion_parameters() {
	local folder file

	mount -t debugfs none /sys/kernel/debug 2> /dev/null
	folder=$(echo /sys/kernel/debug/mlx5/*/cc_params)
	for file in "$folder"/*; do
		echo "${file##*/} $(cat "$file")" || return 1
	done
	echo 26 > "$folder/np_cnp_dscp" && [ "$(cat "$folder/np_cnp_dscp")" = 26 ]
}

has_no_gid() {
	! find_gid . '[1-9a-f]'
}

# set_roce true|false: and reload with it
set_roce() {
	local slot

	slot=pci/$(basename "$(readlink -f "/sys/class/infiniband/$rdma/device")")
	devlink dev param set "$slot" name enable_roce value "$1" cmode driverinit &&
		devlink dev reload "$slot" && wait_for has_netdev && wait_for has_rdma
}

# Without RoCE there is still an RDMA device, for raw packets, but it has no address.
roce_off_and_on() {
	set_roce false && ip link set "$(basename "$(has_netdev | head -n 1)")" up || return 1
	rdma=$(basename "$(has_rdma | head -n 1)")
	wait_for is_active && has_no_gid && set_roce true && bring_up 10.7.0.1
}

check bring-up bring_up 10.7.0.1
check devinfo all_devinfo
at="-d $rdma -g $gid"
pair rc "ibv_rc_pingpong $at" "ibv_rc_pingpong $at localhost"
if [ "${1-}" = smoke ]; then
	pair rping "rping -s -a $address -C 20 -v" "rping -c -a $address -C 20 -v"
	finish
fi
pair rc-events "ibv_rc_pingpong -e $at -n 200" "ibv_rc_pingpong -e $at -n 200 localhost"
for kind in uc ud srq xsrq; do
	pingpong="ibv_${kind}_pingpong $at -n 200"
	pair $kind "$pingpong" "$pingpong localhost"
	pair $kind-events "$pingpong -e" "$pingpong -e localhost"
done
pair rping "rping -s -a $address -C 20 -v" "rping -c -a $address -C 20 -v"
pair ucmatose "ucmatose" "ucmatose -s $address"
pair udaddy "udaddy" "udaddy -s $address"
perf="-d $rdma -x $gid -F"
for op in write read send; do
	pair "$op-1MiB" "ib_${op}_bw $perf -n 5 -s 1048576" \
		"ib_${op}_bw $perf -n 5 -s 1048576 $(client_of $op) localhost"
done
pair fetch-add "ib_atomic_bw $perf -n 50" "ib_atomic_bw $perf -n 50 localhost"
pair compare-swap "ib_atomic_lat -A CMP_AND_SWAP $perf -n 50" \
	"ib_atomic_lat -A CMP_AND_SWAP $perf -n 50 localhost"
check counters counts_packets
check congestion-parameters congestion_parameters
if [ "${1-}" != short ]; then
	pair rc-v1 "ibv_rc_pingpong -d $rdma -g $gid1" "ibv_rc_pingpong -d $rdma -g $gid1 localhost"
	for i in $(seq "${RHCA_RELOADS:-2}"); do
		check "reload-$i" reload
	done
	at="-d $rdma -g $gid"
	pair rc-after-reload "ibv_rc_pingpong $at" "ibv_rc_pingpong $at localhost"
	check roce-off-and-on roce_off_and_on
	at="-d $rdma -g $gid"
	pair rc-with-roce-again "ibv_rc_pingpong $at -n 100" "ibv_rc_pingpong $at -n 100 localhost"
fi
finish
