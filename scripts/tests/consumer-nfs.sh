#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: full
# timeout: 900
#
# NFS 3 over RDMA: host a serves a folder, host b mounts it. What b writes is read back
# past its cache and compared in a's folder, and the other way round.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
command -v rpc.nfsd > /dev/null || skip "no rpc.nfsd (package nfs-kernel-server)"
modprobe nfsd 2> /dev/null && modprobe rpcrdma 2> /dev/null ||
	skip "the kernel has no NFS over RDMA"

setup_hosts 9000
EXPORT=/dev/shm/export-$$	# a file system that can be exported
MB=8

# What is mounted lasts as long as the shell that mounts it: "ip netns exec" makes a
# mount namespace each time. A server keeps its threads as long as its namespace.
cat > "$WORK/server" << END
set -e
mkdir -p $EXPORT
mount -t tmpfs export $EXPORT
chmod 777 $EXPORT
mount -t tmpfs nfs /var/lib/nfs
mkdir -p /var/lib/nfs/v4recovery /var/lib/nfs/rpc_pipefs
touch /var/lib/nfs/etab /var/lib/nfs/rmtab
mount -t nfsd nfsd /proc/fs/nfsd
rpcbind -w || rpcbind
echo "$EXPORT *(rw,no_root_squash,no_subtree_check,insecure,fsid=0)" > /etc/exports
exportfs -a
rpc.mountd
rpc.nfsd 4
echo rdma 20049 > /proc/fs/nfsd/portlist
echo serving
exec sleep 100000
END
spawn_a bash "$WORK/server" > "$WORK/server.log" 2>&1
SERVER=$!
stop_server() {
	in_a bash -c 'mount -t nfsd nfsd /proc/fs/nfsd && rpc.nfsd 0'
	ip netns pids "$NS_A" | xargs -r kill -9
} 2> /dev/null
defer stop_server
busywait 60 grep -q serving "$WORK/server.log" || { cat "$WORK/server.log"; die "no server"; }
served() { echo "/proc/$SERVER/root$EXPORT"; }

# In b: mount, write, read past the cache, compare
cat > "$WORK/client" << END
set -e
mkdir -p "$WORK/mnt"
mount -t nfs -o "\$1,proto=rdma,port=20049,mountproto=tcp,nolock" $IP4_A:\$2 "$WORK/mnt"
grep -q proto=rdma /proc/mounts
head -c ${MB}M /dev/urandom > "$WORK/data"
dd if="$WORK/data" of="$WORK/mnt/file" bs=256k conv=fsync status=none
echo 3 > /proc/sys/vm/drop_caches
cmp "$WORK/data" "$WORK/mnt/file"
echo ok written and read
cmp "$WORK/mnt/other" "$WORK/other"
echo ok read what the server wrote
umount "$WORK/mnt"
echo ok unmounted
END

# mounted NAME OPTIONS PATH
mounted() {
	local before
	before=$(sent)
	head -c 1M /dev/urandom > "$WORK/other"
	cp "$WORK/other" "$(served)/other"
	echo "+ b: mount -t nfs -o $2,proto=rdma,port=20049 $IP4_A:$3"
	in_b timeout 200 bash "$WORK/client" "$2" "$3" > "$WORK/client.log" 2>&1
	check "$1: status" 0 $?
	check "$1: steps" 3 "$(grep -c '^ok ' "$WORK/client.log")"
	[ "$(grep -c '^ok ' "$WORK/client.log")" = 3 ] || sed 's/^/     /' "$WORK/client.log"
	check_ok "$1: the server's file has what was written" cmp "$WORK/data" "$(served)/file"
	used "$1" "$before" $((MB * 256))
}

mounted "NFS 3" vers=3 "$EXPORT"
finish
