#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: vm uml
# tier: full
# every: 3
# timeout: 2400
#
# IPsec policies apply to RoCE v2, over IPv4 and IPv6, on a netdev, a VLAN and an
# active-active bond, in transport and tunnel mode. With a policy and no state, whether or not
# one has been asked for, nothing is sent in clear, and the program fails; with states all
# packets are ESP in both directions, also of large messages; packets received in clear are
# dropped.
#
# The hosts are in ipsec-lib.sh.

. "$(dirname "$0")/../lib/lib.sh"
. "$LIB/lag-lib.sh"
. "$LIB/ipsec-lib.sh"
only_ours
need tcpdump tshark
ipsec_setup

# queued: with a policy, no state, and a daemon that is asked for one, the kernel's route does not
# discard packets but keeps them. Only VLANs and bonds get frames that we build.
queued() {
	local daemon

	on_both forget
	on_both require
	in_b sysctl -qw net.core.xfrm_larval_drop=0
	spawn_b ip xfrm monitor acquire > "$WORK/acquire"
	daemon=$!
	listen
	no_ping_pong "$WHAT, no state yet: the program fails" -n 3
	heard
	check "$WHAT, no state yet: packets in clear, ESP" "0 0" "$CLEAR_b $ESP_b"
	check_ok "$WHAT, no state yet: one was asked for" grep -q acquire "$WORK/acquire"
	kill $daemon
	in_b sysctl -qw net.core.xfrm_larval_drop=1
	on_both forget
	on_both require
}

# protected: with a policy and no state, with states, and packets received in clear
protected() {
	local before

	say "$WHAT"
	on_both require
	before=$(filtered)
	listen
	no_ping_pong "$WHAT, no state: the program fails" -n 3
	heard
	check "$WHAT, no state: packets in clear, ESP" "0 0, 0 0" "$CLEAR_a $ESP_a, $CLEAR_b $ESP_b"
	# Over IPv6 ib_core also looks up such a route, so the QP gets no address.
	if [ "$before" != "$(filtered)" ] || grep -qi 'modify QP' "$WORK/cli" "$WORK/srv"; then
		pass "$WHAT, no state: tx_dropped_filtered counts"
	else
		fail "$WHAT, no state: tx_dropped_filtered stays $before"
	fi
	[ "$n" = 1 ] || [ $MODE = tunnel ] || queued
	on_both add_states
	before=$(icrc_errors)
	listen
	ping_pong "$WHAT: messages of 64 KiB" -n 50 -s 65536
	heard
	check "$WHAT: packets in clear" "0 0" "$CLEAR_a $CLEAR_b"
	check_ok "$WHAT: at least 3200 packets as ESP each way ($ESP_a, $ESP_b)" [ $((ESP_a < ESP_b ? ESP_a : ESP_b)) -ge 3200 ]
	PORT=$((PORT + 1))
	pair "$WHAT: ib_write_bw" tcp:$PORT "ib_write_bw -d $DA -x $IA -p $PORT -s 65536 -n 300 -m 2048 -F" \
		"ib_write_bw -d $DB -x $IB_ -p $PORT -s 65536 -n 300 -m 2048 -F 10.9.0.1"
	check "$WHAT: wrong ICRCs" 0 $(($(icrc_errors) - before))

	# shellcheck disable=SC2086
	in_b ip xfrm policy del src "$B" dst "$A" $SELECTOR dir out
	no_ping_pong "$WHAT: what comes in clear is refused" -n 3
	on_both forget
}

families="4 6"
for row in "1 netdev $DEV_A $DEV_B" "7 VLAN $DEV_A $DEV_B" "5 bond la$$ lb$$"; do
	read -r n name da db <<< "$row"
	for family in $families; do
		on "$n" "$da" "$db" "$family"
		# As IKE daemons set it up for two hosts, and for one protocol
		SELECTOR='' MODE=transport WHAT="IPv$family, $name, transport"
		protected
		! emulated || [ "$name" = VLAN ] || continue
		SELECTOR='proto udp dport 4791' MODE=tunnel WHAT="IPv$family, $name, tunnel, UDP 4791 only"
		protected
	done
done
finish
