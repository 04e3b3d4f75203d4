#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# modules: consumers
# tier: full
# timeout: 600
#
# NFS over RDMA, versions 3 and 4.2: the kernel's server in host a, its client in host b. Data
# written by b is read back past its cache and compared in a's folder, and the other way round;
# over RoCE v1 and v2, while the link flaps, and with the device of either host removed while b
# writes.
#
#   a: nfsd  ====== veth ======  b: mount -t nfs -o proto=rdma
#
# Both ends are in the initial namespace: the kernel's server never releases the namespace of a
# connection that version 4.1 or later used for callbacks. In any other namespace, RDMA devices
# could not be shared between namespaces from then on.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
need rpc.nfsd rpc.mountd exportfs rpcbind mount.nfs
NETNS=
modprobe nfsd 2> /dev/null && modprobe rpcrdma 2> /dev/null && modprobe nfs 2> /dev/null ||
	no_consumer "NFS over RDMA"
setup_pair 9000

EXPORT=/dev/shm/export-$$	# a tmpfs has a number to export it by
MNT=$WORK/mnt
MB=4

serve() {
	mkdir -p "$EXPORT" "$MNT"
	mount -t tmpfs -o size=128m export "$EXPORT" &&
		mount -t tmpfs nfs /var/lib/nfs &&
		touch /var/lib/nfs/{etab,rmtab} &&
		mount -t nfsd nfsd /proc/fs/nfsd &&
		rpcbind &&
		exportfs -i -o rw,no_root_squash,no_subtree_check,insecure,fsid=0 "*:$EXPORT" &&
		rpc.mountd --no-udp &&
		# No client has locks of an earlier server to reclaim: use the minimum of 10 s.
		rpc.nfsd --no-udp --grace-time=10 --rdma=20049 4
}

end_serving() {
	umount -f "$MNT"
	rpc.nfsd 0
	exportfs -au
	killall rpc.mountd rpcbind
	umount /proc/fs/nfsd
	umount /var/lib/nfs
	umount "$EXPORT"
	rmdir "$EXPORT"
}

# The exported folder is the root of NFS 4.
mounts() { # mounts VERSION
	local path=$EXPORT more=,nolock

	[ "$1" = 3 ] || path=/ more=
	show mount -t nfs -o "vers=$1,proto=rdma,port=20049$more" "$IP4_A:$path" "$MNT"
}

write_file() { timeout 150 dd if="$WORK/data" of="$MNT/file" bs=256k conv=fsync status=none; }

# compare NAME: past the client's cache
compare() {
	echo 3 > /proc/sys/vm/drop_caches
	check_ok "$1: what b reads is what it wrote" timeout 60 cmp "$WORK/data" "$MNT/file"
	check_ok "$1: a's file has it" cmp "$WORK/data" "$EXPORT/file"
}

# copied NAME: in both directions, over RDMA
copied() {
	local before

	before=$(sent)
	head -c ${MB}M /dev/urandom > "$WORK/data"
	check_ok "$1: b writes" write_file
	compare "$1"
	head -c 1M /dev/urandom > "$EXPORT/other"
	check_ok "$1: b reads what a wrote" timeout 60 cmp "$EXPORT/other" "$MNT/other"
	used "$1" "$before" $((2 * MB * 256))
	rm -f "$EXPORT/other"
}

# removed NAME a|b: writing continues on a new device
removed() {
	local writer before

	before=$(sent)
	head -c $((8 * MB))M /dev/urandom > "$WORK/data"
	write_file &
	writer=$!
	busywait 60 sent_since "$before" 1000
	remove_device "$1" "$2"
	new_device "$2"
	check_ok "$1: b goes on writing" ended_well 90 $writer
	compare "$1"
}

check_ok "the server starts" serve || die "no server"
defer end_serving
for version in 3 4.2; do
	for type in v1 v2; do
		roce_mode_of "$DEV_B" $type
		watch_wire $type
		check_ok "NFS $version: b mounts" mounts $version || continue
		check_match "NFS $version: over RDMA" "vers=$version,.*proto=rdma" "$(grep " $MNT " /proc/mounts)"
		copied "NFS $version over RoCE $type"
		seen_on_wire "NFS $version: RoCE $type is on the wire"
		check_ok "NFS $version: b unmounts" umount "$MNT"
	done
	check_ok "NFS $version: b mounts" mounts $version || continue
	while_flapping copied "NFS $version while the link flaps"
	removed "NFS $version: b's device is removed" b
	removed "NFS $version: a's device is removed" a
	copied "NFS $version after both"
	check_ok "NFS $version: b unmounts" umount "$MNT"
done
finish
