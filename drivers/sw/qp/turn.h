/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Turns: who sends for one half of a QP, and when. One atomic word holds the state, and events turn
 * one word into the next. These functions are pure: callers exchange the word and carry out the
 * returned action. Documentation/send-scheduler.rst has the table; KUnit walks all words and
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
#define RHCA_TURN_KICKS		GENMASK(14, 8)	/* BIT(8 + enum rhca_kick): pending kicks */
#define RHCA_TURN_LISTED	BIT(30)		/* in a CPU's list, which holds a reference */
#define RHCA_TURN_DYING		BIT(31)		/* the QP is being destroyed */

/* What happens next to a half */
enum rhca_turn_state {
	RHCA_TURN_IDLE,		/* nothing until an event */
	RHCA_TURN_QUEUED,	/* the tasklet of the CPU it is listed on will run it */
	/* the turn is owned by a context that holds the half's lock or waits for it */
	RHCA_TURN_RUNNING,
	RHCA_TURN_TIMED,	/* its hrtimer will run it */
	/* its only packet is in a shared block, whose sender will end this */
	RHCA_TURN_LENT,
	RHCA_NUM_TURN_STATES
};

/* What a TIMED half waits for */
enum rhca_pause {
	RHCA_NO_PAUSE,		/* not paused */
	RHCA_PAUSE_POST_DELAY,	/* more requests, for some microseconds */
	RHCA_PAUSE_PACE,	/* the time when its rate allows the next packet */
	RHCA_PAUSE_RNR,		/* the peer's receive buffers, 9.7.5.2.8 */
	RHCA_PAUSE_LOCAL_FULL,	/* room in the local queue */
	RHCA_PAUSE_PAGE_FAULT,	/* pages of memory with on-demand paging */
	RHCA_PAUSE_MEM_BUSY,	/* packets that still use invalidated memory */
	RHCA_NUM_PAUSES
};

/* Why a half may have something to send */
enum rhca_kick {
	RHCA_KICK_POST,		/* requests were posted or received */
	RHCA_KICK_ACK,		/* responses were processed */
	RHCA_KICK_TIMEOUT,	/* the ACK timeout has rewound the requester */
	RHCA_KICK_RESUME,	/* a pause is over */
	RHCA_KICK_BUDGET,	/* a turn ended early */
	RHCA_KICK_STATE,	/* the QP's state now allows more */
	RHCA_KICK_REPEAT,	/* packets must be retransmitted */
	RHCA_NUM_KICKS
};

/* Where to run the turn that a kick starts */
enum rhca_kick_how {
	RHCA_KICK_TAKE,		/* here, even if queued for a tasklet */
	RHCA_KICK_RUN,		/* here, unless queued for a tasklet */
	RHCA_KICK_QUEUE,	/* in this CPU's tasklet */
	RHCA_KICK_DELAY,	/* POST only: in the hrtimer, after the post delay */
	RHCA_NUM_KICK_HOWS
};

/* How a turn ended */
enum rhca_turn_end {
	RHCA_END_EMPTY,	/* nothing more to send until an event */
	RHCA_END_MORE,	/* the budget was used up */
	RHCA_END_PAUSE,	/* nothing may be sent before a certain time */
	RHCA_END_LENT,	/* its only packet is in a shared block */
	RHCA_NUM_TURN_ENDS
};

/* What to do after exchanging the word */
enum rhca_turn_act {
	RHCA_ACT_NONE,
	RHCA_ACT_RUN,	/* run the turn, which the caller now owns */
	RHCA_ACT_LIST,	/* add the half to this CPU's list */
	RHCA_ACT_ARM,	/* start the hrtimer */
};

/* Result of an event */
struct rhca_turn_step {
	u32 word;
	enum rhca_turn_act act;	/* once @word is stored */
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
 * Do these kicks end a pause early? A post delay lasts only while nothing else is going to be sent.
 * STATE ends any pause: what the QP waited for belongs to another connection.
 */
static inline bool rhca_pause_yields(enum rhca_pause pause, u32 kicks)
{
	return kicks & (pause == RHCA_PAUSE_POST_DELAY ? RHCA_TURN_KICKS :
						       RHCA_TURN_KICK(RHCA_KICK_STATE));
}

/* Change the state. LISTED and DYING are independent of it */
static inline u32 rhca_turn_to(u32 word, enum rhca_turn_state state)
{
	return (word & (RHCA_TURN_LISTED | RHCA_TURN_DYING)) | state;
}

static inline struct rhca_turn_step rhca_turn_stay(u32 word)
{
	return (struct rhca_turn_step) { word, RHCA_ACT_NONE };
}

/* The owner will see all that has happened: clear the kicks */
static inline struct rhca_turn_step rhca_turn_run(u32 word)
{
	return (struct rhca_turn_step) {
		rhca_turn_to(word, RHCA_TURN_RUNNING), RHCA_ACT_RUN
	};
}

/* An existing list entry will do */
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

/* The turn has no owner and may start */
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
 * There may be something to send, visible before the word is stored. A kick that starts no turn is
 * pending for the current or next one.
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
 * A turn ends. The owner cleared the kicks before it looked for work, so it may not have seen work
 * of a kick pending now. A kick never extends a turn. @word: RUNNING.
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
 * The hrtimer fired, and the pause is over. In another state it belongs to an earlier pause that
 * ended early: a pause is stored before its timer is started.
 */
static inline struct rhca_turn_step rhca_turn_timer(u32 word,
						    enum rhca_kick_how how)
{
	if (rhca_turn_state(word) != RHCA_TURN_TIMED)
		return rhca_turn_stay(word);
	return rhca_turn_begin(word | RHCA_TURN_KICK(RHCA_KICK_RESUME), how);
}

/* The shared block was sent, or was @refused by the local queue. @word: LENT. */
static inline struct rhca_turn_step
rhca_turn_block_left(u32 word, bool refused, enum rhca_kick_how how)
{
	if (!(word & RHCA_TURN_DYING) && (refused || (word & RHCA_TURN_KICKS)))
		return rhca_turn_begin(word, how);
	return rhca_turn_stay(rhca_turn_to(word, RHCA_TURN_IDLE));
}

/* Have a tasklet visit the half, whatever its state */
static inline struct rhca_turn_step rhca_turn_visit(u32 word)
{
	if (word & RHCA_TURN_LISTED)
		return rhca_turn_stay(word);
	return (struct rhca_turn_step) {
		word | RHCA_TURN_LISTED, RHCA_ACT_LIST
	};
}

/* A tasklet removed the half from its list. Stale if another context took the turn meanwhile */
static inline struct rhca_turn_step rhca_turn_pop(u32 word)
{
	word &= ~RHCA_TURN_LISTED;
	if (rhca_turn_state(word) != RHCA_TURN_QUEUED)
		return rhca_turn_stay(word);
	return rhca_turn_run(word);
}

/* The half could not be listed since its QP has no reference left. @word: LISTED. */
static inline struct rhca_turn_step rhca_turn_drop(u32 word)
{
	word &= ~RHCA_TURN_LISTED;
	if (rhca_turn_state(word) == RHCA_TURN_QUEUED)
		word = rhca_turn_to(word, RHCA_TURN_IDLE);
	return rhca_turn_stay(word);
}

/* No turn starts from now on. @word: not LENT or listed: both hold a reference to the QP. */
static inline struct rhca_turn_step rhca_turn_die(u32 word)
{
	word |= RHCA_TURN_DYING;
	if (rhca_turn_state(word) != RHCA_TURN_RUNNING)
		word = rhca_turn_to(word, RHCA_TURN_IDLE);
	return rhca_turn_stay(word);
}

#endif
