#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: core
# spread: yes
# timeout: 900
#
# rdma_cm programs over v1 and v2 (configfs default_roce_mode selects), IPv4 and IPv6: rping
# with data check, ucmatose, udaddy, cmtime. A capture shows that the requested version was used
# on the wire.
#
#   a (server, ra$$)  ====== veth ======  b (client, rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 1500
need tcpdump

PORT=7600
n=${ITERS:-5}
for type in $(roce_versions); do
	roce_mode_of "$DEV_A" "$type"
	roce_mode_of "$DEV_B" "$type"
	for family in 4 6; do
		# In the other driver's one namespace there is no IPv6 route for rdma_cm.
		if [ $family = 6 ] && ! ours; then continue; fi
		a=IP${family}_A b=IP${family}_B
		a=${!a} b=${!b}
		capture_start "$WORK/$type-$family.pcap"
		PORT=$((PORT + 10))
		pair "rping-$type-ipv$family" cm:$PORT \
			"rping -s -a $a -p $PORT -C $n -v -V -S 1000" \
			"rping -c -a $a -I $b -p $PORT -C $n -v -V -S 1000"
		pair "rping-big-$type-ipv$family" cm:$((PORT + 1)) \
			"rping -s -a $a -p $((PORT + 1)) -C 3 -V -S 65000" \
			"rping -c -a $a -I $b -p $((PORT + 1)) -C 3 -V -S 65000"
		format=ip
		[ $family = 6 ] && format=ipv6
		pair "ucmatose-$type-ipv$family" cm:$((PORT + 2)) \
			"ucmatose -f $format -b $a -p $((PORT + 2)) -c 3 -C $n -S 2000" \
			"ucmatose -f $format -s $a -b $b -p $((PORT + 2)) -c 3 -C $n -S 2000"
		pair "udaddy-$type-ipv$family" cm:7174 \
			"udaddy -f $format -b $a -c 2 -C $n -S 500" \
			"udaddy -f $format -s $a -b $b -c 2 -C $n -S 500"
		if [ $family = 4 ]; then
			KILL_SERVER=1 pair "cmtime-$type" cm:$((PORT + 3)) \
				"cmtime -b $a -p $((PORT + 3)) -c 10" \
				"cmtime -s $a -b $b -p $((PORT + 3)) -c 10"
		fi
		capture_stop
		kinds=$($PYTHON "$LIB/check-icrc.py" "$WORK/$type-$family.pcap" | tail -2)
		want="$type/IPv$family"
		[ $type = v1 ] && want=v1
		check_match "only $want on the wire" "RoCE packets \($want [0-9]+\), 0 wrong" "$kinds"
	done
done
finish
