#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: two-vm
# tier: wide
# timeout: 1500
#
# Which peers a device of one RoCE version connects with. Machine a loads with roce_mode=v1,
# then v2, and is passive; machine b supports both and is active with either:
#
#   b asks with   a is v1-only   a is v2-only
#        v1        connects       does not
#        v2        does not       connects

. "$(dirname "$0")/../lib/two-vm-lib.sh"
only_ours

load_support
remove_driver rdma_rxe
show ip addr add $IP4/24 dev eth0
ip -6 addr add $IP6/64 dev eth0 nodad
show ip link set eth0 up
busywait 60 carrier_up eth0 ""

port=21000
for mode in v1 v2; do
	[ -d "$IB/$DEV" ] && rdma link del $DEV
	if [ "$VM_ROLE" = a ]; then
		reload_driver roce_mode=$mode || die "roce_mode=$mode does not load"
		add_device $mode
		check "GID types at a" $mode "$(gids $DEV | awk '{ print $2 }' | sort -u | paste -sd,)"
	else
		reload_driver || die "does not load"
		add_device
	fi
	meet
	busywait 60 ping -c1 -W1 $PEER4
	for ask in v1 v2; do
		port=$((port + 1))
		[ "$VM_ROLE" = b ] && roce_mode_of $DEV $ask
		meet
		if [ "$VM_ROLE" = a ]; then
			echo "+ rping -s -a $IP4 -p $port"
			timeout 300 rping -s -a $IP4 -p $port -C 3 -V > "$WORK/rping" 2>&1 &
			pid=$!
			listens_cm $pid $port || fail "rping does not listen"
			meet
			meet
			kill $pid 2> /dev/null
			wait $pid 2> /dev/null
		else
			meet
			# A refusal is fast; no answer at all is as good.
			limit=15
			[ $ask != $mode ] || limit=120
			show timeout $limit rping -c -a $PEER4 -I $IP4 -p $port -C 3 -V > "$WORK/rping" 2>&1
			rc=$(status_of $? "$WORK/rping")
			if [ $ask = $mode ]; then
				check "b asks with $ask, a is $mode-only: connects" 0 $rc
			else
				check_match "b asks with $ask, a is $mode-only: does not connect (status $rc)" '^[1-9]' $rc
			fi
			meet
		fi
	done
	meet
done
finish
