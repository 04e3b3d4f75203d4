#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# modules: consumers
# tier: full
# timeout: 600
#
# iSER: LIO with ib_isert serves a file, ib_iser with open-iscsi makes a disk of it.
# See consumer-disk-lib.sh.

. "$(dirname "$0")/consumer-disk-lib.sh"
only_ours
need iscsid iscsiadm
modprobe -a ib_isert iscsi_target_mod target_core_file ib_iser sd_mod 2> /dev/null ||
	no_consumer iSER

IQN=iqn.2026-01.test:rhca
STORE=/sys/kernel/config/target/core/fileio_0/rhca
LIO=/sys/kernel/config/target/iscsi
TPG=$LIO/$IQN/tpgt_1
PORTAL=$IP4_A:3260

target() {
	mkdir -p $STORE && echo "fd_dev_name=$FILE,fd_dev_size=$((MB << 20))" > $STORE/control &&
		echo 1 > $STORE/enable &&
		mkdir -p $LIO && mkdir $LIO/$IQN $TPG $TPG/lun/lun_0 $TPG/np/$PORTAL &&
		ln -s $STORE $TPG/lun/lun_0/file &&
		# Any initiator may connect, without a password.
		echo 0 > $TPG/attrib/authentication &&
		echo 1 > $TPG/attrib/generate_node_acls &&
		echo 0 > $TPG/attrib/demo_mode_write_protect &&
		echo 1 > $TPG/np/$PORTAL/iser &&
		echo 1 > $TPG/enable
}

no_target() {
	echo 0 > $TPG/enable
	rm -f $TPG/lun/lun_0/file
	rmdir $TPG/np/$PORTAL $TPG/lun/lun_0 $TPG $LIO/$IQN $STORE
}

session() { compgen -G '/sys/class/iscsi_session/session*' | head -n 1; }
no_session() { [ -z "$(session)" ]; }
disk() {
	local block

	block=$(compgen -G "$(session)/device/target*/*:0/block/*") && echo "/dev/${block##*/}"
}

set_node() { iscsiadm -m node -T $IQN -p $PORTAL -o update -n "node.$1" -v "$2"; }

hurry() {
	set_node session.timeo.replacement_timeout 5 &&
		set_node session.err_timeo.lu_reset_timeout 5
}

connect() {
	iscsiadm -m node -T $IQN -p $PORTAL -I iser -o new > /dev/null &&
		{ [ -z "$HURRY" ] || hurry; } &&
		show iscsiadm -m node -T $IQN -p $PORTAL -I iser --login
}

disconnect() {
	iscsiadm -m node -T $IQN -p $PORTAL -u
	iscsiadm -m node -T $IQN -p $PORTAL -o delete
	busywait 60 no_session
} 2> /dev/null

mkdir -p /run/lock/iscsi
iscsid || die "no iscsid"
defer 'iscsiadm -k 0'
check_disk
