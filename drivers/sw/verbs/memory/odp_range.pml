/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fence after the kernel removes a page while its region's key stays valid, as a
 * litmus test: see scripts/check/litmus.pml. Two CPUs handle two packets each, so a count
 * may become nonzero again at any time; a third removes the page, sees each CPU without
 * users once, and frees the page. The model omits that it may interrupt all CPUs instead
 * of waiting longer: a grace period waits for more.
 *
 * code: drivers/sw/verbs/memory/mem.c: (void)atomic_inc_return(users_here(mem));
 * code: drivers/sw/verbs/memory/mem.c: return READ_ONCE(mem->pages[distance >> PAGE_SHIFT]);
 * code: drivers/sw/verbs/memory/mem.c: (void)atomic_dec_return_release(users_here(mem));
 * code: drivers/sw/verbs/memory/odp_range.c: WRITE_ONCE(range->pages[i], NULL);
 * code: drivers/sw/verbs/memory/odp_range.c: rhca_mem_wait_past_users(users->mem);
 * code: drivers/sw/verbs/memory/mem.c: smp_mb();	/* the removed page before the counts; pairs with enter()
 * code: drivers/sw/verbs/memory/mem.c: return atomic_read_acquire(per_cpu_ptr(mem->cpu_users, cpu));
 *
 * Verified: no packet uses the page after it was freed, and the CPU that removes it sees
 * all that packets have written to it.
 *
 *   BREAK_ENTER	a user does not order its count before it reads the page
 *   BREAK_LEAVE	nor its accesses before it leaves the count
 *   BREAK_FENCE	the page is not removed before the counts are read
 *   BREAK_COUNT	reading the counts is no acquire
 *   BREAK_WAIT	one CPU is not waited for
 *   BREAK_CPU	a user leaves the count on another CPU
 */
#include "litmus.pml"

bool there = true;
byte users[2];
bool gone;		/* the page has been freed */
bool seen;		/* its contents have been read */

#define COUNT	0
#define PAGE	1
#define ACCESS	2
#define UNCOUNT	3

#define ENTER	(BREAK_ENTER -> 0 : B(COUNT))	/* atomic_inc_return(): fully ordered */
/* atomic_dec_return_release() */
#define LEAVE	(B(COUNT) | B(PAGE) | (BREAK_LEAVE -> 0 : B(ACCESS)))
#define OUT(cpu) (BREAK_CPU -> 1 - (cpu) : (cpu))

/* The next packet's count is fully ordered after the last one's */
proctype packets(byte cpu)
{
	byte done, left = 2;
	bool found;

	do
	:: atomic { CAN(COUNT, 0) -> users[cpu]++; DID(COUNT) }
	:: atomic { CAN(PAGE, ENTER) -> found = there; DID(PAGE) }
	:: atomic { CAN(ACCESS, B(PAGE)) -> assert(!found || (!gone && !seen)); DID(ACCESS) }
	:: atomic { CAN(UNCOUNT, LEAVE) -> users[OUT(cpu)]--; DID(UNCOUNT) }
	:: atomic { done == B(UNCOUNT + 1) - 1 -> done = 0; found = false; left--;
			if
			:: left == 0 -> break
			:: else
			fi }
	od
}

#define CLEAR	0
#define WAIT0	1
#define WAIT1	2
#define SEE	3	/* reads what packets wrote */
#define FREE	4

#define FENCE	(BREAK_FENCE -> 0 : B(CLEAR))	/* smp_mb() */
#define WAITED	(BREAK_COUNT -> 0 : B(WAIT0) | B(WAIT1))	/* atomic_read_acquire() */

proctype invalidate()
{
	byte done;

	do
	:: atomic { CAN(CLEAR, 0) -> there = false; DID(CLEAR) }
	:: atomic { CAN(WAIT0, FENCE) && users[0] == 0 -> DID(WAIT0) }
	:: atomic { CAN(WAIT1, FENCE) && (BREAK_WAIT || users[1] == 0) -> DID(WAIT1) }
	:: atomic { CAN(SEE, WAITED) -> seen = true; DID(SEE) }
	:: atomic { CAN(FREE, B(CLEAR) | B(WAIT0) | B(WAIT1)) -> gone = true; DID(FREE) }
	:: atomic { done == B(FREE + 1) - 1 -> break }
	od
}

init { atomic { run packets(0); run packets(1); run invalidate() } }
