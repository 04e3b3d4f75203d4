// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion notification packets, annex A17.9.3, that marks bring about.
 */
#include <rhca/compat.h>

#include "sw/tx/cnp.h"
#include "sw/packet/transmit.h"
#include "sw/tx/congestion.h"

static void send(struct rhca_sw_qp *qp, struct rhca_path *path)
{
	struct rhca_bth_fields fields = {
		.opcode		= RHCA_OPCODE_CNP,
		.pkey		= rhca_qp_pkey(&qp->base),
		.dest_qpn	= qp->base.attr.dest_qp_num,
	};
	struct rhca_packet packet __uninitialized;
	struct rhca_tx_list tx __uninitialized;

	if (rhca_packet_begin(&packet, &qp->base, path, &fields, 0))
		return;		/* the next mark asks again */
	memset(rhca_packet_header(&packet, RHCA_HDR_CNP_PAD), 0,
	       sizeof(struct rhca_cnp_pad));
	packet.bth->flags &= ~RHCA_BTH_MIGRATED;
	packet.bth->dest |= cpu_to_be32(RHCA_BTH_BECN);
	rhca_packet_protect(&packet);
	rhca_packet_seal(&packet);
	rhca_tx_list_begin(&tx, &qp->base, path, NULL);
	tx.is_cnp = true;
	tx.may_overtake = true;
	rhca_tx_list_add(&tx, &packet);
	rhca_tx_list_send(&tx);
	rhca_qp_count(&qp->base, RHCA_NP_CNP_SENT);
}

/**
 * rhca_cnp_answer_mark - A packet of the peer has met congestion
 * @qp: a connected QP with a port; the packet was admitted, its ICRC and P_Key are right
 *
 * Context: bottom halves off, RCU read side. The lock of a half may be held.
 */
void rhca_cnp_answer_mark(struct rhca_sw_qp *qp)
{
	struct rhca_path *path = rcu_dereference(qp->base.path);

	if (path && READ_ONCE(qp->base.port->cc.enable) &&
	    rhca_congestion_answers_mark(qp))
		send(qp, path);
}
