#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 1800
#
# "roce-lab run --debug": its kernel finds a write beyond memory and a lock order inversion
# in a module; the drivers' traffic between two hosts works on it; it has its own archive.
#
# No turns: building its kernel once takes a quarter of an hour.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
if [ ! -e build/lab/lib/roce-lab/debug/linux ]; then
	echo "SKIP make lab-debug comes first"
	exit 4
fi
[ -n "${RHCA_LAB-}" ] || tools/lab/build --debug || exit 1
lab_setup

check "a plain lab without it says so" "125 1" "$(mv "$work/moved here/lib/roce-lab/debug" "$work/"
	as_user roce-lab run --debug -- true 2> "$work/said"
	echo "$? $(grep -c 'it is in roce-lab-debug, and "make lab-debug"' "$work/said")"
	mv "$work/debug" "$work/moved here/lib/roce-lab/")"

: "it finds faults"
kernel=$(build/lab/uml-debug/scripts/uml/build debug)
mkdir "$work/wrong"
cp scripts/tests/tools/lab-wrong.c "$work/wrong/"
echo 'obj-m := lab-wrong.o' > "$work/wrong/Kbuild"
make -s -C "$kernel" ARCH=um "M=$work/wrong" modules || fail "lab-wrong.c does not compile"
as_user roce-lab run --debug --module "$work/wrong/lab-wrong.ko" -- true 2> "$work/said"
check "status" 99 $?
log=$(sed -n 's/^roce-lab: its log is //p' "$work/said")
check_ok "KASAN's report is in the log that is kept" \
	grep -q 'BUG: KASAN: slab-out-of-bounds in wrong_init' "$log"
check_ok "and lockdep's" grep -q 'WARNING: possible circular locking dependency' "$log"
rm -f "$log"

: "traffic"
cat > "$home/pingpong" << 'END'
rx() { lab b sh -c 'cat /sys/class/infiniband/$ROCE_LAB_DEVICE/ports/1/hw_counters/*rcv*pkts /sys/class/infiniband/$ROCE_LAB_DEVICE/ports/1/hw_counters/rx_packets' 2> /dev/null | head -n 1; }
before=$(rx)
lab b sh -c 'ibv_rc_pingpong -e -c -n 100 -d $ROCE_LAB_DEVICE -g $ROCE_LAB_GID_INDEX_V2' > server &
until lab b sh -c 'grep -q :4853 /proc/net/tcp /proc/net/tcp6'; do sleep 0.1; done
ibv_rc_pingpong -e -c -n 100 -d $ROCE_LAB_DEVICE -g $ROCE_LAB_GID_INDEX_V2 b > client && wait $! &&
	echo good $(($(rx) - before >= 200))
END
for driver in roce rxe; do
	check "two hosts: $driver" "good 1" \
		"$(as_user timeout 200 roce-lab run --debug --driver $driver --hosts 2 -- sh ./pingpong 2> "$work/said")"
done
check "faults that they had" "" "$(< "$work/said")"
check_ok "the archive has the debug kernel alone" test -z \
	"$(tar --zstd -tf build/lab/roce-lab-debug-*.tar.zst | grep -v '/lib/roce-lab/debug/')"
finish
