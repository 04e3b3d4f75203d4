#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Check the litmus tests of the lockless parts with Spin: the models *.pml beside the
# code that they speak of, and turn-kicks.pml beside this. All orders that the barriers of
# the code allow are right; with one barrier less (BREAK_x) Spin finds what goes wrong. The
# lines of code that a model speaks of are still there.
#
# usage: scripts/check/litmus.sh [MODEL [VARIANT...]]
#   MODEL     path of a model         (all of them without one)
#   VARIANT   right, or a BREAK_x of the model

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/../.."
top=$PWD
work=build/litmus
seconds=120
passed=0 failed=0

if ! command -v spin > /dev/null; then
	echo "litmus: Spin is not installed: run scripts/setup/setup.sh model" >&2
	exit 1
fi

ok() {
	echo "ok    $*"
	passed=$((passed + 1))
}

fail() {
	echo "FAIL  $*"
	failed=$((failed + 1))
}

variants_of() {
	echo right
	sed -n 's/^ \*   \(BREAK_[A-Z0-9]*\)\t.*/\1/p' "$1"
}

# check_lines MODEL: is the code that it speaks of as it was?
check_lines() {
	local model=$1 file text lines=0 lost=0

	while IFS= read -r text; do
		file=${text%%: *}
		lines=$((lines + 1))
		if ! grep -qF -- "${text#*: }" "$file"; then
			echo "$file has no longer: ${text#*: }"
			lost=$((lost + 1))
		fi
	done < <(sed -n 's/^ \* code: //p' "$model")
	if [ $lines -gt 0 ] && [ $lost -eq 0 ]; then
		ok "$model: the $lines lines that it speaks of"
	else
		fail "$model: $lost of the $lines lines that it speaks of are not there"
	fi
}

# search MODEL VARIANT DIR: build the search and run it
search() {
	local define=()

	[ "$2" = right ] || define=("-D$2")
	rm -rf "${3:?}"
	mkdir -p "$3"
	cpp -P -w "${define[@]}" -I scripts/check "$1" > "$3/model.pml"
	cd "$3"
	spin -a model.pml > spin.log || { cat spin.log >&2; exit 1; }
	gcc -O1 -w -DSAFETY -DMEMLIM=1024 -o pan pan.c
	timeout $seconds ./pan -m100000 > report || :
}

# found REPORT: how many errors; nothing if the search did not end
found() {
	sed -n 's/^State-vector.*errors: \([0-9]*\)$/\1/p' "$1"
}

is_complete() {
	[ "$(found "$1")" = 0 ] && ! grep -q 'not completed\|too small\|memory limit' "$1"
}

check_variant() {
	local dir
	dir=$work/$(basename "$1" .pml)/$2

	( search "$1" "$2" "$top/$dir" )
	if [ "$2" = right ] && is_complete "$dir/report"; then
		ok "$1, right: $(sed -n 's/^ *\([0-9e+.]*\) states, stored.*/\1/p' "$dir/report") states, no fault"
	elif [ "$2" != right ] && [ "$(found "$dir/report")" = 1 ]; then
		ok "$1, $2: fault found: $(sed -n '1s/^pan:1: //p' "$dir/report" | cut -c1-60)"
	else
		cat "$dir/report"
		fail "$1, $2"
	fi
}

models=("${1-}")
[ $# -gt 0 ] || mapfile -t models < <(find drivers -name '*.pml' | sort; echo scripts/check/turn-kicks.pml)
variants=("${@:2}")
for model in "${models[@]}"; do
	check_lines "$model"
	if [ $# -lt 2 ]; then
		mapfile -t variants < <(variants_of "$model")
	fi
	for variant in "${variants[@]}"; do
		check_variant "$model" "$variant"
	done
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
