#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Regions of all sizes, rights and ways to register again (memory.py), with mlx5_ib, then
# with roce_hca_mlx5. The adapter's capabilities are run's: --model --with=..., --without=...
# The GUIDs that programs see are the same with both.
#
# usage: memory.sh [DRIVER...]
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")
drivers=("$@")
[ $# -gt 0 ] || drivers=(mlx5_ib roce_hca_mlx5)
# shellcheck disable=SC2034 # for guest-lib.sh
kinds='CQ|PD|QP|UAR|mkey'

guids() {
	local folder=/sys/class/infiniband/$rdma

	cat "$folder/node_guid" "$folder/sys_image_guid" | tee "$work/guids.$driver"
}

# A page of 4 KiB each, or what one request takes is never exceeded
echo never > /sys/kernel/mm/transparent_hugepage/enabled
# pyverbs takes memory for IBV_ACCESS_HUGETLB from these
echo 8 > /proc/sys/vm/nr_hugepages
modprobe mlx5_core "$no_keys_in_advance"
start_alone
for driver in "${drivers[@]}"; do
	check "bring-up-$driver" bring_up 10.7.0.1
	check "guids-$driver" guids
	timeout $((RHCA_TIMEOUT / 2 - 60)) /usr/bin/python3 "$here/memory.py" "$rdma" "$gid" |
		sed "s/^\(PASS\|FAIL\) /&$driver-/" | tee "$work/memory"
	! grep -q ^FAIL "$work/memory" && grep -q on-demand "$work/memory" || failed=1
	check "unload-$driver" modprobe -r "$driver"
	check "nothing-left-$driver" nothing_left "$alone"
done
[ ${#drivers[@]} -lt 2 ] ||
	check guids-the-same cmp "$work/guids.mlx5_ib" "$work/guids.roce_hca_mlx5"
finish
