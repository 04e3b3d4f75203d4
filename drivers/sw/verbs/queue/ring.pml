/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two indices of a ring shared with a process, as a litmus test: see
 * scripts/check/litmus.pml. A ring with room for one element, so that the second one
 * needs the slot of the first. The same for a completion queue, which the kernel fills,
 * and for work queues, which the process fills: its library uses the same barriers.
 *
 * code: drivers/sw/verbs/queue/ring.h: u32 producer = smp_load_acquire(&ring->shared->producer_index);
 * code: drivers/sw/verbs/queue/ring.h: smp_store_release(&ring->shared->consumer_index, ring->index);
 * code: drivers/sw/verbs/queue/ring.h: u32 consumer = smp_load_acquire(&ring->shared->consumer_index);
 * code: drivers/sw/verbs/queue/ring.h: smp_store_release(&ring->shared->producer_index, ring->index);
 *
 * Verified: each element is read as it was written, once it is complete. The acquire when
 * reading the free room is more than this needs, since writes to the slot depend on the
 * result; the model has only that dependency.
 *
 *   BREAK_PUBLISH	the element is not written before the index
 *   BREAK_FILLED	the element may be read before the index
 *   BREAK_GIVE	a slot is returned before it has been read
 *   BREAK_ROOM	a slot is written even without room
 */
#include "litmus.pml"

byte producer, consumer;
byte slot[2];		/* two words of the slot: the number of its element */

#define A1	0	/* two words of the first element */
#define B1	1
#define PUT1	2
#define ROOM	3
#define A2	4
#define B2	5
#define PUT2	6

#define WRITTEN1 (BREAK_PUBLISH -> 0 : B(A1) | B(B1))	/* smp_store_release() */
#define WRITTEN2 (B(PUT1) | (BREAK_PUBLISH -> 0 : B(A2) | B(B2)))
#define HAS_ROOM (BREAK_ROOM -> 0 : B(ROOM))

proctype produce()
{
	byte done;

	do
	:: atomic { CAN(A1, 0) -> slot[0] = 1; DID(A1) }
	:: atomic { CAN(B1, 0) -> slot[1] = 1; DID(B1) }
	:: atomic { CAN(PUT1, WRITTEN1) -> producer = 1; DID(PUT1) }
	:: atomic { CAN(ROOM, 0) && consumer >= 1 -> DID(ROOM) }
	:: atomic { CAN(A2, HAS_ROOM | B(A1)) -> slot[0] = 2; DID(A2) }
	:: atomic { CAN(B2, HAS_ROOM | B(B1)) -> slot[1] = 2; DID(B2) }
	:: atomic { CAN(PUT2, WRITTEN2) -> producer = 2; DID(PUT2) }
	:: atomic { done == B(PUT2 + 1) - 1 -> break }
	od
}

#define FILLED1	0
#define GETA1	1
#define GETB1	2
#define GIVE1	3
#define FILLED2	4
#define GETA2	5
#define GETB2	6
#define GIVE2	7

#define SEEN1	(BREAK_FILLED -> 0 : B(FILLED1))	/* smp_load_acquire() */
#define SEEN2	(BREAK_FILLED -> 0 : B(FILLED1) | B(FILLED2))
#define READ1	(B(FILLED1) | (BREAK_GIVE -> 0 : B(GETA1) | B(GETB1)))	/* smp_store_release() */
#define READ2	(B(FILLED2) | B(GIVE1) | (BREAK_GIVE -> 0 : B(GETA2) | B(GETB2)))

proctype consume()
{
	byte done, a1, b1, a2, b2;

	do
	:: atomic { CAN(FILLED1, 0) && producer >= 1 -> DID(FILLED1) }
	:: atomic { CAN(GETA1, SEEN1) -> a1 = slot[0]; DID(GETA1) }
	:: atomic { CAN(GETB1, SEEN1) -> b1 = slot[1]; DID(GETB1) }
	:: atomic { CAN(GIVE1, READ1) -> consumer = 1; DID(GIVE1) }
	:: atomic { CAN(FILLED2, B(FILLED1)) && producer >= 2 -> DID(FILLED2) }
	:: atomic { CAN(GETA2, SEEN2 | B(GETA1)) -> a2 = slot[0]; DID(GETA2) }
	:: atomic { CAN(GETB2, SEEN2 | B(GETB1)) -> b2 = slot[1]; DID(GETB2) }
	:: atomic { CAN(GIVE2, READ2) -> consumer = 2; DID(GIVE2) }
	:: atomic { done == B(GIVE2 + 1) - 1 -> break }
	od;
	assert(a1 == 1 && b1 == 1);
	assert(a2 == 2 && b2 == 2)
}

init { atomic { run produce(); run consume() } }
