// SPDX-License-Identifier: GPL-2.0
/*
 * When a responder says that something is missing, 9.7.5.2.8. Behind a gap it holds what
 * comes, so a peer that repeats only what is missing has to be asked for each gap. One
 * that goes back N brings the next gap by itself, and is asked again only if its pass has
 * left something out: a NAK too many makes it begin anew.
 */
#include <rhca/compat.h>

#include "sw/qp/hold_rule.h"
#include "wire/psn.h"

/* Packets in order after which a peer is believed to reorder half as much */
#define IN_ORDER_LOWERS	1024

/**
 * rhca_hold_rule_reset - Forget everything
 * @rule: of a connection that begins
 */
void rhca_hold_rule_reset(struct rhca_hold_rule *rule)
{
	*rule = (struct rhca_hold_rule){ .nak_after = 1, .was_late = true };
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
		 !(rule->nak_sent && psn == rule->nak_psn))
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
	/* What was asked for before had been lost indeed */
	if (rule->nak_psn != expected && !rule->was_late && rule->nak_after > 1)
		rule->nak_after /= 2;
	rule->naks = rule->nak_psn == expected ? rule->naks + 1 : 1;
	rule->nak_sent = true;
	rule->nak_psn = expected;
	rule->was_late = false;
	return true;
}

/**
 * rhca_hold_rule_lower - A packet came in order
 * @rule: of a connection whose packets have been late
 */
void rhca_hold_rule_lower(struct rhca_hold_rule *rule)
{
	if (++rule->in_order < IN_ORDER_LOWERS)
		return;
	rule->in_order = 0;
	rule->nak_after /= 2;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_lower);

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
		return num_held && num_held < rule->nak_after ? false :
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
 *
 * Return: whether a NAK is to be sent, for @expected.
 */
bool rhca_hold_rule_filled(struct rhca_hold_rule *rule, u32 psn, u32 expected,
			   u32 num_held)
{
	bool asked = rule->nak_psn == psn && rule->nak_sent;

	learn(rule, psn);
	rule->last_psn = psn;
	rule->nak_sent = false;
	rule->not_ready = false;
	rule->learns = asked && rhca_psn_before(psn, rhca_psn_sub(rule->end_psn, 1));
	rule->filled_psn = psn;
	if (!num_held || rule->repeats == RHCA_REPEATS_ALL)
		return false;
	return rhca_hold_rule_asks(rule, expected);
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
	/* What was asked for came twice: it had only been late */
	if (dup->psn == rule->nak_psn && dup->psn != dup->expected &&
	    !dup->is_read && !rule->was_late) {
		rule->was_late = true;
		rule->nak_after = min(2 * rule->nak_after, RHCA_NAK_AFTER_MOST);
	}
	if (!dup->num_held)
		return RHCA_DUP_REPLAY;
	if (!pass && !(dup->ack_req && may_ask_again(rule)))
		return dup->ack_req ? RHCA_DUP_REPLAY : RHCA_DUP_NOTHING;
	rhca_hold_rule_asks(rule, dup->expected);
	return RHCA_DUP_NAK;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_duplicate);
