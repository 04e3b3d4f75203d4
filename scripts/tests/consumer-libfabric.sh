#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# libfabric's verbs provider: messages, datagrams, and reliable datagrams by ofi_rxm
# and ofi_rxd, with fi_pingpong, which checks every byte (-c); connections over both RoCE
# versions, and ofi_rxm and ofi_rxd while the link flaps. Not with the device removed: who
# waits for an answer of a peer that has gone without a word is told nothing, and waits.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
command -v fi_pingpong > /dev/null || skip "no fi_pingpong (package libfabric-bin)"

setup_hosts
PORT=23000

pingpong() { # pingpong NAME LEAST-PACKETS PROVIDER ENDPOINT
	local before
	PORT=$((PORT + 1))
	before=$(sent)
	pair "$1" tcp:$PORT "fi_pingpong -B $PORT -p $3 -e $4 -c -I ${ROUNDS:-20} -S ${SIZE:-4096}" \
		"fi_pingpong -P $PORT -p $3 -e $4 -c -I ${ROUNDS:-20} -S ${SIZE:-4096} $IP4_A"
	used "$1" "$before" "$2"
}

check_match "fi_info lists the device" "$DEV_A" "$(in_a fi_info -p verbs)"
for type in v1 v2; do
	roce_mode_of "$DEV_A" $type
	roce_mode_of "$DEV_B" $type
	watch_wire $type
	pingpong "messages, $type" 20 verbs msg
	SIZE=1048576 pingpong "messages of 1 MiB, $type" 2000 verbs msg
	pingpong "reliable datagrams over messages (ofi_rxm), $type" 20 'verbs;ofi_rxm' rdm
	SIZE=1048576 pingpong "the same, 1 MiB, $type" 2000 'verbs;ofi_rxm' rdm
	seen_on_wire "$type is what was sent"
done
SIZE=1024 pingpong "datagrams" 20 verbs dgram
pingpong "reliable datagrams over datagrams (ofi_rxd)" 20 'verbs;ofi_rxd' rdm

flap_under_load "$(sent)" 2000 &
flap=$!
# 1990 rounds are 8088 receives at each end. Each 64th is answered with credits, and
# libfabric dies of a message that comes as it closes: 2000 rounds end with one
# (Documentation/consumers.rst).
ROUNDS=1990 SIZE=65536 pingpong "while the link flaps" 20000 'verbs;ofi_rxm' rdm
flapped "while the link flaps" $flap
flap_under_load "$(sent)" 1000 &
flap=$!
ROUNDS=1000 pingpong "ofi_rxd while the link flaps" 2000 'verbs;ofi_rxd' rdm
flapped "ofi_rxd while the link flaps" $flap
finish
