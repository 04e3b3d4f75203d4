#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The adapter drains the send queue of a process under traffic, which no command of a
# driver makes it do: with mlx5_ib and then with roce_hca_mlx5 in one boot.
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")

modprobe mlx5_core "$no_keys_in_advance"
for driver in mlx5_ib roce_hca_mlx5; do
	check "$driver-bring-up" bring_up 10.7.0.1
	echo "--- $driver"
	timeout 200 /usr/bin/python3 "$here/drained.py" "$rdma" "$gid" "$RHCA_SHARE" || failed=1
done
finish
