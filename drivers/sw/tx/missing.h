/* SPDX-License-Identifier: GPL-2.0 */
/* Missing READ responses after the oldest one. */
#ifndef RHCA_SW_TX_MISSING_H
#define RHCA_SW_TX_MISSING_H

#include <linux/types.h>

struct rhca_requester;
struct rhca_sw_qp;

void rhca_missing_nak(struct rhca_requester *send, u32 psn);
bool rhca_missing_is_served(const struct rhca_requester *send);
void rhca_missing_refused(struct rhca_requester *send, u32 psn);
bool rhca_missing_due(struct rhca_sw_qp *qp);
void rhca_missing_asked(struct rhca_sw_qp *qp, u32 psn, u32 end);

#endif
