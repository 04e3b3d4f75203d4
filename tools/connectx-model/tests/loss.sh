#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# One machine whose adapter loses, reorders and corrupts frames, also those that return to it.
# operations.py compares all data; rping the data it receives.
#
# usage: loss.sh [DRIVER]   mlx5_ib (default) or roce_hca_mlx5
. "$(dirname "$0")/guest-lib.sh"
# shellcheck disable=SC2034 # for guest-lib.sh
driver=${1-mlx5_ib}

q_counter() {
	cat "/sys/class/infiniband/$rdma/ports/1/hw_counters/$1"
}

saw_losses() {
	local seen

	seen=$(($(q_counter out_of_sequence) + $(q_counter local_ack_timeout_err)))
	echo "out of sequence or timed out: $seen"
	[ "$seen" -gt 0 ]
}

# The driver shows the adapter's counters; ours has it among those of performance management, too.
saw_corruption() {
	local seen

	seen=$(counter rx_icrc_errors)
	grep . "/sys/class/infiniband/$rdma/ports/1/"{hw_counters/rx_icrc_encapsulated,counters/port_rcv_errors}
	echo "wrong ICRC: $seen"
	[ "$seen" -gt 0 ] && [ "$(q_counter rx_icrc_encapsulated)" -eq "$seen" ] || return 1
	[ $driver = mlx5_ib ] || [ "$(q_counter ../counters/port_rcv_errors)" -eq "$seen" ]
}

# impair LOSS REORDER CORRUPT: in parts per million
impair() {
	control "{\"cmd\":\"impair\",\"loss_ppm\":$1,\"reorder_ppm\":$2,\"corrupt_ppm\":$3}"
}

check bring-up bring_up 10.7.0.1
check impair impair 10000 5000 2000
perf="-d $rdma -x $gid -F"
operations="/usr/bin/python3 $(dirname "$0")/operations.py --reliable $rdma $gid"

# Pingpongs are not suitable: the one that finishes first destroys its queue pair, and
# retransmissions of the other one are not answered.
pair operations "$operations" "$operations localhost"
pair rping-verify "rping -s -a $address -C 20 -v -V" "rping -c -a $address -C 20 -v -V"
for op in write read send; do
	pair "$op" "ib_${op}_bw $perf -n 20 -s 65536" \
		"ib_${op}_bw $perf -n 20 -s 65536 $(client_of $op) localhost"
done
pair atomic "ib_atomic_bw $perf -n 200" "ib_atomic_bw $perf -n 200 localhost"
check saw-losses saw_losses
check corrupt impair 0 0 50000
pair write-corrupted "ib_write_bw $perf -n 20 -s 65536" \
	"ib_write_bw $perf -n 20 -s 65536 localhost"
check saw-corruption saw_corruption
check repair impair 0 0 0
finish
