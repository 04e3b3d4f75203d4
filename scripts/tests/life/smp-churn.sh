#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug kcsan debug-rt
# tier: wide
# spread: yes
# every: 3
# timeout: 900
#
# Threads on all processors create, use and destroy objects of the same two devices at once, and
# packets are received on any processor. See scripts/fuzz/src/smp.c for the checks. First
# undisturbed; then while links flap, addresses, MTUs, VLANs and VRFs change and packets are
# lost; while devices are removed; finally while a whole host is removed. A fence that does not
# wait shows in the second part, where each use of memory takes a while, and only by chance
# elsewhere (see take_memory_away_often()).
#
# RHCA_CHURN_SECONDS (default 20) for each part, RHCA_FUZZ_SEED
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
. "$TOP/scripts/fuzz/lib.sh"

only_ours
[ "$(nproc)" -ge 2 ] || skip "one processor"
fuzz_build
setup_pair 9000
smp_setup
smp_queues in_a "$IF_A"
smp_queues in_b "$IF_B"

# shellcheck disable=SC2046
fuzz_run $(smp)

: "memory is taken away all the time, and packets stay with what they use"
dwell=/sys/kernel/debug/roce_hca_dwell_us
case $RHCA_KERNEL in
*-debug-rt-*) say "no KUnit, and so no $dwell" ;;
*)
	[ -e $dwell ] || die "no $dwell: is it a kernel with KUnit?"
	defer "echo 0 > $dwell"
	echo 200 > $dwell
	# shellcheck disable=SC2046
	fuzz_run $(smp --takes)
	echo 0 > $dwell ;;
esac

: "the same while everything around it changes"
change() { # change KIND
	sleep 0.0$((RANDOM % 10))
	case $1 in
	0) in_a ip link set "$IF_A" down; sleep 0.0$((RANDOM % 10)); in_a ip link set "$IF_A" up ;;
	1) in_b ip link set "$IF_B" mtu $((RANDOM % 2 ? 9000 : 4200)) ;;
	2) in_a ip addr add 10.9.0.77/24 dev "$IF_A"; in_a ip addr del 10.9.0.77/24 dev "$IF_A" ;;
	3) in_a ip link add link "$IF_A" name "$IF_A.7" type vlan id 7
	   in_a ip link set "$IF_A.7" up; in_a ip link del "$IF_A.7" ;;
	4) in_b tc qdisc replace dev "$IF_B" root netem loss 1% duplicate 1% reorder 2% delay 1ms ;;
	5) in_b tc qdisc del dev "$IF_B" root ;;
	6) in_b ip neigh flush dev "$IF_B" ;;
	7) in_a ip link add red type vrf table 77; in_a ip link del red ;;
	esac
} 2> /dev/null
smp_start changes --rough
# Each kind once, if need be after the threads have ended, then any. Kind 5 undoes kind 4.
made=() n=0 first=$((RANDOM % 4 * 2))
while smp_running || [ $n -lt 8 ]; do
	kind=$((n < 8 ? (first + n) % 8 : RANDOM % 8)) n=$((n + 1))
	change $kind && made[kind]=$((${made[kind]:-0} + 1))
done
say "changes of each kind: ${made[*]}"
check "kinds of changes that were made" "0 1 2 3 4 5 6 7" "${!made[*]}"
smp_end changes
in_b tc qdisc del dev "$IF_B" root 2> /dev/null
in_a ip link set "$IF_A" up

: "the device is removed under them and made again, four times"
for round in 1 2 3 4; do
	wait_gids
	smp_start "removal-$round" --rough --seconds 4
	sleep $((RANDOM % 2 + 1)).$((RANDOM % 10))
	within 60 "rdma link del" rdma link del "$DEV_A"
	add_link a "$DEV_A" "$IF_A"
	make_device_nodes
	smp_end "removal-$round"
done

: "a host goes"
wait_gids
smp_start host-gone --rough --seconds 6
sleep 3
within 60 "ip netns del" ip netns del "$NS_A"
smp_end host-gone
finish
