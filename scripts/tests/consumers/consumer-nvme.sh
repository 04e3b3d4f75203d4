#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# modules: consumers
# tier: wide
# timeout: 600
#
# NVMe over Fabrics, both roles: nvmet_rdma serves a file, nvme_rdma makes a disk of it.
# See consumer-disk-lib.sh.

. "$(dirname "$0")/consumer-disk-lib.sh"
only_ours
modprobe nvmet_rdma 2> /dev/null && modprobe nvme_rdma 2> /dev/null ||
	no_consumer "NVMe over RDMA"

NQN=nqn.2026-01.test:rhca
NVMET=/sys/kernel/config/nvmet

target() {
	mkdir -p $NVMET/subsystems/$NQN/namespaces/1 $NVMET/ports/1
	echo 1 > $NVMET/subsystems/$NQN/attr_allow_any_host
	echo "$FILE" > $NVMET/subsystems/$NQN/namespaces/1/device_path
	echo 1 > $NVMET/subsystems/$NQN/namespaces/1/buffered_io
	echo 1 > $NVMET/subsystems/$NQN/namespaces/1/enable
	echo rdma > $NVMET/ports/1/addr_trtype
	echo ipv4 > $NVMET/ports/1/addr_adrfam
	echo $IP4_A > $NVMET/ports/1/addr_traddr
	echo 4420 > $NVMET/ports/1/addr_trsvcid
	ln -s $NVMET/subsystems/$NQN $NVMET/ports/1/subsystems/$NQN
}

no_target() {
	rm -f $NVMET/ports/1/subsystems/$NQN
	rmdir $NVMET/ports/1
	echo 0 > $NVMET/subsystems/$NQN/namespaces/1/enable
	rmdir $NVMET/subsystems/$NQN/namespaces/1 $NVMET/subsystems/$NQN
}

disk() { compgen -G '/dev/nvme*n1' | head -n 1; }
no_controller() { ! compgen -G '/sys/class/nvme/nvme*' > /dev/null; }

# host_traddr is needed as both ends are on this host.
connect() {
	show eval "echo transport=rdma,traddr=$IP4_A,host_traddr=$IP4_B,trsvcid=4420,nqn=$NQN${HURRY:+,reconnect_delay=1,ctrl_loss_tmo=60} > /dev/nvme-fabrics"
}

disconnect() {
	local controller

	for controller in /sys/class/nvme/nvme*/delete_controller; do
		[ -e "$controller" ] && echo 1 > "$controller"
	done
	busywait 60 no_controller
}

check_disk
