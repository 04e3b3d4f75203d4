#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 900
#
# Programs that people run in a lab: a verbs program under the compilers' sanitizers, valgrind,
# gdb and strace, each of which finds its kind of fault; system calls; the tests of rdma-core;
# and UCX, libfabric, fio, qperf and a migration of QEMU between two hosts, whose bytes the
# port's counters show.
#
# No turns: it boots labs and runs slow programs for a minute, and the scenario lab detects most
# regressions.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup
on_page() { grep -qF -- "$1" Documentation/lab.rst || fail "lab.rst does not name $1"; }
cp Documentation/samples/lab/rdma_write.c "$home/"
chmod a+r "$home"/*
lab_run() { as_user timeout 200 roce-lab run "$@"; }
have() { command -v "$1" > /dev/null || { echo "     no $1 here: left out"; return 1; }; }

: "sanitizers"
cat > "$home/wrong.c" << 'END'
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdlib.h>
static int counted;
static void *count(void *arg) { for (int i = 0; i < 100000; i++) counted++; return arg; }
int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_pd *pd = ibv_alloc_pd(ibv_open_device(list[0]));
	volatile char *memory = malloc(16);
	struct ibv_mr *mr = ibv_reg_mr(pd, (void *)memory, 16, 0);
	pthread_t thread;
	if (argc < 3 || !mr)
		return 99;
	if (argv[1][0] == 'a')
		memory[16 * argc / 3] = 1;
	if (argv[1][0] == 'u')
		return 1 << (30 + argc);
	pthread_create(&thread, NULL, count, NULL);
	count(NULL);
	return pthread_join(thread, NULL);
}
END
for kind in address undefined thread; do
	as_user gcc -g -fsanitize=$kind -fno-sanitize-recover -o "$kind" rdma_write.c -libverbs || fail "gcc, $kind"
	as_user gcc -g -fsanitize=$kind -fno-sanitize-recover -o "wrong-$kind" wrong.c -libverbs -lpthread ||
		fail "gcc, $kind"
	check "$kind: nothing wrong" "65536 bytes over roce0" "$(lab_run -- "./$kind" 2>&1 | tail -n 1)"
done
# Three times, as one run in some dozens succeeds and ThreadSanitizer reports nothing
finds() { # finds KIND TEXT
	local i

	for i in 1 2 3; do
		lab_run -- "./wrong-$1" "$1" x > "$work/out" 2>&1
		! grep -q "$2" "$work/out" || return 0
	done
	cat "$work/out"
	return 1
}
for finding in address:heap-buffer-overflow undefined:'shift exponent' thread:'data race'; do
	check_ok "${finding%%:*} finds a ${finding#*:}" finds "${finding%%:*}" "${finding#*:}"
done

: "valgrind, gdb, strace"
as_user gcc -g -o rdma_write rdma_write.c -libverbs
as_user gcc -g -o wrong wrong.c -libverbs -lpthread
if have valgrind; then
	check "valgrind: nothing wrong" "65536 bytes over roce0" \
		"$(lab_run -- valgrind -q --error-exitcode=9 ./rdma_write 2>&1 | tail -n 1)"
	check_ok "valgrind finds a write beyond" grep -q 'Invalid write of size 1' <(
		lab_run -- valgrind -q --error-exitcode=9 ./wrong a x 2>&1)
fi
if have gdb; then
	lab_run -- gdb -batch -ex 'break ibv_open_device' -ex run -ex bt -ex continue ./rdma_write > "$work/out" 2>&1
	check "gdb: a breakpoint, where from, and on" "1 1 1" "$(grep -c '^Breakpoint 1.*ibv_open_device' "$work/out") $(
		grep -c '^#1 .* main .*rdma_write.c:' "$work/out") $(grep -c '^65536 bytes over roce0' "$work/out")"
fi
if have strace; then
	lab_run -- strace -f -o calls ./rdma_write > "$work/out" 2>&1
	check_ok "strace sees the verbs" test "$(grep -c 'ioctl(.*RDMA' "$home/calls")" -ge 5
fi

: "system calls"
# Features of the kernel that programs under test use; only ENOSYS means that one is missing.
cat > "$home/calls.py" << 'END'
import ctypes, errno, os
calls = {'process_vm_readv': 310, 'mq_open': 240, 'seccomp': 317, 'io_uring_setup': 425,
         'bpf': 321, 'userfaultfd': 323, 'fanotify_init': 300}
libc = ctypes.CDLL(None, use_errno=True)
print(' '.join([name for name, number in calls.items()
                if libc.syscall(number, -1, -1, -1, -1, -1) >= 0 or
                ctypes.get_errno() == errno.ENOSYS] + ['fuse'] * (not os.path.exists('/dev/fuse'))))
END
check "system calls that are missing" "" "$(lab_run -- /usr/bin/python3 calls.py)"

: "rdma-core's own tests"
source=/usr/share/doc/rdma-core/tests
cp -r $source "$home/tests" && gunzip -f "$home"/tests/*.gz || fail "no $source: package rdma-core"
sed -i -f scripts/tests/consumers/pyverbs-patience.sed "$home"/tests/{utils,base}.py
cp scripts/tests/consumers/pyverbs-run.py scripts/tests/consumers/pyverbs-*.txt "$home/"
chmod -R a+rX "$home"
cat > "$home/pyverbs" << 'END'
exec /usr/bin/python3 -B ./pyverbs-run.py "$PWD/tests" $ROCE_LAB_DEVICE $ROCE_LAB_GID_INDEX_V2 \
	$ROCE_LAB_ADDRESS $(cat /sys/class/net/$ROCE_LAB_NETDEV/address) $(uname -r | cut -d. -f1,2)
END
as_user timeout 300 roce-lab run --mtu 1500 -- sh ./pyverbs > "$work/out" 2>&1
check "pyverbs: as root has it" "0 0 1" "$? $(grep -c '^FAIL' "$work/out") $(
	grep -cE '^# 1[0-9][0-9] tests, 0 misjudged$' "$work/out")"

: "consumers"
cat > "$home/consumers" << 'END'
b=$(echo $ROCE_LAB_ADDRESSES | cut -d' ' -f2)
rx() { lab b cat /sys/class/infiniband/roce1/ports/1/counters/port_rcv_data; }
listens() { lab b sh -c "grep -q '$1 .* 0A ' /proc/net/tcp /proc/net/tcp6"; }
listens_cm() { lab b rdma resource show cm_id | grep -q LISTEN; }
# pair NAME BYTES READY CLIENT -- SERVER: its status, and whether the port received that many
pair() {
	name=$1 bytes=$2 ready=$3 client=$4
	shift 5
	before=$(rx)
	lab b "$@" > $name.server 2>&1 &
	server=$! n=0
	until $ready || [ $((n += 1)) -gt 100 ]; do sleep 0.1; done
	timeout 60 sh -c "$client" > $name.client 2>&1
	echo "$name $? $((($(rx) - before) * 4 >= bytes))"
	kill $server 2> /dev/null
}
pair ucx 32768000 'listens :3435' 'UCX_TLS=rc,self ucx_perftest b -t tag_bw -s 65536 -n 500' -- \
	env UCX_TLS=rc,self ucx_perftest
pair libfabric 13107200 'listens :B9D8' "fi_pingpong -p verbs -e msg -I 200 -S 65536 $b" -- \
	fi_pingpong -p verbs -e msg -I 200 -S 65536
printf '[s]\nioengine=rdma\nport=8765\nbs=64k\nsize=20m\nrw=read\n' > fio-server
printf '[c]\nioengine=rdma\nhostname=%s\nport=8765\nbs=64k\nsize=20m\nverb=write\nrw=write\n' $b > fio-client
pair fio 20971520 listens_cm 'fio fio-client' -- timeout 60 fio fio-server
! command -v qperf > /dev/null ||
	pair qperf 1000000 'listens :4D15' 'qperf -cm 1 -t 1 -to 60 b rc_bw rc_lat rc_rdma_write_bw rc_rdma_read_lat' -- qperf
END
expected="ucx 0 1 libfabric 0 1 fio 0 1"
! have qperf || expected+=" qperf 0 1"
check "consumers between hosts: status, and bytes by the port's counter" "$expected" \
	"$(lab_run --hosts 2 -- sh ./consumers 2> "$work/err" | paste -sd ' ')"

: "migration"
# A machine without a disk, running its firmware; "migrate" returns when it is on the other host.
cat > "$home/migrate" << 'END'
b=$(echo $ROCE_LAB_ADDRESSES | cut -d' ' -f2)
machine='qemu-system-x86_64 -M pc -accel tcg -m 64 -nodefaults -display none -monitor stdio'
rx() { lab b cat /sys/class/infiniband/roce1/ports/1/counters/port_rcv_data; }
pin="migrate_set_capability rdma-pin-all $1"
mkfifo /tmp/monitor
before=$(rx)
lab b $machine -incoming defer < /tmp/monitor > incoming 2>&1 &
exec 3> /tmp/monitor
printf '%s\n' "$pin" "migrate_incoming rdma:$b:4444" >&3
until lab b rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done
printf '%s\n' "$pin" "migrate rdma:$b:4444" 'info migrate' quit | $machine > outgoing 2>&1
until grep -q 'VM status: running' incoming; do
	echo info status >&3
	sleep 0.2
done
echo quit >&3
wait
echo $(grep -o 'Migration status: [a-z]*' outgoing) $((($(rx) - before) * 4 >= $2))
END
if have qemu-system-x86_64; then
	check "QEMU: what is not zero of 64 MB, a page at a time" "Migration status: completed 1" \
		"$(lab_run --hosts 2 -- sh ./migrate off 100000 2> "$work/err")"
	check "QEMU: all of it pinned" "Migration status: completed 1" \
		"$(lab_run --hosts 2 -- sh ./migrate on 100000 2> "$work/err")"
fi
for name in valgrind gdb strace pyverbs UCX libfabric fio qperf QEMU; do
	on_page "$name"
done
[ "$FAILS" -eq 0 ] || tail -n 5 "$home"/*.client
finish
