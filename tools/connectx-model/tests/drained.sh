#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The adapter drains a process's send queue under traffic, without a command from the driver:
# with mlx5_ib and then with roce_hca_mlx5 in one boot.
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")

modprobe mlx5_core "$no_keys_in_advance"
for driver in mlx5_ib roce_hca_mlx5; do
	check "$driver-bring-up" bring_up 10.7.0.1
	echo "--- $driver"
	timeout 200 /usr/bin/python3 "$here/drained.py" "$rdma" "$gid" "$RHCA_SHARE" || failed=1
done
finish
