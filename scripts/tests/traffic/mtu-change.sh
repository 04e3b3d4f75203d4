#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# spread: yes
# timeout: 900
#
# The netdevs' MTU changes under checked traffic. QPs whose path MTU still fits continue;
# others lose packets until the MTU is back, and then continue. The port reports the new MTU
# meanwhile.
#
# Packets longer than the sender's MTU are not sent, even in frames that bypass the IP stack.
#
#   a (ra$$)  ====== veth, MTU 9000 -> 1500 -> 9000 ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

setup_pair 9000
need tcpdump
ours && add_vlan
set_mtu() {
	show_a ip link set "$IF_A" mtu "$1"
	show_b ip link set "$IF_B" mtu "$1"
}
mtu_is() { ibv_devinfo -d "$DEV_A" -v | grep -q "active_mtu:.*$1 "; }

for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	: "path MTU 1024 fits in all of them"
	traffic_start fits "$ia" "$ib" --seconds 600 --mtu 1024 --least 20
	for mtu in 1500 4200 1500 9000 1500; do
		set_mtu $mtu
		sleep 0.5
	done
	wait_check 60 "$type: the port says 1024" mtu_is 1024
	traffic_stop fits 90
	set_mtu 9000
	wait_check 60 "$type: the port says 4096" mtu_is 4096

	: "a UD QP that is older than the MTU: one packet or a refusal, never a fragment"
	set_mtu 1500
	mtu_is 1024 || busywait 60 mtu_is 1024
	$PYTHON "$HERE/ud-mtu.py" "$DEV_A" "$ia" "$DEV_B" "$ib" "$WORK/go" > "$WORK/ud" 2>&1 &
	pid=$!
	busywait 60 grep -q ready "$WORK/ud" || die "ud-mtu.py is not ready: $(cat "$WORK/ud")"
	set_mtu 4200
	busywait 60 mtu_is 4096
	touch "$WORK/go"
	wait $pid
	judge "$type: UD and a grown MTU" "$WORK/ud" $?
	rm -f "$WORK/go"
	set_mtu 9000

	: "path MTU 4096 does not fit in 1500 for a while"
	traffic_start toobig "$ia" "$ib" --seconds 600 --mtu 4096 --least 5 --timeout 18
	sleep 1
	set_mtu 1500
	sleep 0.7
	set_mtu 9000
	traffic_stop toobig 120
done

# b would receive them, as it keeps its MTU.
only_sender() { # only_sender WHAT VERSION ADDRESS-A ADDRESS-B
	local before ia ib

	ia=$(gid_index "$DEV_A" "$2" "$3") ib=$(gid_index "$DEV_B" "$2" "$4")
	traffic_start too-long "$ia" "$ib" --seconds 600 --mtu 4096 --least 5 --timeout 20
	before=$(hw_counter "$DEV_A" tx_dropped_too_long)
	show_a ip link set "$IF_A" mtu 1500
	sleep 0.5
	capture_start "$WORK/too-long.pcap" 'greater 1600'
	wait_check 60 "$1: tx_dropped_too_long counts" grown "$before"
	capture_stop
	in_a ip link set "$IF_A" mtu 9000
	in_a ip link set "$IF_A.7" mtu 9000
	check "$1: frames longer than the sender's MTU" 0 "$(tcpdump -r "$WORK/too-long.pcap" 2> /dev/null | wc -l)"
	traffic_stop too-long 120
}
grown() { [ "$(hw_counter "$DEV_A" tx_dropped_too_long)" -gt "$1" ]; }

if ours; then
	set_mtu 9000
	both ip link set IF.7 mtu 9000
	busywait 60 gid_index "$DEV_B" v2 10.9.7.2 || die "no GID of the VLAN"
	only_sender v1 v1 $IP4_A $IP4_B
	only_sender "v2 on a VLAN" v2 10.9.7.1 10.9.7.2
	only_sender v2 v2 $IP4_A $IP4_B
fi
finish
