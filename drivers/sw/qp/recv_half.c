// SPDX-License-Identifier: GPL-2.0
/*
 * The receive half of a QP waits: the local queue was full, or memory was busy.
 */
#include <rhca/compat.h>

#include "sw/qp/recv_half.h"

static enum hrtimer_restart resume_recv(struct hrtimer *timer)
{
	struct rhca_sw_qp *qp = container_of(timer, struct rhca_sw_qp,
					     recv.resume_timer);

	WRITE_ONCE(qp->recv.paused, false);
	tasklet_schedule(&qp->recv.task);
	return HRTIMER_NORESTART;
}

/**
 * rhca_pause_recv - Send no responses for a while
 * @qp: the QP
 * @delay_ns: how long
 *
 * Context: recv.lock held.
 */
void rhca_pause_recv(struct rhca_sw_qp *qp, u64 delay_ns)
{
	lockdep_assert_held(&qp->recv.lock);
	qp->recv.paused = true;
	hrtimer_start(&qp->recv.resume_timer, ns_to_ktime(delay_ns),
		      HRTIMER_MODE_REL_SOFT);
}

void rhca_recv_half_init(struct rhca_sw_qp *qp)
{
	rhca_hrtimer_setup(&qp->recv.resume_timer, resume_recv);
}

/**
 * rhca_recv_half_exit - Stop the timer for good
 * @qp: a QP in RESET that no packet reaches
 */
void rhca_recv_half_exit(struct rhca_sw_qp *qp)
{
	hrtimer_cancel(&qp->recv.resume_timer);
}
