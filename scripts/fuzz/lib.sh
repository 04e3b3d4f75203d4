# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2046
# Shared by the scenarios of the fuzzers, on top of scripts/tests/lib/lib.sh. No word of a
# fuzzer's command line contains a space.

FUZZ=$WORK/fuzz

# On an emulated machine the host's scripts/tests/run has built the current version.
fuzz_build() {
	! emulated || FUZZ=$TOP/build/fuzz
	command -v make > /dev/null && command -v cc > /dev/null || die "no compiler"
	show make -s -C "$TOP/scripts/fuzz/src" O="$FUZZ" || die "the fuzzers do not build"
}

# Frames come in batches from several processes. No receive queue may drop one: each frame sent
# must show in a counter of the driver.
fuzz_long_backlog() {
	local file=/proc/sys/net/core/netdev_max_backlog
	defer "echo $(< $file) > $file"
	echo 100000 > $file
}

# Runs of the same commit repeat themselves; the next commit has another seed.
fuzz_seed() {
	local head
	head=$(git -c safe.directory='*' -C "$TOP" rev-parse --short=8 HEAD 2> /dev/null)
	echo $((16#${head:-1}))
}

MAC_PEER=02:00:00:00:00:66 IP4_PEER=10.9.0.66 IP6_PEER=fd09::66

# The hostile peer is no real host: no address resolution answers for it.
fuzz_setup_peer() {
	in_a ip neigh replace $IP4_PEER lladdr $MAC_PEER dev "$IF_A" nud permanent
	in_a ip -6 neigh replace $IP6_PEER lladdr $MAC_PEER dev "$IF_A" nud permanent
}

# fuzz_peer OPTION...: prints the command line of the hostile peer, one word per line
fuzz_peer() {
	local type
	printf '%s\n' "$FUZZ/peer" --jobs "${RHCA_FUZZ_JOBS:-4}" --netns "/run/netns/$NS_B" --netdev "$IF_B" --src-mac $MAC_PEER \
		--dst-mac "$(in_a cat "/sys/class/net/$IF_A/address")" "$@" \
		"$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" "$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)"
	for type in v1 v2; do
		echo "$type,$(gid_index "$DEV_A" $type $IP4_A),$IP4_PEER,$IP4_A"
		echo "$type,$(gid_index "$DEV_A" $type $IP6_A),$IP6_PEER,$IP6_A"
	done
}

# fuzz_process OPTION...: likewise for the hostile process
fuzz_process() {
	printf '%s\n' "$FUZZ/process" --jobs "${RHCA_FUZZ_JOBS:-4}" "$@" "$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" \
		"$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)"
}

# fuzz_run COMMAND...: its ok and FAIL lines are counted
fuzz_run() {
	local out=$WORK/fuzz.out
	echo "+ $*"
	timeout -k 5 "${LIMIT:-900}" "$@" 2>&1 | tee "$out"
	count_checks "$*" "$out" "${PIPESTATUS[0]}"
}

# fuzz_corpus NAME: run the entries of scripts/fuzz/corpus/NAME: "SEED CASES" lines, and
# "reaches COUNTER" for each counter of device A that they must move together.
fuzz_corpus() {
	local file=$TOP/scripts/fuzz/corpus/$1 kind rest counter
	declare -A before=()

	[ -z "${RHCA_FUZZ_CASE:-}" ] || return 0
	while read -r kind rest; do
		[ "$kind" != reaches ] || before[$rest]=$(hw_counter "$DEV_A" "$rest")
	done < "$file"
	while read -r kind rest <&9; do
		case $kind in
		'' | '#'* | reaches) ;;
		*) fuzz_run $(fuzz_$1 --seed "$kind" --case "$rest") ;;
		esac
	done 9< "$file"
	for counter in "${!before[@]}"; do
		moved() { [ "$(hw_counter "$DEV_A" "$counter")" -gt "${before[$counter]}" ]; }
		wait_check 60 "corpus of $1 reaches $counter" moved
	done
}

# fuzz_new_cases NAME [OPTION...]: half of the time alone, half of it beside tenants, with the
# options; or $RHCA_FUZZ_CASE in both ways
fuzz_new_cases() {
	local seed=${RHCA_FUZZ_SEED:-$(fuzz_seed)} cases="--seconds $((${RHCA_FUZZ_SECONDS:-60} / 2))"

	[ -z "${RHCA_FUZZ_CASE:-}" ] || cases="--case $RHCA_FUZZ_CASE ${RHCA_FUZZ_OPTIONS:-}"
	fuzz_run $(fuzz_$1 --seed "$seed" $cases)
	[ -n "${RHCA_FUZZ_CASE:-}" ] || seed=$((seed + 1))
	beside_tenants fuzz_run $(fuzz_$1 --seed "$seed" $cases "${@:2}")
}

# fuzz_faults PERCENT [TIMES]: that part of allocations fails, that often at most, in processes
# that request it only: neither in the scenario's own commands nor in the kernel's threads
fuzz_faults() {
	local kind
	for kind in failslab fail_page_alloc; do
		[ -d /sys/kernel/debug/$kind ] || continue
		echo Y > /sys/kernel/debug/$kind/task-filter
		echo "$1" > /sys/kernel/debug/$kind/probability
		echo "${2:--1}" > /sys/kernel/debug/$kind/times
		echo 0 > /sys/kernel/debug/$kind/verbose
	done
	[ ! -e /sys/kernel/debug/failslab/ignore-gfp-wait ] || echo N > /sys/kernel/debug/failslab/ignore-gfp-wait
}

# Cases of hostile processes whose allocations fail, on a kernel that can do that: the honest
# connection must hold, and what follows as well
fuzz_faulty_cases() {
	local file=/sys/kernel/debug/failslab/times times=1000000 failed

	[ -e $file ] || return 0
	echo "rhca-test: expect page allocation failure|ref_tracker: memory allocation failure" > /dev/kmsg
	fuzz_faults 1 $times
	fuzz_run $(fuzz_process --seed "${RHCA_FUZZ_SEED:-$(fuzz_seed)}" --seconds 15 --wild)
	failed=$((times - $(< $file)))
	fuzz_faults 0
	echo "rhca-test: expect nothing" > /dev/kmsg
	check_ok "at least 100 allocations failed ($failed)" [ $failed -ge 100 ]
}

# Coverage: every counter of device A that moved
fuzz_counters() {
	local file
	for file in "$IB/$DEV_A/ports/1/hw_counters"/*; do
		[ "$(< "$file")" = 0 ] || say "$DEV_A ${file##*/} $(< "$file")"
	done
}

# --- scripts/fuzz/src/smp.c, for the scenarios that churn objects on all processors -----

smp_setup() {
	seed=${RHCA_FUZZ_SEED:-$(fuzz_seed)}
	RANDOM=$((seed & 32767))
}

# smp_queues in_a|in_b NETDEV: received packets are processed on any processor
smp_queues() {
	local all
	# A mask with processors that cannot exist is rejected.
	all=$(printf %x $(((1 << $(nproc)) - 1)))
	$1 sh -c "echo $all > /sys/class/net/$2/queues/rx-0/rps_cpus" || die "$2: no RPS"
}

smp() { # smp OPTION...: prints the command line, one word per line
	printf '%s\n' "$FUZZ/smp" --seed "$seed" --threads 4 --seconds "${RHCA_CHURN_SECONDS:-20}" "$@" \
		"$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" "$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)"
}

# smp_start NAME OPTION...: in the background; SMP is its process id. It has connected once when
# this returns, as later changes may move its GID to another index.
smp_start() {
	local command
	mapfile -t command < <(smp "${@:2}")
	echo "+ ${command[*]} &"
	timeout -k 5 600 "${command[@]}" > "$WORK/$1" 2>&1 &
	SMP=$!
	busywait 60 grep -qE '^(connected|FAIL)' "$WORK/$1" || fail "$1: expected a connection"
}

smp_running() { kill -0 $SMP 2> /dev/null; }

smp_end() { # smp_end NAME
	gone() { ! smp_running; }
	busywait 300 gone || fail "$1: expected the threads to end"
	wait $SMP
	judge "$1" "$WORK/$1" $?
} 2> /dev/null
