/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_RX_EARLY_COPY_H
#define RHCA_SW_RX_EARLY_COPY_H

#include "sw/qp/qp.h"
#include "sw/packet/parse.h"

/* Is it a middle packet or a READ response, which rhca_early_copy() may take? */
static inline bool rhca_copies_early(const struct rhca_rx *rx)
{
	const u16 response = RHCA_OP_READ | RHCA_OP_RESPONSE;

	return (rx->flags & RHCA_OP_MIDDLE) || (rx->flags & response) == response;
}

bool rhca_early_copy(struct rhca_sw_qp *qp, const struct rhca_rx *rx);

#endif
