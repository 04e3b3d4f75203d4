/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The turn of the requester (drivers/sw/qp/turn.h, and its users) as a model for Spin:
 * two processors, two QPs, three kicks by users and peers, the per-CPU lists with their
 * tasklets, the hrtimer, the ACK timer, a block that QPs share, and destroy_qp.
 *
 * Verified, for all interleavings of sequentially consistent steps:
 *   - no wakeup is lost: when everything is idle, no QP has a request that it could send
 *   - a turn never has two owners
 *   - nothing touches a QP that has been freed, and destroy_qp ends
 *   - nobody waits forever
 *
 * Each atomic { } is one cmpxchg of the word, or one step that a lock protects.
 * Where BREAK_x is 1 the model has a known fault, which Spin has to find:
 *   BREAK_KICK	a kick during a turn is not recorded
 *   BREAK_END	a turn ends without checking the kicks
 *   BREAK_POP	a stale list entry begins a turn
 *   BREAK_ARM	the timer is started before the pause begins
 *   BREAK_DIE	turns still begin while destroy_qp stops the timers
 *   BREAK_SETTLE	destroy_qp does not wait for the last owner to finish
 *   BREAK_REF	a list entry has no reference
 *
 * scripts/check/turn-model.sh runs all of them.
 */

#define NQ 2
#define NC 2

#define IDLE	0
#define QUEUED	1
#define RUNNING	2
#define TIMED	3
#define LENT	4

/* Kicks */
#define POST	1
#define ACK	2
#define TIMEOUT	4
#define RESUME	8
#define BUDGET	16

/* How */
#define TAKE	0
#define RUN	1
#define QUEUE	2
#define DELAY	3

/* Act */
#define NOTHING	0
#define RUNS	1
#define LISTS	2
#define ARMS	3

/* The word, in its parts */
byte state[NQ];
byte kicks[NQ];
bit delay[NQ];		/* TIMED: by POST_DELAY; otherwise it is a firm pause */
bit listed[NQ];
bit dying[NQ];

/* The QP */
byte unsent[NQ];	/* requests in the queue */
byte room[NQ];		/* packets that the peer allows */
bit locked[NQ];		/* send.lock */
bit pausing[NQ];	/* send.pause, under it: set by the receiver of responses */
byte refs[NQ] = 1;
byte users[NQ];		/* verbs in progress and in the future */
bit freed[NQ];
byte owners[NQ];
bit armed[NQ];		/* the hrtimer */
bit fires[NQ];		/* its callback is running */
bit ack_armed[NQ];	/* the ACK timer */
bit ack_fires[NQ];
byte pauses = 1;	/* number of pauses, of all QPs */
byte lends = 1;		/* how often a packet is in a shared block */

/* The processors */
bit busy[NC];		/* bottom halves are off, or a softirq is running */
bit due[NC];		/* the tasklet is scheduled */
chan list[NC] = [NQ] of { byte };
bit destroyed;
byte left = 3;		/* remaining kicks from outside */

inline touch(q) { assert(!freed[q]) }

/* --- turn.h ------------------------------------------------------------------- */

inline to_run(q, act) { state[q] = RUNNING; kicks[q] = 0; act = RUNS; owners[q]++; assert(owners[q] == 1) }
inline to_queue(q, act) {
	state[q] = QUEUED;
	if
	:: listed[q] -> act = NOTHING
	:: else -> listed[q] = 1; act = LISTS
	fi
}
inline begin(q, how, act) {
	if
	:: how == QUEUE -> to_queue(q, act)
	:: how == DELAY -> state[q] = TIMED; delay[q] = 1; act = ARMS
	:: else -> to_run(q, act)
	fi
}
inline kick(q, reason, how, act) {
	d_step {
		touch(q);
		act = NOTHING;
		if
		:: dying[q]
		:: !dying[q] && state[q] == IDLE ->
			kicks[q] = kicks[q] | reason; begin(q, how, act)
		:: !dying[q] && state[q] == QUEUED ->
			kicks[q] = kicks[q] | reason;
			if
			:: how == TAKE -> to_run(q, act)
			:: else
			fi
		:: !dying[q] && state[q] == TIMED ->
			kicks[q] = kicks[q] | reason;
			if
			:: how != DELAY && delay[q] -> begin(q, how, act)
			:: else
			fi
		:: !dying[q] && state[q] == RUNNING ->
#if !BREAK_KICK
			kicks[q] = kicks[q] | reason
#else
			skip
#endif
		:: !dying[q] && state[q] == LENT ->
			kicks[q] = kicks[q] | reason
		fi
	}
}

/* How a turn ends */
#define EMPTY	0
#define MORE	1
#define PAUSES	2
#define LENDS	3

inline turn_end(q, how, act) {
	d_step {
		touch(q);
		act = NOTHING;
		assert(state[q] == RUNNING && owners[q] == 1);
		owners[q] = 0;
		if
		:: dying[q] -> state[q] = IDLE; kicks[q] = 0
		:: !dying[q] && how == LENDS -> state[q] = LENT
		:: !dying[q] && how == PAUSES -> state[q] = TIMED; delay[q] = 0; act = ARMS
		:: !dying[q] && how == MORE -> kicks[q] = kicks[q] | BUDGET; to_queue(q, act)
		:: !dying[q] && how == EMPTY ->
			if
#if !BREAK_END
			:: kicks[q] -> to_queue(q, act)
#endif
			:: else -> state[q] = IDLE; kicks[q] = 0
			fi
		fi
	}
}

/* --- its users ----------------------------------------------------------------- */

/* Add the half to the list of processor c; the word already says LISTED */
inline put_into_list(c, q) {
#if !BREAK_REF
	if
	:: refs[q] > 0 -> refs[q]++; list[c]!q; due[c] = 1
	:: else ->
		listed[q] = 0;
		if
		:: state[q] == QUEUED -> state[q] = IDLE; kicks[q] = 0
		:: else
		fi
	fi
#else
	list[c]!q; due[c] = 1
#endif
}

/* The action that the step of the word requires, then the lock is released */
inline act_and_unlock(c, q, act) {
	touch(q);
	if
	:: act == LISTS -> put_into_list(c, q)
	:: act == ARMS -> armed[q] = 1
	:: else
	fi;
	locked[q] = 0;
	act = NOTHING
}

inline lock(q) { atomic { !locked[q] -> touch(q); locked[q] = 1 } }

/* The owner, with the lock. Sends at most one packet, its budget */
inline turn(q, may_lend, how, act) {
	kicks[q] = 0;
	atomic {
		touch(q);
		how = EMPTY;
		if
		:: pausing[q] -> pausing[q] = 0; how = PAUSES
		:: !pausing[q] && pauses > 0 && unsent[q] > 0 -> pauses--; how = PAUSES
		:: !pausing[q] && unsent[q] > 0 && room[q] > 0 ->
			unsent[q]--;
			room[q]--;
			if
			:: may_lend && lends > 0 -> lends--; how = LENDS
			:: unsent[q] > 0 && room[q] > 0 -> how = MORE
			:: unsent[q] == 0 || room[q] == 0
			fi
		:: !pausing[q] && (unsent[q] == 0 || room[q] == 0)
		fi
	}
#if BREAK_ARM
	armed[q] = armed[q] || how == PAUSES;
	turn_end(q, how, act);
	act = (act == ARMS -> NOTHING : act)
#else
	turn_end(q, how, act)
#endif
}

/* --- contexts ----------------------------------------------------------------- */

/* A verb posts a request. The queue is written before the kick */
proctype post(byte c, q)
{
	byte act, how, was;

	atomic {
		!busy[c] -> busy[c] = 1;
		touch(q);
		unsent[q]++;
		if
		:: how = TAKE
		:: how = QUEUE
		:: how = DELAY
		fi
	}
	kick(q, POST, how, act);
	if
	:: act == RUNS ->
		lock(q);
		turn(q, false, was, act);
		d_step { act_and_unlock(c, q, act); busy[c] = 0; users[q]--; left--; how = 0; was = 0 }
	:: act == LISTS ->
		d_step { put_into_list(c, q); act = NOTHING; busy[c] = 0; users[q]--; left--; how = 0 }
	:: else ->
		d_step { touch(q); armed[q] = armed[q] || act == ARMS; act = NOTHING; busy[c] = 0; users[q]--; left--; how = 0 }
	fi
}

/* A response arrives: the lock is taken first, then perhaps the turn */
proctype response(byte c, q)
{
	byte act, how, was;

	atomic { !busy[c] -> busy[c] = 1 }
	if
	:: atomic { refs[q] > 0 -> refs[q]++ }
		atomic {
			!locked[q] -> locked[q] = 1;
			room[q]++;
			if
			:: pauses > 0 -> pauses--; pausing[q] = 1	/* RNR NAK */
			:: true
			fi;
			if
			:: how = TAKE
			:: how = RUN
			fi
		}
		kick(q, ACK, how, act);
		if
		:: act == RUNS -> turn(q, false, was, act)
		:: else
		fi;
		d_step { act_and_unlock(c, q, act); how = 0; was = 0 }
		d_step { refs[q]--; busy[c] = 0; left-- }
	:: d_step { refs[q] == 0 -> busy[c] = 0; left-- }
	fi
}

proctype tasklet(byte c)
{
	byte q, act, was;
	byte lent = NQ;		/* whose packet is in the block */

end:	do
	:: atomic { due[c] && !busy[c] -> busy[c] = 1; due[c] = 0 }
		do
		:: atomic { list[c]?q -> touch(q) }
			d_step {
				touch(q);
				listed[q] = 0;
				if
#if !BREAK_POP
				:: state[q] == QUEUED -> to_run(q, act)
#else
				:: state[q] != TIMED && state[q] != LENT && !dying[q] -> to_run(q, act)
#endif
				:: else -> act = NOTHING
				fi
			}
			if
			:: act == RUNS ->
				lock(q);
				turn(q, lent == NQ, was, act);
				d_step { act_and_unlock(c, q, act) }
			:: else
			fi;
			d_step {
				touch(q);
				if
				:: was == LENDS && state[q] == LENT -> lent = q
#if !BREAK_REF
				:: else -> refs[q]--
#else
				:: else
#endif
				fi;
				was = EMPTY;
				q = 0
			}
		:: empty(list[c]) -> break
		/* The limit of packets is reached, or a process is spared */
		:: nempty(list[c]) -> break
		od;
		if
		:: lent < NQ ->	/* the block leaves */
			d_step {
				touch(lent);
				assert(state[lent] == LENT);
				if
				:: kicks[lent] && !dying[lent] -> to_run(lent, act)
				:: else -> state[lent] = IDLE; kicks[lent] = 0; act = NOTHING
				fi
			}
			if
			:: act == RUNS ->
				lock(lent);
				turn(lent, false, was, act);
				d_step { act_and_unlock(c, lent, act) }
			:: else
			fi;
			d_step { touch(lent); refs[lent]--; lent = NQ; was = EMPTY }
		:: else
		fi;
		d_step { due[c] = due[c] || len(list[c]) > 0; busy[c] = 0 }
	od
}

/* The hrtimer of QP 0, and its ACK timer */
proctype timer(byte c, q)
{
	byte act, was;

end:	do
	:: atomic { armed[q] && !busy[c] -> busy[c] = 1; armed[q] = 0; fires[q] = 1 }
		d_step {
			touch(q);
			if
			:: state[q] == TIMED -> to_run(q, act)
			:: else -> act = NOTHING
			fi
		}
		if
		:: act == RUNS ->
			lock(q);
			turn(q, false, was, act);
			d_step { act_and_unlock(c, q, act); was = 0 }
		:: else
		fi;
		d_step { touch(q); fires[q] = 0; busy[c] = 0 }
	:: atomic { ack_armed[q] && !busy[c] -> busy[c] = 1; ack_armed[q] = 0; ack_fires[q] = 1 }
		lock(q);
		kick(q, TIMEOUT, TAKE, act);
		if
		:: act == RUNS -> turn(q, false, was, act)
		:: else
		fi;
		d_step { act_and_unlock(c, q, act); was = 0 }
		d_step { touch(q); ack_fires[q] = 0; busy[c] = 0 }
	od
}

proctype destroy(byte q)
{
	atomic { users[q] == 0 -> unsent[q] = 0; refs[q]-- }	/* after the last post */
	refs[q] == 0;
#if !BREAK_DIE
	d_step {
		dying[q] = 1;
		if
		:: state[q] != RUNNING -> state[q] = IDLE; kicks[q] = 0
		:: else
		fi
	}
#endif
#if !BREAK_SETTLE
	!locked[q];		/* the last owner has started its timer by then */
#endif
	armed[q] = 0;
	!fires[q];
	ack_armed[q] = 0;
	!ack_fires[q];
	d_step {
		assert(!armed[q] && !listed[q] && owners[q] == 0 && !locked[q]);
		freed[q] = 1
	}
}

init
{
	atomic {
		room[0] = 1; room[1] = 1;
		ack_armed[0] = 1;
		users[0] = 1; users[1] = 1;
		run tasklet(0); run tasklet(1);
		run timer(1, 0); run timer(0, 1);
		run post(0, 0);
		run post(1, 1);
		run response(1, 0);
		if
		:: run destroy(0); destroyed = 1
		:: true
		fi
	};
	/* Everything is idle */
	(timeout);
	assert(left == 0);
	assert(freed[0] == destroyed);
	assert(state[0] == IDLE && !listed[0] && kicks[0] == 0);
	assert(unsent[0] == 0 || room[0] == 0);
	assert(state[1] == IDLE && !listed[1] && kicks[1] == 0);
	assert(unsent[1] == 0 || room[1] == 0)
}
