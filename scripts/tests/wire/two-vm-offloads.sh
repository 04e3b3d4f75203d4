#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: two-vm
# tier: wide
# timeout: 1500
#
# Blocks over an adapter (virtio-net): one with UDP segmentation offload and one without, to one
# that merges received packets and one that does not. Segmentation, in the guest or behind its
# adapter, must increment the IPv4 identification: each wrong one is an ICRC error at the peer.

. "$(dirname "$0")/../lib/two-vm-lib.sh"
only_ours
need ethtool

blocks=/sys/module/roce_hca/parameters/blocks
offload() { ethtool -k eth0 | sed -n "s/^[[:space:]]*$1: \([a-z]*\).*/\1/p"; }

setup_machine 9000
# virtio_net supports it, but leaves it off
ethtool -K eth0 tx-udp-segmentation on
if [ "$(offload tx-udp-segmentation)" != on ]; then
	say "the adapter does not segment UDP (kernel $(uname -r), or no taps below it)"
	exit 4
fi

# run LABEL MTU FAMILY OPERATOR: every operation, controlled by a; b lends its device. Then 64
# KiB WRITEs by both: their number of skbs relates to that of packets by OPERATOR. A tap holds
# 1000 packets, so eight at once.
port=22000
run() {
	local server before packets skbs

	port=$((port + 3))
	operations $port v2 "$3" --types RC,UC --mtu "$2" --label "$1 IPv$3 "
	for server in a b; do
		port=$((port + 1))
		before=("$(hw_counter $DEV tx_packets)" "$(< /sys/class/net/eth0/statistics/tx_packets)")
		between $server "ib_write_bw-to-$server-$port" tcp:$port \
			"ib_write_bw -d $DEV -x $(index v2 "$3") -p $port -F -n 20 -t 8 -u 18 -s 65536 -m $2" \
			"ib_write_bw -d $DEV -x $(index v2 "$3") -p $port -F -n 20 -t 8 -u 18 -s 65536 -m $2 %a"
		packets=$(($(hw_counter $DEV tx_packets) - before[0]))
		skbs=$(($(< /sys/class/net/eth0/statistics/tx_packets) - before[1]))
		[ "$server" = "$VM_ROLE" ] ||
			check_ok "$1, IPv$3: $packets packets leave as $skbs" [ $((skbs * 2)) "$4" "$packets" ]
	done
}

run "by default an adapter gets single packets" 1024 4 -gt
echo any > $blocks
run "cut by nobody, or behind the adapter" 1024 4 -lt
# IPv6 has no identifications: test blocks that travel farthest, and those segmented first.
run "cut by nobody, or behind the adapter" 1024 6 -lt
meet
check_ok "from now on the adapter hands over single packets" ethtool -K eth0 rx-gro-hw off
meet
run "cut behind the adapter" 1024 4 -lt
meet
ethtool -K eth0 rx-gro-hw on
ethtool -K eth0 tx-udp-segmentation off
meet
run "an adapter that does not segment" 4096 4 -gt
run "an adapter that does not segment" 4096 6 -gt
check "wrong ICRCs" 0 "$(hw_counter $DEV rx_icrc_encapsulated)"
finish
