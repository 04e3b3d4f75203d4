#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# timeout: 900
#
# Peers with different path MTUs are counted, and the log names them and both
# sizes: packets of another size (path-mtu.py), and rdma_cm between netdevs of
# different MTU.
#
#   a (ra$$)  ====== veth ======  b (rb$$)

. "$(dirname "$0")/../lib/lib.sh"

only_ours
setup_pair 9000
mtu_is() { ibv_devinfo -d "$1" -v | grep -q "active_mtu:.*$2 "; }

: "more than ten lines in five seconds are not printed, so no more are made here"
: "rdma_cm: the server's netdev has the smaller MTU"
show_a ip link set "$IF_A" mtu 1500
wait_check 60 "the port of a says 1024" mtu_is "$DEV_A" 1024
log_mark "cm"
before=$(hw_counter "$DEV_A" path_mtu_mismatch)
spawn_a timeout 120 rping -s -a $IP4_A -p 7800 -C 1 > "$WORK/cm.srv" 2>&1
listens_cm $! 7800
in_b timeout 120 rping -c -a $IP4_A -I $IP4_B -p 7800 -C 1 > "$WORK/cm.cli" 2>&1
check_match "the client is refused, and not by a time limit" '^(1|2|255)$' $?
check "a counts it" $((before + 1)) "$(hw_counter "$DEV_A" path_mtu_mismatch)"
check_match "the log of a names the peer and both" "$DEV_A: QP .* peer ::ffff:$IP4_B QP .* uses path MTU 4096, here it is 1024" "$(log_since "cm")"

: "the other way round the smaller one is asked for, and fits"
spawn_b timeout 120 rping -s -a $IP4_B -p 7801 -C 3 > "$WORK/cm2.srv" 2>&1
listens_cm $! 7801
in_a timeout 120 rping -c -a $IP4_B -I $IP4_A -p 7801 -C 3 > "$WORK/cm2.cli" 2>&1
check "rping from the smaller MTU" 0 "$(status_of $? "$WORK/cm2.cli")"
show_a ip link set "$IF_A" mtu 9000
wait_check 60 "the port of a says 4096" mtu_is "$DEV_A" 4096

for type in $(roce_versions); do
	ia=$(gid_index "$DEV_A" "$type" $IP4_A) ib=$(gid_index "$DEV_B" "$type" $IP4_B)
	log_mark "$type"
	python path-mtu.py "$DEV_A" "$ia" "$DEV_B" "$ib"
	check "$type: lines of $DEV_B about $IP4_A" "1024 4096 1024 512 256 4096" \
		"$(log_since "$type" |
			sed -nE "s/.*$DEV_B: QP 0x[0-9a-f]+: peer ::ffff:$IP4_A QP 0x[0-9a-f]+ uses path MTU ([0-9]+), here it is ([0-9]+)\$/\2 \1/p" |
			xargs)"
	check "$type: lines of $DEV_A about $IP4_B" "512 2048" \
		"$(log_since "$type" |
			sed -nE "s/.*$DEV_A: QP 0x[0-9a-f]+: peer ::ffff:$IP4_B QP 0x[0-9a-f]+ uses path MTU ([0-9]+), here it is ([0-9]+)\$/\2 \1/p" |
			xargs)"
done

finish
