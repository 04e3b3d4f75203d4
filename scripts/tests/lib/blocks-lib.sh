# SPDX-License-Identifier: GPL-2.0
# Counts packets that share skbs, for scenarios with two hosts.

both_count() { # both_count COUNTER: sum of both ends
	echo $(($(hw_counter "$DEV_A" "$1") + $(hw_counter "$DEV_B" "$1")))
}
skbs() { # sum of both ends
	local file=statistics/tx_packets
	echo $(($(in_a cat "/sys/class/net/$IF_A/$file") + $(in_b cat "/sys/class/net/$IF_B/$file")))
}

# leave_together NUM/DEN WHAT COMMAND...: the skbs are fewer than that fraction of the packets.
# If the machine stops for milliseconds, QPs request packets that are only late, and send singly
# for a while: that run does not count, try again.
leave_together() {
	local num=${1%/*} den=${1#*/} what=$2 packets sent again try
	shift 2
	for try in 1 2 3 4; do
		packets=$(both_count tx_packets) sent=$(skbs)
		again=$(both_count tx_retransmitted_packets)
		"$@"
		packets=$(($(both_count tx_packets) - packets)) sent=$(($(skbs) - sent))
		again=$(($(both_count tx_retransmitted_packets) - again))
		[ $again -gt 0 ] && [ $((den * sent)) -ge $((num * packets)) ] || break
		say "$what: $packets packets left as $sent, $again of them repeated (try $try)"
	done
	check_ok "$what: $packets packets leave as $sent" [ $((den * sent)) -lt $((num * packets)) ]
}
