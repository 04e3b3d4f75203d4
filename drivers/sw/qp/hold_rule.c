// SPDX-License-Identifier: GPL-2.0
/*
 * When a responder says that something is missing, 9.7.5.2.8. Behind a gap it holds what
 * comes, so a peer that repeats only what is missing has to be asked for each gap. One
 * that goes back N brings the next gap by itself, and is asked again only if its pass has
 * left something out: a NAK too many makes it begin anew.
 */
#include <linux/minmax.h>
#include <linux/time64.h>
#include <rhca/compat.h>

#include "sw/qp/hold_rule.h"
#include "wire/psn.h"

/* A wait that no packet needs is halved after so many, and too short to be one at last */
#define IN_ORDER_LOWERS	1024
#define WAIT_LEAST_NS	(4 * NSEC_PER_USEC)

/* Of rhca_hold_rule.late_reads: six more than half of what is asked for is no accident */
#define LATE_READS	6

#define ASKED_BITS	64
#define ASKED_PSNS	(2 * ASKED_BITS)

/* --- reordering ------------------------------------------------------------ */

static void lower(struct rhca_reorder *reorder, u32 psn)
{
	u32 times = rhca_psn_sub(psn, reorder->late_psn) / IN_ORDER_LOWERS;

	if (!times)
		return;
	reorder->late_psn = psn;
	reorder->wait_ns >>= min(times, 31U);
	if (reorder->wait_ns < WAIT_LEAST_NS)
		reorder->wait_ns = 0;
}

/**
 * rhca_reorder_lost - Is what is missing lost, or may it only be late?
 * @reorder: of the connection
 * @psn: that is missing
 * @num_held: packets that have come behind it
 * @now: time
 *
 * Return: true when it has been waited for long enough.
 */
bool rhca_reorder_lost(struct rhca_reorder *reorder, u32 psn, u32 num_held, u64 now)
{
	if (reorder->wait_ns)
		lower(reorder, psn);
	reorder->missed_at = reorder->missed_at ?: now;
	return (s64)(now - reorder->missed_at) >= reorder->wait_ns ||
	       num_held >= RHCA_REORDER_MOST;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_lost);

static void shift(u64 *asked, u32 psns)
{
	if (!psns)
		return;
	if (psns >= ASKED_BITS) {
		asked[1] = psns < ASKED_PSNS ? asked[0] << (psns - ASKED_BITS) : 0;
		asked[0] = 0;
		return;
	}
	asked[1] = asked[1] << psns | asked[0] >> (ASKED_BITS - psns);
	asked[0] <<= psns;
}

/* A packet is missing, and asked for. @psn: not before those that were asked for until now. */
void rhca_reorder_asked(struct rhca_reorder *reorder, u32 psn)
{
	shift(reorder->asked, rhca_psn_sub(psn, reorder->asked_psn));
	reorder->asked[0] |= 1;
	reorder->asked_psn = psn;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_asked);

/* That holds @psn, and in it @bit; NULL where it was not asked for within a window */
static u64 *asked_for(struct rhca_reorder *reorder, u32 psn, u64 *bit)
{
	u32 before = rhca_psn_sub(reorder->asked_psn, psn);
	u64 *asked = &reorder->asked[before / ASKED_BITS % 2];

	*bit = 1ULL << before % ASKED_BITS;
	return before < ASKED_PSNS && (*asked & *bit) ? asked : NULL;
}

/* What came had been sent again: a second copy says nothing */
static void note_lost(struct rhca_reorder *reorder, u32 psn)
{
	u64 bit, *asked = asked_for(reorder, psn, &bit);

	if (asked)
		*asked &= ~bit;
}

/**
 * rhca_reorder_begin - Of a requester: forget everything
 * @reorder: of a connection that begins
 * @psn: its first
 */
void rhca_reorder_begin(struct rhca_reorder *reorder, u32 psn)
{
	*reorder = (struct rhca_reorder) { .asked_psn = rhca_psn_sub(psn, ASKED_PSNS) };
}

/**
 * rhca_reorder_alone - Would a second copy of a response say that it had been late?
 * @reorder: of the connection
 * @psn: of the response, which is missing
 *
 * Return: true when nothing has been sent again up to a window before it. Who is asked again
 * for a READ may answer with all that follows, to its end.
 */
bool rhca_reorder_alone(const struct rhca_reorder *reorder, u32 psn)
{
	return rhca_psn_sub(psn, reorder->asked_psn) >= ASKED_PSNS &&
	       rhca_psn_sub(reorder->asked_psn, psn) >= ASKED_PSNS;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_alone);

/**
 * rhca_reorder_repeated - Requests are sent again
 * @reorder: of the connection
 * @psn: of the first: a second copy of a response to it, or to one behind it, says nothing
 */
void rhca_reorder_repeated(struct rhca_reorder *reorder, u32 psn)
{
	if (rhca_psn_sub(reorder->asked_psn, psn) >= ASKED_PSNS) {
		shift(reorder->asked, rhca_psn_sub(psn, reorder->asked_psn));
		reorder->asked_psn = psn;
		return;
	}
	for (; !rhca_psn_before(reorder->asked_psn, psn); psn = rhca_psn_add(psn, 1))
		note_lost(reorder, psn);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_repeated);

/**
 * rhca_reorder_watch - A second copy of a response will say that it had been late
 * @reorder: of the connection
 * @psn: of the response: the newest that rhca_reorder_repeated() was called for, of which
 *	rhca_reorder_alone() was true before that
 */
void rhca_reorder_watch(struct rhca_reorder *reorder, u32 psn)
{
	rhca_reorder_asked(reorder, psn);
	reorder->late_ns = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_watch);

/**
 * rhca_reorder_answered - A response that was missing has come
 * @reorder: of the connection
 * @psn: of it
 * @repeated: its request, or one before it that may bring it, has been sent again
 * @now: time
 */
void rhca_reorder_answered(struct rhca_reorder *reorder, u32 psn, bool repeated, u64 now)
{
	u64 bit;

	if (!asked_for(reorder, psn, &bit)) {
		if (!repeated)
			reorder->late_psn = psn;
	} else if (reorder->missed_at) {
		reorder->late_ns = clamp_t(s64, now - reorder->missed_at,
					   reorder->late_ns, RHCA_REORDER_MOST_NS);
	}
	reorder->missed_at = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_answered);

/*
 * A packet that was missing has come. If @repeated it looks like one that was sent again, and
 * had been lost. If not, others have overtaken it, or it was asked for: then it is seen whether
 * it comes a second time.
 */
void rhca_reorder_filled(struct rhca_reorder *reorder, u32 psn, bool repeated, u64 now)
{
	if (repeated)
		note_lost(reorder, psn);
	rhca_reorder_answered(reorder, psn, repeated, now);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_filled);

/**
 * rhca_reorder_twice - A packet has come twice
 * @reorder: of the connection
 * @psn: of it
 *
 * From now on is waited as long as it had been missed, and half of that more.
 *
 * Return: true when it had been asked for, and the first one had not been sent again: it was
 * late, not lost.
 */
bool rhca_reorder_twice(struct rhca_reorder *reorder, u32 psn)
{
	u64 bit, *asked = asked_for(reorder, psn, &bit);

	if (!asked)
		return false;
	*asked &= ~bit;
	reorder->late_psn = psn;
	reorder->wait_ns = max(reorder->wait_ns,
			       reorder->late_ns + reorder->late_ns / 2);
	reorder->late_ns = 0;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_twice);

/* --- NAKs ------------------------------------------------------------------ */

/**
 * rhca_hold_rule_reset - Forget everything
 * @rule: of a connection that begins; @reorder is its own
 */
void rhca_hold_rule_reset(struct rhca_hold_rule *rule)
{
	struct rhca_reorder *reorder = rule->reorder;

	*rule = (struct rhca_hold_rule){ .reorder = reorder };
	*reorder = (struct rhca_reorder){};
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_reset);

/* The packet behind one that was asked for shows how the peer repeats */
static void learn(struct rhca_hold_rule *rule, u32 psn)
{
	if (!rule->learns)
		return;
	rule->learns = false;
	if (!rhca_psn_before(psn, rule->end_psn)) {
		rule->repeats = RHCA_REPEATS_ONE;
	} else if (psn == rhca_psn_add(rule->filled_psn, 1) &&
		   !(rule->nak_sent && psn == rule->reorder->asked_psn)) {
		rule->repeats = RHCA_REPEATS_ALL;
		/* What was asked for was part of the pass, not late */
		note_lost(rule->reorder, rule->filled_psn);
	}
}

/* What came before comes again, and what came last was behind it: a pass of the peer */
static bool begins_pass(const struct rhca_hold_rule *rule, u32 psn, bool twice)
{
	return twice && rhca_psn_before(psn, rule->last_psn) &&
	       rule->naks < RHCA_NAKS_MOST;
}

static bool may_ask_again(const struct rhca_hold_rule *rule)
{
	return rule->repeats == RHCA_REPEATS_ONE && rule->naks < RHCA_NAKS_TO_ONE;
}

/**
 * rhca_hold_rule_asks - What is expected is asked for
 * @rule: of the connection
 * @expected: what is expected
 *
 * Return: true.
 */
bool rhca_hold_rule_asks(struct rhca_hold_rule *rule, u32 expected)
{
	bool again = rule->reorder->asked_psn == expected;

	rule->naks = again ? rule->naks + 1 : 1;
	if (!again && rule->late_reads)
		rule->late_reads--;
	rule->nak_sent = true;
	rhca_reorder_asked(rule->reorder, expected);
	return true;
}

static bool is_lost(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	return rhca_reorder_lost(rule->reorder, arrival->expected, arrival->num_held,
				 arrival->now);
}

/**
 * rhca_hold_rule_waited - What is missing has been waited for
 * @rule: of the connection
 * @arrival: nothing, @num_held and @expected are what they are
 *
 * Return: whether a NAK is to be sent.
 */
bool rhca_hold_rule_waited(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	return !rule->nak_sent && !rule->not_ready && arrival->num_held &&
	       is_lost(rule, arrival) && rhca_hold_rule_asks(rule, arrival->expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_waited);

/**
 * rhca_hold_rule_ahead - A packet came before others that are missing
 * @rule: of the connection
 * @arrival: the packet; @num_held is with it, if it is held
 *
 * A peer that repeats one packet and goes on, and asks for an answer, has not heard the
 * NAK, or what it repeated has been lost. What is not held has to come again anyway.
 *
 * Return: whether a NAK is to be sent.
 */
bool rhca_hold_rule_ahead(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	u32 psn = arrival->psn, end = rhca_psn_add(psn, 1);
	bool first = arrival->num_held <= 1 && !rule->nak_sent && !rule->learns;
	bool lost;

	if (rule->not_ready)
		return false;
	if (begins_pass(rule, psn, arrival->twice))
		rule->nak_sent = false;
	learn(rule, psn);
	rule->last_psn = psn;
	if (first || rhca_psn_before(rule->end_psn, end))
		rule->end_psn = end;
	if (first && !arrival->twice)
		rule->reorder->missed_at = 0;
	lost = is_lost(rule, arrival) || arrival->refused;
	if (!rule->nak_sent)
		return lost && rhca_hold_rule_asks(rule, arrival->expected);
	return arrival->num_held && arrival->ack_req && may_ask_again(rule) &&
	       rhca_hold_rule_asks(rule, arrival->expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_ahead);

/*
 * A peer that repeats one packet asks with that, seldom otherwise but for READs; one that goes
 * back N need not. What was asked for twice may have come by the first NAK.
 */
static bool is_repeated(const struct rhca_hold_rule *rule,
			const struct rhca_arrival *arrival, bool asked)
{
	return (asked && rule->naks > 1) ||
	       (arrival->ack_req && !arrival->is_read &&
		rule->repeats != RHCA_REPEATS_ALL);
}

/**
 * rhca_hold_rule_filled - What was missing came, and what was held behind it is executed
 * @rule: of the connection
 * @arrival: what came; @expected and @num_held are what they are now
 *
 * Return: whether a NAK is to be sent, for @expected.
 */
bool rhca_hold_rule_filled(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	u32 psn = arrival->psn;
	bool asked = rule->reorder->asked_psn == psn && rule->nak_sent;
	bool waited = !rule->nak_sent && rule->reorder->missed_at;

	rhca_reorder_filled(rule->reorder, psn, is_repeated(rule, arrival, asked),
			    arrival->now);
	/* What was only late says nothing about repeats */
	if (!waited)
		learn(rule, psn);
	rule->last_psn = psn;
	rule->nak_sent = false;
	rule->not_ready = false;
	rule->learns = asked && rhca_psn_before(psn, rhca_psn_sub(rule->end_psn, 1));
	rule->filled_psn = psn;
	if (!arrival->num_held || rule->repeats == RHCA_REPEATS_ALL)
		return false;
	return is_lost(rule, arrival) && rhca_hold_rule_asks(rule, arrival->expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_filled);

/*
 * A READ that comes twice may have been lost once, and so may the answer to it: that most
 * of those that are asked for come twice says that they are late.
 */
static bool comes_late(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	u64 bit;

	if (arrival->is_read && asked_for(rule->reorder, arrival->psn, &bit)) {
		rule->late_reads = min(rule->late_reads + 2, LATE_READS);
		if (rule->late_reads < LATE_READS)
			note_lost(rule->reorder, arrival->psn);
	}
	return rhca_reorder_twice(rule->reorder, arrival->psn);
}

/**
 * rhca_hold_rule_duplicate - A packet came that has been executed before
 * @rule: of the connection
 * @arrival: the packet
 *
 * While something is missing an acknowledgement would say nothing that the NAK has not
 * said, and look to a peer that goes back N as if its pass had arrived. A peer that
 * repeats one packet, and one that had arrived, has not heard the NAK: without it, it
 * would take for lost, or thrown away, all that is held. Who asks is answered in any case:
 * he may wait for that before he sends what is missing.
 */
enum rhca_dup_reply rhca_hold_rule_duplicate(struct rhca_hold_rule *rule,
					     const struct rhca_arrival *arrival)
{
	bool pass = begins_pass(rule, arrival->psn, true);

	learn(rule, arrival->psn);
	rule->last_psn = arrival->psn;
	if (comes_late(rule, arrival)) {
		/* What the peer seemed to do behind it was the end of what had overtaken it */
		rule->repeats = RHCA_REPEATS_UNKNOWN;
		rule->learns = true;
		rule->filled_psn = arrival->psn;
	}
	if (!arrival->num_held)
		return RHCA_DUP_REPLAY;
	if (!is_lost(rule, arrival) ||
	    (!pass && !(arrival->ack_req && may_ask_again(rule))))
		return arrival->ack_req ? RHCA_DUP_REPLAY : RHCA_DUP_NOTHING;
	rhca_hold_rule_asks(rule, arrival->expected);
	return RHCA_DUP_NAK;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_duplicate);
