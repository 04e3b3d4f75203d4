#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# where: two-vm
# tier: full
# timeout: 1500
#
# roce_hca on machine a, the in-tree rdma_rxe on machine b, on a wire that drops 1 % of packets
# each way: every operation from either side, and the stock tools, succeed as without loss, and
# the kernel logs stay clean.

[ "${VM_ROLE:-}" = b ] && RHCA_LINK_TYPE=rxe
. "$(dirname "$0")/../lib/two-vm-lib.sh"

need tc
setup_machine 9000

# Any packet may be lost, except a DREQ: rping's client exits as soon as its QP is flushed, and
# ib_cm cancels the DREQ of an identifier that is destroyed instead of retransmitting it. A
# server that does not receive this one packet waits for ever, whatever the driver. As the wire
# does not lose it, a server that does not end is a fault.
lossy_wire() {
	show tc qdisc replace dev eth0 root handle 1: prio bands 2 \
		priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 || die "no prio on this kernel"
	defer "tc qdisc del dev eth0 root"
	show tc qdisc add dev eth0 parent 1:2 netem limit 10000 loss 1% || skip "no netem on this kernel"
	# UDP to 4791, a SEND of UD, the class of the CM, attribute 0x15
	show tc filter add dev eth0 parent 1: protocol ip u32 \
		match ip protocol 17 0xff match u16 4791 0xffff at 22 \
		match u8 0x64 0xff at 28 match u8 7 0xff at 49 \
		match u16 0x15 0xffff at 64 flowid 1:1 || die "no u32 filter on this kernel"
}
lossy_wire
meet

# As a requester rdma_rxe does not retransmit a READ or atomic whose response was lost while a
# fenced request waits for it.
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
check_match "DREQs that the wire was set not to drop" '^[1-9]' \
	"$(tc -s class show dev eth0 | awk '/class prio 1:1 / { getline; print $4 }')"
if ours; then
	check_match "packets retransmitted" '^[1-9]' "$(hw_counter $DEV tx_retransmitted_packets)"
	check "QPs that exceeded their retries" 0 "$(hw_counter $DEV req_transport_retries_exceeded)"
fi
meet
finish
