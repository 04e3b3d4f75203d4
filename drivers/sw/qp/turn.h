/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Turns: who sends for one half of a QP, and when. One atomic word says it, and an event turns
 * one word into the next. These functions are pure: who uses them exchanges the word and does
 * what they ask for. Documentation/send-scheduler.rst has the table; KUnit walks all words and
 * events; scripts/check/turn.pml is the model that Spin checks.
 */
#ifndef RHCA_SW_QP_TURN_H
#define RHCA_SW_QP_TURN_H

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/types.h>

/* Parts of the word */
#define RHCA_TURN_STATE		GENMASK(2, 0)	/* enum rhca_turn_state */
#define RHCA_TURN_PAUSE		GENMASK(5, 3)	/* TIMED: enum rhca_pause */
#define RHCA_TURN_KICKS		GENMASK(14, 8)	/* BIT(8 + enum rhca_kick): not seen yet */
#define RHCA_TURN_LISTED	BIT(30)		/* in a CPU's list, which has a reference */
#define RHCA_TURN_DYING		BIT(31)		/* the QP is being destroyed */

/* What will happen to a half by itself */
enum rhca_turn_state {
	RHCA_TURN_IDLE,		/* nothing: an event has to come */
	RHCA_TURN_QUEUED,	/* the tasklet of the CPU in whose list it is will run it */
	/* somebody owns the turn: has the lock of the half, or waits for it */
	RHCA_TURN_RUNNING,
	RHCA_TURN_TIMED,	/* its hrtimer will run it */
	/* its only packet waits in a block that QPs share; who sends that says so */
	RHCA_TURN_LENT,
	RHCA_NUM_TURN_STATES
};

/* What a half that is TIMED waits for */
enum rhca_pause {
	RHCA_NO_PAUSE,		/* it does not */
	RHCA_PAUSE_POST_DELAY,	/* more requests, for some microseconds */
	RHCA_PAUSE_PACE,	/* the time at which its rate allows the next packet */
	RHCA_PAUSE_RNR,		/* the peer's receive buffers, 9.7.5.2.8 */
	RHCA_PAUSE_LOCAL_FULL,	/* room in the local queue */
	RHCA_PAUSE_PAGE_FAULT,	/* pages of memory with on-demand paging */
	RHCA_PAUSE_MEM_BUSY,	/* packets that still use memory whose key is taken away */
	RHCA_NUM_PAUSES
};

/* Why a half may have something to send */
enum rhca_kick {
	RHCA_KICK_POST,		/* requests were posted, or came from the peer */
	RHCA_KICK_ACK,		/* responses have been taken */
	RHCA_KICK_TIMEOUT,	/* the ACK timeout has rewound the requester */
	RHCA_KICK_RESUME,	/* a pause is over */
	RHCA_KICK_BUDGET,	/* a turn ended early */
	RHCA_KICK_STATE,	/* the QP's state allows more than before */
	RHCA_KICK_REPEAT,	/* packets are to be sent again */
	RHCA_NUM_KICKS
};

/* Where the turn that a kick begins is to run */
enum rhca_kick_how {
	RHCA_KICK_TAKE,		/* here, also if a tasklet was going to */
	RHCA_KICK_RUN,		/* here, unless a tasklet is going to */
	RHCA_KICK_QUEUE,	/* in this CPU's tasklet */
	RHCA_KICK_DELAY,	/* POST only: in the hrtimer, after the post delay */
	RHCA_NUM_KICK_HOWS
};

/* How a turn has ended */
enum rhca_turn_end {
	RHCA_END_EMPTY,	/* nothing more can be sent until something happens */
	RHCA_END_MORE,	/* its budget was used up */
	RHCA_END_PAUSE,	/* nothing may be sent before a point in time */
	RHCA_END_LENT,	/* its only packet is in a block that QPs share */
	RHCA_NUM_TURN_ENDS
};

/* What who has exchanged the word does next */
enum rhca_turn_act {
	RHCA_ACT_NONE,
	RHCA_ACT_RUN,	/* it owns the turn now, and runs it */
	RHCA_ACT_LIST,	/* it puts the half into this CPU's list */
	RHCA_ACT_ARM,	/* it starts the hrtimer */
};

/* What an event makes of a word */
struct rhca_turn_step {
	u32 word;
	enum rhca_turn_act act;	/* when that is stored */
};

#define RHCA_TURN_KICK(reason)	BIT(8 + (reason))

static inline enum rhca_turn_state rhca_turn_state(u32 word)
{
	return u32_get_bits(word, RHCA_TURN_STATE);
}

static inline enum rhca_pause rhca_turn_pause(u32 word)
{
	return u32_get_bits(word, RHCA_TURN_PAUSE);
}

/*
 * Does this kick end a pause early? Requests wait for more only while nothing else is going to
 * be sent. STATE ends each: what the QP waited for was another connection's.
 */
static inline bool rhca_pause_yields(enum rhca_pause pause, u32 kicks)
{
	u32 any = RHCA_TURN_KICK(RHCA_KICK_STATE);

	if (pause == RHCA_PAUSE_POST_DELAY)
		any = RHCA_TURN_KICKS;
	else if (pause == RHCA_PAUSE_PACE)
		any |= RHCA_TURN_KICK(RHCA_KICK_REPEAT);
	return kicks & any;
}

/* To another state. LISTED and DYING stay: they are about something else */
static inline u32 rhca_turn_to(u32 word, enum rhca_turn_state state)
{
	return (word & (RHCA_TURN_LISTED | RHCA_TURN_DYING)) | state;
}

static inline struct rhca_turn_step rhca_turn_stay(u32 word)
{
	return (struct rhca_turn_step) { word, RHCA_ACT_NONE };
}

/* Who owns the turn sees all that has happened: the kicks are gone */
static inline struct rhca_turn_step rhca_turn_run(u32 word)
{
	return (struct rhca_turn_step) {
		rhca_turn_to(word, RHCA_TURN_RUNNING), RHCA_ACT_RUN
	};
}

/* An entry of a list that is there already will do */
static inline struct rhca_turn_step rhca_turn_queue(u32 word)
{
	return (struct rhca_turn_step) {
		(word & ~(RHCA_TURN_STATE | RHCA_TURN_PAUSE)) |
			RHCA_TURN_QUEUED | RHCA_TURN_LISTED,
		word & RHCA_TURN_LISTED ? RHCA_ACT_NONE : RHCA_ACT_LIST
	};
}

static inline struct rhca_turn_step
rhca_turn_pause_for(u32 word, enum rhca_pause pause)
{
	word &= ~(RHCA_TURN_STATE | RHCA_TURN_PAUSE);
	return (struct rhca_turn_step) {
		word | RHCA_TURN_TIMED |
			u32_encode_bits(pause, RHCA_TURN_PAUSE),
		RHCA_ACT_ARM
	};
}

/* Nobody owns the turn and nothing is in the way of it */
static inline struct rhca_turn_step rhca_turn_begin(u32 word,
						    enum rhca_kick_how how)
{
	switch (how) {
	case RHCA_KICK_QUEUE:
		return rhca_turn_queue(word);
	case RHCA_KICK_DELAY:
		return rhca_turn_pause_for(word, RHCA_PAUSE_POST_DELAY);
	default:
		return rhca_turn_run(word);
	}
}

/*
 * There may be something to send, which can be seen before the word is stored. A kick that
 * begins no turn is noted, and seen by the turn that is under way or comes.
 */
static inline struct rhca_turn_step
rhca_turn_kick(u32 word, enum rhca_kick reason, enum rhca_kick_how how)
{
	u32 noted = word | RHCA_TURN_KICK(reason);

	if (word & RHCA_TURN_DYING)
		return rhca_turn_stay(word);
	switch (rhca_turn_state(word)) {
	case RHCA_TURN_IDLE:
		return rhca_turn_begin(noted, how);
	case RHCA_TURN_QUEUED:
		return how == RHCA_KICK_TAKE ? rhca_turn_run(noted) :
					       rhca_turn_stay(noted);
	case RHCA_TURN_TIMED:
		if (how != RHCA_KICK_DELAY &&
		    rhca_pause_yields(rhca_turn_pause(word),
				      RHCA_TURN_KICK(reason)))
			return rhca_turn_begin(noted, how);
		return rhca_turn_stay(noted);
	default:
		return rhca_turn_stay(noted);
	}
}

/*
 * A turn has ended. The owner cleared the kicks before it looked at what there is to send: one
 * that is noted now may not have been seen. A kick never makes a turn longer. @word: RUNNING.
 */
static inline struct rhca_turn_step
rhca_turn_end(u32 word, enum rhca_turn_end how, enum rhca_pause pause)
{
	u32 kicks = word & RHCA_TURN_KICKS;

	if (word & RHCA_TURN_DYING)
		return rhca_turn_stay(rhca_turn_to(word, RHCA_TURN_IDLE));
	switch (how) {
	case RHCA_END_LENT:
		return rhca_turn_stay(kicks | rhca_turn_to(word, RHCA_TURN_LENT));
	case RHCA_END_PAUSE:
		if (rhca_pause_yields(pause, kicks))
			return rhca_turn_queue(word);
		return rhca_turn_pause_for(word, pause);
	case RHCA_END_MORE:
		return rhca_turn_queue(word | RHCA_TURN_KICK(RHCA_KICK_BUDGET));
	default:
		return kicks ? rhca_turn_queue(word) :
			rhca_turn_stay(rhca_turn_to(word, RHCA_TURN_IDLE));
	}
}

/*
 * The hrtimer has fired, and the pause is over. In another state it is an older pause's, which
 * has ended early: a pause begins before its timer is started.
 */
static inline struct rhca_turn_step rhca_turn_timer(u32 word,
						    enum rhca_kick_how how)
{
	if (rhca_turn_state(word) != RHCA_TURN_TIMED)
		return rhca_turn_stay(word);
	return rhca_turn_begin(word | RHCA_TURN_KICK(RHCA_KICK_RESUME), how);
}

/* The block with the only packet has left, or was @refused by the local queue. @word: LENT. */
static inline struct rhca_turn_step
rhca_turn_block_left(u32 word, bool refused, enum rhca_kick_how how)
{
	if (!(word & RHCA_TURN_DYING) && (refused || (word & RHCA_TURN_KICKS)))
		return rhca_turn_begin(word, how);
	return rhca_turn_stay(rhca_turn_to(word, RHCA_TURN_IDLE));
}

/* A tasklet is to look at the half, whatever its turn is */
static inline struct rhca_turn_step rhca_turn_visit(u32 word)
{
	if (word & RHCA_TURN_LISTED)
		return rhca_turn_stay(word);
	return (struct rhca_turn_step) {
		word | RHCA_TURN_LISTED, RHCA_ACT_LIST
	};
}

/* A tasklet has taken the half off its list. Stale where somebody else has taken the turn */
static inline struct rhca_turn_step rhca_turn_pop(u32 word)
{
	word &= ~RHCA_TURN_LISTED;
	if (rhca_turn_state(word) != RHCA_TURN_QUEUED)
		return rhca_turn_stay(word);
	return rhca_turn_run(word);
}

/* The half could not be put into a list: its QP has no reference left. @word: LISTED. */
static inline struct rhca_turn_step rhca_turn_drop(u32 word)
{
	word &= ~RHCA_TURN_LISTED;
	if (rhca_turn_state(word) == RHCA_TURN_QUEUED)
		word = rhca_turn_to(word, RHCA_TURN_IDLE);
	return rhca_turn_stay(word);
}

/* No turn begins from now on. @word: not LENT, nor in a list: both hold a reference to the QP. */
static inline struct rhca_turn_step rhca_turn_die(u32 word)
{
	word |= RHCA_TURN_DYING;
	if (rhca_turn_state(word) != RHCA_TURN_RUNNING)
		word = rhca_turn_to(word, RHCA_TURN_IDLE);
	return rhca_turn_stay(word);
}

#endif
