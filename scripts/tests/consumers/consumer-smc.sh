#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# modules: consumers
# tier: full
# timeout: 600
#
# SMC-R: sockets of family AF_SMC, whose streams are transferred by RDMA WRITEs between kernels.
# Every byte comes back and is compared (smc-bytes.c); the devices' counters show that RDMA was
# used, and not TCP, to which SMC falls back silently. Version 1, which uses RoCE v1, and
# version 2, which uses RoCE v2; with large buffers, which SMC registers as a whole; then the
# link flaps, and the device of either host is removed, under a stream: SMC aborts it, and the
# next one uses RDMA again. smc-bytes waits for a second before it closes an aborted stream, as
# SMC of 7.3 leaks a reference to a socket that is closed while being aborted, which keeps its
# namespace for ever.

. "$(dirname "$0")/consumer-lib.sh"
only_ours
modprobe smc 2> /dev/null || no_consumer SMC
gcc -O1 -o "$WORK/smc-bytes" "$HERE/smc-bytes.c" || die "smc-bytes.c does not compile"
setup_hosts 1500

PORT=7000
SERVER=
listens() { in_a grep -qi "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp; }

# serve WHAT: one stream, on the next port
serve() {
	PORT=$((PORT + 1))
	spawn_a timeout 200 "$WORK/smc-bytes" server $IP4_A $PORT
	SERVER=$!
	busywait 60 listens $PORT || fail "$1: expected a listening server"
}

# stream NAME KIBIBYTES LEAST-PACKETS
stream() {
	local before
	before=$(sent)
	serve "$1"
	in_b timeout 120 "$WORK/smc-bytes" client $IP4_A $PORT "$2" > "$WORK/client" 2>&1
	check "$1: every byte came back" "ok $(($2 / 32)) chunks" "$(cat "$WORK/client")"
	wait $SERVER
	used "$1" "$before" "$3"
}

# endless WHAT: a stream that does not end by itself
CLIENT=
endless() {
	local before
	before=$(sent)
	serve "$1"
	spawn_b timeout 120 "$WORK/smc-bytes" client $IP4_A $PORT 100000000 > "$WORK/client" 2>&1
	CLIENT=$!
	busywait 60 sent_since "$before" 500 || fail "$1: expected a stream by RDMA before"
}

# aborted WHAT: the endless stream has ended at both ends
aborted() {
	check_ok "$1: the client's stream has ended" busywait 60 eval "! kill -0 $CLIENT"
	check_match "$1: in the middle" "ended after [0-9]+ chunks" "$(cat "$WORK/client")"
	check_ok "$1: the server's stream has ended" busywait 60 eval "! kill -0 $SERVER"
}

# removed a|b
removed() {
	local what="$1's device is removed"

	endless "$what"
	remove_device "$what" "$1"
	aborted "$what"
	new_device "$1"
	stream "$what: the next stream" 4096 4000
}

# SMC gives up a link of a port that is down (smcr_port_err()). A connection with another link
# continues on that; with devices of a single port there is none, so its queue pairs, which
# would survive, are destroyed.
flapped_under_stream() {
	local what="the link flaps"

	endless "$what"
	check_ok "$what: for 0.3 s" flap_under_load "$(sent)" 0
	aborted "$what"
	stream "$what: the next stream" 4096 4000
}

watch_wire v1
stream "SMC-R version 1" 4096 4000
seen_on_wire "RoCE v1 is on the wire"

defer "$PYTHON $HERE/smc-tables.py no-ids"
check_ok "an enterprise ID for version 2" $PYTHON "$HERE/smc-tables.py" id RHCA
watch_wire v2
stream "SMC-R version 2" 4096 4000
seen_on_wire "RoCE v2 is on the wire"

# buffers BYTES: of the streams from then on
buffers() {
	in_a sysctl -qw net.smc.rmem="$1" net.smc.wmem="$1" &&
		in_b sysctl -qw net.smc.rmem="$1" net.smc.wmem="$1"
}
check_ok "buffers of 4 MiB" buffers $((4 << 20))
stream "buffers of 4 MiB" 4096 4000
check_ok "buffers of 64 KiB" buffers $((64 << 10))

flapped_under_stream
removed b
removed a
finish
