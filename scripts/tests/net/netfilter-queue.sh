#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm
# tier: wide
# timeout: 1500
#
# A netfilter queue segments a block: where the driver builds the Ethernet header, on VLANs
# and active-active bonds, each packet still reaches the right host through the right
# member. With datagrams, since RC would retransmit lost ones.
#
#   namespace rhca-a-PID                         namespace rhca-b-PID
#    ba$$ 10.9.0.1/24 -+- va1 ===== veth ===== vb1 -+- bb$$ 10.9.0.2/24
#                      +- va2 ===== veth ===== vb2 -+
#    va1.7 10.9.7.1/24 (before the bond)           vb1.7 10.9.7.2/24

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/lag-lib.sh"
only_ours
need nft

lag_setup
show_a nft -f - <<- END || skip "no nftables on this kernel"
	table inet rhca$$ {
		counter queued { }
		chain output { type filter hook output priority 0; }
	}
END
defer "in_a nft delete table inet rhca$$"
# Blocks are segmented before a program that decides on packets, as it did not ask for GSO.
spawn_a $PYTHON "$LIB/nfqueue-hold.py" --pass 7 > "$WORK/held" 2>&1
holder=$!
defer "kill $holder"
busywait 60 grep -q bound "$WORK/held" || die "no queue: $(cat "$WORK/held")"

queued() { in_a nft list counter inet "rhca$$" queued | sed -n 's/.*packets \([0-9]*\) .*/\1/p'; }
frames() { in_a sh -c 'cat /sys/class/net/va[12]/statistics/tx_packets' | awk '{ sum += $1 } END { print sum }'; }

# cut NETDEV ADDRESS-A ADDRESS-B: 40 messages of one packet each, sent at once
cut() {
	local ia ib packets blocks frames

	show_a nft add rule inet "rhca$$" output oifname "$1" udp dport 4791 counter name queued queue num 7 ||
		skip "no queues in nftables on this kernel"
	busywait 60 gid_index "$DEV_A" v2 "$2" && busywait 60 gid_index "$DEV_B" v2 "$3" || die "no GIDs on $1"
	ia=$(gid_index "$DEV_A" v2 "$2") ib=$(gid_index "$DEV_B" v2 "$3")
	packets=$(hw_counter "$DEV_A" tx_packets) blocks=$(queued) frames=$(frames)
	python batch.py "$DEV_A" "$ia" "$DEV_B" "$ib" --rounds 1 --label "$1, $2 "
	packets=$(($(hw_counter "$DEV_A" tx_packets) - packets))
	blocks=$(($(queued) - blocks)) frames=$(($(frames) - frames))
	check_ok "$1, $2: $packets packets are queued as $blocks, in blocks" [ $((2 * blocks)) -lt $packets ]
	check_ok "$1, $2: they leave as $frames frames" [ "$frames" -ge $packets ]
	show_a nft flush chain inet "rhca$$" output
}

lag_devices
: "a VLAN"
DEV_A=la1 DEV_B=lb1
show_a ip link add link va1 name va1.7 type vlan id 7 || skip "no VLANs on this kernel"
show_b ip link add link vb1 name vb1.7 type vlan id 7
show_a ip addr add 10.9.7.1/24 dev va1.7
show_b ip addr add 10.9.7.2/24 dev vb1.7
in_a ip -6 addr add fd97::1/64 dev va1.7 nodad
in_b ip -6 addr add fd97::2/64 dev vb1.7 nodad
show_a ip link set va1.7 up
show_b ip link set vb1.7 up
busywait 60 in_a ping -c1 -W1 10.9.7.2 || die "no ping over the VLAN"
cut va1.7 10.9.7.1 10.9.7.2
cut va1.7 fd97::1 fd97::2
in_a ip link del va1.7
in_b ip link del vb1.7

: "an active-active bond"
bond_up balance-xor
in_a ip -6 addr add $IP6_A/64 dev "$BOND_A" nodad
in_b ip -6 addr add $IP6_B/64 dev "$BOND_B" nodad
become "two members, balance-xor" "roce_bond0 none none" "$BOND_A" va1 va2
become "the other host" "roce_bond1 none none" "$BOND_B" vb1 vb2
find_lag
cut "$BOND_A" $IP4_A $IP4_B
cut "$BOND_A" $IP6_A $IP6_B

in_a nft delete table inet "rhca$$"
finish
