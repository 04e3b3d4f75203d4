#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A storage target and its client in one machine: kernel users, fast registration (UMR in the
# work queue), remote invalidation, shared memory keys. Written data is read back past the page
# cache and compared.
#
# usage: nvme.sh [DRIVER]   of the RDMA function: mlx5_ib (default) or roce_hca_mlx5
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=${1-mlx5_ib}

# shellcheck source=tools/connectx-model/tests/nvme-lib.sh
. "$(dirname "$0")/nvme-lib.sh"

# write_and_compare BLOCK-SIZE COUNT
write_and_compare() {
	head -c $(($1 * $2)) /dev/urandom > "$work/data"
	dd if="$work/data" of="$disk" bs="$1" count="$2" oflag=direct status=none &&
		dd if="$disk" of="$work/back" bs="$1" count="$2" iflag=direct status=none &&
		cmp "$work/data" "$work/back" && cmp -n $(($1 * $2)) "$work/data" $backing
}

# Several requests at a time; each block is compared when it is read back.
verify() {
	fio --name=verify --filename="$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randwrite --bsrange=4k-256k --blockalign=4k --size=16M --verify=crc32c \
		--verify_fatal=1 --do_verify=1
}

# seconds_of PATTERN: time of the kernel's first such message
seconds_of() {
	dmesg | sed -n "/$1/{s/^\[ *\([0-9]*\)\..*/\1/p;q}"
}

has_said() {
	[ -n "$(seconds_of "$1")" ]
}

inode_of_device() {
	stat -L -c %i "/sys/class/infiniband/$rdma"
}

# The firmware dies: no task may wait for a timeout (30 s) or for the reset.
fatal_flushes_kernel() {
	local died noticed

	old_device=$(inode_of_device)
	begin=$SECONDS
	dd if=/dev/zero of="$disk" bs=64k count=100000 oflag=direct status=none &
	control '{"cmd":"fatal","syndrome":1}'
	wait_for has_said 'the firmware has died' &&
		wait_for has_said 'starting error recovery' || return 1
	died=$(seconds_of 'the firmware has died')
	noticed=$(seconds_of 'starting error recovery')
	echo "died at $died s, noticed at $noticed s"
	[ $((noticed - died)) -le 3 ]
}

is_new_device() {
	local now

	now=$(inode_of_device) && [ "$now" != "$old_device" ]
}

# The target's queue pairs use a shared receive queue. To drain them ib_core waits a minute for
# an event that a dead adapter no longer raises.
device_returns() {
	wait_for is_new_device || return 1
	echo "after $((SECONDS - begin)) s"
	[ $((SECONDS - begin)) -lt 60 ]
}

# A kernel that debugs DMA mappings warns of mappings of nvme_rdma: several small answers of the
# target in one cache line, whatever the adapter and its driver.
# shellcheck disable=SC2034 # for guest-lib.sh
provoked='at add_dma_entry'
echo "rhca-test: expect $provoked" > /dev/kmsg
check bring-up bring_up 10.7.0.1
check target make_target use_srq=1
check connect connect
check blocks-4k write_and_compare 4096 64
check blocks-64k write_and_compare 65536 16
check blocks-1m write_and_compare 1048576 16
check fio-verify verify
if [ "$driver" = roce_hca_mlx5 ]; then
	check disconnect disconnect
	check connect-again connect
	check fatal-flushes-kernel fatal_flushes_kernel
	check device-returns device_returns
	finish
fi
check disconnect disconnect
check remove-target remove_target
finish
