/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kick during a turn, with the barriers that scripts/check/turn.pml takes for granted,
 * as a litmus test: see scripts/check/litmus.pml. The owner of the turn reads the kicks,
 * then the send queue, and ends the turn; two processors post a request and kick. Also
 * the list of a processor: entries added by an interrupt while its tasklet takes the list
 * and ends.
 *
 * code: drivers/sw/qp/turn_sched.h: if (rhca_turn_word(turn) & RHCA_TURN_KICKS)
 * code: drivers/sw/qp/turn_sched.h: atomic_fetch_andnot(RHCA_TURN_KICKS, &turn->word);
 * code: drivers/sw/tx/requester.c: rhca_turn_see_kicks(&send->turn);
 * code: drivers/sw/qp/turn_sched.c: } while (!atomic_try_cmpxchg(&turn->word, &word, step.word));
 * code: drivers/sw/qp/turn_sched.c: if (llist_add(&turn->listed, &list->listed))
 * code: drivers/sw/qp/turn_sched.c: list->next = llist_reverse_order(llist_del_all(&list->listed));
 * code: drivers/sw/qp/turn_sched.c: if (others_follow(list))
 *
 * Verified: a request that the turn has not seen is seen by a later turn, and each half in
 * the list is run.
 *
 *   BREAK_KICK	a request is not posted before its kick
 *   BREAK_SEE	the kicks are not cleared before the queue is read
 *   BREAK_LOOK	the kicks are cleared after the queue is read
 *   BREAK_FIRST	the tasklet is not scheduled by the first entry of a list
 *   BREAK_REST	the tasklet ends without checking for entries left in the list
 */
#include "litmus.pml"

byte posted;		/* requests in the queue: a bit for each */
bool kicked;		/* in the word: a kick is recorded */
bool running = true;	/* in the word */
bool queued;		/* in the word: a turn is queued */
byte seen;		/* those of posted that a turn has seen */

/* --- a kick during a turn ------------------------------------------------------ */

#define TAIL	0
#define KICK	1

#if BREAK_KICK
#define POSTED	0
#else
#define POSTED	B(TAIL)		/* atomic_try_cmpxchg(): fully ordered */
#endif

proctype post(byte request)
{
	byte done;

	do
	:: atomic { CAN(TAIL, 0) -> posted = posted | request; DID(TAIL) }
	:: atomic { CAN(KICK, POSTED) ->
			kicked = true;
			if
			:: running
			:: else -> queued = true
			fi;
			DID(KICK) }
	:: atomic { done == B(KICK + 1) - 1 -> break }
	od
}

#define KICKS	0
#define CLEAR	1
#define LOOK	2
#define END	3

#if BREAK_SEE
#define CLEARED 0
#define RELOOK	0
#else
#define CLEARED 0
#define RELOOK	B(LOOK)		/* atomic_fetch_andnot(): fully ordered */
#endif

/*
 * If no kick is seen there is no barrier: the queue may have been read before the kicks.
 * If one is seen, reads from before it was cleared do not count.
 */
proctype turn()
{
	byte done, read;
	bool sees_kick;

	do
	:: atomic { CAN(KICKS, 0) -> sees_kick = kicked; DID(KICKS) }
#if BREAK_LOOK
	:: atomic { CAN(CLEAR, B(KICKS) | B(LOOK)) -> kicked = kicked && !sees_kick; DID(CLEAR) }
#else
	:: atomic { CAN(CLEAR, B(KICKS)) ->
			if
			:: sees_kick -> kicked = false; done = done & ~RELOOK
			:: else
			fi;
			DID(CLEAR) }
#endif
	:: atomic { CAN(LOOK, CLEARED) -> read = posted; DID(LOOK) }
	:: atomic { CAN(END, B(CLEAR) | B(LOOK)) ->
			seen = read;
			running = false;
			queued = kicked;
			DID(END) }
	:: atomic { done == B(END + 1) - 1 -> break }
	od
}

/* --- the list of a processor --------------------------------------------------- */

/*
 * Interrupts of the same processor, so nothing is reordered: each step may be followed by
 * any number of steps of the other side.
 */
byte listed;		/* entries of the list */
byte taken;		/* entries that the tasklet has taken */
byte ran;
bool scheduled;

proctype put()
{
	bool first;

	atomic { first = (listed == 0); listed++ }	/* llist_add() */
	if
#if BREAK_FIRST
	:: first && ran > 0 -> scheduled = true
#else
	:: first -> scheduled = true
#endif
	:: else
	fi
}

proctype tasklet()
{
	bool more;

end:	do
	:: atomic { scheduled -> scheduled = false }
		do
		:: atomic { taken == 0 && listed > 0 -> taken = listed; listed = 0 }
		:: atomic { taken > 0 -> taken--; ran++ }
		:: atomic { taken == 0 && listed == 0 -> break }
		:: ran > 0 -> break	/* the limit of packets is reached */
		od;
#if BREAK_REST
		skip
#else
		atomic { more = taken > 0 || listed > 0 }
		scheduled = scheduled || more
#endif
	od
}

init {
	if
	:: atomic { run turn(); run post(1); run post(2) }
		_nr_pr == 1;
		assert(seen == 3 || queued)
	:: atomic { run tasklet(); run put(); run put(); run put() }
		(timeout);
		assert(ran == 3)
	fi
}
