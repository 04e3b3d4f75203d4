# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# An NFS server and its client in one machine, for scenarios that need kernel users. On top of
# guest-lib.sh; a test sets megabytes, the size of the file to copy.

nfs_server() {
	modprobe -a nfsd rpcrdma nfs || return 1
	mkdir -p /dev/shm/export "$work/mount"
	mount -t tmpfs -o size=64m export /dev/shm/export && mount -t tmpfs nfs /var/lib/nfs &&
		touch /var/lib/nfs/{etab,rmtab} && mount -t nfsd nfsd /proc/fs/nfsd && rpcbind &&
		exportfs -i -o rw,no_root_squash,no_subtree_check,insecure,fsid=0 "*:/dev/shm/export" &&
		rpc.mountd --no-udp && rpc.nfsd --no-udp --grace-time=10 --rdma=20049 2
}

# nfs_copy VERSION PATH OPTIONS
nfs_copy() {
	timeout 100 mount -t nfs -o "vers=$1,proto=rdma,port=20049$3" "$address:$2" "$work/mount" || return 1
	head -c ${megabytes}M /dev/urandom > "$work/data"
	timeout 100 dd if="$work/data" of="$work/mount/file" bs=256k conv=fsync status=none &&
		echo 3 > /proc/sys/vm/drop_caches && cmp "$work/data" "$work/mount/file" &&
		cmp "$work/data" /dev/shm/export/file && umount "$work/mount"
}

nfs_end() {
	rpc.nfsd 0
	exportfs -au
	killall -w rpc.mountd rpcbind	# their files are below
	umount /proc/fs/nfsd /var/lib/nfs /dev/shm/export
}
