#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml kcsan debug-rt
# tier: full
# every: 3
# timeout: 600
#
# Latency tests of perftest: one request at a time, polled, and the next one posted at once,
# with packets processed on another processor than the program's. A completion published before
# its slot is free shows as "Couldn't post send". Each is run ROUNDS times (5; 2 on an emulated
# machine, where one takes 15 s) for each RoCE version, with MESSAGES (1000).
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)
#   server on CPU 0, packets on 1           client on CPU 1, packets on 0

. "$(dirname "$0")/../lib/lib.sh"

[ "$(nproc)" -ge 2 ] || skip "one processor"
need ib_send_lat taskset
setup_pair 9000
in_a sh -c "echo 2 > /sys/class/net/$IF_A/queues/rx-0/rps_cpus" || die "no RPS"
in_b sh -c "echo 1 > /sys/class/net/$IF_B/queues/rx-0/rps_cpus" || die "no RPS"

PORT=18800
rounds=${ROUNDS:-$(emulated && echo 2 || echo 5)}
for ((round = 1; round <= rounds; round++)); do
	for type in $(roce_versions); do
		ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
		for tool in ib_atomic_lat ib_read_lat ib_write_lat ib_send_lat; do
			PORT=$((PORT + 1))
			pair "$tool-$type-$round" tcp:$PORT \
				"taskset 1 $tool -d $DEV_A -x $ia -p $PORT -F -n ${MESSAGES:-1000}" \
				"taskset 2 $tool -d $DEV_B -x $ib -p $PORT -F -n ${MESSAGES:-1000} $IP4_A"
		done
	done
done
finish
