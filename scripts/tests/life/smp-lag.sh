#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug kcsan debug-rt
# tier: wide
# spread: yes
# every: 3
# timeout: 600
#
# The threads of smp-churn.sh on two LAGs: members fail over, lose their link and change places;
# the LAGs end and are created again, with threads on the replaced devices; finally the host is
# removed with its bond. In each mode in which LAGs transmit differently.
#
# RHCA_CHURN_SECONDS (default 4) for each part, RHCA_FUZZ_SEED

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/lag-lib.sh"
. "$TOP/scripts/fuzz/lib.sh"

only_ours
[ "$(nproc)" -ge 2 ] || skip "one processor"
export RHCA_CHURN_SECONDS=${RHCA_CHURN_SECONDS:-4}
fuzz_build
lag_setup
lag_devices
smp_setup
for i in 1 2; do
	smp_queues in_a va$i
	smp_queues in_b vb$i
done

lags_are_there() {
	become "$1" "none none none none" va1 va2 vb1 vb2
	wait_check 60 "$1: a has a LAG" device_on "$BOND_A"
	wait_check 60 "$1: b has a LAG" device_on "$BOND_B"
	find_lag
}
lags_end() { become "$1" "la1 la2 lb1 lb2" va1 va2 vb1 vb2; }

# One change on a host after which the LAG is still one
member_change() { # member_change a|b
	local member=v$1$((RANDOM % 2 + 1)) bond=$BOND_A
	[ "$1" = a ] || bond=$BOND_B
	sleep 0.0$((RANDOM % 10))
	# The first is one that every mode allows.
	case $((changes ? RANDOM % 5 : 0)) in
	0 | 1) "in_$1" ip link set "$member" down; sleep 0.0$((RANDOM % 10)); "in_$1" ip link set "$member" up ;;
	2) "in_$1" ip link set "$bond" type bond active_slave "$member" ;;
	3) "in_$1" tc qdisc replace dev "$member" root netem loss 1% duplicate 1% reorder 2% delay 1ms ;;
	4) "in_$1" tc qdisc del dev "$member" root ;;
	esac
} 2> /dev/null

# There is no switch between the hosts: with one active member each, they reach each other only
# if both use the same wire.
members_well_again() { # members_well_again MODE
	local i
	for i in 1 2; do
		in_a tc qdisc del dev va$i root
		in_b tc qdisc del dev vb$i root
		in_a ip link set va$i up
		in_b ip link set vb$i up
	done 2> /dev/null
	if [ "$1" = active-backup ]; then
		busywait 60 in_a ip link set "$BOND_A" type bond active_slave va1 &&
			busywait 60 in_b ip link set "$BOND_B" type bond active_slave vb1
	fi || die "$1: no member becomes active"
	wait_check 60 "$1: the hosts hear each other again" in_a ping -c1 -W1 $IP4_B
}

# A member leaves the bond, which ends the LAG, and returns before that is done
member_swap() { # member_swap a|b
	local member=v$1$((RANDOM % 2 + 1)) bond=$BOND_A
	[ "$1" = a ] || bond=$BOND_B
	sleep 0.$((RANDOM % 5))
	"in_$1" ip link set "$member" nomaster || return
	sleep 0.0$((RANDOM % 10))
	"in_$1" ip link set "$member" down
	"in_$1" ip link set "$member" master "$bond"
} 2> /dev/null

for mode in active-backup balance-xor 802.3ad; do
	: "$mode: members fail over, flap and lose packets"
	bond_up $mode
	lags_are_there $mode
	smp_start "members-$mode" --rough
	changes=0
	while smp_running || [ $changes -eq 0 ]; do
		for host in a b; do ! member_change $host || changes=$((changes + 1)); done
	done
	check_match "$mode: $changes changes were made" '^[1-9]' $changes
	smp_end "members-$mode"

	: "$mode: the LAG ends and is made again under them"
	members_well_again $mode
	smp_start "swaps-$mode" --rough
	swaps=0
	while smp_running || [ $swaps -eq 0 ]; do
		! member_swap a || swaps=$((swaps + 1))
		[ $((swaps % 2)) = 1 ] || member_swap b
	done
	check_match "$mode: $swaps swaps were made" '^[1-9]' $swaps
	smp_end "swaps-$mode"
	lags_are_there "$mode, after swaps"
	members_well_again $mode
	# shellcheck disable=SC2046
	fuzz_run $(smp --seconds 1)

	[ $mode != 802.3ad ] || break
	: "$mode: the bond goes, and the members' devices come back"
	smp_start "bond-gone-$mode" --rough --seconds 2
	sleep 1
	within 60 "ip link del of the bond" ip -n "$NS_A" link del "$BOND_A"
	smp_end "bond-gone-$mode"
	in_b ip link del "$BOND_B"
	lags_end "$mode: without the bonds"
done

: "a host goes"
smp_start host-gone --rough --seconds 3
sleep 1
within 60 "ip netns del" ip netns del "$NS_A"
smp_end host-gone
finish
