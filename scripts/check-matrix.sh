#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every check and every test there is, in stages: "make check".
#
# usage: scripts/check-matrix.sh [--all] [--no-setup]
#   --all       all scenarios on all kernels
#   --no-setup  what they need is installed
#
# Two stages run at a time, one for each core of a small machine. With
# RHCA_CHECK_LIMIT_S set, a stage that has not begun that many seconds after the
# start is skipped: who ends this run from outside would lose all results.
#
# User-Mode Linux, which is a kernel 6.12, runs all scenarios. An emulated machine
# takes several times as long, so the stock 6.12 has what shows that real clients
# work on it, and 6.1 also what older kernels might do otherwise.

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/.."
out=build/check
all=
setup=1
for option; do
	case $option in
	--all) all=1 ;;
	--no-setup) setup= ;;
	*) sed -n '/^# usage/,/^$/s/^# \?//p' "$0" >&2; exit 2 ;;
	esac
done

# --- stages ------------------------------------------------------------------

run_setup() { scripts/setup.sh; }
uml_base() { scripts/uml/build base; }
uml_debug() { scripts/uml/build debug; }
layers() { scripts/check-layers.sh; }
vectors() { scripts/check-vectors.sh; }
knobs() { scripts/check-knobs.sh; }
style() { scripts/check-style.sh; }
build_6_1() {
	if ! compgen -G '/usr/src/linux-headers-6.1[.-]*-amd64' > /dev/null; then
		echo "This Debian has no kernel 6.1."
		echo "0 passed, 0 failed, 1 skipped"
		return
	fi
	scripts/check-build.sh 6.1
}
build_6_12() { scripts/check-build.sh 6.12; }
build_7_2() { scripts/check-build.sh newest; }
build_uml() { scripts/check-build.sh uml-base uml-debug; }
runner() { scripts/check-runner.sh; }
packages() { scripts/check-packages.sh; }
connectx() { tools/connectx-model/check; }
kunit() { scripts/uml/kunit; }
kunit_debug() { scripts/uml/kunit --debug; }

# on PLACE TIER: a kernel that this Debian does not have is skipped
on() {
	case $1 in
	*vm-*)
		if ! scripts/vm/kernel release "${1##*vm-}" > /dev/null; then
			echo "0 passed, 0 failed, 1 skipped"
			return
		fi ;;
	esac
	[ -z "$all" ] || set -- "$1" full
	scripts/tests/run --on "$1" --tier "$2" --out build/results
}
host() { on host full; }
uml() { on uml full; }
uml_debug_scenarios() { on uml-debug wide; }
vm_6_12() { on vm-6.12 core; }
vm_6_1() { on vm-6.1 wide; }
two_vm_6_12() { on two-vm-6.12 full; }
two_vm_6_1() { on two-vm-6.1 full; }

too_late() {
	echo "Not begun within $RHCA_CHECK_LIMIT_S s: this machine is too slow, or too busy."
	echo "0 passed, 0 failed, 1 skipped"
}

# --- running them --------------------------------------------------------------

# A stage that prints "N passed, N failed" counts as that many tests; any
# other is one test that passes or fails.
stage() {
	local name=$1 run=$1 began=$SECONDS status=0 log=$out/$1.log summary

	[ "$began" -le "${RHCA_CHECK_LIMIT_S:-$began}" ] || run=too_late
	echo "stage $name: begins"
	# Not tested for success, so that errexit works inside.
	"$run" > "$log" 2>&1 < /dev/null &
	wait $! || status=$?
	if summary=$(tail -n 1 "$log" | grep -E '^[0-9]+ passed, [0-9]+ failed'); then
		sed -i '$d' "$log"
	elif [ $status -eq 0 ]; then
		summary='1 passed, 0 failed'
	else
		summary='0 passed, 1 failed'
	fi
	# One write, so that the lanes' reports do not mix.
	{
		tail -n 400 "$log"
		printf 'stage %s: %s, %d s\n' "$name" "$summary" $((SECONDS - began))
	} > "$out/$name.report"
	cat "$out/$name.report"
	echo "$name $summary" >> "$out/summary"
	return $status
}

# What a stage tests must have been built: each waits for the one it needs.
needs() {
	case $1 in
	kunit | kunit_debug | uml | uml_debug_scenarios) echo build_uml ;;
	vm_6_12 | two_vm_6_12) echo build_6_12 ;;
	vm_6_1 | two_vm_6_1) echo build_6_1 ;;
	esac
}

# next_stage: take the first name off the queue
next_stage() {
	local name

	exec 7> "$out/queue.lock"
	flock 7
	name=$(head -n 1 "$out/queue")
	sed -i 1d "$out/queue"
	exec 7>&-
	echo "$name"
}

# A lane goes on after a failure: one run shall tell all that is wrong. A stage
# comes after what it needs, so what it waits for is under way in the other.
lane() {
	local name needed

	while name=$(next_stage) && [ -n "$name" ]; do
		needed=$(needs "$name")
		while [ -n "$needed" ] && [ ! -e "$out/$needed.report" ]; do
			sleep 1
		done
		stage "$name" || :
	done
}

in_lanes() {
	printf '%s\n' "$@" > "$out/queue"
	lane &
	lane &
	wait
}

total() {
	sed -n "s/.* \([0-9]*\) $1.*/\1/p" "$out/summary" | awk '{ sum += $1 } END { print sum + 0 }'
}

rm -rf "$out"
mkdir -p "$out"
if [ -n "$setup" ]; then
	# Without these nothing else can run.
	stage run_setup || exit 1
fi
: > "$out/summary"
for name in layers knobs vectors uml_base uml_debug; do
	stage "$name" || :
done
# The longest early, so that no lane is left alone with one.
stages=(build_6_1 build_uml vm_6_1 build_6_12 connectx kunit kunit_debug uml vm_6_12
	uml_debug_scenarios host runner build_7_2 style two_vm_6_12)
if [ -n "$all" ]; then
	stages+=(two_vm_6_1 packages)
fi
in_lanes "${stages[@]}"

echo "took $SECONDS s"
grep -v ' 0 failed' "$out/summary" | sed 's/^/failed stage: /' || :
# Again, where who reads only the end of a long log finds it.
cat "$out"/*.report | grep -aE -A 6 '^FAIL' | head -n 60 || :
failed=$(total failed)
echo "skipped: $(total skipped)"
echo "$(total passed) passed, $failed failed" | tee "$out/total"
[ "$failed" -eq 0 ]
