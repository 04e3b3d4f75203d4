#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the fabric simulator, and what it says of the driver's loss recovery and congestion
# control: small runs, some seconds; with --all the figures of Documentation/performance.rst
# as well, half an hour of one processor. A run depends on its parameters alone.
#
# usage: scripts/check/fabric-sim.sh [--all]

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
sim=build/fabric-sim/fabric-sim
passed=0 failed=0

tools/fabric-sim/build

# value NAME LINE: a figure of what fabric-sim has printed
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
		printf 'FAIL  fabric-sim, %s:%s\n      %s\n' "$label" "$wrong" "$line"
		failed=$((failed + 1))
	else
		echo "ok    fabric-sim, $label"
		passed=$((passed + 1))
	fi
}

small() {
	local line again

	line=$($sim hosts=2 messages=1 kb=1024 until_done=1 run_us=100000 host_mbps=10000 depth=1)
	expect "one message in an empty network" "$line" 'done' == 1 slow_p50 '>=' 1 slow_p50 '<' 1.1 \
		repeated == 0 probes == 0

	# A QP with no window, or one that stands still after a loss, fails this
	line=$($sim hosts=9 host_mbps=10000 port_mbps=200 frame_bytes=58 link_ns=5000 depth=32 \
		queue_packets=100 run_us=4000000 warm_us=1000000)
	expect "8:1 into a queue of 100 packets" "$line" goodput '>' .9 jain '>' .95 failed == 0 \
		drops '<' .1

	# One flow has the port when the other begins: only rates make them share it
	line=$($sim work=steps hosts=3 host_mbps=40000 link_ns=1000 depth=32 stagger_us=20000 \
		kmin_kb=5 kmax_kb=200 pmax=1 run_us=200000 warm_us=120000)
	expect "two flows converge by CNPs" "$line" goodput '>' .9 jain '>' .98 cnps '>' 0 drops == 0

	line=$($sim hosts=2 loss=1 depth=8 run_us=20000 seed=7)
	expect "1 % loss costs a packet each" "$line" goodput '>' .8 repeated '<' .03
	again=$($sim hosts=2 loss=1 depth=8 run_us=20000 seed=7)
	[ "$line" = "$again" ] || line=
	expect "a run can be repeated" "$line" lost '>' 0
	line=$($sim hosts=2 loss=1 depth=8 run_us=20000 seed=7 selective_repeat=0)
	expect "without selective repeat it costs more" "$line" repeated '>' .1
}

small
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
