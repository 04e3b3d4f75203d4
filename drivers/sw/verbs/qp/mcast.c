// SPDX-License-Identifier: GPL-2.0
/*
 * QPs of the software HCA in multicast groups, IBTA vol. 1, 10.5.2. The core
 * knows who is attached; a packet needs a QP that cannot go meanwhile.
 */
#include "core/mcast.h"
#include "sw/verbs/qp/mcast.h"
#include "sw/verbs/qp/qp.h"

/* &struct rhca_backend_ops.mcast_attach: the handle outlives the QP by RCU */
int rhca_verbs_mcast_attach(struct rhca_mcast_attachment *attachment)
{
	attachment->private = to_verbs_qp(attachment->qp)->handle;
	return 0;
}

/**
 * rhca_mcast_qp_get - The QP of an attachment
 * @attachment: found by rhca_mcast_visit()
 *
 * Context: RCU read side.
 * Return: the QP with a reference that destroy_qp waits for, or NULL if it is
 *	being destroyed or is on another port now.
 */
struct rhca_verbs_qp *
rhca_mcast_qp_get(const struct rhca_mcast_attachment *attachment)
{
	struct rhca_verbs_qp *qp = rhca_qp_get_handle(attachment->private);

	if (!qp || READ_ONCE(qp->port) == attachment->port)
		return qp;
	rhca_qp_put(qp);
	return NULL;
}
