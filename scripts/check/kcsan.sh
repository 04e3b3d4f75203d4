#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Data races: run scenarios on the emulated kernel with KCSAN, on two processors and on four. First
# check that a planted race is found, and that the same accesses, marked, are not reported.
#
# usage: scripts/check/kcsan.sh [SCENARIO...]     (all that belong there)

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
out=build/results/kcsan-planted
. scripts/check/count-lib.sh

# planted [PARAMETER]: exit status of a machine in which the threads run for a while
planted() {
	local status=0

	scripts/vm/run --kernel kcsan --out $out -- \
		"insmod $module ${1-} && sleep 20 && rmmod rhca_race" > $out.log 2>&1 || status=$?
	echo $status
}

find_planted() {
	local module

	module=$(scripts/check/test-module scripts/vm/rhca_race "$release")
	mkdir -p $out
	if [ "$(planted)" = 126 ] &&
	   grep -q 'KCSAN: data-race in rhca_race_\(read\|write\)' $out/faults; then
		ok "a planted race is found"
	else
		fail "a planted race is found, see $out.log"
	fi
	if [ "$(planted marked=1)" = 0 ]; then
		ok "the same accesses, marked, are left alone"
	else
		fail "the same accesses, marked, are left alone, see $out.log"
	fi
}

# scenarios PLACE NAME...: run them by scripts/tests/run, and add its counts
scenarios() {
	local log=build/results/$1.log counts

	mkdir -p build/results
	scripts/tests/run --on "$@" 2>&1 | tee "$log" | grep -vE '^[0-9]+ passed, ' || :
	read -r -a counts < <(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p') || :
	passed=$((passed + ${counts[0]:-0}))
	failed=$((failed + ${counts[1]:-1}))
}

# A software device that stands in for an adapter's, and makes room for it again
hand_over() {
	if tools/connectx-model/run --kernel kcsan --cpus 4 --timeout 3600 -- \
		tools/connectx-model/tests/stand-in.sh 3 > build/results/kcsan-hand-over.log 2>&1; then
		ok "kcsan-4 hand-over"
	else
		tail -n 60 build/results/kcsan-hand-over.log
		fail "kcsan-4 hand-over, see build/results/kcsan-hand-over.log"
	fi
}

release=$(scripts/vm/debug-kernel kcsan)
scripts/check/build.sh kcsan
find_planted
scenarios kcsan "$@"
scenarios kcsan-4 "$@"
[ $# -gt 0 ] || hand_over
total
