# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# A storage target and its client in one machine, for scenarios that need kernel users. On top
# of guest-lib.sh.

nqn=nqn.2026-01.test:connectx
target=/sys/kernel/config/nvmet
backing=/dev/shm/connectx-disk	# a file of an overlay has no size for the target

# make_target [PARAMETER...]: parameters of nvmet_rdma
make_target() {
	modprobe nvmet_rdma "$@" || return 1
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
		> /dev/nvme-fabrics && wait_for has_disk && find_disk
}

find_disk() {
	disk=$(has_disk | head -n 1)
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
