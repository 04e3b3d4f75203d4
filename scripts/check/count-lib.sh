# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
# Results of a check, line by line and in total. Sourced by scripts that end with total.

passed=0 failed=0

ok() {
	echo "ok    $*"
	passed=$((passed + 1))
}

fail() {
	echo "FAIL  $*"
	failed=$((failed + 1))
}

# step WHAT COMMAND...: its output is in $out/WHAT.log; the end is shown if it fails
step() {
	local what=$1 status began=$SECONDS

	shift
	# Not tested, as errexit is off in a function that is tested; nor in the background,
	# where it would continue after an interrupt.
	set +e
	# shellcheck disable=SC2154  # of who sources this
	(set -e; "$@") > "$out/$what.log" 2>&1 < /dev/null
	status=$?
	set -e
	if [ $status -eq 0 ]; then
		ok "$what, $((SECONDS - began)) s"
	else
		fail "$what: status $status of $*"
		tail -n 60 "$out/$what.log" | sed 's/^/    /'
	fi
}

# total [MORE]
total() {
	echo "$passed passed, $failed failed$*"
	[ $failed -eq 0 ]
}
