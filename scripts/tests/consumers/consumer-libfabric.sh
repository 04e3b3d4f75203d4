#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 900
#
# libfabric's verbs provider: messages, datagrams, and reliable datagrams by ofi_rxm and
# ofi_rxd, with fi_pingpong, which checks every byte (-c); connections over both RoCE versions,
# and ofi_rxm and ofi_rxd while the link flaps. Then the device of one host is removed under
# load. Its program gets errors. The other one has sent its message and waits for an answer of
# the removed peer: it is not notified, so it is killed.

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
export FI_VERBS_GID_IDX
for type in v1 v2; do
	FI_VERBS_GID_IDX=$(own_index $type)
	watch_wire $type
	SIZE=1024 pingpong "datagrams, $type by GID index" 20 verbs dgram
	seen_on_wire "$type is what was sent"
done
unset FI_VERBS_GID_IDX
pingpong "reliable datagrams over datagrams (ofi_rxd)" 20 'verbs;ofi_rxd' rdm

flap_under_load "$(sent)" 2000 &
flap=$!
# 1990 rounds are 8088 receives at each end. Every 64th is answered with credits, and libfabric
# crashes on a message that arrives while it closes: 2000 rounds end with one
# (Documentation/consumers.rst).
ROUNDS=1990 SIZE=65536 pingpong "while the link flaps" 20000 'verbs;ofi_rxm' rdm
flapped "while the link flaps" $flap
flap_under_load "$(sent)" 1000 &
flap=$!
# On a busy machine 1000 rounds may be over before the counters are read.
ROUNDS=5000 pingpong "ofi_rxd while the link flaps" 2000 'verbs;ofi_rxd' rdm
flapped "ofi_rxd while the link flaps" $flap

# removed PROVIDER ENDPOINT: the device is removed under load; then a new one is created
removed() {
	local before server client
	PORT=$((PORT + 1))
	before=$(sent)
	spawn_a fi_pingpong -B $PORT -p "$1" -e "$2" -I 1000000 -S 4096 > "$WORK/removed.srv" 2>&1
	server=$!
	busywait 60 listens_tcp $server $PORT || say "$1: the server never listened"
	spawn_b fi_pingpong -P $PORT -p "$1" -e "$2" -I 1000000 -S 4096 $IP4_A > "$WORK/removed.cli" 2>&1
	client=$!
	busywait 120 sent_since "$before" 2000 || fail "$1: the load does not begin: $(cat "$WORK/removed.cli")"
	remove_device "$1: the device of a is removed" a
	kill -KILL $server $client
	wait $server $client
	new_device a
} 2> /dev/null

# It may crash on unexpected errors.
echo 'rhca-test: expect fi_pingpong\[[0-9]+\]: segfault' > /dev/kmsg
removed verbs msg
removed 'verbs;ofi_rxm' rdm
removed verbs dgram
echo 'rhca-test: expect nothing' > /dev/kmsg
pingpong "messages by the new device" 20 verbs msg
finish
