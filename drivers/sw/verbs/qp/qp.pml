/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A receive posted while the QP fails, as a litmus test: see scripts/check/litmus.pml. The
 * poster checks the state afterwards, and whoever moves the QP to ERR checks the queue.
 *
 * code: drivers/sw/verbs/qp/qp.c: ret = rhca_rq_post(&qp->rq, wr, bad_wr);
 * code: drivers/sw/verbs/qp/qp.c: smp_mb();	/* either the flush sees the request, or we see ERR
 * code: drivers/sw/verbs/qp/qp.c: if (rhca_qp_can(qp, RHCA_QP_FLUSH_RECV))
 * code: drivers/sw/verbs/qp/qp_state.c: } while (!try_cmpxchg(&qp->state, &state, to));
 * code: drivers/sw/verbs/qp/qp_state.c: if (xchg(&qp->state, IB_QPS_ERR) == IB_QPS_ERR) {
 * code: drivers/sw/verbs/queue/ring.h: u32 producer = smp_load_acquire(&ring->shared->producer_index);
 *
 * Verified: no request stays in the queue of a QP in ERR.
 *
 *   BREAK_POST	the request is not posted before the state is read
 *   BREAK_FAIL	the state is not changed before the queue is read
 */
#include "litmus.pml"

bool posted, error, flushed;

#define POSTED	(BREAK_POST -> 0 : B(0))	/* smp_mb() */
#define FAILED	(BREAK_FAIL -> 0 : B(0))	/* try_cmpxchg(), xchg(): fully ordered */

bool sees_error, sees_request;

proctype post()
{
	byte done;

	do
	:: atomic { CAN(0, 0) -> posted = true; DID(0) }
	:: atomic { CAN(1, POSTED) -> sees_error = error; DID(1) }
	:: atomic { done == B(2) - 1 -> break }
	od;
	flushed = flushed || sees_error	/* kick_recv: under recv.lock */
}

proctype fail()
{
	byte done;

	do
	:: atomic { CAN(0, 0) -> error = true; DID(0) }
	:: atomic { CAN(1, FAILED) -> sees_request = posted; DID(1) }
	:: atomic { done == B(2) - 1 -> break }
	od;
	flushed = flushed || sees_request
}

init {
	atomic { run post(); run fail() }
	_nr_pr == 1;
	assert(flushed)
}
