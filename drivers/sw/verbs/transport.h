/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the lower layer of the software HCA, which knows memory and rules, asks
 * of the upper one, which knows packets.
 */
#ifndef RHCA_SW_VERBS_TRANSPORT_H
#define RHCA_SW_VERBS_TRANSPORT_H

#include <rdma/ib_verbs.h>

struct rhca_verbs_qp;

/**
 * struct rhca_transport_ops - The datapath of a QP
 * @qp_create: Its queues are there and its number is reserved, but no packet can find it yet.
 *	May sleep. On error the transport keeps nothing.
 * @qp_destroy: No packet can find @qp any more and none is being handled. Stop timers and
 *	deferred work, free what @qp_create took. May sleep.
 * @qp_settle: Wait until the passes that are under way on @qp have ended. What one has completed
 *	it has built the answer to by then, which may still wait for others that leave with it;
 *	where it has completed an error, the state says so. No lock of the data path held.
 * @qp_prepare: @attr, of which @mask counts, is about to be taken over: allocate what it needs.
 *	May sleep and fail; what the QP does is the same afterwards. modify_lock held.
 * @qp_modify: Take over the attributes named by @mask, which have been checked and stored. Before
 *	the new state is visible; for RESET, after that. Cannot fail. modify_lock held.
 * @qp_entered: The state is visible; start, drain or flush as it asks. modify_lock held.
 * @kick_send: New work was posted to the send queue, or the state asks to flush it. Any context,
 *	also with interrupts off; no lock of the QP held.
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
	void (*kick_send)(struct rhca_verbs_qp *qp);
	void (*kick_recv)(struct rhca_verbs_qp *qp);
};

#endif
