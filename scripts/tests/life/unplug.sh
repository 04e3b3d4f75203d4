#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml uml-debug
# tier: wide
# spread: yes
# timeout: 900
#
# The device is removed under a running process: rdma link del, ip link del and the end of
# its network namespace return within seconds, the process is informed (device fatal,
# flushed work), and its exit frees the rest.
#
#   a: (ra$$)  ====== veth ======  b: (rb$$); traffic.py holds both

. "$(dirname "$0")/../lib/lib.sh"
only_ours   # the in-tree driver hangs here as long as a process holds the device

setup_pair 9000
again() { # set up the pair again after one of its devices or netdevs was removed
	teardown_pair
	setup_wire 9000
	add_links
}
device_gone() { [ ! -e "$IB/$1" ]; }
sockets() { in_a ss -Huln sport = :4791; }

for type in v1 v2; do
	for way in link-del netdev-del netns-del both-del; do
		ia=$(gid_index "$DEV_A" $type $IP4_A) ib=$(gid_index "$DEV_B" $type $IP4_B)
		traffic_start "$way" "$ia" "$ib" --until-error --expect-fatal --read
		case $way in
		link-del) within 60 "$type: rdma link del under traffic" rdma link del "$DEV_A" ;;
		netdev-del)
			within 60 "$type: ip link del under traffic" ip -n "$NS_A" link del "$IF_A"
			check "$type: no socket listens on 4791 any more" "" "$(sockets)"
			;;
		netns-del)
			# No process is in the namespace: its end removes the netdev.
			within 60 "$type: ip netns del under traffic" ip netns del "$NS_A"
			;;
		both-del)
			rdma link del "$DEV_B" &
			within 60 "$type: both devices at once" rdma link del "$DEV_A"
			wait $!
			;;
		esac
		wait_check 60 "$type, $way: $DEV_A is gone" device_gone "$DEV_A"
		traffic_end "$way" 120
		again
	done

	: "a process that holds the device and does nothing"
	ia=$(gid_index "$DEV_A" $type $IP4_A) ib=$(gid_index "$DEV_B" $type $IP4_B)
	traffic_start idle "$ia" "$ib" --seconds 1 --stay
	busywait 60 grep -q staying "$WORK/idle"
	within 60 "$type: rdma link del with an idle holder" rdma link del "$DEV_A"
	check "$type: the process with the device open still runs" 0 "$(kill -0 $TRAFFIC_PID 2> /dev/null; echo $?)"
	add_link a "$DEV_A" "$IF_A"
	make_device_nodes
	busywait 60 gid_index "$DEV_A" $type $IP4_A
	ia=$(gid_index "$DEV_A" $type $IP4_A)
	pair "beside-the-old-holder-$type" tcp:19200 "ibv_rc_pingpong -d $DEV_A -g $ia -p 19200 -n 10" \
		"ibv_rc_pingpong -d $DEV_B -g $ib -p 19200 -n 10 $IP4_A"
	kill -9 $TRAFFIC_PID
	wait $TRAFFIC_PID 2> /dev/null
done

: "rdma_cm: a listener and a connection when the device goes"
spawn_a timeout 300 rping -s -a $IP4_A -p 7900 -C 100000 -V > "$WORK/rping.srv" 2>&1
server=$!
listens_cm $server 7900
spawn_b timeout 300 rping -c -a $IP4_A -I $IP4_B -p 7900 -C 100000 -V > "$WORK/rping.cli" 2>&1
client=$!
connected() { rdma resource show cm_id 2> /dev/null | grep -q 'state CONNECT '; }
busywait 60 connected || fail "rping: expected a connection"
within 60 "rdma link del under rping" rdma link del "$DEV_A"
over() { ! kill -0 $server && ! kill -0 $client; }
busywait 60 over || { fail "rping: expected both ends to end within 60 s"; kill -9 $server $client; }
wait $server $client 2> /dev/null
finish
