/* SPDX-License-Identifier: GPL-2.0 */
/* Rules for send work requests. */
#ifndef RHCA_SW_VERBS_QP_WR_RULE_H
#define RHCA_SW_VERBS_QP_WR_RULE_H

#include <linux/types.h>

struct rhca_send_wqe;
struct rhca_verbs_qp;

/* Rule for a work request opcode */
struct rhca_wr_rule {
	u16 qp_types;		/* BIT(enum ib_qp_type) of supported types */
	bool kernel_only;	/* not for processes */
	bool process_only;	/* ib_verbs.h has no such request */
	u8 exact_bytes;		/* required message length; 0 for any */
	bool no_inline;		/* its list is the destination of the response */
	bool no_data;		/* operation without a scatter/gather list */
};

const struct rhca_wr_rule *rhca_wr_rule_find(const struct rhca_verbs_qp *qp,
					     u32 opcode);
int rhca_wr_check(const struct rhca_verbs_qp *qp,
		  const struct rhca_send_wqe *wqe,
		  const struct rhca_wr_rule *rule, u64 length);

#endif
