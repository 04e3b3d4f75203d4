#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: uml uml-debug
# tier: full
# every: 3
# timeout: 600
#
# roce_hca and the in-tree rdma_rxe on a wire that drops packets: every byte of every
# operation arrives once and in order, whichever is the requester. After a loss rdma_rxe
# retransmits all and drops packets after the gap.
#
#   a (rdma_rxe, initial namespace)  ====== veth, netem on both sides ======  b (roce_hca)

. "$(dirname "$0")/../lib/lib.sh"

# shellcheck disable=SC2034  # lib.sh asks for it
RHCA_KEEP_OTHER=1
need tc
load_driver
setup_wire_here 9000
loaded rdma_rxe || insert rdma_rxe || skip "no rdma_rxe for $(uname -r)"
defer 'remove_driver rdma_rxe'
RHCA_LINK_TYPE=rxe add_link a "$DEV_A" "$IF_A"
add_link b "$DEV_B" "$IF_B"
make_device_nodes
wait_gids
ia=$(gid_index "$DEV_A" v2 $IP4_A) ib=$(gid_index "$DEV_B" v2 $IP4_B)

netem() { # netem ARGUMENT...: on both sides
	show_a tc qdisc replace dev "$IF_A" root netem limit 10000 "$@" &&
		show_b tc qdisc replace dev "$IF_B" root netem limit 10000 "$@"
}

# traffic_both_ways: SEND, WRITE and READ, with either driver as requester
traffic_both_ways() {
	LIMIT=200 python traffic.py "$DEV_B" "$ib" "$DEV_A" "$ia" --seconds 4 --timeout 14 --least 10 --read
	LIMIT=200 python traffic.py "$DEV_A" "$ia" "$DEV_B" "$ib" --seconds 4 --timeout 14 --least 10 --read
}

for what in "loss 1%" "loss 5%" "loss 1% delay 1ms"; do
	# shellcheck disable=SC2086  # words
	netem $what
	traffic_both_ways
done

# As a requester rdma_rxe does not retransmit a READ or atomic whose response was lost while a
# fenced request waits for it.
netem loss 2%
LIMIT=300 python ops.py "$DEV_A" "$ia" "$DEV_B" "$ib" --types RC --quick --timeout 14 --wait 60 \
	--unfenced --label "lossy "

: "what was lost on the way to rdma_rxe has been repeated"
check_match "packets retransmitted by roce_hca" '^[1-9]' "$(hw_counter "$DEV_B" tx_retransmitted_packets)"
check "QPs of roce_hca that exceeded their retries" 0 "$(hw_counter "$DEV_B" req_transport_retries_exceeded)"
finish
