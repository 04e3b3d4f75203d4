#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Regions of all sizes, rights and ways of re-registration (memory.py), with mlx5_ib, then with
# roce_hca_mlx5. The adapter's capabilities are options of run (--model --with=..., --without=...).
# Programs see the same GUIDs and the same meaning of atomic operations with both, kernel users
# whether they can register memory, and both have the counters that the adapter has.
#
# usage: memory.sh [DRIVER...]
. "$(dirname "$0")/guest-lib.sh"
here=$(realpath "$(dirname "$0")")
drivers=("$@")
[ $# -gt 0 ] || drivers=(mlx5_ib roce_hca_mlx5)
# shellcheck disable=SC2034 # for guest-lib.sh
kinds='CQ|PD|QP|UAR|mkey'
# Without counters of packets: of the network interface, and of mlx5_ib
provoked='mlx5_cmd_out_err.*(QUERY_VPORT_COUNTER|MAD_IFC)'

identity() {
	ibv_devinfo -v -d "$rdma" |
		grep -E 'node_guid|sys_image_guid|atomic_cap|MEM_MGT_EXTENSIONS' > "$work/identity.$driver"
	grep . "/sys/class/infiniband/$rdma/ports/1/hw_counters/"* > "$work/counters" || return 1
	# Each has others, too: those of packets, or that count nothing
	sed 's,.*/\(.*\):.*,\1,' "$work/counters" | tee /dev/stderr |
		grep -xE 'out_of_.*|(rx|duplicate)_.*requests?|.*_(err|errors?|invalid_request)' \
			>> "$work/identity.$driver"
	cat "$work/identity.$driver"
	[ "$(grep -c : "$work/identity.$driver")" -ge 3 ]
}

# Pages of 4 KiB each: with larger ones no region exceeds what a request can hold
echo never > /sys/kernel/mm/transparent_hugepage/enabled
# pyverbs takes memory for IBV_ACCESS_HUGETLB from these
echo 8 > /proc/sys/vm/nr_hugepages
modprobe mlx5_core "$no_keys_in_advance"
start_alone
for driver in "${drivers[@]}"; do
	check "bring-up-$driver" bring_up 10.7.0.1
	check "identity-$driver" identity
	timeout $((RHCA_TIMEOUT / 2 - 60)) /usr/bin/python3 "$here/memory.py" "$rdma" "$gid" "$driver" |
		sed "s/^\(PASS\|FAIL\) /&$driver-/" | tee "$work/memory"
	! grep -q ^FAIL "$work/memory" && grep -qx finished "$work/memory" || failed=1
	check "unload-$driver" rmmod "$driver"	# mlx5_core remains loaded
	check "nothing-left-$driver" nothing_left "$alone"
done
[ ${#drivers[@]} -lt 2 ] ||
	check identity-the-same diff "$work/identity.mlx5_ib" "$work/identity.roce_hca_mlx5"
finish
