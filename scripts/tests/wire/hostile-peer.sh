#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug
# tier: wide
# timeout: 900
#
# A peer that creates gaps on many QPs to occupy memory, and one that acknowledges packets
# that it did not receive or that were never sent: held memory is limited and freed, the
# rest is dropped and counted, and QPs survive (hostile-peer.py).
#
#   a (ra$$, aimed at)  ====== veth ======  b (packet socket on vb$$)

. "$(dirname "$0")/../lib/lib.sh"
. "$TOP/scripts/fuzz/lib.sh"
only_ours

fuzz_long_backlog	# each frame sent must be counted
setup_pair 9000
mac_a=$(in_a cat "/sys/class/net/$IF_A/address") mac_b=$(in_b cat "/sys/class/net/$IF_B/address")
for type in v1 v2; do
	for family in 4 6; do
		[ $type-$family != v1-6 ] || continue
		a=IP${family}_A b=IP${family}_B
		a=${!a} b=${!b}
		LIMIT=280 python hostile-peer.py "$DEV_A" "$(gid_index "$DEV_A" $type $a)" \
			"$DEV_B" "$(gid_index "$DEV_B" $type $b)" --version $type --src-ip $b --dst-ip $a \
			--netns "/run/netns/$NS_B" --netdev "$IF_B" --src-mac "$mac_b" --dst-mac "$mac_a"
	done
done
finish
