#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug
# tier: full
# timeout: 900
#
# A wire that loses each packet by itself: all bytes arrive, and what loss leaves of the
# bandwidth is more than a receiver that holds nothing can have. Where a row is compared
# with the wire without loss, both take turns.
#
#   va == veth == pa [bridge in a namespace of its own] pb == veth == vb
#
# netem sits on pa and pb, where single packets come: see scripts/bench/lossbench.

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
case $RHCA_KERNEL in uml-debug) finish ;; esac	# too slow to measure
ko=$TOP/build/$RHCA_KERNEL/bench/rhca_bench.ko
[ -e "$ko" ] || need gcc make
[ -e "$ko" ] || show "$TOP/scripts/bench/rhca_bench/build" "$RHCA_KERNEL" > /dev/null || die "rhca_bench is not built"
teardown_pair
remove_driver roce_hca

: "what is left of the bandwidth, of 64 MB each: less is over within a turn of the host"
# ratio KIND LOSS LEAST: in thousandths
ratios=$WORK/ratios
RHCA_MODULES=$TOP/build/$RHCA_KERNEL ROUNDS=5 PER_ROUND=1000 \
	"$TOP/scripts/bench/lossbench" roce 1,5 write,read,send | tee "$ratios"
ratio() {
	local got
	got=$(sed -n "s/^RESULT roce $1 loss=$2% .* ratio \([0-9]*\)\.\([0-9]*\) .*/\1\2/p" "$ratios")
	check_ok "$1 at $2 % loss: $((10#${got:-0})) of 1000, $3 are enough" \
		[ $((10#${got:-0})) -ge "$3" ]
}
for kind in write read send; do
	ratio $kind 1 200
	ratio $kind 5 50
done
check "operations that failed" "" "$(grep '^RESULT' "$ratios" | grep -v ' 0 failed$')"
finish
