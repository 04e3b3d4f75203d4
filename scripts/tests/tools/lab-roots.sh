#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 1200
#
# roce-lab with little else available: in a root of busybox, where a static program of
# libibverbs runs; and in a Debian 13 of debootstrap, whose pyverbs tests (rdma-core 56) pass
# for a user as they do for root in the scenario pyverbs-13. Roots are read-only, with a /proc
# and a /tmp.
#
# No turns: the tests of pyverbs take minutes.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup
cp -a "$work/moved here" "$work/lab"

# in_root ROOT WORDS...: as the user; the files of $work are in /mnt there
in_root() {
	unshare -m -n --propagation private bash -c '
		root=$1 work=$2 uid=$3 chroot=$(command -v chroot)
		shift 3
		mount --bind "$root" "$root" && mount -o remount,bind,ro "$root" &&
			mount -t proc none "$root/proc" && mount -t tmpfs -o mode=1777 none "$root/tmp" &&
			mount --bind /dev/null "$root/dev/null" && mount --bind "$work" "$root/mnt" || exit 90
		PATH=/mnt/lab/bin:/usr/bin:/bin HOME=/tmp exec timeout 600 setpriv --no-new-privs \
			"$chroot" --userspec="$uid:$uid" --groups="$uid" "$root" "$@"' \
		in_root "$1" "$work" "$uid" "${@:2}"
}

: "busybox"
bare=$work/bare
mkdir -p "$bare"/{bin,dev,etc,mnt,opt,proc,run,sys,tmp,usr/bin,usr/lib,var/tmp}
cp "$(command -v busybox)" "$bare/bin/busybox"
touch "$bare/dev/null"
for name in sh cat ls id readlink dirname; do
	ln -s busybox "$bare/bin/$name"
done
# Only busybox may have libraries. ldd writes "NAME => FILE (ADDRESS)", and the loader's without a name.
ldd "$bare/bin/busybox" 2> /dev/null |
	awk '{ for (i = 1; i < NF; i++) if ($i ~ "^/lib") print $i }' | sort -u |
	while read -r file; do install -D "$(realpath "$file")" "$bare$file"; done
gcc -static -DRDMA_STATIC_PROVIDERS=rxe -o "$work/rdma_write" Documentation/samples/lab/rdma_write.c \
	-libverbs -lrxe-rdmav34 -libverbs -lnl-route-3 -lnl-3 2> "$work/said" || {
	cat "$work/said"
	fail "no static program"
}
check "busybox: nothing of RDMA is installed, and no Python" "" "$(find "$bare" -name '*ibverbs*' -o -name 'python*')"
check "busybox: what is static" "" "$(ldd "$work"/lab/bin/roce-lab "$work"/lab/lib/roce-lab/base/{init,linux} 2>&1 | grep '=>')"
check "busybox: a static program" "65536 bytes over roce0" \
	"$(in_root "$bare" roce-lab run -- /mnt/rdma_write 2>&1)"
check "busybox: who it is" "$uid user" "$(in_root "$bare" roce-lab run -- sh -c 'echo $(id -u) $(id -un)' 2>&1)"
in_root "$bare" roce-lab check > "$work/said" 2>&1
check "busybox: check" "0 1 1" "$? $(grep -c '^ok   a lab ran' "$work/said") $(
	grep -c '^note no provider rxe' "$work/said")"
rmdir "$bare/run"	# images of busybox have none
check "busybox: a folder that is not there" "roce-lab: there is no folder /run: create it, empty, in \
this root or container image" "$(in_root "$bare" roce-lab run -- true 2>&1)"

: "Debian 13"
debian=$(scripts/setup/setup-debian13.sh pyverbs path)
if [ -d "$debian" ]; then
	cp -r "$debian/usr/share/doc/rdma-core/tests" "$work/tests"
	gunzip -f "$work"/tests/*.gz
	sed -i -f scripts/tests/consumers/pyverbs-patience.sed "$work"/tests/{utils,base}.py
	cp scripts/tests/consumers/pyverbs-run.py scripts/tests/consumers/pyverbs-*.txt "$work/"
	cat > "$work/pyverbs" << 'END'
exec python3 -B /mnt/pyverbs-run.py /mnt/tests $ROCE_LAB_DEVICE $ROCE_LAB_GID_INDEX_V2 \
	$ROCE_LAB_ADDRESS $(cat /sys/class/net/$ROCE_LAB_NETDEV/address) $(uname -r | cut -d. -f1,2)
END
	chmod -R a+rX "$work/tests" "$work"/pyverbs*
	in_root "$debian" roce-lab run --mtu 1500 -- sh /mnt/pyverbs > "$work/out" 2>&1
	check "pyverbs of rdma-core 56: as root has it" "0 0 1" "$? $(grep -c '^FAIL' "$work/out") $(
		grep -cE '^# [12][0-9][0-9] tests, 0 misjudged$' "$work/out")"
	grep -E '^FAIL|^# ' "$work/out"
	[ "$FAILS" -eq 0 ] || tail -n 20 "$work/out"
else
	echo "     no folder with Debian 13's rdma-core: left out"
fi
finish
