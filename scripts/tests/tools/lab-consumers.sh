#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 900
#
# The modules of a lab for users of RDMA in the kernel: each is loaded by its name; modprobe
# finds them beside the machine's own; NFS and SMC-R between two hosts, NVMe over Fabrics on the
# one host of siw: data read is data written, and the devices counted it.
#
# No turns: it is about modules of the kernel, with traffic that the scenarios consumer-* test
# more thoroughly.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup
mounted=/usr/lib/modules

: "each of them"
names=(nvme_rdma nvmet-rdma nfs nfsd rpcrdma smc rds_rdma ib_iser ib_isert ib_srp ib_srpt sd_mod target_core_file)
check "all are loaded" "" "$(as_user roce-lab run "${names[@]/#/--module=}" -- cat /proc/modules |
	cut -d' ' -f1 | sort > "$work/loaded"; printf '%s\n' "${names[@]//-/_}" | sort | comm -23 - "$work/loaded")"
as_user roce-lab run --module nonesuch -- true 2> "$work/said"
check "one that there is not" "125 1" "$? $(grep -c '^roce-lab: --module nonesuch: .* no module of that name' "$work/said")"

: "modprobe"
if [ -d $mounted ]; then
	check "finds them, for root of the lab" 1 \
		"$(as_user roce-lab run -- lab --root sh -c '/sbin/modprobe rds_rdma && grep -c ^rds_rdma /proc/modules')"
	check "the machine's are there as well" "" "$(as_user roce-lab run -- ls $mounted | sort > "$work/inside"
		ls $mounted | sort | comm -23 - "$work/inside")"
else
	echo "SKIP modprobe: the machine has no $mounted"
fi

: "between two hosts"
gcc -O1 -o "$home/smc-bytes" scripts/tests/consumers/smc-bytes.c || fail "smc-bytes.c does not compile"
# The sum is in packets; the addresses are a's.
cat > "$home/smc" << 'END'
sent() { cat /sys/class/infiniband/roce0/ports/1/hw_counters/tx_packets; }
before=$(sent)
./smc-bytes server $ROCE_LAB_ADDRESS 7000 &
until grep -q ':1B58 00000000:0000 0A' /proc/net/tcp; do sleep 0.1; done
lab b ./smc-bytes client $ROCE_LAB_ADDRESS 7000 1024 && wait $! &&
	echo $(($(sent) - before >= 200))
END
check "SMC-R: every byte, by RDMA" "ok 32 chunks 1" "$(as_user timeout 100 roce-lab run --hosts 2 --mtu 1500 \
	--module smc -- sh ./smc 2> "$work/said" | paste -sd ' ')"

cat > "$home/nfs" << 'END'
PATH=$PATH:/usr/sbin:/sbin
sent() { cat /sys/class/infiniband/roce0/ports/1/hw_counters/tx_packets; }
{
	mkdir /run/export /run/nfs
	mount -t tmpfs export /run/export && mount -t tmpfs nfs /var/lib/nfs &&
		touch /var/lib/nfs/etab /var/lib/nfs/rmtab && mount -t nfsd nfsd /proc/fs/nfsd && rpcbind &&
		exportfs -i -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 "*:/run/export" &&
		rpc.mountd --no-udp && rpc.nfsd --no-udp --grace-time=10 --rdma=20049 2 &&
		head -c 1M /dev/urandom > /run/export/file &&
		lab --root b sh -c "mkdir /run/nfs; mount -t nfs -o vers=4.2,proto=rdma,port=20049 $ROCE_LAB_ADDRESS:/ /run/nfs"
} >&2 || exit
before=$(sent)
lab --root b cat /run/nfs/file | cmp - /run/export/file && echo same $(($(sent) - before >= 250))
END
if command -v rpc.nfsd > /dev/null && command -v mount.nfs > /dev/null; then
	check "NFS: every byte, by RDMA" "same 1" "$(as_user timeout 200 roce-lab run --hosts 2 --user root --module nfs \
		--module nfsd --module rpcrdma -- sh ./nfs 2> "$work/said")"
else
	echo "SKIP NFS: no rpc.nfsd or mount.nfs here"
fi

: "on one host"
cat > "$home/nvme" << 'END'
target=/sys/kernel/config/nvmet name=nqn.2026-01.test:lab
disk=/run/disk
head -c 8M /dev/urandom > $disk
mkdir -p $target/subsystems/$name/namespaces/1 $target/ports/1
echo 1 > $target/subsystems/$name/attr_allow_any_host
echo $disk > $target/subsystems/$name/namespaces/1/device_path
echo 1 > $target/subsystems/$name/namespaces/1/buffered_io
echo 1 > $target/subsystems/$name/namespaces/1/enable
echo rdma > $target/ports/1/addr_trtype
echo ipv4 > $target/ports/1/addr_adrfam
echo $ROCE_LAB_ADDRESS > $target/ports/1/addr_traddr
echo 4420 > $target/ports/1/addr_trsvcid
ln -s $target/subsystems/$name $target/ports/1/subsystems/$name
echo transport=rdma,traddr=$ROCE_LAB_ADDRESS,trsvcid=4420,nqn=$name > /dev/nvme-fabrics
until [ -b /dev/nvme0n1 ]; do sleep 0.1; done
cmp /dev/nvme0n1 $disk && echo same $(cat /sys/class/nvme/nvme0/transport)
END
check "NVMe over Fabrics by siw: every byte" "same rdma" "$(as_user timeout 100 roce-lab run --driver siw --user root \
	--module nvmet_rdma --module nvme_rdma -- sh ./nvme 2> "$work/said")"
finish
