// SPDX-License-Identifier: GPL-2.0
/*
 * What a requester does about a loss. The standard lets a responder drop or hold the packets after
 * a gap and does not say how to tell: what it acknowledges after one packet was retransmitted shows
 * it. A peer that holds gets only the missing packet while new ones continue; one that drops gets
 * everything from there again.
 */
#include <rhca/compat.h>

#include "sw/qp/rtt.h"
#include "sw/tx/recover.h"
#include "wire/psn.h"

/*
 * A peer that seems to drop may have been short of memory, or what followed was lost, too: try
 * holding again after this time, which doubles each time until the peer holds
 */
#define DROPS_FOR_NS	(10ULL * NSEC_PER_MSEC)
#define MAX_DROPS	8	/* 1.28 s */

/* Default if no round trip has been measured */
#define ROUND_TRIP_NS	(200 * NSEC_PER_USEC)

/* Answers later than this are not measured */
#define MAX_ANSWER_NS	((u64)NSEC_PER_SEC)

/* The wait for an answer doubles each time the packet is lost again, at most this often */
#define MAX_DOUBLINGS	4

/*
 * With this many consecutive packets missing, those after them probably are too. Retransmitting one
 * after the other takes a round trip each; on a short path that is still better than sending a
 * whole window into a full queue again (tools/fabric-sim, figure recovery).
 */
#define MANY_IN_ROW	3
#define LONG_PATH_NS	(500 * NSEC_PER_USEC)

static void begin(struct rhca_recover *recover, const struct rhca_loss *loss,
		  enum rhca_recover_mode mode)
{
	recover->several = recover->copies;
	recover->answered = false;
	if (recover->mode == RHCA_RECOVER_FLOW)
		recover->recover_psn = loss->newest;
	if (recover->mode == RHCA_RECOVER_FLOW || loss->psn != recover->repeat_psn)
		recover->again = 0;
	else if (recover->again < MAX_DOUBLINGS)
		recover->again++;
	recover->mode = mode;
	recover->waits = mode == RHCA_RECOVER_ONE && !loss->held;
	recover->repeat_psn = loss->psn;
	recover->repeat_end = rhca_psn_add(loss->psn, 1);
	recover->asked_from = recover->repeat_end;
	recover->asked_end = recover->repeat_end;
	recover->sent_end = loss->newest;
	recover->repeat_at = loss->now;
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
	if (recover->peer == RHCA_PEER_DROPS &&
	    loss->now - recover->drops_at >= DROPS_FOR_NS << (recover->drops - 1))
		recover->peer = RHCA_PEER_UNKNOWN;
	return loss->one && recover->peer != RHCA_PEER_DROPS &&
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
 * Is it too early for an answer to the retransmission? Answers are delayed on a busy host, and one
 * retransmission too many costs more than waiting twice as long.
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

/* Later PSNs requested a moment ago need not be requested again */
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
 * rhca_recover_nak - The peer NAKs a missing packet
 * @recover: of the connection
 * @loss: the packet; rhca_recover_acked() has processed what precedes it
 */
enum rhca_recover_action rhca_recover_nak(struct rhca_recover *recover,
					  const struct rhca_loss *loss)
{
	/* Was the NAK sent before the retransmission arrived? */
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
 * A request was retransmitted in RHCA_RECOVER_ONE. @psn: of the missing packet, or after all that
 * has been requested since. @end: after its answers.
 */
void rhca_recover_asks(struct rhca_recover *recover, u32 psn, u32 end)
{
	if (psn == recover->repeat_psn)
		recover->repeat_end = end;
	if (rhca_psn_before(recover->asked_end, end))
		recover->asked_end = end;
	/* Recovery continues until these have arrived, too */
	if (rhca_psn_before(recover->recover_psn, end))
		recover->recover_psn = end;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_asks);

/* No room for a response: it and later ones no longer count as requested */
void rhca_recover_refused(struct rhca_recover *recover, u32 psn)
{
	if (!rhca_psn_before(psn, recover->asked_end))
		return;
	recover->asked_end = rhca_psn_before(psn, recover->repeat_end) ?
			     recover->repeat_end : psn;
}

/*
 * Request all missing responses, not only the oldest? On a long path each would cost a round trip.
 * On a short one, all that a full queue has dropped would arrive there at once. @path_ns: round
 * trip without queueing; 0: unknown.
 */
bool rhca_recover_asks_for_all(const struct rhca_recover *recover, u32 path_ns)
{
	return recover->mode == RHCA_RECOVER_ONE && path_ns >= LONG_PATH_NS;
}

/**
 * rhca_recover_has_asked - May a retransmission bring this response?
 * @recover: of the connection
 * @psn: of the response, not before the missing one
 */
bool rhca_recover_has_asked(const struct rhca_recover *recover, u32 psn)
{
	return recover->mode == RHCA_RECOVER_BACK || is_asked(recover, psn);
}

/*
 * A response overtook a missing one. Responses come in the order of requests, so a retransmission
 * is lost again if an answer arrives to something requested later, or a later part of the same
 * answer. The rest of that answer tells nothing new, so react once per round trip. What was
 * requested after the response that arrived stays requested; what is missing before it is lost,
 * too. @psn: of the response that arrived. @twice: it is a duplicate.
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
	if (recover->peer == RHCA_PEER_HOLDS) {
		recover->peer = RHCA_PEER_UNKNOWN;
		return;
	}
	recover->peer = RHCA_PEER_DROPS;
	recover->drops = min(recover->drops + 1, MAX_DROPS);
	recover->drops_at = now;
}

/*
 * The retransmission was acknowledged, but nothing sent after it: had there been nothing,
 * rhca_recover_acked() would have ended the wait.
 */
static bool answered_alone(const struct rhca_recover *recover, u32 upto)
{
	return recover->waits && upto == recover->repeat_end;
}

/*
 * No answer within the expected time: retransmit one packet. A peer answers it if it holds, if it
 * goes back N, or if only its answer was lost. Go back if the peer is not known to hold and has not
 * answered that, or has answered a repeated READ but nothing after it. @loss: the oldest
 * unacknowledged packet.
 */
enum rhca_recover_action rhca_recover_probe(struct rhca_recover *recover,
					    const struct rhca_loss *loss)
{
	bool tried = recover->mode != RHCA_RECOVER_FLOW && !loss->held &&
		     recover->peer != RHCA_PEER_HOLDS;
	bool drops = false;

	if (answered_alone(recover, loss->psn)) {
		seems_to_drop(recover, loss->now);
		drops = recover->peer == RHCA_PEER_DROPS;
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
 * Does a loss cost everything in flight after it? The more is in flight the more is retransmitted:
 * use a smaller window if that still fills the path. @path_ns: without queueing; 0: unknown.
 */
bool rhca_recover_costs_window(const struct rhca_recover *recover, u32 path_ns)
{
	return recover->peer == RHCA_PEER_DROPS && path_ns < LONG_PATH_NS;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_costs_window);

/* Go back to @loss, for a reason of the caller's */
void rhca_recover_back(struct rhca_recover *recover,
		       const struct rhca_loss *loss)
{
	recover->in_row = 0;
	begin(recover, loss, RHCA_RECOVER_BACK);
}

/* Packets are retransmitted, whether or not one was lost. @newest: after the newest ever sent */
void rhca_recover_repeats(struct rhca_recover *recover, u32 newest)
{
	recover->copies_end = newest;
	recover->copies = true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_repeats);

/**
 * rhca_recover_answered_after - How long ago was the packet retransmitted that is answered now?
 * @recover: of the connection, before rhca_recover_acked()
 * @upto: packets before this PSN are acknowledged
 * @now: when they were, ns
 *
 * Return: that time in ns, at most one second; 0 if it was answered before, or none is. The round
 * trip is not shorter: if an earlier copy was answered it is longer.
 */
u64 rhca_recover_answered_after(const struct rhca_recover *recover, u32 upto,
				u64 now)
{
	if (recover->answered || !recover->repeat_at ||
	    !rhca_psn_before(recover->repeat_psn, upto))
		return 0;
	return min(now - recover->repeat_at, MAX_ANSWER_NS);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_answered_after);

/* Only for a loss retransmitted once: of several copies it is unknown which was answered */
static bool note_answer(struct rhca_recover *recover, u32 upto, u64 now)
{
	u64 sample = rhca_recover_answered_after(recover, upto, now);

	if (!sample)
		return false;
	recover->answered = true;
	if (recover->mode != RHCA_RECOVER_ONE || recover->again || recover->probed ||
	    recover->several)
		return false;
	recover->answer_ns = recover->answer_ns ?
			     (7ULL * recover->answer_ns + sample) / 8 : sample;
	return true;
}

/**
 * rhca_recover_delayed - Did packets wait for a probe before they were acknowledged?
 * @recover: of the connection, before rhca_recover_acked()
 * @rtt: its round trips
 * @now: when they were acknowledged, ns
 *
 * Return: true if a probe is answered as soon as the path allows without queueing: what it repeated
 * had been lost, and held up the acknowledgement of later packets. If they are only late, because
 * of a queue, their answer comes before or long after that.
 */
bool rhca_recover_delayed(const struct rhca_recover *recover,
			  const struct rhca_rtt *rtt, u64 now)
{
	return recover->mode == RHCA_RECOVER_ONE && recover->probed &&
	       rhca_rtt_is_direct(rtt, now - recover->repeat_at);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_delayed);

/*
 * Packets up to @upto were newly acknowledged, while not rhca_recover_is_over(). Returns whether
 * this measured the time to an answer.
 */
bool rhca_recover_acked(struct rhca_recover *recover, u32 upto, u64 now)
{
	bool measured = note_answer(recover, upto, now);

	if (recover->waits && rhca_psn_before(recover->repeat_end, upto)) {
		recover->waits = false;
		recover->drops = 0;
		recover->peer = RHCA_PEER_HOLDS;
	}
	if (!rhca_psn_before(upto, recover->copies_end))
		recover->copies = false;
	if (!rhca_psn_before(upto, recover->recover_psn)) {
		recover->mode = RHCA_RECOVER_FLOW;
		recover->waits = false;
		recover->in_row = 0;
	}
	return measured;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_acked);

/**
 * rhca_recover_acked_alone - Was only the retransmission acknowledged?
 * @recover: of the connection, after rhca_recover_acked()
 * @upto: after what a positive acknowledgement has acknowledged
 * @now: time, in ns
 *
 * If so, what had been sent after it is missing, too. A peer that was known to hold may have been
 * short of memory.
 *
 * Return: RHCA_RECOVER_REWIND if everything from @upto on must be retransmitted.
 */
enum rhca_recover_action rhca_recover_acked_alone(struct rhca_recover *recover,
						  u32 upto, u64 now)
{
	if (!answered_alone(recover, upto))
		return RHCA_RECOVER_NOTHING;
	recover->waits = false;
	seems_to_drop(recover, now);
	recover->mode = RHCA_RECOVER_BACK;
	recover->repeat_psn = upto;
	recover->repeat_at = now;
	return RHCA_RECOVER_REWIND;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_recover_acked_alone);
