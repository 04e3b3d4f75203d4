#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every check, and every test that fits: "make check".
#
# usage: scripts/check-matrix.sh [--all] [--no-setup]
#        scripts/check-matrix.sh [--all] --stage NAME
#   --all       all scenarios in all places
#   --no-setup  what they need is installed
#   --stage     only this one, alone
#
# User-Mode Linux, which is the newest kernel at native speed, runs all scenarios.
# An emulated machine takes several times as long: scripts/tests/plan says what is
# run there this time.
#
# Stages run in three lanes, on two processors: some only wait. Each has a limit,
# RHCA_STAGE_LIMIT_S, so that one that hangs does not take the results of the others
# with it. With RHCA_CHECK_LIMIT_S set, a stage that has not begun that many seconds
# after the start is skipped: who ends this run from outside would lose all results.

set -eu
shopt -s inherit_errexit

cd "$(dirname "$(realpath "$0")")/.."
self=$PWD/scripts/check-matrix.sh
out=build/check
all=
setup=1
only=
while [ $# -gt 0 ]; do
	case $1 in
	--all) all=--all ;;
	--no-setup) setup= ;;
	--stage) only=${2-}; shift ;;
	*) sed -n '/^# usage/,/^#$/s/^# \?//p' "$0" >&2; exit 2 ;;
	esac
	shift
done
stage_limit_s=${RHCA_STAGE_LIMIT_S:-1500}

# --- stages ------------------------------------------------------------------

setup_build() { scripts/setup.sh build uml; }
setup_rest() { scripts/setup.sh vm test connectx newest ${all:+ucx}; }
uml_kernel() { scripts/uml/build base; }
uml_debug_kernel() { scripts/uml/build debug; }
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
build_newest() { scripts/check-build.sh newest; }
build_uml() { scripts/check-build.sh uml-base; }
build_uml_debug() { scripts/check-build.sh uml-debug; }
runner() { scripts/check-runner.sh; }
packages() { scripts/check-packages.sh; }
cross() { scripts/check-cross.sh; }
connectx() { tools/connectx-model/check; }
kunit() { scripts/uml/kunit; }
kunit_debug() { scripts/uml/kunit --debug; }

# planned_on PLACE: what the plan has for it, which may be nothing
planned_on() {
	local names=() plan

	if [ -n "$all" ]; then
		mapfile -t names < <(scripts/tests/run --list --on "$1" | cut -d' ' -f2)
	else
		plan=$(scripts/tests/plan)
		mapfile -t names < <(sed -n "s/^$1 //p" <<< "$plan")
	fi
	case $1 in
	*vm-*)
		if ! scripts/vm/kernel release "${1##*vm-}" > /dev/null; then
			names=()
		fi ;;
	esac
	if [ ${#names[@]} -eq 0 ]; then
		echo "0 passed, 0 failed"
		return
	fi
	scripts/tests/run --on "$1" --out build/results "${names[@]}"
}

host() { scripts/tests/run --on host --out build/results; }
uml() { planned_on uml; }
uml_spread() { planned_on uml-spread; }
uml_debug() { planned_on uml-debug; }
vm_6_1() { planned_on vm-6.1; }
vm_6_12() { planned_on vm-6.12; }
vm_newest() { planned_on vm-newest; }
two_vm_6_1() { planned_on two-vm-6.1; }
two_vm_6_12() { planned_on two-vm-6.12; }
two_vm_newest() { planned_on two-vm-newest; }

# In the order in which they are begun, each as soon as what it needs is done: what
# others wait for, and what takes longest, first.
stages=(uml_kernel setup_rest layers knobs uml_debug_kernel build_uml_debug
	uml_debug build_uml uml build_6_12 build_newest vm_newest vm_6_12
	kunit_debug kunit build_6_1 vm_6_1 uml_spread two_vm_newest two_vm_6_12
	two_vm_6_1 host connectx style runner vectors)
if [ -n "$all" ]; then
	stages+=(packages cross)
fi

needs() {
	case $1 in
	uml_kernel | layers | knobs) ;;
	# It has apt and dpkg for itself, and the host's programs are then there.
	setup_rest) ;;
	uml_debug_kernel) echo uml_kernel ;;
	build_uml) echo uml_kernel setup_rest ;;
	build_uml_debug) echo uml_debug_kernel setup_rest ;;
	kunit | uml | uml_spread | runner) echo build_uml ;;
	uml_debug | kunit_debug) echo build_uml_debug ;;
	*vm_6_12 | host | connectx) echo build_6_12 ;;
	*vm_6_1) echo build_6_1 ;;
	*vm_newest) echo build_newest ;;
	style) echo setup_rest uml_kernel ;;
	*) echo setup_rest ;;
	esac
}

# --- one stage -----------------------------------------------------------------

too_late() {
	echo "Not begun within $RHCA_CHECK_LIMIT_S s: this machine is too slow, or too busy."
	echo "0 passed, 0 failed, 1 skipped"
}

# run_limited NAME: in a process of its own, which can be ended with all it started
run_limited() {
	if [ $SECONDS -gt "${RHCA_CHECK_LIMIT_S:-$SECONDS}" ]; then
		too_late
		return
	fi
	timeout -k 30 "$stage_limit_s" "$self" $all --stage "$1" || {
		local status=$?

		[ $status -ne 124 ] || echo "FAIL  stage $1: no end within $stage_limit_s s"
		return $status
	}
}

# A stage that prints "N passed, N failed" counts as that many tests; any
# other is one test that passes or fails.
stage() {
	local name=$1 began=$SECONDS status=0 log=$out/$1.log summary
	local TIMEFORMAT='%U %S'

	echo "stage $name: begins after $SECONDS s"
	{ time run_limited "$name" > "$log" 2>&1 < /dev/null; } 2> "$out/$name.cpu" || status=$?
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
	} > "$out/$name.report.new"
	cat "$out/$name.report.new"
	echo "$name $summary" >> "$out/summary"
	tail -n 1 "$out/$name.cpu" | awk -v name="$name" -v took=$((SECONDS - began)) \
		'{ printf "%-18s %5d s, %5d s of a processor\n", name, took, $1 + $2 }' \
		>> "$out/times"
	# Now it is done, for those who wait for it.
	mv "$out/$name.report.new" "$out/$name.report"
	return $status
}

# --- running them --------------------------------------------------------------

is_ready() {
	local needed

	for needed in $(needs "$1"); do
		[ -e "$out/$needed.report" ] || return 1
	done
}

# next_stage: take the first that can begin off the queue; "wait" when there is none
next_stage() {
	local name names

	exec 7> "$out/queue.lock"
	flock 7
	mapfile -t names < "$out/queue"
	for name in "${names[@]}"; do
		if is_ready "$name"; then
			sed -i "/^$name\$/d" "$out/queue"
			echo "$name"
			return
		fi
	done
	[ ! -s "$out/queue" ] || echo wait
}

# A lane goes on after a failure: one run shall tell all that is wrong.
lane() {
	local name

	while name=$(next_stage) && [ -n "$name" ]; do
		if [ "$name" = wait ]; then
			sleep 1
		else
			stage "$name" || :
		fi
	done
}

in_lanes() {
	local name

	for name; do
		[ -e "$out/$name.report" ] || echo "$name"
	done > "$out/queue"
	lane &
	lane &
	lane &
	wait
}

# --- what came of it -------------------------------------------------------------

total() {
	sed -n "s/.* \([0-9]*\) $1.*/\1/p" "$out/summary" | awk '{ sum += $1 } END { print sum + 0 }'
}

# Every pair of place and scenario that gave no result.
not_run() {
	local place

	for place in host uml uml-spread uml-debug {,two-}vm-{6.1,6.12,newest}; do
		scripts/tests/run --list --on "$place"
	done | sort > "$out/there-is"
	sed -n -E 's,^(ok|FAIL|skip) +([a-z0-9.-]+)(/[ab])? ([a-z0-9-]+).*,\2 \4,p' "$out"/*.log |
		sort -u > "$out/was-run"
	comm -23 "$out/there-is" "$out/was-run" | awk '
		!names[$1] { order[++places] = $1 }
		{ names[$1] = names[$1] " " $2 }
		END { for (i = 1; i <= places; i++) print "not run on " order[i] ":" names[order[i]] }'
}

report() {
	local failed

	echo "time of each stage:"
	sort -k 2 -n -r "$out/times"
	echo "took $SECONDS s"
	not_run
	grep -v ' 0 failed' "$out/summary" | sed 's/^/failed stage: /' || :
	# Again, where who reads only the end of a long log finds it.
	cat "$out"/*.report | grep -aE -A 6 '^FAIL' | head -n 60 || :
	failed=$(total failed)
	echo "skipped: $(total skipped)"
	echo "$(total passed) passed, $failed failed" | tee "$out/total"
	[ "$failed" -eq 0 ]
}

if [ -n "$only" ]; then
	"$only"
	exit
fi
rm -rf "$out"
mkdir -p "$out"
: > "$out/times"
: > "$out/summary"
if [ -n "$setup" ]; then
	# Without these nothing else can run.
	stage setup_build || exit 1
else
	touch "$out/setup_rest.report"
fi
in_lanes "${stages[@]}"
report
