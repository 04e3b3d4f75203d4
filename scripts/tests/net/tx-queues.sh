#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# tier: full
# spread: yes
# timeout: 300
#
# A netdev with a TX queue for each processor, as adapters have (XPS), of which one is longer than
# the other. Requests of a QP do not overtake each other: those of RC, which its process sends and
# its acknowledgements send on another processor, and those of UC, whose process moves.
#
#   a (server)  ====== veth, two queues, MTU 9000 ======  b (client: posts on processor 1,
#                                                            receives on processor 3)

. "$(dirname "$0")/../lib/lib.sh"
. "$(dirname "$0")/../lib/blocks-lib.sh"

only_ours
need tc jq taskset ib_write_bw
[ -n "$SPREAD" ] && [ "$(nproc)" -ge 4 ] || skip "needs the lane uml-spread, of four processors"
WIRE_QUEUES=2
setup_pair 9000
queues=/sys/class/net/$IF_B/queues
in_b sh -c "echo 2 > $queues/tx-0/xps_cpus && echo 8 > $queues/tx-1/xps_cpus" ||
	skip "this kernel has no XPS"
show_b tc qdisc replace dev "$IF_B" root handle 1: mq || skip "this kernel has no mq"
# Its packets wait, and count as memory of the QP until they leave. (netem releases that.)
show_b tc qdisc replace dev "$IF_B" parent 1:1 tbf rate 2gbit burst 128k limit 16m ||
	skip "this kernel has no tbf"
show_b tc qdisc replace dev "$IF_B" parent 1:2 pfifo || skip "this kernel has no pfifo"

# sent QUEUE: packets that it has sent
sent() { in_b tc -s -j qdisc show dev "$IF_B" | jq ".[] | select(.parent == \"1:$1\") | .packets"; }
gaps() {
	echo $(($(both_count out_of_sequence) + $(both_count packet_seq_err) +
		$(both_count rx_dropped_bad_sequence)))
}

: "each processor has its own queue"
for row in "1 1" "2 3"; do
	read -r queue cpu <<< "$row"
	before=$(sent "$queue")
	ip netns exec "$NS_B" taskset -c "$cpu" ping -q -c 5 -i 0.2 $IP4_A > /dev/null
	check_ok "processor $cpu, queue $queue: $(($(sent "$queue") - before))" \
		[ $(($(sent "$queue") - before)) -ge 5 ]
done

ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
PORT=18900
# in_order WHAT TOOL ARGUMENT...
in_order() {
	local before

	before=$(gaps)
	PORT=$((PORT + 1))
	pair "$1" tcp:$PORT "$2 -d $DEV_A -x $ia -p $PORT -F ${*:3}" \
		"$2 -d $DEV_B -x $ib -p $PORT -F ${*:3} $IP4_A"
	check "$1: packets out of sequence" 0 $(($(gaps) - before))
}

: "RC"
in_order "RC WRITEs" ib_write_bw -m 4096 -s 65536 -n 300
in_order "RC SENDs, small MTU" ib_send_bw -m 1024 -s 65536 -n 300
in_order "RC READs" ib_read_bw -m 4096 -s 65536 -n 300

: "UC, from one processor and the other in turn"
while sleep 0.02; do
	for cpu in 1 3; do
		for pid in $(pgrep -f "ib_write_bw -d $DEV_B -x"); do
			taskset -pc $cpu "$pid"
		done
		sleep 0.02
	done
done > /dev/null 2>&1 &
mover=$!
in_order "UC WRITEs" ib_write_bw -c UC -m 4096 -s 65536 -n 2000
kill $mover
wait $mover 2> /dev/null

: "responses, of a, which gets the READs' requests on processor 0 and processor 2 in turn"
queues=/sys/class/net/$IF_A/queues
in_a sh -c "echo 1 > $queues/tx-0/xps_cpus && echo 4 > $queues/tx-1/xps_cpus"
show_a tc qdisc replace dev "$IF_A" root handle 1: mq
show_a tc qdisc replace dev "$IF_A" parent 1:1 tbf rate 500mbit burst 128k limit 16m
show_a tc qdisc replace dev "$IF_A" parent 1:2 pfifo
while move_queues in_a "$IF_A" 4 && sleep 0.02; do
	move_queues in_a "$IF_A" 1
	sleep 0.02
done &
mover=$!
# A request may overtake another one when they are moved: that run does not count.
for _ in 1 2 3 4; do
	late=$(hw_counter "$DEV_A" out_of_sequence) before=$(hw_counter "$DEV_B" rx_held)
	PORT=$((PORT + 1))
	pair moved-reads tcp:$PORT "ib_read_bw -d $DEV_A -x $ia -p $PORT -F -m 4096 -s 65536 -n 1000" \
		"ib_read_bw -d $DEV_B -x $ib -p $PORT -F -m 4096 -s 65536 -n 1000 $IP4_A"
	[ "$(hw_counter "$DEV_A" out_of_sequence)" != "$late" ] || break
done
check "responses that others overtook" 0 $(($(hw_counter "$DEV_B" rx_held) - before))
kill $mover
wait $mover 2> /dev/null
finish
