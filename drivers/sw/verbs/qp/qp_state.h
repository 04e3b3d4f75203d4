/* SPDX-License-Identifier: GPL-2.0 */
/* QP states, IBTA vol. 1, 10.3.1: what each allows, and transitions. */
#ifndef RHCA_SW_VERBS_QP_QP_STATE_H
#define RHCA_SW_VERBS_QP_QP_STATE_H

#include <linux/bits.h>
#include <rdma/ib_verbs.h>
#include <rhca/backend.h>

struct rhca_verbs_qp;

#define RHCA_QP_POST_RECV	BIT(0)	/* receive requests are accepted */
#define RHCA_QP_POST_SEND	BIT(1)	/* send requests are accepted */
#define RHCA_QP_RECEIVE		BIT(2)	/* requests of the peer are answered */
#define RHCA_QP_TRANSMIT	BIT(3)	/* new send requests are started */
#define RHCA_QP_COMPLETE	BIT(4)	/* responses of the peer are processed */
#define RHCA_QP_FLUSH_SEND	BIT(5)	/* send requests complete as flushed */
#define RHCA_QP_FLUSH_RECV	BIT(6)	/* receive requests likewise */

extern const u8 rhca_qp_state_abilities[IB_QPS_ERR + 1];

bool rhca_qp_fail(struct rhca_verbs_qp *qp, enum ib_qp_state to);
void rhca_qp_enter_reset(struct rhca_verbs_qp *qp);
void rhca_qp_purge_completions(struct rhca_verbs_qp *qp);
void rhca_qp_flush_all(struct rhca_verbs_qp *qp);
void rhca_cq_errors_work(struct work_struct *work);

int rhca_verbs_qp_modify(struct rhca_qp *core,
			 const struct rhca_qp_change *change,
			 struct ib_udata *udata);
int rhca_verbs_qp_readdress(struct rhca_qp *core,
			    const struct rhca_address *address);
enum ib_qp_state rhca_verbs_qp_state(const struct rhca_qp *core);

#endif
