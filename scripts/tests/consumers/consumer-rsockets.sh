#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 600
#
# rsockets: rstream, which checks every byte, over both RoCE versions, with blocking calls
# and without; while the link flaps, and with the device removed.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
need rstream

setup_hosts
PORT=24000
for type in v1 v2; do
	roce_mode_of "$DEV_A" "$type"
	roce_mode_of "$DEV_B" "$type"
	for mode in b n; do
		PORT=$((PORT + 1))
		before=$(sent)
		pair "rstream, $type, mode $mode" cm:$PORT "rstream -b $IP4_A -p $PORT -T $mode -T v -I 100 -C 10 -S 20000" \
			"rstream -s $IP4_A -p $PORT -T $mode -T v -I 100 -C 10 -S 20000"
		used "rstream, $type, mode $mode" "$before" 1000
	done
done

stream() { # stream ROUNDS: of 100 messages each, not checked, which is faster
	echo "-p 24900 -I 100 -C $1 -S 20000"
}
flap_under_load "$(sent)" 2000 &
flap=$!
pair "while the link flaps" cm:24900 "rstream -b $IP4_A $(stream 100)" "rstream -s $IP4_A $(stream 100)"
flapped "while the link flaps" $flap
# librdmacm does not notify an rsocket that only receives when its own device is removed.
removed_under_load "removed" cm:24900 "rstream -b $IP4_A $(stream 100000)" "rstream -s $IP4_A $(stream 100000)"
finish
