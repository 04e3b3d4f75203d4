#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: two-vm
# tier: full
# timeout: 1500
#
# roce_hca on machine a, the in-tree rdma_rxe on machine b, on a wire that loses one
# packet in a hundred each way: every operation, asked for by either, and the stock tools
# end as without loss, and the kernel logs stay clean.

[ "${VM_ROLE:-}" = b ] && RHCA_LINK_TYPE=rxe
. "$(dirname "$0")/../lib/two-vm-lib.sh"

need tc
setup_machine 9000
show tc qdisc replace dev eth0 root netem limit 10000 loss 1% || skip "no netem on this kernel"
defer "tc qdisc del dev eth0 root"
meet

# A requester of rdma_rxe does not repeat a READ or an atomic whose answer was lost while
# a fenced request waits for it.
operations 20001 v2 4 --label "lossy " --types RC --timeout 14 --unfenced

index=$(index v2 4)
for server in a b; do
	port=$((20010 + $(printf %d "'$server")))
	between $server "rping-to-$server" cm:$port \
		"rping -s -a %a -p $port -C 20 -V -S 10000" "rping -c -a %a -I %b -p $port -C 20 -V -S 10000"
	for tool in ib_send_bw ib_write_bw ib_read_bw; do
		port=$((port + 1000))
		between $server "$tool-to-$server" tcp:$port \
			"$tool -d $DEV -x $index -p $port -F -n 200 -u 14 ${sizes[$tool]}" \
			"$tool -d $DEV -x $index -p $port -F -n 200 -u 14 ${sizes[$tool]} %a"
	done
done
tc -s qdisc show dev eth0
if ours; then
	check_match "packets sent again" '^[1-9]' "$(hw_counter $DEV tx_retransmitted_packets)"
	check "times that a QP gave up" 0 "$(hw_counter $DEV req_transport_retries_exceeded)"
fi
meet
finish
