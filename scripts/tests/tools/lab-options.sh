#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: host
# tier: wide
# turns: no
# timeout: 900
#
# Options of roce-lab that are visible inside: parameters of the driver, type of service,
# rate and seed of the wire, processors, memory, trace events; and those for kernel
# developers: command line, a module and a kernel of their own, a debugger.
#
# No turns: it boots labs for a minute, and the scenario lab detects most regressions.

set -u
cd "$(dirname "$(realpath "$0")")/../../.." || exit
. scripts/tests/lib/lab-lib.sh
lab_setup

: "the manual page"
options() { grep -oE -- "$1-[a-z][a-z-]*" | grep -oE -- '[a-z][a-z-]*$' | grep -vx -e help -e version | sort -u; }
check "has the options that --help has" "$(as_user roce-lab --help | options '^  -')" \
	"$(grep '^\.It Fl' Documentation/man/roce-lab.1 | options ' ')"
check "behind a command --help is the same" "$(as_user roce-lab --help)" "$(as_user roce-lab run --help)"
check "behind options it is the command's" "said --help" \
	"$(as_user roce-lab run sh -c 'echo said "$0"' --help)"

: "the driver"
check "--set" off "$(as_user roce-lab run --set blocks=off -- cat /sys/module/roce_hca/parameters/blocks)"
cp "scripts/tests/lib/rping.sh" "$home"
cat > "$home/ping-over-rdma" << 'END'
. ./rping.sh
lab b rping -s -a $(echo $ROCE_LAB_ADDRESSES | cut -d' ' -f2) -C 20 > server &
until lab b rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done
rping -c -a $(echo $ROCE_LAB_ADDRESSES | cut -d' ' -f2) -C 20 > client 2>&1
[ "$(rping_status $? client)" = 0 ] && echo good
END
check "--tos: rping" good "$(as_user timeout 60 roce-lab run --hosts 2 --tos 106 --pcap seen.pcap \
	--trace rdma_cma:cm_event_handler,rhca:rhca_tx events -- sh ./ping-over-rdma)"
data='udp port 4791 and udp[11] != 1'	# without rdma_cm's own packets, to QP 1
check_ok "--tos: in its packets" test "$(tcpdump -n -r "$home/seen.pcap" "$data and ip[1] & 0xfc == 104" \
	2> /dev/null | wc -l)" -ge 40
check "--tos: and in no other" 0 "$(tcpdump -n -r "$home/seen.pcap" "$data and ip[1] & 0xfc != 104" \
	2> /dev/null | wc -l)"
check_ok "--trace: of the kernel" grep -q 'cm_event_handler: .*ESTABLISHED' "$home/events"
check_ok "--trace: of the driver" test "$(grep -c ' rhca_tx: ' "$home/events")" -ge 40
as_user cp events kept
as_user roce-lab run --trace 'nonesuch:*' kept -- true 2> "$work/said"
check "--trace of no event" "125 roce-lab: --trace nonesuch:*: the kernel has no such events" \
	"$? $(sed 's/ (.*//' "$work/said")"
as_user roce-lab run --pcap kept --cwd /nowhere -- true 2> "$work/said"
check "--pcap of a lab that does not start: status" 125 $?
check_ok "--pcap, --trace: what the file had, if no command starts" cmp "$home/events" "$home/kept"
as_user roce-lab run --trace sched:sched_process_hang kept -- true
check "--trace without an event" 0 "$(stat -c %s "$home/kept")"
# read_late PINGS OPTION...: a file larger than pipes, which nobody reads before the command has
# ended; into $work/late
read_late() {
	local pings=$1

	shift
	rm -f "$home"/{slow,ended}
	as_user mkfifo slow
	as_user sh -c 'exec < slow; until [ -e ended ]; do sleep 0.1; done; sleep 1; cat' > "$work/late" &
	as_user roce-lab run --hosts 2 "$@" slow -- sh -c "ping -4 -q $pings b > /dev/null; touch ended" 2> "$work/said"
	status=$?
	wait $!
}
pings='-s 4000 -i 0.002 -c 600'
read_late "$pings" --pcap
check "--pcap that is read late: status, pings and answers" "0 1200" \
	"$status $(tcpdump -n -r "$work/late" icmp 2> "$work/err" | wc -l)"
read_late '-f -s 60000 -c 4000' --user root --mtu 65000 --pcap
check "--pcap of more than it can hold: status, and how many are missing" "125 1" \
	"$status $(grep -c '^roce-lab: --pcap: up to [1-9][0-9]* packets are missing' "$work/said")"
as_user timeout 300 roce-lab run --hosts 2 --user root --pcap flood.pcap -- sh -c 'for i in 1 2 3 4 5 6; do
	setsid lab b ping -4 -f -q -s 2000 a > /dev/null 2>&1 & done; sleep 2'
# 125: too much to be kept
check_match "--pcap does not wait for who is left sending: status" '^(0|125)$' $?
rm -f "$home/flood.pcap"
read_late "$pings" --trace 'sched:*,skb:*,net:*'
check "--trace that is read late: status" 0 $status
check_ok "--trace: to the command's end" grep -q prev_comm=touch "$work/late"
as_user roce-lab run --pcap /dev/full -- true 2> "$work/said"
check "--pcap on a disk that is full" "125 roce-lab: --pcap: No space left on device" "$? $(< "$work/said")"

: "the wire"
check "--rate: 2 ms for 1500 bytes in each direction of 6mbit" yes "$(as_user roce-lab run --hosts 2 \
	--rate 6mbit -- ping -4 -c 3 -i 0.3 -s 1472 b | sed -n 's/.*time=\([0-9]*\).*/\1/p' | tail -n 1 |
	awk '{ print ($1 >= 4 && $1 < 100) ? "yes" : $1 }')"
cat > "$home/all-wires" << 'END'
tries() { for name in b b-2; do ping -4 -c 1 -W 1 $name > /dev/null; echo $?; done; }
tries; lab set b down; tries; lab set b up; tries; lab set b loss 100%; tries
END
check "lab set: all the host's devices" "0 0 1 1 0 0 1 1" \
	"$(as_user roce-lab run --hosts 2 --devices 2 -- sh ./all-wires 2> "$work/err" | paste -sd ' ')"
cat > "$home/slower" << 'END'
took() { ping -4 -c 5 -i 0.3 -s 1472 b | sed -n 's/.*time=\([0-9]*\).*/\1/p' | sort -n | head -n 1; }
in_order() { awk -v least=$1 -v ms=$2 'BEGIN { print (ms >= least && ms < least + 50) ? "yes" : ms }'; }
lab set b delay 60ms; in_order 60 $(took)
lab set b delay 0ms; in_order 0 $(took)
lab set a rate 1mbit; in_order 12 $(took)
END
check "lab set: delay, none again, and 12 ms for 1500 bytes at 1mbit" "yes yes yes" \
	"$(as_user roce-lab run --hosts 2 -- sh ./slower 2>&1 | paste -sd ' ')"
cat > "$home/ecn" << 'END'
ping -4 -c 1 b > /dev/null
lab --root b timeout 5 tcpdump -n -l -i eth0 'icmp[icmptype] == 8 and ip[1] & 3 == 3' > marked 2> /dev/null &
sleep 1
lab set b loss 50%
ping -4 -Q 2 -c 40 -i 0.01 -W 1 b | grep -c 'bytes from'
wait
awk 'END { print (NR >= 5 && NR <= 35) }' marked
END
check "--ecn: all are answered, some came marked" "40 1" \
	"$(as_user roce-lab run --hosts 2 --loss 0.1% --ecn -- sh ./ecn | paste -sd ' ')"
# Without IPv6, whose hosts send group reports now and then: each packet to a port takes the
# next number of its sequence
lost() { # lost SEED: numbers of the pings that were answered
	as_user roce-lab run --hosts 2 --seed "$1" -- sh -c '
		for host in a b; do lab --root $host sh -c "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"; done
		ping -4 -c 1 b > /dev/null
		lab set b loss 30%; ping -4 -c 40 -i 0.01 -W 1 b' |
		sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' | paste -sd ' '
}
first=$(lost 5)
check "--seed: the same are lost" "$first" "$(lost 5)"
check_ok "--seed: another, others" test "$first" != "$(lost 6)"

cat > "$home/both-lose" << 'END'
for host in a b; do lab --root $host sh -c "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"; done
ping -4 -c 1 b > /dev/null
lab set b loss 30%; ping -4 -c 40 -i 0.01 -W 1 b | sed -n 's/.*icmp_seq=//p' | cut -d' ' -f1 > at-b
lab set b loss 0; lab set a loss 30%
lab b ping -4 -c 40 -i 0.01 -W 1 a | sed -n 's/.*icmp_seq=//p' | cut -d' ' -f1 > at-a
cmp -s at-a at-b; echo $?
END
check "--seed: after lab set, too, each port has a sequence of its own" 1 \
	"$(as_user roce-lab run --hosts 2 --seed 5 -- sh ./both-lose)"
check "lab set waits for another one" waited "$(as_user roce-lab run -- sh -c '
	lab --root flock /run/roce-lab/wire sh -c ": > locked; sleep 1; : > waited" &
	until [ -e locked ]; do sleep 0.1; done; lab set a delay 1ms; ls waited')"

: "the guest"
check "--cpus" "3 1" "$(as_user roce-lab run --cpus 3 -- nproc) $(as_user roce-lab run --cpus 1 -- nproc)"
check_match "--memory" '^4[0-9][0-9]$' "$(as_user roce-lab run --memory 512M -- \
	awk '/^MemTotal/ { printf "%d", $2 / 1024 }' /proc/meminfo)"
check "--verbose: the kernel's log, on stderr alone" "out 1" "$(as_user roce-lab run --verbose -- echo out \
	2> "$work/said") $(grep -c 'Linux version ' "$work/said")"
check "--pwd" "$home" "$(as_user roce-lab run --pwd -- pwd)"
check "--mtu without IPv6" 256 "$(as_user roce-lab run --hosts 2 --mtu 600 -- ibv_devinfo |
	sed -n 's/.*active_mtu:[^0-9]*\([0-9]*\) .*/\1/p')"
as_user roce-lab run --append madeup -- true
check "--append of a word that the kernel does not know: status" 0 $?
check "--append" 1 "$(as_user roce-lab run --append made.up=word --append loglevel=5 -- \
	grep -c 'made.up=word loglevel=5' /proc/cmdline)"

: "a module"
kernel=$(scripts/uml/build base)
mkdir "$work/ulp"
cp scripts/tests/tools/lab-ulp.c "$work/ulp/"
echo 'obj-m := lab-ulp.o' > "$work/ulp/Kbuild"
make -s -C "$kernel" ARCH=um "M=$work/ulp" modules || fail "lab-ulp.c does not compile"
check "--module is loaded after the devices" "ulp: roce0 ulp: roce1" "$(as_user roce-lab run --hosts 2 \
	--module "$work/ulp/lab-ulp.ko" -- dmesg | sed -n 's/.*\(ulp: roce[01]\)$/\1/p' | sort | paste -sd ' ')"
as_user roce-lab run --module /etc/passwd -- true 2> "$work/said"
check "--module of something else" 125 $?

: "a kernel of one's own"
# As "tools/lab/build --kernel" leaves it
mkdir "$work/kernel"
cp "$kernel/linux" "$work/kernel/"
as_user roce-lab run --kernel ../kernel -- true 2> "$work/said"
check "--kernel without modules" "125 1" \
	"$? $(grep -c "tools/lab/build --kernel $work/kernel\" .* builds them\$" "$work/said")"
cp -a "$work/moved here/lib/roce-lab/base" "$work/kernel/roce-lab"
ln -sf ../linux "$work/kernel/roce-lab/linux"
touch "$work/kernel/roce-lab/modules/roce_hca.ko"
as_user roce-lab run --kernel "$work/kernel" -- sh -c 'echo up; ls /sys/class/infiniband; sleep 100' > "$work/out" &
busywait 60 grep -q roce0 "$work/out"
check "--kernel: it is that which runs" "$work/kernel/linux" \
	"$(readlink "/proc/$(pgrep -u $uid -f '^linux mem=' -o)/exe")"
check "--kernel: with a device" "up roce0" "$(paste -sd ' ' "$work/out")"
pkill -KILL -u $uid
wait
touch "$work/kernel/linux"
as_user roce-lab run --kernel "$work/kernel" -- true 2> "$work/said"
check "--kernel that is newer than they are" "125 1" "$? $(grep -c 'newer than the modules' "$work/said")"

: "a debugger"
touch "$work/kernel/roce-lab/modules/roce_hca.ko"
as_user timeout 100 roce-lab run --kernel "$work/kernel" --gdb -- echo good > "$work/out" 2> "$work/said" &
busywait 20 grep -q 'waits for: gdb' "$work/said" || fail "--gdb says nothing"
sleep 2
check "--gdb: the kernel waits" "" "$(< "$work/out")"
gdb_words=$(sed -n 's/.*waits for: //p' "$work/said")
eval "timeout 60 $gdb_words -ex 'break start_kernel' -ex continue -ex delete -ex continue -batch" \
	> "$work/gdb" 2>&1 < /dev/null
wait
check "--gdb: and runs then" good "$(< "$work/out")"
check "--gdb: the debugger met start_kernel" 1 "$(grep -c '^Breakpoint .* in start_kernel' "$work/gdb")"
finish
