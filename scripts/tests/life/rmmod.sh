#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: core
# timeout: 900
#
# rmmod fails while a process uses a device. Afterwards it leaves no device, no socket on
# 4791 and no packet handler. Loading, using and unloading works repeatedly.

. "$(dirname "$0")/../lib/lib.sh"
only_ours

for round in 1 2 3; do
	reload_driver || die "does not load in round $round"
	setup_pair 1500
	ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)
	if [ $round = 1 ]; then
		traffic_start busy "$ia" "$ib" --seconds 600 --read
		check_fails "rmmod while a process uses the device" rmmod roce_hca 2> /dev/null
		check "the module is still there" 0 "$(loaded roce_hca; echo $?)"
		traffic_stop busy 60
	else
		pair "round-$round" tcp:1930$round "ibv_rc_pingpong -d $DEV_A -g $ia -p 1930$round -n 10" \
			"ibv_rc_pingpong -d $DEV_B -g $ib -p 1930$round -n 10 $IP4_A"
	fi
	# The kernel has a thread for each of those on which memory reclaim may wait
	check "workqueues for memory reclaim" 1 "$(cat /proc/[0-9]*/comm 2> /dev/null | grep -cE '^(kworker/R-)?roce_hca_kernel')"
	check "packet handlers" 1 "$(grep -c '^8915' /proc/net/ptype)"
	[ $round = 3 ] && { show rdma link del "$DEV_A"; show rdma link del "$DEV_B"; }
	within 60 "rmmod with devices present and nobody using them (round $round)" rmmod roce_hca
	check "RDMA devices afterwards" 0 "$(rdma link show | grep -cE "$DEV_A|$DEV_B")"
	check "sockets on UDP 4791 afterwards" 0 \
		"$( (in_a cat /proc/net/udp /proc/net/udp6; in_b cat /proc/net/udp /proc/net/udp6) | grep -ci ':12B7 ')"
	check "packet handlers afterwards" 0 "$(grep -c '^8915' /proc/net/ptype)"
	teardown_pair
done
finish
