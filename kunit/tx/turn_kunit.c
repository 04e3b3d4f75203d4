// SPDX-License-Identifier: GPL-2.0
/* Turns: the table of send-scheduler.rst row by row, then all words with all events. */
#include "lib/suite.h"
#include "sw/qp/turn.h"

#define KICK(reason)	RHCA_TURN_KICK(RHCA_KICK_##reason)
#define IDLE		RHCA_TURN_IDLE
#define RUNNING		RHCA_TURN_RUNNING
#define LENT		RHCA_TURN_LENT
#define LISTED		RHCA_TURN_LISTED
#define QUEUED		(RHCA_TURN_QUEUED | LISTED)
#define TIMED(pause)	(RHCA_TURN_TIMED | RHCA_PAUSE_##pause << 3)
#define DYING		RHCA_TURN_DYING
#define DO(act)		RHCA_ACT_##act

/* --- events ------------------------------------------------------------------- */

enum event_type { BY_KICK, BY_END, BY_TIMER, BY_BLOCK, BY_POP, BY_DROP, BY_VISIT, BY_DEATH };

/* An event applied to a word */
struct event {
	enum event_type type;	/* which function of turn.h */
	u8 a;			/* its first argument */
	u8 b;			/* its second */
};

#define ON_KICK(reason, how)	{ BY_KICK, RHCA_KICK_##reason, RHCA_KICK_##how }
#define ON_END(how)		{ BY_END, RHCA_END_##how, RHCA_NO_PAUSE }
#define ON_PAUSE(pause)		{ BY_END, RHCA_END_PAUSE, RHCA_PAUSE_##pause }
#define ON_TIMER(how)		{ BY_TIMER, 0, RHCA_KICK_##how }
#define ON_BLOCK(refused, how)	{ BY_BLOCK, refused, RHCA_KICK_##how }

static struct rhca_turn_step step(u32 word, const struct event *event)
{
	switch (event->type) {
	case BY_KICK:
		return rhca_turn_kick(word, event->a, event->b);
	case BY_END:
		return rhca_turn_end(word, event->a, event->b);
	case BY_TIMER:
		return rhca_turn_timer(word, event->b);
	case BY_BLOCK:
		return rhca_turn_block_left(word, event->a, event->b);
	case BY_POP:
		return rhca_turn_pop(word);
	case BY_DROP:
		return rhca_turn_drop(word);
	case BY_VISIT:
		return rhca_turn_visit(word);
	default:
		return rhca_turn_die(word);
	}
}

/* --- the table ---------------------------------------------------------------- */

static const struct row {
	const char *desc;
	u32 word;
	struct event event;
	u32 next;
	enum rhca_turn_act act;	/* RHCA_ACT_NONE if left out */
} rows[] = {
	{ "IDLE, kick", IDLE, ON_KICK(POST, RUN), RUNNING, DO(RUN) },
	{ "IDLE with a stale entry, kick", IDLE | LISTED, ON_KICK(ACK, TAKE),
	  RUNNING | LISTED, DO(RUN) },
	{ "IDLE, kick with interrupts off", IDLE, ON_KICK(POST, QUEUE),
	  QUEUED | KICK(POST), DO(LIST) },
	{ "IDLE with a stale entry, queued", IDLE | LISTED, ON_KICK(POST, QUEUE),
	  QUEUED | KICK(POST) },
	{ "IDLE, post that may wait", IDLE, ON_KICK(POST, DELAY),
	  TIMED(POST_DELAY) | KICK(POST), DO(ARM) },
	{ "IDLE, timer", IDLE, ON_TIMER(RUN), IDLE },

	{ "QUEUED, kick", QUEUED, ON_KICK(POST, RUN), QUEUED | KICK(POST) },
	{ "QUEUED, kick that takes", QUEUED | KICK(POST), ON_KICK(ACK, TAKE),
	  RUNNING | LISTED, DO(RUN) },
	{ "QUEUED, timer", QUEUED, ON_TIMER(RUN), QUEUED },
	{ "QUEUED, tasklet", QUEUED | KICK(POST), { BY_POP }, RUNNING, DO(RUN) },
	{ "QUEUED, no reference", QUEUED | KICK(POST), { BY_DROP }, IDLE },

	{ "RUNNING, kick", RUNNING, ON_KICK(ACK, TAKE), RUNNING | KICK(ACK) },
	{ "RUNNING, timer", RUNNING, ON_TIMER(RUN), RUNNING },
	{ "RUNNING, tasklet with a stale entry", RUNNING | LISTED, { BY_POP }, RUNNING },
	{ "RUNNING, ends", RUNNING, ON_END(EMPTY), IDLE },
	{ "RUNNING, ends with a kick", RUNNING | KICK(POST), ON_END(EMPTY),
	  QUEUED | KICK(POST), DO(LIST) },
	{ "RUNNING, ends with a kick and an entry", RUNNING | KICK(POST) | LISTED, ON_END(EMPTY),
	  QUEUED | KICK(POST) },
	{ "RUNNING, budget used", RUNNING, ON_END(MORE), QUEUED | KICK(BUDGET), DO(LIST) },
	{ "RUNNING, pauses", RUNNING | KICK(ACK), ON_PAUSE(RNR), TIMED(RNR) | KICK(ACK), DO(ARM) },
	{ "RUNNING, pauses but the state has changed", RUNNING | KICK(STATE), ON_PAUSE(RNR),
	  QUEUED | KICK(STATE), DO(LIST) },
	{ "RUNNING, lends", RUNNING | KICK(POST), ON_END(LENT), LENT | KICK(POST) },

	{ "POST_DELAY, post that may wait", TIMED(POST_DELAY), ON_KICK(POST, DELAY),
	  TIMED(POST_DELAY) | KICK(POST) },
	{ "POST_DELAY, post that may not", TIMED(POST_DELAY) | KICK(POST), ON_KICK(POST, TAKE),
	  RUNNING, DO(RUN) },
	{ "POST_DELAY, response", TIMED(POST_DELAY) | KICK(POST), ON_KICK(ACK, RUN),
	  RUNNING, DO(RUN) },
	{ "POST_DELAY, timer", TIMED(POST_DELAY) | KICK(POST), ON_TIMER(RUN), RUNNING, DO(RUN) },
	{ "PACE, post", TIMED(PACE), ON_KICK(POST, TAKE), TIMED(PACE) | KICK(POST) },
	{ "PACE, repeat", TIMED(PACE), ON_KICK(REPEAT, RUN), TIMED(PACE) | KICK(REPEAT) },
	{ "RNR, response", TIMED(RNR), ON_KICK(ACK, TAKE), TIMED(RNR) | KICK(ACK) },
	{ "RNR, another connection", TIMED(RNR) | KICK(ACK), ON_KICK(STATE, TAKE),
	  RUNNING, DO(RUN) },
	{ "LOCAL_FULL, timeout", TIMED(LOCAL_FULL), ON_KICK(TIMEOUT, TAKE),
	  TIMED(LOCAL_FULL) | KICK(TIMEOUT) },
	{ "LOCAL_FULL, timer", TIMED(LOCAL_FULL) | KICK(ACK), ON_TIMER(RUN), RUNNING, DO(RUN) },
	{ "MEM_BUSY, timer that queues", TIMED(MEM_BUSY), ON_TIMER(QUEUE),
	  QUEUED | KICK(RESUME), DO(LIST) },

	{ "LENT, kick", LENT, ON_KICK(ACK, TAKE), LENT | KICK(ACK) },
	{ "LENT, timer", LENT, ON_TIMER(RUN), LENT },
	{ "LENT, block left", LENT, ON_BLOCK(false, RUN), IDLE },
	{ "LENT, block left with a kick", LENT | KICK(ACK), ON_BLOCK(false, RUN),
	  RUNNING, DO(RUN) },
	{ "LENT, block left with a kick, queued", LENT | KICK(ACK), ON_BLOCK(false, QUEUE),
	  QUEUED | KICK(ACK), DO(LIST) },
	{ "LENT, block refused", LENT, ON_BLOCK(true, RUN), RUNNING, DO(RUN) },

	{ "IDLE, visit", IDLE, { BY_VISIT }, IDLE | LISTED, DO(LIST) },
	{ "IDLE, tasklet after a visit", IDLE | LISTED, { BY_POP }, IDLE },
	{ "RNR, death", TIMED(RNR) | KICK(ACK), { BY_DEATH }, IDLE | DYING },
	{ "RUNNING, death", RUNNING | KICK(ACK), { BY_DEATH }, RUNNING | KICK(ACK) | DYING },
	{ "DYING, kick", IDLE | DYING, ON_KICK(STATE, TAKE), IDLE | DYING },
	{ "DYING, ends", RUNNING | KICK(ACK) | DYING, ON_PAUSE(RNR), IDLE | DYING },
};
KUNIT_ARRAY_PARAM_DESC(row, rows, desc);

static void word_becomes_what_the_table_says(struct kunit *test)
{
	const struct row *row = test->param_value;
	struct rhca_turn_step next = step(row->word, &row->event);

	KUNIT_EXPECT_EQ(test, next.word, row->next);
	KUNIT_EXPECT_EQ(test, (int)next.act, (int)row->act);
}

/* --- all words, all events ------------------------------------------------------ */

/* Is this a possible word? */
static bool is_valid(u32 word)
{
	enum rhca_turn_state state = rhca_turn_state(word);
	enum rhca_pause pause = rhca_turn_pause(word);
	u32 kicks = word & RHCA_TURN_KICKS;

	if (word & ~(RHCA_TURN_STATE | RHCA_TURN_PAUSE | RHCA_TURN_KICKS | LISTED | DYING))
		return false;
	if (state >= RHCA_NUM_TURN_STATES || pause >= RHCA_NUM_PAUSES)
		return false;
	if (state == RHCA_TURN_TIMED ? !pause : pause)
		return false;
	if (state == RHCA_TURN_IDLE && kicks)	/* the kick would be lost */
		return false;
	if (state == RHCA_TURN_QUEUED && !(word & LISTED))	/* in no tasklet's list */
		return false;
	/* A dying QP is not waiting for anything */
	return !(word & DYING) || state == RHCA_TURN_IDLE || state == RHCA_TURN_RUNNING;
}

/* Callers of turn.h guarantee this */
static bool may_happen(u32 word, const struct event *event)
{
	enum rhca_turn_state state = rhca_turn_state(word);

	switch (event->type) {
	case BY_KICK:
		return event->b != RHCA_KICK_DELAY || event->a == RHCA_KICK_POST;
	case BY_END:
		return state == RHCA_TURN_RUNNING &&
		       (event->a == RHCA_END_PAUSE) == (event->b > RHCA_PAUSE_POST_DELAY);
	case BY_TIMER:
		return event->b == RHCA_KICK_RUN || event->b == RHCA_KICK_QUEUE;
	case BY_BLOCK:
		return state == RHCA_TURN_LENT && event->a <= 1 &&
		       (event->b == RHCA_KICK_RUN || event->b == RHCA_KICK_QUEUE);
	case BY_POP:
	case BY_DROP:
		return word & LISTED;
	case BY_DEATH:
		return state != RHCA_TURN_LENT && !(word & LISTED);
	default:
		return true;
	}
}

/* A turn has one owner: it starts only if there is none, and only its starter gets RHCA_ACT_RUN */
static bool owner_is_right(u32 word, const struct event *event, const struct rhca_turn_step *next)
{
	bool was = rhca_turn_state(word) == RHCA_TURN_RUNNING;
	bool is = rhca_turn_state(next->word) == RHCA_TURN_RUNNING;

	if (event->type == BY_END)
		return !is && next->act != RHCA_ACT_RUN;
	return is == (was || next->act == RHCA_ACT_RUN) &&
	       !(was && next->act == RHCA_ACT_RUN);
}

/* The caller that sets LISTED, and no other, adds it to a list */
static bool list_is_right(u32 word, const struct event *event, const struct rhca_turn_step *next)
{
	bool enters = !(word & LISTED) && (next->word & LISTED);
	bool leaves = (word & LISTED) && !(next->word & LISTED);

	return enters == (next->act == RHCA_ACT_LIST) &&
	       leaves == (event->type == BY_POP || event->type == BY_DROP);
}

/* The caller that sets TIMED starts the timer */
static bool timer_is_right(u32 word, const struct rhca_turn_step *next)
{
	bool begins = rhca_turn_state(word) != RHCA_TURN_TIMED &&
		      rhca_turn_state(next->word) == RHCA_TURN_TIMED;

	return begins == (next->act == RHCA_ACT_ARM);
}

/*
 * No kick is lost: it stays in the word until a turn starts, or the QP is being destroyed. And a
 * pause does not delay a kick that ends it.
 */
static bool kicks_are_right(u32 word, const struct event *event, const struct rhca_turn_step *next)
{
	u32 kicks = word & RHCA_TURN_KICKS;

	if (event->type == BY_KICK)
		kicks |= RHCA_TURN_KICK(event->a);
	if (event->type == BY_END && rhca_turn_state(next->word) == RHCA_TURN_TIMED &&
	    rhca_pause_yields(rhca_turn_pause(next->word), kicks))
		return false;
	return next->act == RHCA_ACT_RUN || (next->word & DYING) ||
	       event->type == BY_DROP || (next->word & kicks) == kicks;
}

/* A dying QP starts no turn and no timer, and stays dying */
static bool death_is_right(u32 word, const struct rhca_turn_step *next)
{
	return !(word & DYING) || ((next->word & DYING) && next->act != RHCA_ACT_RUN &&
				   next->act != RHCA_ACT_ARM);
}

static const char *what_is_wrong(u32 word, const struct event *event)
{
	struct rhca_turn_step next = step(word, event);

	if (!is_valid(next.word))
		return "such a word cannot be";
	if (!owner_is_right(word, event, &next))
		return "owner";
	if (!list_is_right(word, event, &next))
		return "list";
	if (!timer_is_right(word, &next))
		return "timer";
	if (!kicks_are_right(word, event, &next))
		return "kicks";
	return death_is_right(word, &next) ? NULL : "death";
}

/* Returns the number of combinations */
static u32 walk_events(struct kunit *test, u32 word)
{
	struct event event;
	const char *wrong;
	u32 num = 0;
	int type, a, b;

	for (type = BY_KICK; type <= BY_DEATH; type++)
		for (a = 0; a < RHCA_NUM_KICKS; a++)
			for (b = 0; b < RHCA_NUM_PAUSES; b++) {
				event = (struct event) { type, a, b };
				if ((type == BY_KICK && b >= RHCA_NUM_KICK_HOWS) ||
				    (type == BY_END && a >= RHCA_NUM_TURN_ENDS) ||
				    (type == BY_TIMER && a) ||
				    (type >= BY_POP && (a || b)) ||
				    !may_happen(word, &event))
					continue;
				num++;
				wrong = what_is_wrong(word, &event);
				if (wrong)
					KUNIT_FAIL(test, "word %#x, event %d %d %d: %s",
						   word, type, a, b, wrong);
			}
	return num;
}

static void all_words_keep_the_invariants(struct kunit *test)
{
	u32 low, high, words = 0, steps = 0;

	for (high = 0; high < 4; high++)
		for (low = 0; low <= (RHCA_TURN_KICKS | RHCA_TURN_PAUSE | RHCA_TURN_STATE);
		     low++) {
			if (!is_valid(low | high << 30))
				continue;
			words++;
			steps += walk_events(test, low | high << 30);
			cond_resched();
		}
	kunit_info(test, "%u words, %u steps", words, steps);
	KUNIT_EXPECT_GT(test, words, 2250);
}

TEST_SUITE(rhca_turn,
	   KUNIT_CASE_PARAM(word_becomes_what_the_table_says, row_gen_params),
	   KUNIT_CASE(all_words_keep_the_invariants));
