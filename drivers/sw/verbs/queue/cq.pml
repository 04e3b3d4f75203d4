/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An event of a completion queue being sent to another CPU, as a litmus test: see
 * scripts/check/litmus.pml. Its handler takes all entries of the queue. A concurrent
 * completion sees that an event is pending and sends none. A third CPU has armed the queue
 * again, so that no lock orders the mark.
 *
 * code: drivers/sw/verbs/queue/cq.c: if (test_and_set_bit(0, &cq->remote_pending))
 * code: drivers/sw/verbs/queue/cq.c: clear_bit(0, &cq->remote_pending);
 * code: drivers/sw/verbs/queue/cq.c: smp_mb__after_atomic();	/* completions that still see the mark are seen by the handler
 *
 * Verified: the handler that is called sees the completion, or is called again.
 *
 *   BREAK_CLEAR	the mark is not cleared before the handler reads the queue
 *   BREAK_SET	the completion is not added before the mark is read
 */
#include "litmus.pml"

bool pending = true;	/* an event is pending */
bool added, seen, again;

#define CLEARED	(BREAK_CLEAR -> 0 : B(0))	/* smp_mb__after_atomic() */
#define ADDED	(BREAK_SET -> 0 : B(0))	/* test_and_set_bit(): fully ordered */

proctype raise_here()
{
	byte done;

	do
	:: atomic { CAN(0, 0) -> pending = false; DID(0) }
	:: atomic { CAN(1, CLEARED) -> seen = added; DID(1) }
	:: atomic { done == B(2) - 1 -> break }
	od
}

proctype complete()
{
	byte done;

	do
	:: atomic { CAN(0, 0) -> added = true; DID(0) }
	:: atomic { CAN(1, ADDED) -> again = !pending; pending = true; DID(1) }
	:: atomic { done == B(2) - 1 -> break }
	od
}

init {
	atomic { run raise_here(); run complete() }
	_nr_pr == 1;
	assert(seen || again)
}
