#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A storage target and its client in one machine: kernel users, fast registration
# (UMR in the work queue), remote invalidation, shared memory keys. What is written
# is read back past the page cache and compared.
#
# usage: nvme.sh [DRIVER]   of the RDMA function: mlx5_ib (default) or roce_hca_mlx5
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=${1-mlx5_ib}

nqn=nqn.2026-01.test:connectx
target=/sys/kernel/config/nvmet
backing=/dev/shm/connectx-disk	# an overlay's file has no size for the target

make_target() {
	modprobe nvmet_rdma || return 1
	truncate -s 64M $backing
	mkdir -p $target/subsystems/$nqn/namespaces/1 $target/ports/1
	echo 1 > $target/subsystems/$nqn/attr_allow_any_host
	echo $backing > $target/subsystems/$nqn/namespaces/1/device_path
	echo 1 > $target/subsystems/$nqn/namespaces/1/buffered_io
	echo 1 > $target/subsystems/$nqn/namespaces/1/enable
	echo rdma > $target/ports/1/addr_trtype
	echo ipv4 > $target/ports/1/addr_adrfam
	echo "$address" > $target/ports/1/addr_traddr
	echo 4420 > $target/ports/1/addr_trsvcid
	ln -s $target/subsystems/$nqn $target/ports/1/subsystems/$nqn
}

has_disk() {
	compgen -G '/dev/nvme*n1'
}

connect() {
	modprobe nvme_rdma || return 1
	echo "transport=rdma,traddr=$address,trsvcid=4420,nqn=$nqn,nr_io_queues=2,queue_size=16" \
		> /dev/nvme-fabrics && wait_for has_disk && disk=$(has_disk | head -n 1)
}

# write_and_compare BLOCK-SIZE COUNT
write_and_compare() {
	head -c $(($1 * $2)) /dev/urandom > "$work/data"
	dd if="$work/data" of="$disk" bs="$1" count="$2" oflag=direct status=none &&
		dd if="$disk" of="$work/back" bs="$1" count="$2" iflag=direct status=none &&
		cmp "$work/data" "$work/back" && cmp -n $(($1 * $2)) "$work/data" $backing
}

# Several requests at a time, each block checked when it is read back.
verify() {
	fio --name=verify --filename="$disk" --direct=1 --ioengine=libaio --iodepth=8 \
		--rw=randwrite --bsrange=4k-256k --blockalign=4k --size=16M --verify=crc32c \
		--verify_fatal=1 --do_verify=1
}

disconnect() {
	echo 1 > "/sys/class/nvme/$(basename "${disk%n1}")/delete_controller" &&
		! has_disk
}

remove_target() {
	rm $target/ports/1/subsystems/$nqn && rmdir $target/ports/1 &&
		echo 0 > $target/subsystems/$nqn/namespaces/1/enable &&
		rmdir $target/subsystems/$nqn/namespaces/1 $target/subsystems/$nqn &&
		modprobe -r nvme_rdma nvmet_rdma
}

# seconds_of PATTERN: when the kernel first said so
seconds_of() {
	dmesg | sed -n "/$1/{s/^\[ *\([0-9]*\)\..*/\1/p;q}"
}

has_said() {
	[ -n "$(seconds_of "$1")" ]
}

# The firmware dies, and nobody has to wait for a timeout (30 s) or for the reset.
fatal_flushes_kernel() {
	local died noticed

	dd if=/dev/zero of="$disk" bs=64k count=100000 oflag=direct status=none &
	control '{"cmd":"fatal","syndrome":1}'
	wait_for has_said 'the firmware has died' &&
		wait_for has_said 'starting error recovery' || return 1
	died=$(seconds_of 'the firmware has died')
	noticed=$(seconds_of 'starting error recovery')
	echo "died at $died s, noticed at $noticed s"
	[ $((noticed - died)) -le 3 ]
}

check bring-up bring_up 10.7.0.1
check target make_target
check connect connect
check blocks-4k write_and_compare 4096 64
check blocks-64k write_and_compare 65536 16
check blocks-1m write_and_compare 1048576 16
check fio-verify verify
if [ "$driver" = roce_hca_mlx5 ]; then
	check fatal-flushes-kernel fatal_flushes_kernel
	finish
fi
check disconnect disconnect
check remove-target remove_target
finish
