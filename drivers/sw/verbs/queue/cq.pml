/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An event of a completion queue that is on its way to another processor, as a litmus
 * test: see scripts/check/litmus.pml. Its handler takes what it finds in the queue. Who
 * completes a request meanwhile sees that an event is on its way, and sends none. The
 * queue has been armed again by neither of the two, but by a third, so that no lock
 * orders the mark.
 *
 * code: drivers/sw/verbs/queue/cq.c: if (test_and_set_bit(0, &cq->remote_pending))
 * code: drivers/sw/verbs/queue/cq.c: clear_bit(0, &cq->remote_pending);
 * code: drivers/sw/verbs/queue/cq.c: smp_mb__after_atomic();	/* who still sees the mark is seen by the handler
 *
 * What is shown: the handler that is called sees the completion, or is called again.
 *
 *   BREAK_CLEAR	the mark is not cleared before the handler looks at the queue
 *   BREAK_SET	the completion is not added before the look at the mark
 */
#include "litmus.pml"

bool pending = true;	/* an event is on its way */
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
