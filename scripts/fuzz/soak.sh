#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug vm
# tier: full
# timeout: 7200
#
# Rounds of fuzzing for RHCA_SOAK_SECONDS (default 600). In calm phases the hostile peer, the
# hostile process and tenants (tenants-lib.sh) run side by side and are judged. In wild phases
# the fuzzers and a hostile tenant run while their memory allocations fail, memory is full,
# processes are killed, links flap and drop packets, MTUs and addresses change, processors go
# off- and online (if the kernel supports it), and devices and whole hosts are removed and
# created again: these need only end, without a complaint of the kernel, and in the next calm
# phase all must work. After a calm phase the kernel must not use more memory than after that
# of minute 10. See make soak.

. "$(dirname "$0")/../tests/lib/lib.sh"
. "$TOP/scripts/fuzz/lib.sh"
. "$TOP/scripts/fuzz/memory-lib.sh"
. "$LIB/tenants-lib.sh"

only_ours
fuzz_build
fuzz_long_backlog
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
seed=${RHCA_FUZZ_SEED:-$(date +%s)}
calm=${RHCA_SOAK_CALM:-120} wild=${RHCA_SOAK_WILD:-60}
say "seed $seed"
RANDOM=$((seed & 32767))

# fuzz_tenant --seed N ...: the command line of a hostile tenant, of another kind in each turn
fuzz_tenant() {
	printf '%s\n' ip netns exec "$NS_A" timeout -k 60 5 "$WORK/hostile-tenant" \
		"${TENANT_KINDS[$2 / 1000 % ${#TENANT_KINDS[@]}]}" "${ENDS[@]}" "$IP4_B"
}

# Run a fuzzer again and again in the background until wild_time ends, ignoring its results
wild() { # wild peer|process|tenant [OPTION]
	(
		trap - EXIT
		while [ -e "$WORK/wild" ]; do
			seed=$((seed + 1000))
			mapfile -t command < <("fuzz_$1" --seed $seed --seconds 20 "${@:2}")
			(
				[ ! -e /proc/self/make-it-fail ] || echo 1 > /proc/$BASHPID/make-it-fail
				exec timeout -s KILL 240 "${command[@]}"
			) > "$WORK/wild.$1" 2>&1
			sed -n 's/^seed.*cases\|^[0-9]* steps/'"$1"' (wild): &/p' "$WORK/wild.$1"
			sleep 0.2
		done
	) &
	WILD+=($!)
}

fresh_hosts() {
	teardown_pair
	setup_pair 9000
	fuzz_setup_peer
} > /dev/null

# A processor goes off- and online. User-Mode Linux has none that can.
cpu_flap() {
	local files=(/sys/devices/system/cpu/cpu*/online) file

	file=${files[RANDOM % ${#files[@]}]}
	[ -w "$file" ] || return 0
	echo 0 > "$file" && CPU_FLAPS=$((CPU_FLAPS + 1))
	sleep 0.$((RANDOM % 10))
	echo 1 > "$file"
}

churn() {
	case $((RANDOM % 12)) in
	0) in_a ip link set "$IF_A" down; sleep 0.$((RANDOM % 10)); in_a ip link set "$IF_A" up ;;
	1) in_b ip link set "$IF_B" mtu $((1280 + RANDOM % 7000)) ;;
	2) in_a ip link set "$IF_A" mtu $((1280 + RANDOM % 7000)) ;;
	3) in_a ip addr del $IP4_A/24 dev "$IF_A"; sleep 0.2; in_a ip addr add $IP4_A/24 dev "$IF_A" ;;
	4) in_b tc qdisc replace dev "$IF_B" root netem delay 1ms 1ms loss 5% duplicate 5% reorder 10% ;;
	5) in_b tc qdisc del dev "$IF_B" root ;;
	6) rdma link del "$DEV_A"; sleep 0.$((RANDOM % 10))
	   in_a rdma link add "$DEV_A" type roce netdev "$IF_A" ;;
	7) pkill -9 -f "$FUZZ/" ;;
	8) [ $((RANDOM % 4)) != 0 ] || fresh_hosts ;;
	9) in_a ip addr add 10.9.0.77/24 dev "$IF_A"; in_a ip addr del 10.9.0.77/24 dev "$IF_A" ;;
	10) cpu_flap ;;
	11) [ $((RANDOM % 4)) != 0 ] || memory_pressure ;;
	esac
	make_device_nodes
	fuzz_setup_peer
	sleep 0.$((RANDOM % 10))
} 2> /dev/null

wild_time() {
	local end=$((SECONDS + wild)) pid churns=0
	WILD=()
	touch "$WORK/wild"
	fuzz_faults 2
	echo "rhca-test: expect page allocation failure|ref_tracker: memory allocation failure" > /dev/kmsg
	wild peer
	wild process --wild
	wild tenant
	while [ $SECONDS -lt $end ]; do
		churn
		churns=$((churns + 1))
	done
	rm "$WORK/wild"
	fuzz_faults 0
	for pid in "${WILD[@]}"; do
		gone() { ! kill -0 "$pid"; }
		wait_check 600 "a wild fuzzer ends ($churns changes around it)" gone
	done
	echo "rhca-test: expect nothing" > /dev/kmsg
	fresh_hosts
}

calm_time() {
	local pid
	fuzz_process --seed "$seed" --seconds "$calm" > "$WORK/command"
	mapfile -t command < "$WORK/command"
	timeout -k 5 1800 "${command[@]}" > "$WORK/calm" 2>&1 &
	pid=$!
	# shellcheck disable=SC2046
	LIMIT=1800 beside_tenants fuzz_run $(fuzz_peer --seed "$seed" --seconds "$calm" --busy)
	wait $pid
	judge "hostile process" "$WORK/calm" $?
	wait_check 60 "every object is gone" no_objects "$DEV_A" "$DEV_B"
}

# The run ends with a calm phase. There is at least one wild phase, even if the time is over.
setup_pair 9000
fuzz_setup_peer
setup_tenants
CPU_FLAPS=0
for ((rounds = 0; ; rounds++)); do
	seed=$((seed + 1))
	calm_time
	[ $rounds = 0 ] || [ $SECONDS -lt "${RHCA_SOAK_SECONDS:-600}" ] || break
	memory_look
	wild_time
done
memory_judge
echo "RESULT $rounds wild times in $SECONDS s, processors that went: $CPU_FLAPS"
[ ! -w /sys/devices/system/cpu/cpu1/online ] || check_ok "a processor went" test $CPU_FLAPS -gt 0
finish
