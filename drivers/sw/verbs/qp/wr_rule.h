/* SPDX-License-Identifier: GPL-2.0 */
/* Rules for send work requests. */
#ifndef RHCA_SW_VERBS_QP_WR_RULE_H
#define RHCA_SW_VERBS_QP_WR_RULE_H

#include <linux/types.h>

struct rhca_send_wqe;
struct rhca_verbs_qp;

/* What a work request opcode may be */
struct rhca_wr_rule {
	u16 qp_types;		/* BIT(enum ib_qp_type) of the types that take it */
	bool kernel_only;	/* not for processes */
	bool process_only;	/* ib_verbs.h has no request of it */
	u8 exact_bytes;		/* length that the message must have; 0 for any */
	bool no_inline;		/* its list says where the response goes to */
	bool no_data;		/* operation without a scatter/gather list */
};

const struct rhca_wr_rule *rhca_wr_rule_find(const struct rhca_verbs_qp *qp,
					     u32 opcode);
int rhca_wr_check(const struct rhca_verbs_qp *qp,
		  const struct rhca_send_wqe *wqe,
		  const struct rhca_wr_rule *rule, u64 length);

#endif
