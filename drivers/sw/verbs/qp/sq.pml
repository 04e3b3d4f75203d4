/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Head and tail of a kernel user's send queue, as a litmus test: see
 * scripts/check/litmus.pml. Two requests are posted one after the other to a queue with
 * two slots, which restarts at its first slot when found empty; the owner of send.lock
 * takes and completes them.
 *
 * code: drivers/sw/verbs/qp/sq.c: return READ_ONCE(sq->head) == READ_ONCE(sq->tail);
 * code: drivers/sw/verbs/qp/sq.c: WRITE_ONCE(sq->base, sq->tail - home_of(sq));
 * code: drivers/sw/verbs/qp/sq.c: smp_wmb();	/* the requests before the index that announces them
 * code: drivers/sw/verbs/qp/sq.c: WRITE_ONCE(qp->sq.tail, end);
 * code: drivers/sw/verbs/qp/sq.c: smp_store_release(&sq->head, sq->head + num);
 * code: drivers/sw/verbs/qp/sq.h: u32 slot = (index - READ_ONCE(sq->base)) & sq->mask;
 * code: drivers/sw/tx/window.h: end = READ_ONCE(sq->tail);
 * code: drivers/sw/tx/window.h: smp_acquire__after_ctrl_dep();
 *
 * Verified: each request is read as it was posted, from its slot, even if the queue has
 * restarted meanwhile.
 *
 *   BREAK_POST	a request is not written before the tail
 *   BREAK_SEE	a request may be read before the tail
 *   BREAK_DONE	the head moves before the last read of the slot
 *   BREAK_ANEW	the queue restarts without reading the head
 */
#include "litmus.pml"

byte tail, head;
byte base;
byte slot[2];

#define SLOT1	0
#define TAIL1	1
#define EMPTY	2	/* the head, before the second post */
#define BASE	3
#define SLOT2	4
#define TAIL2	5

#define POSTED1	(BREAK_POST -> 0 : B(SLOT1))	/* smp_wmb() */
#define POSTED2	(B(TAIL1) | (BREAK_POST -> 0 : B(BASE) | B(SLOT2)))

proctype post()
{
	byte done;
	bool anew;

	do
	:: atomic { CAN(SLOT1, 0) -> slot[0] = 1; DID(SLOT1) }
	:: atomic { CAN(TAIL1, POSTED1) -> tail = 1; DID(TAIL1) }
	:: atomic { CAN(EMPTY, 0) -> anew = (BREAK_ANEW || head == 1); DID(EMPTY) }
	/* What is written depends on what was read */
	:: atomic { CAN(BASE, B(EMPTY)) -> base = (anew -> 1 : 0); DID(BASE) }
	:: atomic { CAN(SLOT2, B(EMPTY) | B(SLOT1)) -> slot[(anew -> 0 : 1)] = 2; DID(SLOT2) }
	:: atomic { CAN(TAIL2, POSTED2) -> tail = 2; DID(TAIL2) }
	:: atomic { done == B(TAIL2 + 1) - 1 -> break }
	od
}

#define SEE1	0
#define AT1	1
#define READ1	2
#define DONE1	3
#define SEE2	4
#define AT2	5
#define READ2	6

#define SEEN1	(BREAK_SEE -> 0 : B(SEE1))	/* smp_acquire__after_ctrl_dep() */
#define SEEN2	(BREAK_SEE -> 0 : B(SEE1) | B(SEE2))
#define USED1	(B(SEE1) | (BREAK_DONE -> 0 : B(AT1) | B(READ1)))	/* smp_store_release() */

proctype send()
{
	byte done, at1, at2, read1, read2;

	do
	:: atomic { CAN(SEE1, 0) && tail >= 1 -> DID(SEE1) }
	:: atomic { CAN(AT1, SEEN1) -> at1 = 0 - base; DID(AT1) }
	:: atomic { CAN(READ1, SEEN1 | B(AT1)) -> read1 = slot[at1 & 1]; DID(READ1) }
	:: atomic { CAN(DONE1, USED1) -> head = 1; DID(DONE1) }
	:: atomic { CAN(SEE2, B(SEE1)) && tail >= 2 -> DID(SEE2) }
	:: atomic { CAN(AT2, SEEN2 | B(AT1)) -> at2 = 1 - base; DID(AT2) }
	:: atomic { CAN(READ2, SEEN2 | B(AT2)) -> read2 = slot[at2 & 1]; DID(READ2) }
	:: atomic { done == B(READ2 + 1) - 1 -> break }
	od;
	assert(read1 == 1);
	assert(read2 == 2)
}

init { atomic { run post(); run send() } }
