#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: wide
# spread: yes
# timeout: 900
#
# rdma_cm between ends of which one's default is v1, the other's v2: the passive side uses the
# type of the incoming request, so devices that support both connect, and packets on the wire
# have the active side's type. (For ends with one default see rdma-cm.sh. For a v1-only device,
# which refuses v2, see two-vm-modes.sh: the mode is the module's.)
#
#   a (passive, ra$$)  ====== veth ======  b (active, rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

setup_pair 1500
need tcpdump
PORT=7700
for modes in "v1 v2" "v2 v1"; do
	read -r passive active <<< "$modes"
	roce_mode_of "$DEV_A" $passive
	roce_mode_of "$DEV_B" $active
	PORT=$((PORT + 10))
	capture_start "$WORK/cap"
	pair "active-$active-passive-$passive" cm:$PORT \
		"rping -s -a $IP4_A -p $PORT -C 3 -V -S 100" \
		"rping -c -a $IP4_A -I $IP4_B -p $PORT -C 3 -V -S 100"
	pair "ud-active-$active-passive-$passive" cm:7174 \
		"udaddy -b $IP4_A -C 3" \
		"udaddy -s $IP4_A -b $IP4_B -C 3"
	capture_stop
	want=v1
	[ $active = v2 ] && want=v2/IPv4
	check_match "active $active, passive $passive: only $want on the wire" \
		"RoCE packets \($want [0-9]+\), 0 wrong" "$($PYTHON "$LIB/check-icrc.py" "$WORK/cap")"
done
finish
