#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# modules: consumers
# tier: full
# timeout: 600
#
# SRP: LIO with ib_srpt serves a file, ib_srp makes a disk of it; they meet by rdma_cm.
# See consumer-disk-lib.sh.

. "$(dirname "$0")/consumer-disk-lib.sh"
only_ours
modprobe -a ib_srpt target_core_file ib_srp sd_mod 2> /dev/null ||
	no_consumer SRP

STORE=/sys/kernel/config/target/core/fileio_0/rhca
SRPT=/sys/kernel/config/target/srpt
PORT=5555

# The target is named after its device's GUID. It accepts initiators that connect to an address
# for which it has an entry.
wwn() { cat "$IB/$DEV_A/node_guid"; }
TPG=

target() {
	mkdir -p $STORE && echo "fd_dev_name=$FILE,fd_dev_size=$((MB << 20))" > $STORE/control &&
		echo 1 > $STORE/enable &&
		mkdir -p $SRPT && echo $PORT > $SRPT/discovery_auth/rdma_cm_port || return
	TPG=$SRPT/$(wwn)/$(wwn)
	mkdir "${TPG%/*}" && mkdir "$TPG" "$TPG/lun/lun_0" "$TPG/acls/$IP4_A" "$TPG/acls/$IP4_A/lun_0" &&
		ln -s $STORE "$TPG/lun/lun_0/file" &&
		ln -s "$TPG/lun/lun_0" "$TPG/acls/$IP4_A/lun_0/lun" &&
		echo 1 > "$TPG/enable"
}

no_target() {
	echo 0 > "$TPG/enable"
	rm -f "$TPG/acls/$IP4_A/lun_0/lun" "$TPG/lun/lun_0/file"
	rmdir "$TPG/acls/$IP4_A/lun_0" "$TPG/acls/$IP4_A" "$TPG/lun/lun_0" "$TPG" "${TPG%/*}" $STORE
}

# src is needed as both ends are on this host.
connect() {
	local guid

	guid=$(wwn | tr -d :)
	show eval "echo id_ext=$guid,ioc_guid=$guid,dest=$IP4_A:$PORT,src=$IP4_B > /sys/class/infiniband_srp/srp-$DEV_B-1/add_target"
}

scsi_host() {
	local name

	for name in /sys/class/scsi_host/*/proc_name; do
		[ ! -e "$name" ] || [ "$(cat "$name")" != ib_srp ] || basename "${name%/*}"
	done
}

no_host() { [ -z "$(scsi_host)" ]; }

disk() {
	local block

	block=$(compgen -G "/sys/class/scsi_host/$(scsi_host)/device/target*/*:0/block/*") &&
		echo "/dev/${block##*/}"
}

disconnect() {
	local port

	for port in /sys/class/srp_remote_ports/port-*/delete; do
		[ ! -e "$port" ] || echo 1 > "$port"
	done
	busywait 60 no_host
}

defer 'echo 0 > $SRPT/discovery_auth/rdma_cm_port'
check_disk
