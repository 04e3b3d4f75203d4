#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 900
#
# What people run in a lab: a verbs program under the compilers' sanitizers, valgrind, gdb and
# strace, each of which finds what it is for; the tests of rdma-core; and UCX, libfabric, fio
# and qperf between two hosts, whose bytes the port's counters have.
#
# No turns: a minute of booting labs and of programs that are slow, beside the scenario lab,
# which has what most changes would break.

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
for finding in address:heap-buffer-overflow undefined:'shift exponent' thread:'data race'; do
	check_ok "${finding%%:*} finds a ${finding#*:}" grep -q "${finding#*:}" <(
		lab_run -- "./wrong-${finding%%:*}" "${finding%%:*}" x 2>&1)
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

: "rdma-core's own tests"
source=/usr/share/doc/rdma-core/tests
cp -r $source "$home/tests" && gunzip -f "$home"/tests/*.gz || fail "no $source: package rdma-core"
# As scenario pyverbs has it, on a machine that does something else as well
sed -i 's/^POLL_CQ_TIMEOUT = 10\b/POLL_CQ_TIMEOUT = 60/' "$home/tests/utils.py"
sed -i 's/timeout=15)/timeout=120)/;s/repeat_times=150 /repeat_times=1200 /' "$home/tests/base.py"
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
# pair NAME BYTES READY CLIENT -- SERVER: its status, and whether the port has received that
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
	pair qperf 1000000 'listens :4D15' 'qperf -cm 1 -t 1 b rc_bw rc_lat rc_rdma_write_bw rc_rdma_read_lat' -- qperf
END
expected="ucx 0 1 libfabric 0 1 fio 0 1"
! have qperf || expected+=" qperf 0 1"
check "consumers between hosts: status, and bytes by the port's counter" "$expected" \
	"$(lab_run --hosts 2 -- sh ./consumers 2> "$work/err" | paste -sd ' ')"
for name in valgrind gdb strace pyverbs UCX libfabric fio qperf; do
	on_page "$name"
done
[ "$fails" -eq 0 ] || tail -n 5 "$home"/*.client
finish
