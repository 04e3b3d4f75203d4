/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QP states, IBTA vol. 1, 10.3.1: what each allows, and how a QP moves.
 */
#ifndef RHCA_SW_VERBS_QP_STATE_H
#define RHCA_SW_VERBS_QP_STATE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rhca_qp;

#define RHCA_QP_POST_RECV	BIT(0)	/* receive requests are accepted */
#define RHCA_QP_POST_SEND	BIT(1)	/* send requests are accepted */
#define RHCA_QP_RECEIVE		BIT(2)	/* requests of the peer are answered */
#define RHCA_QP_TRANSMIT	BIT(3)	/* new send requests are begun */
#define RHCA_QP_COMPLETE	BIT(4)	/* responses of the peer are taken */
#define RHCA_QP_FLUSH_SEND	BIT(5)	/* send requests complete as flushed */
#define RHCA_QP_FLUSH_RECV	BIT(6)	/* receive requests likewise */

u8 rhca_qp_abilities(enum ib_qp_state state);
bool rhca_qp_can(const struct rhca_qp *qp, u8 abilities);
bool rhca_qp_fail(struct rhca_qp *qp, enum ib_qp_state to);
int rhca_qp_modify(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata);
void rhca_qp_renew_path(struct rhca_qp *qp);
int rhca_qp_query(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);

#endif
