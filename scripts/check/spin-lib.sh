# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Check models with Spin: a model is correct as it is, and with a fault named in its comment
# (BREAK_x is 1) Spin finds it. Sourced, at the top of the tree; the caller sets seconds,
# the time of a search, and pan, the options for its compiler.

. scripts/check/count-lib.sh

command -v spin > /dev/null || {
	echo "${0##*/}: Spin is not installed: run scripts/setup/setup.sh model" >&2
	exit 1
}

# variants_of MODEL
variants_of() {
	echo right
	sed -n 's/^ \*   \(BREAK_[A-Z0-9]*\)\t.*/\1/p' "$1"
}

# search MODEL VARIANT DEPTH: build the search in this folder and run it, into report
search() {
	local define=() fault

	for fault in $(variants_of "$top/$1" | tail -n +2); do
		define+=("-D$fault=$([ "$fault" = "$2" ] && echo 1 || echo 0)")
	done
	spin "-Pcpp -w -I $top/scripts/check" "${define[@]}" -a "$top/$1" > spin.log ||
		{ cat spin.log >&2; exit 1; }
	# shellcheck disable=SC2154  # of who sources this
	gcc -w -DSAFETY "${pan[@]}" -o pan pan.c
	# shellcheck disable=SC2154
	timeout "$seconds" ./pan -m"$3" > report || :
}

# found REPORT: number of errors; nothing if the search did not finish
found() {
	sed -n 's/^State-vector.*errors: \([0-9]*\)$/\1/p' "$1"
}

is_complete() {
	[ "$(found "$1")" = 0 ] && ! grep -q 'not completed\|too small\|memory limit' "$1"
}

# check_variant LABEL MODEL VARIANT DEPTH FOLDER
check_variant() {
	local top=$PWD report=$5/report

	rm -rf "${5:?}"
	mkdir -p "$5"
	( cd "$5" && search "$2" "$3" "$4" )
	if [ "$3" = right ] && is_complete "$report"; then
		ok "$1, right: $(sed -n 's/^ *\([0-9e+.]*\) states, stored.*/\1/p' "$report") states, no fault"
	elif [ "$3" != right ] && [ "$(found "$report")" = 1 ]; then
		ok "$1, $3: fault found: $(sed -n '1s/^pan:1: //p' "$report" | cut -c1-60)"
	else
		cat "$report"
		fail "$1, $3"
	fi
}
