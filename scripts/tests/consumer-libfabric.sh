#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# libfabric's verbs provider: messages, datagrams, and reliable datagrams by ofi_rxm
# and ofi_rxd, with fi_pingpong, which checks every byte (-c).

. "$(dirname "$0")/consumer-lib.sh"
only_ours
command -v fi_pingpong > /dev/null || skip "no fi_pingpong (package libfabric-bin)"

setup_hosts
PORT=23000

pingpong() { # pingpong NAME LEAST-PACKETS PROVIDER ENDPOINT
	local before
	PORT=$((PORT + 1))
	before=$(sent)
	pair "$1" tcp:$PORT "fi_pingpong -B $PORT -p $3 -e $4 -c -I 20 -S ${SIZE:-4096}" \
		"fi_pingpong -P $PORT -p $3 -e $4 -c -I 20 -S ${SIZE:-4096} $IP4_A"
	used "$1" "$before" "$2"
}

check_match "fi_info lists the device" "$DEV_A" "$(in_a fi_info -p verbs)"
pingpong "messages" 20 verbs msg
SIZE=1048576 pingpong "messages of 1 MiB" 2000 verbs msg
pingpong "reliable datagrams over messages (ofi_rxm)" 20 'verbs;ofi_rxm' rdm
SIZE=1048576 pingpong "the same, 1 MiB" 2000 'verbs;ofi_rxm' rdm
SIZE=1024 pingpong "datagrams" 20 verbs dgram
finish
