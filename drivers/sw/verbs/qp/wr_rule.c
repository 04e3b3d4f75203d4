// SPDX-License-Identifier: GPL-2.0
/* Which send work requests are valid, by QP type and user. */
#include "sw/verbs/qp/wr_rule.h"
#include "sw/verbs/device.h"
#include "sw/verbs/qp/qp.h"

#define FOR_RC		BIT(IB_QPT_RC)
#define FOR_UC		BIT(IB_QPT_UC)
#define FOR_UD		(BIT(IB_QPT_UD) | BIT(IB_QPT_GSI))

/* IBTA vol. 1, 11.4.1.1, table 94 and 10.6 for the local operations */
static const struct rhca_wr_rule wr_rules[] = {
	[IB_WR_SEND]			= { FOR_RC | FOR_UC | FOR_UD },
	[IB_WR_SEND_WITH_IMM]		= { FOR_RC | FOR_UC | FOR_UD },
	[IB_WR_SEND_WITH_INV]		= { FOR_RC },
	[IB_WR_RDMA_WRITE]		= { FOR_RC | FOR_UC },
	[IB_WR_RDMA_WRITE_WITH_IMM]	= { FOR_RC | FOR_UC },
	[IB_WR_RDMA_READ]		= { FOR_RC, .no_inline = true },
	[IB_WR_ATOMIC_CMP_AND_SWP]	= { FOR_RC, .exact_bytes = 8,
					    .no_inline = true },
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= { FOR_RC, .exact_bytes = 8,
					    .no_inline = true },
	[IB_WR_LOCAL_INV]		= { FOR_RC | FOR_UC, .no_data = true },
	[IB_WR_BIND_MW]			= { FOR_RC | FOR_UC, .no_data = true,
					    .process_only = true },
	[IB_WR_REG_MR]			= { FOR_RC | FOR_UC, .no_data = true,
					    .kernel_only = true },
	[RHCA_WR_FLUSH]			= { FOR_RC, .no_data = true,
					    .process_only = true },
	[RHCA_WR_ATOMIC_WRITE]		= { FOR_RC, .exact_bytes = 8 },
};

/* Returns NULL if the QP or its user may not post it. @opcode: unchecked */
const struct rhca_wr_rule *rhca_wr_rule_find(const struct rhca_verbs_qp *qp,
					     u32 opcode)
{
	const struct rhca_wr_rule *rule;

	if (opcode >= ARRAY_SIZE(wr_rules))
		return NULL;
	rule = &wr_rules[opcode];
	if (!(rule->qp_types & BIT(qp->type)) ||
	    (qp->is_user ? rule->kernel_only : rule->process_only))
		return NULL;
	return rule;
}

/* Datagrams are one packet, 9.8.3.1 */
static u32 max_bytes(const struct rhca_verbs_qp *qp)
{
	return rhca_is_datagram(qp) ?
		ib_mtu_enum_to_int(rhca_port_mtu(qp->port)) :
		RHCA_MAX_MSG_BYTES;
}

/*
 * Is @length, of all entries or inline data, valid for a request with its flags? Returns 0;
 * -EMSGSIZE if it is too long; -EINVAL.
 */
int rhca_wr_check(const struct rhca_verbs_qp *qp,
		  const struct rhca_send_wqe *wqe,
		  const struct rhca_wr_rule *rule, u64 length)
{
	if (length > max_bytes(qp))
		return -EMSGSIZE;
	if (rule->exact_bytes && length != rule->exact_bytes)
		return -EINVAL;
	if ((wqe->send_flags & IB_SEND_INLINE) &&
	    (rule->no_inline || length > qp->sq.max_inline))
		return -EINVAL;
	return 0;
}
