// SPDX-License-Identifier: GPL-2.0
/*
 * What a requester does about a loss. The standard lets a responder throw away what comes
 * behind a gap, or keep it, and says nowhere which: what it acknowledges after one packet
 * has been repeated tells. One that keeps gets the missing packet only, and new ones go on
 * meanwhile; one that throws away gets everything again.
 */
#include <rhca/compat.h>

#include "sw/qp/rtt.h"
#include "sw/tx/recover.h"
#include "wire/psn.h"

/* A peer may have been short of memory: it is tried again after so long */
#define DROPS_FOR_NS	NSEC_PER_SEC
/* One that has been seen to hold, or so it seemed */
#define DROPPED_FOR_NS	(10 * NSEC_PER_MSEC)

/* Where no round trip has been measured */
#define ROUND_TRIP_NS	(200 * NSEC_PER_USEC)

/* Who answers later is not measured by that */
#define MOST_ANSWER_NS	NSEC_PER_SEC

/* Each time that a packet is lost again, its answer is waited for twice as long, up to */
#define MOST_DOUBLINGS	4

/*
 * So many packets in a row, each missing: what is behind them is as well, it seems. To repeat
 * one after the other takes a round trip each, and is still better where that is short: a full
 * queue would get its whole window again (tools/fabric-sim, figure recovery).
 */
#define MANY_IN_ROW	3
#define LONG_PATH_NS	(500 * NSEC_PER_USEC)

static void begin(struct rhca_recover *recover, const struct rhca_loss *loss,
		  enum rhca_recover_mode mode)
{
	if (recover->mode == RHCA_RECOVER_FLOW)
		recover->recover_psn = loss->newest;
	if (recover->mode == RHCA_RECOVER_FLOW || loss->psn != recover->repeat_psn)
		recover->again = 0;
	else if (recover->again < MOST_DOUBLINGS)
		recover->again++;
	recover->mode = mode;
	recover->waits = mode == RHCA_RECOVER_ONE && !loss->held;
	recover->repeat_psn = loss->psn;
	recover->repeat_end = rhca_psn_add(loss->psn, 1);
	recover->asked_from = recover->repeat_end;
	recover->asked_end = recover->repeat_end;
	recover->sent_end = loss->newest;
	recover->repeat_at = loss->now;
	recover->answered = false;
	recover->probed = false;
}

static bool may_go_on(const struct rhca_recover *recover,
		      const struct rhca_loss *loss)
{
	return recover->in_row < MANY_IN_ROW || loss->path < LONG_PATH_NS;
}

static bool may_repeat_one(struct rhca_recover *recover,
			   const struct rhca_loss *loss)
{
	if (loss->held)
		return may_go_on(recover, loss);
	if (recover->way == RHCA_PEER_DROPS && loss->now - recover->drops_at >=
	    (recover->has_held ? DROPPED_FOR_NS : DROPS_FOR_NS))
		recover->way = RHCA_PEER_UNKNOWN;
	return loss->one && recover->way != RHCA_PEER_DROPS &&
	       may_go_on(recover, loss);
}

static enum rhca_recover_action lost(struct rhca_recover *recover,
				     const struct rhca_loss *loss)
{
	bool next = recover->mode == RHCA_RECOVER_ONE &&
		    loss->psn == recover->repeat_end;

	recover->in_row = next ? min(recover->in_row + 1, U8_MAX) : 0;
	if (may_repeat_one(recover, loss)) {
		begin(recover, loss, RHCA_RECOVER_ONE);
		return RHCA_RECOVER_REPEAT;
	}
	recover->in_row = 0;
	begin(recover, loss, RHCA_RECOVER_BACK);
	return RHCA_RECOVER_REWIND;
}

/*
 * Can what was repeated not have been answered yet? Answers wait for others on a busy
 * host: to repeat once too often costs more than to wait twice as long.
 */
static bool is_recent(const struct rhca_recover *recover,
		      const struct rhca_loss *loss)
{
	u64 round_trip = max_t(u64, loss->round_trip ?: ROUND_TRIP_NS,
			       recover->answer_ns);
	u64 late = 2 * round_trip;

	if (recover->answer_ns && !loss->queued)
		late = min(late, RHCA_LATE_ANSWERS * recover->answer_ns);

	return loss->now - recover->repeat_at < late << recover->again;
}

/* What has been asked for behind it a moment ago need not be asked for again */
static enum rhca_recover_action lost_again(struct rhca_recover *recover,
					   const struct rhca_loss *loss, u32 from)
{
	bool recent = recover->mode == RHCA_RECOVER_ONE && is_recent(recover, loss);
	u32 end = recover->asked_end;
	enum rhca_recover_action action = lost(recover, loss);

	if (action == RHCA_RECOVER_REPEAT && recent &&
	    rhca_psn_before(recover->repeat_end, end)) {
		recover->asked_from = from;
		recover->asked_end = end;
	}
	return action;
}

/**
 * rhca_recover_nak - The peer says that a packet is missing
 * @recover: of the connection
 * @loss: the packet; what is before it has been taken by rhca_recover_acked()
 */
enum rhca_recover_action rhca_recover_nak(struct rhca_recover *recover,
					  const struct rhca_loss *loss)
{
	/* About what was missing before it was repeated? */
	if (recover->mode != RHCA_RECOVER_FLOW && loss->psn == recover->repeat_psn &&
	    is_recent(recover, loss))
		return RHCA_RECOVER_NOTHING;
	return lost_again(recover, loss, recover->asked_from);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_nak);

static bool is_asked(const struct rhca_recover *recover, u32 psn)
{
	if (recover->mode == RHCA_RECOVER_FLOW ||
	    rhca_psn_before(psn, recover->repeat_psn))
		return false;
	return rhca_psn_before(psn, recover->repeat_end) ||
	       (!rhca_psn_before(psn, recover->asked_from) &&
		rhca_psn_before(psn, recover->asked_end));
}

/*
 * A request has been sent again, in RHCA_RECOVER_ONE. @psn: of what was to be repeated, or behind
 * all that has been asked for since. @end: behind the answers to it.
 */
void rhca_recover_asks(struct rhca_recover *recover, u32 psn, u32 end)
{
	if (psn == recover->repeat_psn) {
		recover->repeat_end = end;
		if (rhca_psn_before(recover->asked_from, end))
			recover->asked_from = end;
	}
	if (rhca_psn_before(recover->asked_end, end))
		recover->asked_end = end;
	/* It goes on until these have come, too */
	if (rhca_psn_before(recover->recover_psn, end))
		recover->recover_psn = end;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_asks);

/* There was no room for a response: it and those behind it do not count as asked for any more */
void rhca_recover_refused(struct rhca_recover *recover, u32 psn)
{
	if (!rhca_psn_before(psn, recover->asked_end))
		return;
	recover->asked_end = rhca_psn_before(psn, recover->repeat_end) ?
			     recover->repeat_end : psn;
}

/*
 * Is all asked for that is missing, not the oldest alone? Where the path is long each would
 * cost a round trip. Where it is short, what a full queue has dropped would come back to it at
 * once. @path_ns: how long an answer takes without queues; 0: not known.
 */
bool rhca_recover_asks_for_all(const struct rhca_recover *recover, u32 path_ns)
{
	return recover->mode == RHCA_RECOVER_ONE && path_ns >= LONG_PATH_NS;
}

/**
 * rhca_recover_has_asked - May what has been repeated bring a response?
 * @recover: of the connection
 * @psn: of the response, not before what is missing
 */
bool rhca_recover_has_asked(const struct rhca_recover *recover, u32 psn)
{
	return recover->mode == RHCA_RECOVER_BACK || is_asked(recover, psn);
}

/*
 * A response came before one that is missing. Responses come in the order of requests. So what
 * has been asked for again is lost again when something that was asked for later has come, or
 * what follows it in the same answer. The rest of that answer says nothing new: therefore once
 * in a round trip. What has been asked for behind the one that came stays so, what is missing
 * before it has been lost, too. @psn: of the one that came. @twice: it had come before.
 */
enum rhca_recover_action rhca_recover_ahead(struct rhca_recover *recover,
					    const struct rhca_loss *loss,
					    u32 psn, bool twice)
{
	bool asked = is_asked(recover, loss->psn);
	bool same_answer = twice && rhca_psn_before(psn, recover->asked_end);

	if (recover->mode == RHCA_RECOVER_BACK)
		return RHCA_RECOVER_NOTHING;
	if (asked && !same_answer &&
	    (is_recent(recover, loss) || rhca_psn_before(psn, recover->sent_end)))
		return RHCA_RECOVER_NOTHING;
	if (asked && same_answer && recover->asked_twice &&
	    loss->psn == recover->repeat_psn && is_recent(recover, loss))
		return RHCA_RECOVER_NOTHING;
	recover->asked_twice = asked;
	return lost_again(recover, loss, asked && same_answer ? psn :
					 recover->asked_from);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_ahead);

static void seems_to_drop(struct rhca_recover *recover, u64 now)
{
	recover->way = recover->way == RHCA_PEER_HOLDS ? RHCA_PEER_UNKNOWN :
							 RHCA_PEER_DROPS;
	recover->drops_at = now;
}

/* What was repeated has been answered, and nothing that had been sent behind it */
static bool answered_alone(const struct rhca_recover *recover, u32 upto)
{
	return recover->waits && upto == recover->repeat_end &&
	       rhca_psn_before(upto, recover->sent_end);
}

/*
 * Nothing has been heard for longer than an answer takes. It is repeated: whoever holds, goes
 * back N, or has answered and the answer was lost, answers that. Who is not known to hold, and
 * has not answered that, gets everything; so does who has answered a READ that was repeated,
 * and none behind it. @loss: the oldest that is not acknowledged.
 */
enum rhca_recover_action rhca_recover_probe(struct rhca_recover *recover,
					    const struct rhca_loss *loss)
{
	bool tried = recover->mode != RHCA_RECOVER_FLOW && !loss->held &&
		     recover->way != RHCA_PEER_HOLDS;
	bool drops = false;

	if (answered_alone(recover, loss->psn)) {
		seems_to_drop(recover, loss->now);
		drops = recover->way == RHCA_PEER_DROPS;
	}
	recover->in_row = 0;
	if (!drops && may_repeat_one(recover, loss) && !tried) {
		begin(recover, loss, RHCA_RECOVER_ONE);
		recover->probed = true;
		return RHCA_RECOVER_REPEAT;
	}
	begin(recover, loss, RHCA_RECOVER_BACK);
	return RHCA_RECOVER_REWIND;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_probe);

/*
 * Does a loss cost all that had been sent behind it? The more is under way the more is sent
 * again: less is better where that keeps the path busy. @path_ns: without queues; 0: not known.
 */
bool rhca_recover_costs_window(const struct rhca_recover *recover, u32 path_ns)
{
	return recover->way == RHCA_PEER_DROPS && path_ns < LONG_PATH_NS;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_costs_window);

/* Everything is repeated from @loss on, for a reason of the caller's */
void rhca_recover_back(struct rhca_recover *recover,
		       const struct rhca_loss *loss)
{
	recover->in_row = 0;
	begin(recover, loss, RHCA_RECOVER_BACK);
}

/* Packets are sent again, since something was lost or not. @newest: behind the newest ever sent */
void rhca_recover_repeats(struct rhca_recover *recover, u32 newest)
{
	if (recover->mode == RHCA_RECOVER_FLOW)
		recover->recover_psn = newest;
	recover->copies = true;
}

/* Only of what was missing and repeated once: of several copies nobody knows which is answered */
static bool note_answer(struct rhca_recover *recover, u32 upto, u64 now)
{
	u64 sample = min_t(u64, now - recover->repeat_at, MOST_ANSWER_NS);

	if (recover->answered || !rhca_psn_before(recover->repeat_psn, upto))
		return false;
	recover->answered = true;
	if (recover->mode != RHCA_RECOVER_ONE || recover->again || recover->probed)
		return false;
	recover->answer_ns = recover->answer_ns ?
			     (7ULL * recover->answer_ns + sample) / 8 : sample;
	return true;
}

/*
 * Something up to @upto that was not acknowledged is; not after rhca_recover_is_over(). Returns
 * whether that has measured how long an answer takes.
 */
bool rhca_recover_acked(struct rhca_recover *recover, u32 upto, u64 now)
{
	bool measured = note_answer(recover, upto, now);

	if (recover->waits && rhca_psn_before(recover->repeat_end, upto)) {
		recover->waits = false;
		recover->has_held = true;
		recover->way = RHCA_PEER_HOLDS;
	}
	if (!rhca_psn_before(upto, recover->recover_psn)) {
		recover->mode = RHCA_RECOVER_FLOW;
		recover->copies = false;
		recover->waits = false;
		recover->in_row = 0;
	}
	return measured;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_acked);

/**
 * rhca_recover_acked_alone - Has just what was repeated been acknowledged?
 * @recover: of the connection, which has heard of it by rhca_recover_acked()
 * @upto: behind what is acknowledged, by a positive acknowledgement
 * @now: time, in ns
 *
 * What had been sent behind it is missing, too. A peer that was known to hold may have
 * been short of memory.
 *
 * Return: RHCA_RECOVER_REWIND when everything from @upto on is to be repeated.
 */
enum rhca_recover_action rhca_recover_acked_alone(struct rhca_recover *recover,
						  u32 upto, u64 now)
{
	bool alone = answered_alone(recover, upto);

	if (recover->waits && upto == recover->repeat_end)
		recover->waits = false;
	if (!alone)
		return RHCA_RECOVER_NOTHING;
	seems_to_drop(recover, now);
	recover->mode = RHCA_RECOVER_BACK;
	recover->repeat_psn = upto;
	recover->repeat_at = now;
	return RHCA_RECOVER_REWIND;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_acked_alone);
