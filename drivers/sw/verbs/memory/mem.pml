/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packets that use memory while another CPU changes what its key means, as a litmus test:
 * see scripts/check/litmus.pml. Two CPUs handle packets, one of them two packets of a
 * batch; a third makes the memory invalid, does not wait, changes what it means if it is
 * idle, and allows users again.
 *
 * code: drivers/sw/verbs/memory/mem.c: (void)atomic_inc_return(users_here(mem));
 * code: drivers/sw/verbs/memory/mem.c: if (READ_ONCE(mem->state) != RHCA_MEM_VALID) {
 * code: drivers/sw/verbs/memory/mem.c: smp_acquire__after_ctrl_dep();
 * code: drivers/sw/verbs/memory/mem.c: (void)atomic_dec_return_release(users_here(mem));
 * code: drivers/sw/verbs/memory/mem.c: if (mem && mem->key != key) {
 * code: drivers/sw/verbs/memory/mem.c: if (mem && mem->key == key && mem->dev == dev && is_valid(mem))
 * code: drivers/sw/verbs/memory/mem.c: smp_mb();	/* the state before the count; pairs with enter()
 * code: drivers/sw/verbs/memory/mem.c: users += atomic_read_acquire(per_cpu_ptr(mem->cpu_users, cpu));
 * code: drivers/sw/verbs/memory/mem.c: smp_store_release(&mem->state, RHCA_MEM_VALID);
 * code: drivers/sw/verbs/memory/mw.c: WRITE_ONCE(window->state, state);
 * code: drivers/sw/verbs/memory/mw.c: WRITE_ONCE(window->key, bind->new_key);
 *
 * Verified: no packet uses pages after they were freed or read by the CPU that waited;
 * none uses another meaning than its key's, or half of one.
 *
 *   BREAK_ENTER	a user does not order its count before the state
 *   BREAK_DEP	nor the state before what the key means
 *   BREAK_LEAVE	nor its accesses before it leaves the count
 *   BREAK_IDLE	the state is not ordered before reading the counts
 *   BREAK_COUNT	reading the counts is no acquire
 *   BREAK_VALID	the state that allows users is no release
 *   BREAK_CPU	a user leaves the count on another CPU
 *   BREAK_KEY	the key is compared before the user is counted
 *   BREAK_HELD	the second packet of a batch uses what the first has released
 */
#include "litmus.pml"

bool valid = true;
byte pages;		/* what the key means: the pages of binding 0 or 1 */
byte key;		/* and the key of that binding */
short users[2];
bool gone;		/* the pages of binding 0 have been freed */
bool seen;		/* they have been read, perhaps too early */
bool late;		/* and a packet has written to them afterwards */

#define COUNT	0
#define STATE	1
#define KEY	2
#define PAGES	3
#define ACCESS	4
#define KEY2	5
#define STATE2	6
#define PAGES2	7
#define ACCESS2	8
#define UNCOUNT	9

#define ENTER	(BREAK_ENTER -> 0 : B(COUNT))	/* atomic_inc_return(): fully ordered */
#define ENTERED	(BREAK_DEP -> ENTER : B(COUNT) | B(STATE))	/* smp_acquire__after_ctrl_dep() */
#define FOUND	(BREAK_KEY -> 0 : ENTERED)
#define LEAVE	(BREAK_LEAVE -> B(STATE) : B(ACCESS))	/* atomic_dec_return_release() */
#define LEAVE2	(BREAK_LEAVE || BREAK_HELD -> LEAVE : LEAVE | B(ACCESS2))
#define OUT(cpu) (BREAK_CPU -> 1 - (cpu) : (cpu))

/* Code after a branch may read, but not write, before the branch is resolved */
#define BRANCH	(B(STATE) | B(KEY))
#define BRANCH2	(B(STATE2) | B(KEY2) | BRANCH)

inline access(at)
{
	assert(at == wanted);
	assert(at != 0 || !gone);
	late = late || (at == 0 && seen)
}

proctype packets(byte cpu; byte wanted; bool second)
{
	short done;
	bool was_valid, was_valid2;
	byte found, found2, at, at2;

	if
	:: second
	:: else -> done = B(KEY2) | B(STATE2) | B(PAGES2) | B(ACCESS2)
	fi;
	do
	:: atomic { CAN(COUNT, 0) -> users[cpu]++; DID(COUNT) }
	:: atomic { CAN(STATE, ENTER) -> was_valid = valid; DID(STATE) }
	:: atomic { CAN(KEY, FOUND) -> found = key; DID(KEY) }
	:: atomic { CAN(PAGES, ENTERED) -> at = pages; DID(PAGES) }
	:: atomic { CAN(ACCESS, BRANCH | B(PAGES)) && was_valid && found == wanted ->
			access(at); DID(ACCESS) }
	:: atomic { CAN(ACCESS, BRANCH) && !(was_valid && found == wanted) ->
			DID(ACCESS); DID(KEY2); DID(STATE2); DID(PAGES2); DID(ACCESS2) }
	:: atomic { CAN(KEY2, ENTERED | B(KEY)) -> found2 = key; DID(KEY2) }
	:: atomic { CAN(STATE2, ENTERED | B(STATE)) -> was_valid2 = valid; DID(STATE2) }
	:: atomic { CAN(PAGES2, ENTERED | B(PAGES)) -> at2 = pages; DID(PAGES2) }
	:: atomic { CAN(ACCESS2, BRANCH2 | B(PAGES2) | B(ACCESS)) ->
			if
			:: was_valid2 && found2 == wanted -> access(at2)
			:: else
			fi;
			DID(ACCESS2) }
	:: atomic { CAN(UNCOUNT, LEAVE2 | B(COUNT)) -> users[OUT(cpu)]--; DID(UNCOUNT) }
	:: atomic { done == B(UNCOUNT + 1) - 1 -> break }
	od
}

#define INVALID	0
#define LOOK0	1
#define LOOK1	2
#define SEE	3	/* reads the pages: sees what packets wrote */
#define FREE	4
#define MEANING	5
#define NEW_KEY	6
#define VALID	7

#define LOOK	(BREAK_IDLE -> 0 : B(INVALID))	/* smp_mb() */
#define IDLE	(B(LOOK0) | B(LOOK1))	/* the stores depend on it */
#define LOOKED	(BREAK_COUNT -> 0 : IDLE)	/* atomic_read_acquire() */
#define PUBLISH	(IDLE | B(INVALID) | (BREAK_VALID -> 0 : B(SEE) | B(FREE) | B(MEANING) | B(NEW_KEY)))

proctype change()
{
	short done;
	short sum;

	do
	:: atomic { CAN(INVALID, 0) -> valid = false; DID(INVALID) }
	:: atomic { CAN(LOOK0, LOOK) -> sum = sum + users[0]; DID(LOOK0) }
	:: atomic { CAN(LOOK1, LOOK) -> sum = sum + users[1]; DID(LOOK1) }
	:: atomic { CAN(SEE, LOOKED) -> seen = true; DID(SEE) }
	:: atomic { CAN(FREE, IDLE) && sum == 0 -> gone = true; DID(FREE) }
	:: atomic { CAN(MEANING, IDLE) && sum == 0 -> pages = 1; DID(MEANING) }
	:: atomic { CAN(NEW_KEY, IDLE) && sum == 0 -> key = 1; DID(NEW_KEY) }
	:: atomic { CAN(VALID, PUBLISH) && sum == 0 -> valid = true; DID(VALID) }
	:: atomic { (done & IDLE) == IDLE && sum != 0 -> break }	/* -EINPROGRESS */
	:: atomic { done == B(VALID + 1) - 1 -> assert(!late); break }
	od
}

init
{
	byte wanted;

	atomic {
		run packets(0, 0, true);
		if
		:: wanted = 0
		:: wanted = 1
		fi;
		run packets(1, wanted, false);
		run change()
	}
}
