#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the model of the send scheduler's turn, turn.pml beside this, with Spin: all
# interleavings of it are right, and in each faulty variant (BREAK_x) Spin finds the
# fault. Needs 4 GiB of memory at most.
#
# usage: scripts/check/turn-model.sh [VARIANT...]
#   VARIANT   right, or a BREAK_x of the model   (all of them without one)

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
model=$PWD/scripts/check/turn.pml
work=build/turn-model
seconds=600
passed=0 failed=0

if ! command -v spin > /dev/null; then
	echo "turn-model: Spin is not installed: run scripts/setup/setup.sh model" >&2
	exit 1
fi
variants=("$@")
if [ $# -eq 0 ]; then
	mapfile -t variants < <(sed -n 's/^ \*   \(BREAK_[A-Z]*\)\t.*/\1/p' "$model")
	variants=(right "${variants[@]}")
fi

# search VARIANT: build the search and run it; its report
search() {
	local define=()

	[ "$1" = right ] || define=("-D$1")
	rm -rf "${work:?}/$1"
	mkdir -p "$work/$1"
	cd "$work/$1"
	spin "${define[@]}" -a "$model" > spin.log
	gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=4096 -o pan pan.c
	timeout $seconds ./pan -m1000000 > report || :
}

# errors VARIANT: how many the search has found; nothing if it did not end
errors() {
	sed -n 's/^State-vector.*errors: \([0-9]*\)$/\1/p' "$work/$1/report"
}

is_complete() {
	[ "$(errors "$1")" = 0 ] &&
		! grep -q 'not completed\|too small\|memory limit' "$work/$1/report"
}

for variant in "${variants[@]}"; do
	( search "$variant" )
	if [ "$variant" = right ] && is_complete right; then
		verdict="$(sed -n 's/^ *\([0-9e+.]*\) states, stored.*/\1/p' "$work/right/report") states, no fault"
	elif [ "$variant" != right ] && [ "$(errors "$variant")" = 1 ]; then
		verdict="fault found: $(sed -n '1s/^pan:1: //p' "$work/$variant/report" | cut -c1-60)"
	else
		cat "$work/$variant/report"
		echo "FAIL  turn model, $variant"
		failed=$((failed + 1))
		continue
	fi
	echo "ok    turn model, $variant: $verdict"
	passed=$((passed + 1))
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
