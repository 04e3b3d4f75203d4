# SPDX-License-Identifier: GPL-2.0
# Counts packets that share skbs, for scenarios with a pair.

both_count() { # both_count COUNTER: of both ends together
	echo $(($(hw_counter "$DEV_A" "$1") + $(hw_counter "$DEV_B" "$1")))
}
skbs() { # of both ends together
	local file=statistics/tx_packets
	echo $(($(in_a cat "/sys/class/net/$IF_A/$file") + $(in_b cat "/sys/class/net/$IF_B/$file")))
}

# leave_together NUM/DEN WHAT COMMAND...: fewer skbs than that part of the packets. On a
# machine that is stopped for milliseconds QPs ask after what is only late, and send singly
# for a while: that says nothing, once more.
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
