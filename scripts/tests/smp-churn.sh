#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug
# tier: wide
# spread: yes
# timeout: 900
#
# Threads on all processors create, use and destroy objects of the same two devices
# at once; packets are taken on any processor. See scripts/fuzz/smp.c for what is
# checked. First alone, then while links flap, addresses, MTUs, VLANs and VRFs change
# and packets are lost, while devices are removed, at last while a whole host goes.
#
# RHCA_CHURN_SECONDS (default 20) of each, RHCA_FUZZ_SEED
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/lib.sh"
. "$TOP/scripts/fuzz/lib.sh"

only_ours
[ "$(nproc)" -ge 2 ] || skip "one processor"
fuzz_build
setup_pair 9000
seed=${RHCA_FUZZ_SEED:-$(fuzz_seed)}
RANDOM=$((seed & 32767))
any_processor() {
	in_a sh -c "echo f > /sys/class/net/$IF_A/queues/rx-0/rps_cpus"
	in_b sh -c "echo f > /sys/class/net/$IF_B/queues/rx-0/rps_cpus"
}
smp() { # smp OPTION...: the command line, one word a line
	printf '%s\n' "$FUZZ/smp" --seed "$seed" --threads 4 --seconds "${RHCA_CHURN_SECONDS:-20}" "$@" \
		"$DEV_A" "$(gid_index "$DEV_A" v2 $IP4_A)" "$DEV_B" "$(gid_index "$DEV_B" v2 $IP4_B)"
}
smp_start() { # smp_start NAME OPTION...: in the background, SMP is its process
	local command
	mapfile -t command < <(smp "${@:2}")
	echo "+ ${command[*]} &"
	timeout -k 5 600 "${command[@]}" > "$WORK/$1" 2>&1 &
	SMP=$!
}
smp_end() { # smp_end NAME
	local status=0
	gone() { ! kill -0 $SMP; }
	busywait 300 gone || fail "$1: expected the threads to end"
	wait $SMP || status=$?
	grep -qE '^(ok|FAIL)' "$WORK/$1" || fail "$1: expected an end with ok or FAIL, got status $status"
	judge "$1" "$WORK/$1"
} 2> /dev/null

any_processor
# shellcheck disable=SC2046
fuzz_run $(smp)

: "the same while everything around it changes"
change() {
	case $((RANDOM % 8)) in
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
	sleep 0.0$((RANDOM % 10))
} 2> /dev/null
smp_start changes --rough
changes=0
while kill -0 $SMP 2> /dev/null; do
	change
	changes=$((changes + 1))
done
say "$changes changes"
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
