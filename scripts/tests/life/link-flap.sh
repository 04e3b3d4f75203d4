#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# spread: yes
# timeout: 900
#
# The link is down for 0.3 s under checked traffic: retransmission recovers.
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"
only_ours

setup_pair 9000
for type in v1 v2; do
	ia=$(gid_index "$DEV_A" $type $IP4_A) ib=$(gid_index "$DEV_B" $type $IP4_B)
	# 7 retries in 29 s: a busy machine may take long between down and up.
	traffic_start flap "$ia" "$ib" --seconds 600 --timeout 18 --least 10
	for _ in 1 2; do
		show_b ip link set "$IF_B" down
		sleep 0.3
		show_b ip link set "$IF_B" up
		in_b ip -6 addr add $IP6_B/64 dev "$IF_B" nodad 2> /dev/null
		sleep 1.5
	done
	traffic_stop flap 90
done
finish
