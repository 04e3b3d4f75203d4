#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs and parts of the kernel that use verbs, in one machine with itself, and every byte
# compared: UCX and Open MPI, NFS, iSER, SRP. The count of requests shows that the adapter was
# used, and not a substitute.
#
# usage: consumers.sh DRIVER [PART...]   mlx5_ib or roce_hca_mlx5; ucx, mpi, nfs, iser, srp
#                                        (all)
. "$(dirname "$0")/guest-lib.sh"
# shellcheck source=tools/connectx-model/tests/nfs-lib.sh
. "$(dirname "$0")/nfs-lib.sh"
scripts=$(realpath "$(dirname "$0")/../../../scripts/tests/consumers")
driver=${1-mlx5_ib}
parts=${*:2}
megabytes=2

# carried LEAST COMMAND...: it causes at least that many requests of queue pairs
carried() {
	local before least=$1

	shift
	before=$(counter send_requests)
	"$@" || return 1
	echo "requests: $(($(counter send_requests) - before))"
	[ $(($(counter send_requests) - before)) -ge "$least" ]
}

# --- UCX: without shared memory, by separate namespaces ------------------------

export UCX_NET_DEVICES UCX_TLS
host="unshare --ipc --uts --pid --fork --kill-child"

is_open() {
	ss -Hltn "( sport = :$1 )" | grep -q .
}

# ucx OPTION...
ucx() {
	local server

	# shellcheck disable=SC2086
	timeout 100 $host ucx_perftest -p 13337 &
	server=$!
	wait_for is_open 13337
	# shellcheck disable=SC2086
	timeout 90 $host ucx_perftest -p 13337 "$address" "$@" || { kill $server; return 1; }
	wait $server
}

part_ucx() {
	# RC finds its peer by datagrams.
	for UCX_TLS in rc_verbs,ud_verbs:aux rc_mlx5,ud_mlx5:aux ud_verbs; do
		check "${UCX_TLS%,*}-tags" carried 100 ucx -t tag_lat -n 50 -w 5 -s 1000
	done
	UCX_TLS=rc
	check ucx-tags-1m carried 10 ucx -t tag_bw -n 10 -w 1 -s 1048576
	check ucx-put carried 10 ucx -t ucp_put_bw -n 10 -w 1 -s 65536
	check ucx-get carried 10 ucx -t ucp_get -n 10 -w 1 -s 65536
	check ucx-add carried 10 ucx -t ucp_fadd -n 20 -w 2 -s 8
	check ucx-swap carried 10 ucx -t ucp_cswap -n 20 -w 2 -s 8
}

mpi() {
	mpicc.openmpi -O1 -o "$work/mpi" "$scripts/mpi-bytes.c" &&
		hostname connectx && echo "$address connectx" >> /etc/hosts &&
		timeout 300 mpirun.openmpi --allow-run-as-root -np 2 --oversubscribe --mca pml ucx \
			--mca osc ucx "$work/mpi" 1 > "$work/ranks" || { cat "$work/ranks"; return 1; }
	cat "$work/ranks"
	[ "$(grep -c '^ok ' "$work/ranks")" = 2 ]
}

part_mpi() {
	UCX_TLS=rc
	check openmpi carried 1000 mpi
}

# --- disks ----------------------------------------------------------------------

file=/dev/shm/connectx-file	# a file of an overlay has no size for a target
store=/sys/kernel/config/target/core/fileio_0/connectx

make_store() {
	modprobe -a target_core_file sd_mod
	truncate -s ${megabytes}M $file
	mkdir -p $store && echo "fd_dev_name=$file,fd_dev_size=$((megabytes << 20))" > $store/control &&
		echo 1 > $store/enable
}

# write_and_compare DISK: in the target's file as well
write_and_compare() {
	head -c ${megabytes}M /dev/urandom > "$work/data"
	timeout 100 dd if="$work/data" of="$1" bs=256k oflag=direct status=none &&
		timeout 100 dd if="$1" of="$work/back" bs=64k iflag=direct status=none &&
		cmp "$work/data" "$work/back" && cmp "$work/data" $file
}

has_disk() {
	local model

	for model in /sys/block/sd*/device/vendor; do
		[[ -e $model && $(< "$model") == LIO-ORG* ]] || continue
		disk=/dev/$(cut -d / -f 4 <<< "$model")
		[ -b "$disk" ] && return
	done
	return 1
}

has_no_disk() {
	! has_disk
}

iqn=iqn.2026-01.test:connectx
tpg=/sys/kernel/config/target/iscsi/$iqn/tpgt_1

iser_target() {
	modprobe -a ib_isert iscsi_target_mod && make_store &&
		mkdir -p $tpg/lun/lun_0 "$tpg/np/$address:3260" && ln -s $store $tpg/lun/lun_0/file &&
		echo 0 > $tpg/attrib/authentication &&
		echo 1 > $tpg/attrib/generate_node_acls &&
		echo 0 > $tpg/attrib/demo_mode_write_protect &&
		echo 1 > "$tpg/np/$address:3260/iser" && echo 1 > $tpg/enable
}

iser_login() {
	mkdir -p /run/lock/iscsi
	modprobe ib_iser && iscsid &&
		iscsiadm -m node -T $iqn -p "$address:3260" -I iser -o new &&
		timeout 100 iscsiadm -m node -T $iqn -p "$address:3260" -I iser --login &&
		wait_for has_disk
}

iser_end() {
	iscsiadm -m node -T $iqn -p "$address:3260" -u && iscsiadm -k 0 && wait_for has_no_disk &&
		echo 0 > $tpg/enable && rm $tpg/lun/lun_0/file &&
		rmdir "$tpg/np/$address:3260" $tpg/lun/lun_0 $tpg ${tpg%/*} $store
}

part_iser() {
	check iser-target iser_target
	check iser-login iser_login
	check iser carried 50 write_and_compare "$disk"
	check iser-end iser_end
}

# The target is named after the port's first GID, not after the node's GUID.
srp_folder() {
	local guid

	guid=$(cut -d : -f 5-8 "/sys/class/infiniband/$rdma/ports/1/gids/0")
	echo "/sys/kernel/config/target/srpt/$guid/$guid"
}

srp_target() {
	local folder

	modprobe ib_srpt && make_store && folder=$(srp_folder) &&
		mkdir -p /sys/kernel/config/target/srpt &&
		echo 5555 > /sys/kernel/config/target/srpt/discovery_auth/rdma_cm_port &&
		mkdir "${folder%/*}" && mkdir "$folder" "$folder/lun/lun_0" "$folder/acls/$address" \
			"$folder/acls/$address/lun_0" &&
		ln -s $store "$folder/lun/lun_0/file" &&
		ln -s "$folder/lun/lun_0" "$folder/acls/$address/lun_0/lun" && echo 1 > "$folder/enable"
}

srp_login() {
	local guid

	modprobe ib_srp || return 1
	guid=$(tr -d : < "/sys/class/infiniband/$rdma/node_guid")
	echo "id_ext=$guid,ioc_guid=$guid,dest=$address:5555,src=$address" \
		> "/sys/class/infiniband_srp/srp-$rdma-1/add_target" && wait_for has_disk
}

srp_end() {
	local folder port

	folder=$(srp_folder)
	for port in /sys/class/srp_remote_ports/port-*/delete; do
		echo 1 > "$port"
	done
	wait_for has_no_disk && echo 0 > "$folder/enable" &&
		echo 0 > /sys/kernel/config/target/srpt/discovery_auth/rdma_cm_port &&
		rm "$folder/acls/$address/lun_0/lun" "$folder/lun/lun_0/file" &&
		rmdir "$folder/acls/$address/lun_0" "$folder/acls/$address" "$folder/lun/lun_0" \
			"$folder" "${folder%/*}" $store
}

part_srp() {
	check srp-target srp_target
	check srp-login srp_login
	check srp carried 50 write_and_compare "$disk"
	check srp-end srp_end
}

# --- files: nfs-lib.sh ----------------------------------------------

part_nfs() {
	check nfs-server nfs_server
	check nfs-3 carried 20 nfs_copy 3 /dev/shm/export ,nolock
	check nfs-4.2 carried 20 nfs_copy 4.2 / ""
	check nfs-end nfs_end
}

check bring-up bring_up 10.7.0.1
UCX_NET_DEVICES=$rdma:1
mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
for part in ${parts:-ucx mpi nfs iser srp}; do
	"part_$part"
done
finish
