/* SPDX-License-Identifier: GPL-2.0 */
/* What the lower layer of the software HCA (memory and rules) asks of the upper one (packets). */
#ifndef RHCA_SW_VERBS_TRANSPORT_H
#define RHCA_SW_VERBS_TRANSPORT_H

#include <rdma/ib_verbs.h>

struct rhca_verbs_qp;

/**
 * struct rhca_transport_ops - The datapath of a QP
 * @qp_create: Its queues exist and its number is reserved, but packets cannot find it yet. May
 *	sleep. On error the transport keeps nothing.
 * @qp_destroy: Packets can no longer find @qp and none is being handled. Stop timers and deferred
 *	work, free what @qp_create allocated. May sleep.
 * @qp_settle: Wait for the passes running on @qp. By then each has built the answers to what it has
 *	completed, which may still wait to be sent with others; if it completed an error, the state
 *	shows it. No lock of the data path held.
 * @qp_prepare: Allocate what the change to @attr, limited by @mask, needs. May sleep and fail; does
 *	not affect the QP. modify_lock held.
 * @qp_modify: Apply the attributes in @mask, which have been checked and stored. Called before the
 *	new state is visible; for RESET, after that. Cannot fail. modify_lock held.
 * @qp_entered: The state is visible; start, drain or flush accordingly. modify_lock held.
 * @drop_posted: A process has posted to its send queue in a state in which that is refused: drop
 *	it. False if meanwhile the state accepts it. Process context; no lock of the QP held.
 * @kick_send: New work was posted to the send queue, or the state requires a flush. Any context,
 *	even with interrupts off; no lock of the QP held.
 * @kick_recv: The same for the receive queue; only called in state ERR.
 */
struct rhca_transport_ops {
	int (*qp_create)(struct rhca_verbs_qp *qp);
	void (*qp_destroy)(struct rhca_verbs_qp *qp);
	void (*qp_settle)(struct rhca_verbs_qp *qp);
	int (*qp_prepare)(struct rhca_verbs_qp *qp,
			  const struct ib_qp_attr *attr, int mask);
	void (*qp_modify)(struct rhca_verbs_qp *qp,
			  const struct ib_qp_attr *attr, int mask,
			  enum ib_qp_state next);
	void (*qp_entered)(struct rhca_verbs_qp *qp, enum ib_qp_state state);
	bool (*drop_posted)(struct rhca_verbs_qp *qp);
	void (*kick_send)(struct rhca_verbs_qp *qp);
	void (*kick_recv)(struct rhca_verbs_qp *qp);
};

#endif
