// SPDX-License-Identifier: GPL-2.0
/*
 * When a responder says that something is missing, 9.7.5.2.8. Behind a gap it holds what
 * comes, so a peer that repeats only what is missing has to be asked for each gap. One
 * that goes back N brings the next gap by itself, and is asked again only if its pass has
 * left something out: a NAK too many makes it begin anew.
 */
#include <linux/minmax.h>
#include <rhca/compat.h>

#include "sw/qp/hold_rule.h"
#include "wire/psn.h"

/* Half as many are waited for after so many packets of which none was late */
#define IN_ORDER_LOWERS	1024

/* Each that is taken for lost halves a window: three of them are enough to know */
#define LATE_RAISES	4

#define ASKED_BITS	64
#define ASKED_PSNS	(2 * ASKED_BITS)

/* --- reordering ------------------------------------------------------------ */

/**
 * rhca_reorder_reset - Forget everything
 * @reorder: of a connection that begins
 */
void rhca_reorder_reset(struct rhca_reorder *reorder)
{
	*reorder = (struct rhca_reorder){ .extent = 1 };
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_reset);

/**
 * rhca_reorder_extent - How many later packets are waited for?
 * @reorder: of the connection
 * @psn: that is missing
 */
u32 rhca_reorder_extent(struct rhca_reorder *reorder, u32 psn)
{
	u32 times = rhca_psn_sub(psn, reorder->late_psn) / IN_ORDER_LOWERS;

	if (reorder->extent == 1 || !times)
		return reorder->extent;
	reorder->late_psn = psn;
	reorder->extent = max(reorder->extent >> min(times, 7U), 1);
	return reorder->extent;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_extent);

/* Return: whether any of those that are too old now had come once only */
static bool shift(struct rhca_reorder *reorder, u32 psns)
{
	u64 *asked = reorder->asked, old = asked[1];

	if (!psns)
		return false;
	if (psns >= ASKED_BITS) {	/* of the newer half some may stay: no matter */
		old |= asked[0];
		asked[1] = psns < ASKED_PSNS ? asked[0] << (psns - ASKED_BITS) : 0;
		asked[0] = 0;
		return old;
	}
	asked[1] = asked[1] << psns | asked[0] >> (ASKED_BITS - psns);
	asked[0] <<= psns;
	return old >> (ASKED_BITS - psns);
}

/**
 * rhca_reorder_asked - A packet is missing, and asked for
 * @reorder: of the connection
 * @psn: of it, not before those that were asked for until now
 *
 * Those of a window ago that came once had been lost indeed.
 */
void rhca_reorder_asked(struct rhca_reorder *reorder, u32 psn)
{
	if (shift(reorder, rhca_psn_sub(psn, reorder->asked_psn)) &&
	    reorder->extent > 1)
		reorder->extent /= 2;
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

/**
 * rhca_reorder_filled - A packet that was missing has come
 * @reorder: of the connection
 * @psn: of it
 * @repeated: it looks like one that was sent again
 *
 * If so it had been lost, where it was asked for; if not, others have overtaken it.
 */
void rhca_reorder_filled(struct rhca_reorder *reorder, u32 psn, bool repeated)
{
	u64 bit, *asked = asked_for(reorder, psn, &bit);

	if (!repeated) {
		reorder->late_psn = psn;
	} else if (asked) {
		*asked &= ~bit;
		reorder->extent = max(reorder->extent / 2, 1);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_filled);

/**
 * rhca_reorder_twice - A packet has come twice
 * @reorder: of the connection
 * @psn: of it
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
	reorder->extent = min(LATE_RAISES * reorder->extent, RHCA_REORDER_MOST);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_twice);

/* --- NAKs ------------------------------------------------------------------ */

/**
 * rhca_hold_rule_reset - Forget everything
 * @rule: of a connection that begins
 */
void rhca_hold_rule_reset(struct rhca_hold_rule *rule)
{
	*rule = (struct rhca_hold_rule){};
	rhca_reorder_reset(&rule->reorder);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_reset);

/* The packet behind one that was asked for shows how the peer repeats */
static void learn(struct rhca_hold_rule *rule, u32 psn)
{
	if (!rule->learns)
		return;
	rule->learns = false;
	if (!rhca_psn_before(psn, rule->end_psn))
		rule->repeats = RHCA_REPEATS_ONE;
	else if (psn == rhca_psn_add(rule->filled_psn, 1) &&
		 !(rule->nak_sent && psn == rule->reorder.asked_psn))
		rule->repeats = RHCA_REPEATS_ALL;
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
	rule->naks = rule->reorder.asked_psn == expected ? rule->naks + 1 : 1;
	rule->nak_sent = true;
	rhca_reorder_asked(&rule->reorder, expected);
	return true;
}

/* Have so many come behind what is missing that it cannot only be late? */
static bool is_lost(struct rhca_hold_rule *rule, u32 expected, u32 num_held)
{
	return num_held >= rhca_reorder_extent(&rule->reorder, expected);
}

/**
 * rhca_hold_rule_ahead - A packet came before others that are missing
 * @rule: of the connection
 * @psn: of the packet
 * @expected: what is missing
 * @num_held: packets that are held, this one with them; 0: none can be
 * @twice: it has come before
 * @ack_req: it asks for an acknowledgement
 *
 * A peer that repeats one packet and goes on, and asks for an answer, has not heard the
 * NAK, or what it repeated has been lost.
 *
 * Return: whether a NAK is to be sent.
 */
bool rhca_hold_rule_ahead(struct rhca_hold_rule *rule, u32 psn, u32 expected,
			  u32 num_held, bool twice, bool ack_req)
{
	u32 end = rhca_psn_add(psn, 1);
	bool first = num_held <= 1 && !rule->nak_sent && !rule->learns;

	if (rule->not_ready)
		return false;
	if (begins_pass(rule, psn, twice))
		rule->nak_sent = false;
	learn(rule, psn);
	rule->last_psn = psn;
	if (first || rhca_psn_before(rule->end_psn, end))
		rule->end_psn = end;
	if (!rule->nak_sent)
		return (!num_held || is_lost(rule, expected, num_held)) &&
		       rhca_hold_rule_asks(rule, expected);
	return num_held && ack_req && may_ask_again(rule) &&
	       rhca_hold_rule_asks(rule, expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_ahead);

/**
 * rhca_hold_rule_filled - What was missing came, and what was held behind it is executed
 * @rule: of the connection
 * @psn: of what came
 * @expected: what is missing now
 * @num_held: packets that are held behind that
 * @repeated: it looks like one that was sent again
 *
 * Return: whether a NAK is to be sent, for @expected.
 */
bool rhca_hold_rule_filled(struct rhca_hold_rule *rule, u32 psn, u32 expected,
			   u32 num_held, bool repeated)
{
	bool asked = rule->reorder.asked_psn == psn && rule->nak_sent;

	rhca_reorder_filled(&rule->reorder, psn, repeated);
	learn(rule, psn);
	rule->last_psn = psn;
	rule->nak_sent = false;
	rule->not_ready = false;
	rule->learns = asked && rhca_psn_before(psn, rhca_psn_sub(rule->end_psn, 1));
	rule->filled_psn = psn;
	if (!num_held || rule->repeats == RHCA_REPEATS_ALL)
		return false;
	return is_lost(rule, expected, num_held) &&
	       rhca_hold_rule_asks(rule, expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_filled);

/**
 * rhca_hold_rule_duplicate - A packet came that has been executed before
 * @rule: of the connection
 * @dup: the packet
 *
 * While something is missing an acknowledgement would say nothing that the NAK has not
 * said, and look to a peer that goes back N as if its pass had arrived. A peer that
 * repeats one packet, and one that had arrived, has not heard the NAK: without it, it
 * would take for lost, or thrown away, all that is held. Who asks is answered in any case:
 * he may wait for that before he sends what is missing.
 */
enum rhca_dup_reply rhca_hold_rule_duplicate(struct rhca_hold_rule *rule,
					     const struct rhca_duplicate *dup)
{
	bool pass = begins_pass(rule, dup->psn, true);

	learn(rule, dup->psn);
	rule->last_psn = dup->psn;
	rhca_reorder_twice(&rule->reorder, dup->psn);
	if (!dup->num_held)
		return RHCA_DUP_REPLAY;
	if (!is_lost(rule, dup->expected, dup->num_held) ||
	    (!pass && !(dup->ack_req && may_ask_again(rule))))
		return dup->ack_req ? RHCA_DUP_REPLAY : RHCA_DUP_NOTHING;
	rhca_hold_rule_asks(rule, dup->expected);
	return RHCA_DUP_NAK;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_duplicate);
