#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: full
# timeout: 600
#
# SMC-R: sockets of family AF_SMC, whose streams go by RDMA WRITEs between kernels. Every
# byte comes back and is compared (smc-bytes.c); that RDMA carried them, and not TCP,
# which SMC falls back to without a word, is told by the devices' counters. Again while
# the link flaps.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
modprobe smc 2> /dev/null || skip "the kernel has no SMC"
gcc -O1 -o "$WORK/smc-bytes" "$TESTS/smc-bytes.c" || die "smc-bytes.c does not compile"
setup_hosts 1500

listens() { in_a grep -qi "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp; }

# stream NAME PORT KIBIBYTES LEAST-PACKETS
stream() {
	local before
	before=$(sent)
	spawn_a timeout 200 "$WORK/smc-bytes" server $IP4_A "$2"
	busywait 30 listens "$2" || fail "$1: expected a listening server"
	in_b timeout 120 "$WORK/smc-bytes" client $IP4_A "$2" "$3" > "$WORK/client" 2>&1
	check "$1: every byte came back" "ok $(($3 / 32)) chunks" "$(cat "$WORK/client")"
	wait $!
	used "$1" "$before" "$4"
}

stream "SMC-R" 7001 4096 4000
flap_under_load "$(sent)" 500 &
flap=$!
stream "while the link flaps" 7002 8192 8000
flapped "while the link flaps" $flap
finish
