#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: full
# spread: yes
# every: 3
# timeout: 900
#
# Loss, reordering, duplication and delay on the wire (tc netem): every byte of
# every operation still arrives once and in order.
#
#   a (ra$$)  ====== veth, netem on both sides ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000
need tc
netem() { # netem ARGUMENT...: on both sides
	show_a tc qdisc replace dev "$IF_A" root netem "$@" &&
		show_b tc qdisc replace dev "$IF_B" root netem "$@"
}
netem delay 0ms 2> /dev/null || skip "no netem on this kernel"

for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	for what in "loss 1%" "loss 5%" "duplicate 20%" "delay 2ms reorder 25% 50%" \
		"delay 1ms 1ms loss 2% duplicate 5%"; do
		# shellcheck disable=SC2086
		netem limit 10000 $what
		LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 6 --timeout 14 --least 10 --read
	done
	netem limit 10000 loss 2% duplicate 5%
	# One packet in fifty is lost, and an operation on its own waits for the ACK timeout.
	LIMIT=300 python ops.py "$DEV_A" "$ia" "$DEV_B" "$ib" --types RC --quick --timeout 14 --wait 60 --label "$type lossy "
	netem delay 0ms
done

: "a corrupted packet is a lost packet: netem flips bits, the ICRC tells"
icrc_errors() { echo $(($(hw_counter "$DEV_A" rx_icrc_encapsulated) + $(hw_counter "$DEV_B" rx_icrc_encapsulated))); }
for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	before=$(ours && icrc_errors)
	netem limit 10000 corrupt 3%
	LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 6 --timeout 14 --least 10 --read
	# Where blocks are sent every packet has a UDP checksum, which tells before the ICRC
	blocks_off
	LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 6 --timeout 14 --least 10 --read
	blocks_back
	netem delay 0ms
	if ours; then
		check_match "$type: corrupted packets are counted" '^[1-9]' $(($(icrc_errors) - before))
	fi
done

: "a local queue that is full: sends go on, a datagram completes though it was dropped"
for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	show_a tc qdisc replace dev "$IF_A" root tbf rate 20mbit burst 3000 limit 8000 || { fail "no tbf"; break; }
	LIMIT=200 python full-queue.py "$DEV_A" "$ia" "$DEV_B" "$ib" --label "$type "
	LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 5 --timeout 14 --least 5 --read
	show_a tc qdisc del dev "$IF_A" root
done
finish
