/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that programs poll, as a litmus test: see scripts/check/litmus.pml. An earlier packet, of
 * the same message or of one before it, then the last packet of a WRITE, then an ATOMIC WRITE are
 * executed in one hold of recv.lock. A program waits for the last packet's end, another for the
 * word; each reads by smp_load_acquire() or the like, then the rest.
 *
 * code: drivers/sw/rx/early_copy.c: return (kind & RHCA_OP_WRITE) && rx->payload_bytes < recv->write_left &&
 * code: drivers/sw/rx/execute.c: if (rx->flags & RHCA_OP_ENDS)
 * code: drivers/sw/rx/execute.c: smp_wmb();	/* programs poll for the end: earlier packets and messages first
 * code: drivers/sw/rx/execute.c: smp_store_release(word, value);	/* after what earlier requests have written, A19
 *
 * Verified: who sees the end of a WRITE, or the word of an ATOMIC WRITE, sees all that was written
 * by earlier packets. Two stores of the last packet have no order.
 *
 *   BREAK_END	the last packet is written before earlier ones
 *   BREAK_WORD	the word is written before earlier requests' data
 *   BREAK_POLL	a program reads the rest before what it waits for
 */
#include "litmus.pml"

bool earlier, end, word;

#define EARLIER	0
#define END	1
#define WORD	2

#define ENDS	(BREAK_END -> 0 : B(EARLIER))	/* smp_wmb() */
#define WRITTEN	(BREAK_WORD -> 0 : B(EARLIER) | B(END))	/* smp_store_release() */

proctype receive()
{
	byte done;

	do
	:: atomic { CAN(EARLIER, 0) -> earlier = true; DID(EARLIER) }
	:: atomic { CAN(END, ENDS) -> end = true; DID(END) }
	:: atomic { CAN(WORD, WRITTEN) -> word = true; DID(WORD) }
	:: atomic { done == B(WORD + 1) - 1 -> break }
	od
}

#define SEEN	(BREAK_POLL -> 0 : B(0))	/* acquire */

proctype wait_for_end()
{
	byte done;
	bool sees_earlier;

	do
	:: atomic { CAN(0, 0) && end -> DID(0) }
	:: atomic { CAN(1, SEEN) -> sees_earlier = earlier; DID(1) }
	:: atomic { done == B(2) - 1 -> break }
	od;
	assert(sees_earlier)
}

proctype wait_for_word()
{
	byte done;
	bool sees_earlier, sees_end;

	do
	:: atomic { CAN(0, 0) && word -> DID(0) }
	:: atomic { CAN(1, SEEN) -> sees_earlier = earlier; DID(1) }
	:: atomic { CAN(2, SEEN) -> sees_end = end; DID(2) }
	:: atomic { done == B(3) - 1 -> break }
	od;
	assert(sees_earlier && sees_end)
}

init { atomic { run receive(); run wait_for_end(); run wait_for_word() } }
