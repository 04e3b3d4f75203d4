/* SPDX-License-Identifier: GPL-2.0 */
/* Losses of a requester: what is retransmitted, and when an unanswered one probes. */
#ifndef RHCA_SW_TX_PROBE_H
#define RHCA_SW_TX_PROBE_H

#include "sw/qp/qp.h"
#include "sw/tx/window.h"

bool rhca_probe_adapts(const struct rhca_sw_qp *qp);
int rhca_probe_init(struct rhca_sw_qp *qp);
void rhca_probe_free(struct rhca_sw_qp *qp);
void rhca_probe_reset(struct rhca_sw_qp *qp);
void rhca_probe_start(struct rhca_sw_qp *qp);
void rhca_probe_resumed(struct rhca_requester *send);
void rhca_probe_measured(struct rhca_sw_qp *qp);
struct rhca_loss rhca_loss_of(struct rhca_sw_qp *qp, u32 psn, u64 now);
void rhca_recovery_acked(struct rhca_sw_qp *qp);
bool rhca_response_is_late(struct rhca_sw_qp *qp, u64 now);
void rhca_ask_for_response(struct rhca_sw_qp *qp, u64 now, u32 psn, bool twice);
void rhca_repeat_lost(struct rhca_sw_qp *qp, u32 psn,
		      enum rhca_recover_action action, const char *cause);

/* Arm the timer while something is unanswered; if it fires early it re-arms */
static inline void rhca_probe_arm(struct rhca_sw_qp *qp)
{
	struct rhca_requester *send = &qp->send;

	if (send->newest_psn != send->oldest_unacked_psn &&
	    !rhca_wheel_is_queued(&send->probe_timer))
		rhca_probe_start(qp);
}

/* If everything has been answered, the timer need not fire */
static inline void rhca_probe_answered(struct rhca_requester *send)
{
	if (send->newest_psn == send->oldest_unacked_psn &&
	    rhca_wheel_is_queued(&send->probe_timer))
		rhca_wheel_need_not_fire(&send->probe_timer);
}

#endif
