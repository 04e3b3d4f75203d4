#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A function that roce_hca_mlx5 does not serve, and logs why: one that appears to be a
# subfunction until a module of the test is unloaded (tests/subfunction, which must be built).
# Afterwards the same driver serves it.
. "$(dirname "$0")/guest-lib.sh"
tree=$(realpath "$(dirname "$0")/../../..")

# is_left WHY
is_left() {
	modprobe roce_hca_mlx5 || return 1
	dmesg | grep "left to another driver: $1" &&
		! driver=roce_hca_mlx5 has_rdma &&
		! compgen -G '/sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma/mlx5_core.*'
}

modprobe mlx5_core
wait_for has_netdev
check marked insmod "$tree/build/$(uname -r)/subfunction/subfunction.ko"
check left is_left "it is a subfunction"
check unmarked rmmod subfunction
# shellcheck disable=SC2034 # for guest-lib.sh
driver=roce_hca_mlx5
check bring-up bring_up 10.7.0.1
pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
	"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
finish
