#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml
# tier: full
# every: 3
# timeout: 600
#
# Several senders to one port of a switch that is slower than their sum and has a short queue.
# All make progress and share the bandwidth. For the topology see incast-lib.sh;
# scripts/bench/incastbench has more rows, each compared with TCP.

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/incast-lib.sh"

need tc ethtool ib_write_bw jq nft
load_driver

# measure SENDERS LABEL QDISC...: sets goodput, got (Jain's index) and failed
measure() {
	local row least still n

	incast_queue "${@:3}" || die "no $2"
	# shellcheck disable=SC2046
	incast_begin roce $(seq 2 $(($1 + 1)))
	incast_measure "${RHCA_INCAST_SECONDS:-6}"
	awk '$4 != "ok" { print $1 }' "$WORK/table" | while read -r n; do
		say "h$n: $(grep -iE 'error|fail|status|unable|couldn' "$WORK/client$n" | xargs)"
	done
	read -r goodput got least still failed < <(incast_row)
	row=$(incast_queued)
	say "$2: goodput $goodput of the port, Jain $got, least $least of the mean, longest" \
		"standstill $still s of ${INCAST_TIME% *} s; packets, drops, marks: $row"
	incast_end
}

# incast SENDERS JAIN LABEL QDISC...: a busy machine may be slower than the port: try again
incast() {
	local senders=$1 jain=$2 label="$1:1 into $3" goodput got failed try

	for try in 1 2 3; do
		measure "$senders" "$label" "${@:4}"
		awk "BEGIN { exit !($goodput > 0.5 && $got > $jain) }" && break
		[ "$failed" = 0 ] && [ "$(wc -l < "$WORK/table")" = "$senders" ] || break
		say "$label: try $try"
	done
	check "$label: senders whose data arrived" "$senders" "$(wc -l < "$WORK/table")"
	check "$label: senders that failed" 0 "$failed"
	# Apart from the bucket and the receiver's backlog, not more than the wire's rate can
	# have arrived: 1000 packets are 3 %. How much more than half it is also depends on the
	# machine: incastbench compares with TCP
	check "$label: between half and all of the port's rate is used" yes \
		"$(awk -v got="$goodput" 'BEGIN { print (got > 0.5 && got < 1.05) ? "yes" : got }')"
	check "$label: senders with less than a tenth of their share" "" \
		"$(awk '{ n[NR] = $1; bytes[NR] = $2; sum += $2 }
			END { for (i in n) if (bytes[i] < sum / NR / 10) print "h" n[i] ": " bytes[i] }' "$WORK/table")"
	check "$label: the rate is shared fairly (Jain's index $jain)" yes \
		"$(awk -v got="$got" -v least="$jain" 'BEGIN { print (got > least) ? "yes" : got }')"
}

incast_up 9
incast 2 0.8 "100 packets" pfifo limit 100
incast 8 0.8 "100 packets" pfifo limit 100
# So long a queue fills and empties only a few times within some seconds
incast 8 0.4 "1000 packets" pfifo limit 1000

: "a port that marks: CNPs slow the senders down before it drops"
incast_slow_wire 9
counted() { hw_counter "r$1" "$2"; } # counted HOST COUNTER
sent=$(counted 1 np_cnp_sent)
incast 8 0.5 "a port that marks" red limit 4mb min 60kb max 180kb avpkt 4200 burst 25 \
	probability 0.1 bandwidth "${RATE_MBIT}mbit" ecn
if ours; then
	marked=$(counted 1 np_ecn_marked_roce_packets)
	check_match "packets were marked: $marked" '^[1-9]' "$marked"
	check_match "and CNPs sent" '^[1-9]' $(($(counted 1 np_cnp_sent) - sent))
	for n in $(seq 2 9); do
		check_match "r$n has reduced its rate" '^[1-9]' "$(counted "$n" rp_cnp_handled)"
	done
fi
finish
