#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A virtual function ("--virtual"): roce_hca_mlx5 leaves it alone and says so, and mlx5_ib
# serves it.
. "$(dirname "$0")/guest-lib.sh"

is_left() {
	modprobe mlx5_core && wait_for has_netdev && modprobe roce_hca_mlx5 || return 1
	dmesg | grep -q "left to another driver: it is a virtual function" &&
		! driver=roce_hca_mlx5 has_rdma &&
		! compgen -G '/sys/bus/auxiliary/drivers/roce_hca_mlx5.rdma/mlx5_core.*'
}

check left is_left
check bring-up bring_up 10.7.0.1
pair rc "ibv_rc_pingpong -d $rdma -g $gid -n 50" \
	"ibv_rc_pingpong -d $rdma -g $gid -n 50 localhost"
finish
