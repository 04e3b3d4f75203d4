#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: full
# every: 3
# timeout: 900
#
# The machine is suspended and resumed under checked traffic: devices and queue pairs remain,
# and nothing is lost. It does all but sleep (pm_test), as sleep would lose its root; during the
# rest a module keeps the root available, see scripts/vm/stay_awake. tools/connectx-model has a
# real sleep, with the root in memory.
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

KO=$TOP/build/$(uname -r)/stay_awake/stay_awake.ko
DELAY=/sys/module/suspend/parameters/pm_test_delay

[ -e /sys/power/pm_test ] || skip "this kernel has no PM_DEBUG"
[ -e "$KO" ] || skip "not built: scripts/check/test-module scripts/vm/stay_awake $(uname -r)"
show insmod "$KO" || die "stay_awake does not load"
defer "rmmod stay_awake"
delay=$(< $DELAY)
defer "echo $delay > $DELAY; echo none > /sys/power/pm_test"
echo 2 > $DELAY

# suspend STATE LEVEL
suspend() {
	echo "+ echo $2 > /sys/power/pm_test; echo $1 > /sys/power/state"
	echo "$2" > /sys/power/pm_test && echo "$1" > /sys/power/state
}

identity() { stat -L -c %i "$IB/$DEV_A" "$IB/$DEV_B"; }
moves() { [ "$(hw_counter "$DEV_B" rx_packets)" -gt $((before + 100)) ]; }

setup_pair 9000
devices=$(identity)
for type in v1 v2; do
	ia=$(gid_index "$DEV_A" $type $IP4_A) ib=$(gid_index "$DEV_B" $type $IP4_B)
	traffic_start suspend "$ia" "$ib" --seconds 600 --timeout 18 --least 10
	for how in "freeze platform" "mem core"; do
		# shellcheck disable=SC2086
		check_ok "$type: suspended and resumed ($how)" suspend $how
		before=$(hw_counter "$DEV_B" rx_packets)
		wait_check 60 "$type: traffic goes on" moves
	done
	traffic_stop suspend 90
done
check "the devices are the same" "$devices" "$(identity)"
finish
