#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine whose adapter loses, reorders and corrupts frames, also those that
# come back to it. rping compares the data it gets; the RC pingpong its content.
. "$(dirname "$0")/guest-lib.sh"

q_counter() {
	cat "/sys/class/infiniband/$rdma/ports/1/hw_counters/$1"
}

saw_losses() {
	local seen

	seen=$(($(q_counter out_of_sequence) + $(q_counter local_ack_timeout_err)))
	echo "out of sequence or timed out: $seen"
	[ "$seen" -gt 0 ]
}

# impair LOSS REORDER CORRUPT: in parts per million
impair() {
	control "{\"cmd\":\"impair\",\"loss_ppm\":$1,\"reorder_ppm\":$2,\"corrupt_ppm\":$3}"
}

check bring-up bring_up 10.7.0.1
check impair impair 10000 5000 2000
at="-d $rdma -g $gid"
perf="-d $rdma -x $gid -F"
# pingpong NAME OPTION...: the one that is done first goes away with its QP, and does
# not repeat an acknowledgement that is lost then: the server may end with a retry
# counter that is exceeded, if the client, who has compared all data, ends well.
pingpong() {
	local name=$1 command="ibv_rc_pingpong $at -c ${*:2}" said=$work/pingpong

	pair "$name" "$command > $said 2>&1 || { cat $said; grep -q 'exceeded (12)' $said; }" \
		"$command localhost"
}

pingpong rc-content -n 300
pingpong rc-large -s 262144 -n 20
pair rping-verify "rping -s -a $address -C 20 -v -V" "rping -c -a $address -C 20 -v -V"
for op in write read send; do
	pair "$op" "ib_${op}_bw $perf -n 20 -s 65536" "ib_${op}_bw $perf -n 20 -s 65536 localhost"
done
pair atomic "ib_atomic_bw $perf -n 200" "ib_atomic_bw $perf -n 200 localhost"
check saw-losses saw_losses
check repair impair 0 0 0
finish
