#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# timeout: 600
#
# A QP's data in the queue of its netdev is bounded, however much that accepts, and may
# still be sent after its QP, its device and the module are gone.
#
#   a (ra$$, 8 Mbit/s, a queue of 1 GiB)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

# A QP may use 2 MiB of memory; a turn may add 64 packets of 4 KiB.
MOST=$(((2 << 20) + 64 * 4300))
ENOUGH=$((512 << 10))

setup_pair 9000
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
show_a tc qdisc replace dev "$IF_A" root tbf rate 8mbit burst 100kb limit 1gb || die "no tbf"
backlog() { in_a tc -s -j qdisc show dev "$IF_A" | sed 's/.*"backlog":\([0-9]*\).*/\1/'; }
waits() { [ "$(backlog)" -ge $ENOUGH ]; }
is_empty() { [ "$(backlog)" -eq 0 ]; }

for kind in UC READ; do
	# Packets of the previous QP must not count for this one
	busywait 60 is_empty || die "the queue does not become empty: $(backlog) bytes"
	$PYTHON "$HERE/tx-memory.py" "$DEV_A" "$ia" "$DEV_B" "$ib" $kind > "$WORK/$kind" 2>&1 &
	sender=$!
	busywait 60 grep -q running "$WORK/$kind" || die "nothing is sent: $(cat "$WORK/$kind")"
	wait_check 60 "$kind: $ENOUGH bytes wait in the queue" waits
	most=0
	for _ in $(seq 30); do
		now=$(backlog)
		[ "$now" -le $most ] || most=$now
		sleep 0.1
	done
	if [ "$most" -le $MOST ]; then pass "$kind: at most $most bytes wait there"
	else fail "$kind: expected at most $MOST bytes in the queue, $most are there"; fi
	# Make it take minutes to send what is in the queue
	[ $kind = UC ] || show_a tc qdisc change dev "$IF_A" root tbf rate 80kbit burst 100kb limit 1gb
	show kill -9 $sender
	wait $sender 2> /dev/null
done

: "they outlive their QPs, the devices and the module"
rdma link del "$DEV_A"
rdma link del "$DEV_B"
unload() { rmmod roce_hca 2> /dev/null; }
wait_check 30 "the module is unloaded" unload
left=$(backlog)
check "packets of it are still queued" 1 $((left > 0))
show_a tc qdisc del dev "$IF_A" root
finish
