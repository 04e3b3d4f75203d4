#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml vm
# tier: full
# every: 4
# timeout: 600
#
# However much is pending, at most 64 packets, and with PREEMPT_RT at most 64 KiB of payload, are
# sent or received with bottom halves off: in a turn of a QP, in a tasklet, and for each packet or
# block that arrives. Kernel tracing records the times; sections.py adds up.
#
#   a (ra$$)  ====== veth, MTU 9000 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours
need ib_write_bw ib_read_bw

TRACING=/sys/kernel/tracing
[ -e $TRACING/events ] || mount -t tracefs tracefs $TRACING 2> /dev/null ||
	skip "this kernel has no tracing"
setup_pair 9000
events="rhca/rhca_tx rhca/rhca_rx rhca/rhca_turn irq/softirq_entry irq/softirq_exit"
events+=" irq/tasklet_entry irq/tasklet_exit"
for event in $events; do
	[ -d "$TRACING/events/$event" ] || skip "this kernel does not trace $event"
done
defer "echo 0 > $TRACING/events/enable"
echo 16384 > $TRACING/buffer_size_kb
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
PORT=18700
n=${ITERS:-60}

# traced WHAT TOOL ARGUMENTS...
traced() {
	local what=$1 event
	shift
	PORT=$((PORT + 1))
	echo > $TRACING/trace
	for event in $events; do echo 1 > "$TRACING/events/$event/enable"; done
	pair "$what" tcp:$PORT "$1 -d $DEV_A -x $ia -p $PORT -F ${*:2}" \
		"$1 -d $DEV_B -x $ib -p $PORT -F ${*:2} $IP4_A"
	echo 0 > $TRACING/events/enable
	LIMIT=60 python sections.py $TRACING/trace
}

traced "one QP, large messages" ib_write_bw -m 4096 -s 1048576 -n $n
traced "READs" ib_read_bw -m 4096 -s 262144 -n $n
traced "small MTU" ib_write_bw -m 1024 -s 262144 -n $n
traced "many QPs, small messages" ib_write_bw -m 4096 -s 64 -q 64 -n $n
traced "many QPs, large messages" ib_write_bw -m 4096 -s 65536 -q 16 -n $n
traced "many QPs, READs" ib_read_bw -m 4096 -s 65536 -q 16 -n $n
traced "datagrams" ib_send_bw -c UD -m 4096 -s 4096 -n $((10 * n))
finish
