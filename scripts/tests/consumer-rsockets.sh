#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 600
#
# rsockets: rstream over both RoCE versions, with blocking calls and without.

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
finish
