# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Checks that print the expectation, and are counted. Included by lib.sh and lab-lib.sh.

CHECKS=0 FAILS=0

pass() { CHECKS=$((CHECKS + 1)); echo "ok   $*"; }
fail() { CHECKS=$((CHECKS + 1)); FAILS=$((FAILS + 1)); echo "FAIL $*"; }

# check WHAT EXPECTED GOT
check() {
	if [ "$2" = "$3" ]; then pass "$1: $3"; else fail "$1: expected '$2', got '$3'"; fi
}

# check_match WHAT REGEX GOT
check_match() {
	if [[ $3 =~ $2 ]]; then pass "$1"; else fail "$1: expected /$2/, got '$3'"; fi
}

# check_ok WHAT COMMAND...: the command succeeds
check_ok() {
	local what=$1 rc
	shift
	"$@" && { pass "$what"; return 0; }
	rc=$?
	fail "$what: expected success, got status $rc of: $*"
	return 1
}

# busywait SECONDS COMMAND...: wait until the command succeeds. Such conditions take some
# seconds on an emulated machine, and longer on a busy one: limits below 60 s only test how fast
# the machine was.
busywait() {
	local end=$((SECONDS + $1))
	shift
	while ! "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.1
	done
}
