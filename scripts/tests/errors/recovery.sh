#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug
# tier: full
# timeout: 900
#
# A wire that drops or reorders single packets: all bytes arrive, and the bandwidth is more
# than possible for a receiver that holds nothing. rdma_rxe answers a repeated READ with all
# that follows. Rows that are compared with the wire without loss alternate with it.
#
#   va == veth == pa [bridge in a namespace of its own] pb == veth == vb
#
# netem is on pa and pb, where packets arrive singly: see scripts/bench/lossbench.

. "$(dirname "$0")/../lib/lib.sh"

only_ours
need tc ethtool

: "every operation, both kinds of loss, on a wire that drops 5 % in each direction"
setup_pair 9000
netem() { # netem ARGUMENT...: on both sides
	show_a tc qdisc replace dev "$IF_A" root netem limit 10000 "$@" &&
		show_b tc qdisc replace dev "$IF_B" root netem limit 10000 "$@"
}
for feature in gso tso tx-udp-segmentation gro; do
	in_a ethtool -K "$IF_A" $feature off 2> /dev/null
	in_b ethtool -K "$IF_B" $feature off 2> /dev/null
done
netem loss 5% || skip "no netem on this kernel"
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 6 --timeout 14 --least 100 --read
for counter in rx_held tx_retransmitted_packets; do
	check_match "$counter counts" '^[1-9]' \
		$(($(hw_counter "$DEV_A" $counter) + $(hw_counter "$DEV_B" $counter)))
done

: "what is lost takes no retry: a QP that has none lives on where 1 % is lost"
netem loss 1%
timeouts=$(hw_counter "$DEV_A" local_ack_timeout_err)
LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds "${RHCA_NO_RETRY_SECONDS:-6}" \
	--timeout 20 --retry 0 --least 100 --read
check "ACK timeouts" "$timeouts" "$(hw_counter "$DEV_A" local_ack_timeout_err)"
case $RHCA_KERNEL in uml-debug) finish ;; esac	# too slow for measurements
ko=$TOP/build/$RHCA_KERNEL/bench/rhca_bench.ko
[ -e "$ko" ] || need gcc make
[ -e "$ko" ] || show "$TOP/scripts/bench/rhca_bench/build" "$RHCA_KERNEL" > /dev/null || die "rhca_bench is not built"
teardown_pair
remove_driver roce_hca

: "what is left of the bandwidth, of 64 MB each: less is over within a turn of the host"
results=$WORK/results
bench() { # bench ROUNDS ARGUMENT...: run lossbench
	RHCA_MODULES=$TOP/build/$RHCA_KERNEL ROUNDS=$1 PER_ROUND=1000 \
		"$TOP/scripts/bench/lossbench" "${@:2}" | tee -a "$results"
}
# left LEAST DRIVER LOSS KIND: bandwidth that remains, in thousandths. A row that fails is measured
# up to twice more, since a single disturbance of the machine is not the driver's
left() {
	local wire="$2 $4 loss=$3%" got try
	[ "$3" != reorder ] || wire="$2 $4 reorder"
	for try in 1 2 3; do
		got=$(figure "ratio \([0-9]*\)\.\([0-9]*\)" "\1\2")
		[ $((10#${got:-0})) -lt "$1" ] && [ $try -lt 3 ] || break
		say "$wire: $((10#${got:-0})) of 1000 (try $try)"
		bench 5 "${@:2}"
	done
	check_ok "$wire: $((10#${got:-0})) of 1000, $1 are enough" [ $((10#${got:-0})) -ge "$1" ]
}
figure() { sed -n "s/^RESULT $wire .*$1.*/$2/p" "$results" | sort -n | tail -n 1; } # the largest
bench 5 roce 1,5 write,read,send
bench 3 roce reorder write,read
bench 3 mixed 1 read
for kind in write read send; do
	left 200 roce 1 $kind
	left 50 roce 5 $kind
done
left 300 roce reorder write
left 300 roce reorder read
left 200 mixed 1 read
check "operations that failed" "" "$(grep '^RESULT' "$results" | grep -v ' 0 failed$')"
finish
