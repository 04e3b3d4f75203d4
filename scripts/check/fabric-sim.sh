#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the fabric simulator, and its results for the driver's loss recovery and congestion control:
# small runs, some seconds; with --all also the figures of Documentation/performance.rst, half an
# hour on one processor. A run depends on its parameters alone.
#
# usage: scripts/check/fabric-sim.sh [--all]

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
sim=build/fabric-sim/fabric-sim
. scripts/check/count-lib.sh

tools/fabric-sim/build

# value NAME LINE: a figure from fabric-sim's output
value() {
	sed -n "s/.*\<$1=\([^ ]*\).*/\1/p" <<< "$2"
}

# expect LABEL LINE NAME OPERATOR NUMBER...: all of these hold for that line
expect() {
	local label=$1 line=$2 is wrong=

	shift 2
	while [ $# -ge 3 ]; do
		is=$(value "$1" "$line")
		awk -v is="$is" -v limit="$3" 'BEGIN { exit !(is != "" && is '"$2"' limit) }' ||
			wrong+=" $1 is ${is:-missing}, wanted $2 $3;"
		shift 3
	done
	if [ -n "$wrong" ]; then
		fail "fabric-sim, $label:$wrong"$'\n'"      $line"
	else
		ok "fabric-sim, $label"
	fi
}

small() {
	local line again mbps

	line=$($sim hosts=2 messages=1 kb=1024 until_done=1 run_us=100000 host_mbps=10000 depth=1)
	expect "one message in an empty network" "$line" 'done' == 1 slow_p50 '>=' 1 slow_p50 '<' 1.1 \
		repeated == 0 probes == 0

	# A QP without a window, or one that stalls after a loss, fails here
	line=$($sim hosts=9 host_mbps=10000 port_mbps=200 frame_bytes=58 link_ns=5000 depth=32 \
		queue_packets=100 run_us=4000000 warm_us=1000000)
	expect "8:1 into a queue of 100 packets" "$line" goodput '>' .9 jain '>' .95 failed == 0 \
		drops '<' .1

	# Nothing but retransmissions is sent there for a while, which no round trip is taken from;
	# and senders that start at once have seen no path without a queue
	line=$($sim hosts=9 host_mbps=10000 port_mbps=400 frame_bytes=58 link_ns=5000 depth=32 \
		queue_kb=416 stagger_us=200000 run_us=3000000)
	expect "windows shrink though nothing is timed" "$line" goodput '>' .9 jain '>' .9 \
		drops '<' .08
	line=$($sim hosts=65 host_mbps=100000 messages=1 kb=1024 until_done=1 run_us=1000000 \
		buffer_kb=16384)
	expect "64:1 at once into 8 MB" "$line" goodput '>' .6

	# One flow has the port when the other starts: only rates make them share it
	line=$($sim work=steps hosts=3 host_mbps=40000 link_ns=1000 depth=32 stagger_us=20000 \
		kmin_kb=5 kmax_kb=200 pmax=1 run_us=300000 warm_us=200000)
	expect "two flows converge by CNPs" "$line" goodput '>' .9 jain '>' .98 cnps '>' 0 drops == 0

	line=$($sim hosts=2 loss=1 depth=8 run_us=20000 seed=7)
	expect "1 % loss costs a packet each" "$line" goodput '>' .8 repeated '<' .03
	again=$($sim hosts=2 loss=1 depth=8 run_us=20000 seed=7)
	[ "$line" = "$again" ] || line=
	expect "a run can be repeated" "$line" lost '>' 0
	# Two windows in RTTs of 4 ms limit it; a NAK for each late packet leaves a tenth
	line=$($sim hosts=2 depth=8 late_ns=2000000 run_us=1500000 warm_us=800000)
	again=$($sim hosts=2 depth=8 late_ns=2000000 early=25 run_us=1500000 warm_us=800000)
	compare "packets that overtake others leave 0.8" "$(value goodput "$again")" '>' \
		".8 * $(value goodput "$line")"
	compare "a quarter of the packets is early" "($(value early "$again") / \
		($(value sent "$again") + $(value acks "$again") + $(value naks "$again")) - .25) ^ 2" \
		'<' '.01 ^ 2'
	line=$($sim hosts=2 host_mbps=10000 rp_max_rate=100 depth=8)
	compare "the last packet before a pause asks for an ACK" "$(value acks "$line")" '>' \
		".9 * $(value sent "$line")"
	# A packet takes up to 33 ms, the ACK timeout is 17 ms
	line=$($sim hosts=9 rp_max_rate=1 timeout=12 retry_cnt=0 link_ns=200000 loss=.5 depth=8 seed=3 \
		run_us=4000000)
	expect "retransmissions that wait for the rate use up no retry" "$line" lost '>' 0 failed == 0
	for mbps in 0 1 2 5 8 16 64; do
		line=$($sim hosts=2 rp_max_rate=$mbps timeout=12 link_ns=200000 loss=100 depth=8 \
			selective_repeat=0 until_done=1 run_us=2000000)
		expect "a dead peer is noticed at $mbps Mbit/s" "$line" timeouts == 8 failed == 1 \
			ms '<' 720
	done
	line=$($sim hosts=2 loss=1 depth=8 run_us=20000 seed=7 selective_repeat=0)
	expect "without selective repeat it costs more" "$line" repeated '>' .1
}

# Each run prints the figures requested, or an error
refused() {
	local words said status

	for words in hosts= hosts=x hosts=9x hosts=-1 hosts=1 hosts=nan hosts=99999999999 \
		host_mbps=0 mtu=0 "work=poisson flows=0" "work=poisson load=0" work=nonsense \
		topo=ring transport=quic sizes=large rp_gd=x enable=-1 enable=4294967296 \
		tcp_window=1025 mtu=40000 frame_bytes=40000 kb=4194304 depth=4294967296 \
		timeout=32 retry_cnt=8 red_wlog=31 \
		"topo=leaf-spine leaves=0" "topo=leaf-spine spines=0" "topo=leaf-spine hosts=9" \
		"topo=leaf-spine hosts=8 spines=1 flap_period_us=10" \
		"topo=leaf-spine hosts=8 flap_period_us=10 flap_down_us=11"; do
		# shellcheck disable=SC2086
		said=$($sim $words 2>&1) && status=0 || status=$?
		if [ $status -eq 2 ] && [[ $said == "fabric-sim: "* ]]; then
			ok "fabric-sim, $words is refused"
		else
			fail "fabric-sim, $words: status $status, ${said%%$'\n'*}"
		fi
	done
	# A link of less than 1 kbit/s has one, too
	for words in help --help "port_mbps=1e-4 run_us=99"; do
		$sim $words > /dev/null && status=0 || status=$?
		compare "status of $words" $status == 0
	done
	# All figures named in the help exist, each with its own columns
	said=$(for words in $($sim help | sed -n 's/^  work  *\(.*\) (incast)$/\1/p' | tr -d ,); do
		$sim work="$words" hosts=9 flows=9 messages=3 stagger_us=50 run_us=300
	done | sort -u | grep -c ^label=)
	compare "kinds of work in the help" "$said" == 6
	$sim hosts=2 messages=1 until_done=1 > /dev/full && status=0 || status=$?
	compare "status where the disk is full" $status == 1
}

# row FIGURE LABEL: the results of that row of a figure
row() {
	grep "^label=$2 " "build/fabric-sim/$1.rows"
}

# compare LABEL A OPERATOR B: two numbers
compare() {
	if awk "BEGIN { exit !($2 $3 $4) }"; then
		ok "fabric-sim, $1"
	else
		fail "fabric-sim, $1: $2 is not $3 $4"
	fi
}

# In no row may a QP fail or a message be lost
check_rows() {
	local figure=$1 line of

	while read -r line; do
		of=$(value of "$line")
		expect "$figure, $(value label "$line")" "$line" failed == 0 ${of:+'done' == "$of"}
	done < "build/fabric-sim/$figure.rows"
}

of() { # of NAME FIGURE LABEL: a figure of a row
	value "$1" "$(row "$2" "$3")"
}

# The bounds have a margin of a quarter at most: Documentation/performance.rst has the values.
check_figures() {
	local figure label most

	for figure in $(tools/fabric-sim/figures --list); do
		tools/fabric-sim/figures "$figure" > "build/fabric-sim/$figure.log" || {
			cat "build/fabric-sim/$figure.log"
			fail "fabric-sim, figure $figure"
			continue
		}
		check_rows "$figure"
	done
	for label in 2:1-100-packets 8:1-100-packets; do
		expect "$label, as on the wire" "$(row wire_incast $label)" goodput '>' .79 jain '>' .8
	done
	compare "loss of .1 % on a path of 2 ms costs less than a fifth" \
		"$(of goodput wire_loss 1ms-0.1)" '>' ".8 * $(of goodput wire_loss 1ms-0)"
	compare "1 % costs less than .56" \
		"$(of goodput wire_loss 1ms-1)" '>' ".44 * $(of goodput wire_loss 1ms-0)"
	compare "1 % without delay costs less than a tenth" \
		"$(of goodput wire_loss none-1)" '>' ".9 * $(of goodput wire_loss none-0)"
	expect "two flows, defaults" "$(row two_flows defaults)" jain '>' .98 goodput '>' .9
	expect "two flows, the paper's parameters" "$(row two_flows paper)" jain '>' .98 goodput '>' .9
	while read -r label most; do
		expect "incast $label" "$(row incast "$label-rates")" last_us '<' "$most"
	done <<< "16:1 4770
64:1 21800
256:1 45000
1000:1 183000"
	compare "short messages beside a long flow wait less with rates" \
		"$(of slow_p99 elephant rates)" '<' "$(of slow_p99 elephant no-rates)"
	compare "selective repeat beats go-back-N in the median" \
		"$(of slow_p50 recovery selective)" '<' "$(of slow_p50 recovery go-back-N)"
	compare "a link that is down is routed around" \
		"$(of goodput flap 20ms-routes-1ms)" '>' ".8 * $(of goodput flap steady)"
	expect "all to all, 25 Gbit/s" "$(row all_to_all 25-rates)" last_us '<' 7400
	expect "all to all, 100 Gbit/s" "$(row all_to_all 100-rates)" last_us '<' 2780
}

small
refused
[ "${1-}" != --all ] || check_figures
total
