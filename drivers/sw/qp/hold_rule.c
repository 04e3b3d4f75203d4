// SPDX-License-Identifier: GPL-2.0
/*
 * When a responder sends NAKs, 9.7.5.2.8. It holds the packets after a gap, so a peer that
 * retransmits only what is missing needs a NAK for each gap. One that goes back N fills the next
 * gap by itself and gets another NAK only if its retransmission has left something out: an extra
 * NAK makes it start over.
 */
#include <linux/minmax.h>
#include <linux/time64.h>
#include <rhca/compat.h>

#include "sw/qp/hold_rule.h"
#include "wire/psn.h"

/* The reorder wait is halved after this many packets in order, and 0 below the minimum */
#define IN_ORDER_LOWERS	1024
#define WAIT_MIN_NS	(4 * NSEC_PER_USEC)

/* rhca_hold_rule.late_reads at which well over half of the requested READs came twice */
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
	if (reorder->wait_ns < WAIT_MIN_NS)
		reorder->wait_ns = 0;
}

/**
 * rhca_reorder_lost - Is the missing packet lost, or may it only be late?
 * @reorder: of the connection
 * @psn: of the missing packet
 * @num_held: packets received after it
 * @now: time
 *
 * Return: true if it has been waited for long enough.
 */
bool rhca_reorder_lost(struct rhca_reorder *reorder, u32 psn, u32 num_held, u64 now)
{
	if (reorder->wait_ns)
		lower(reorder, psn);
	reorder->missed_at = reorder->missed_at ?: now;
	return (s64)(now - reorder->missed_at) >= reorder->wait_ns ||
	       num_held >= RHCA_REORDER_MAX;
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

/* A missing packet is requested. @psn: not before those requested so far. */
void rhca_reorder_asked(struct rhca_reorder *reorder, u32 psn)
{
	shift(reorder->asked, rhca_psn_sub(psn, reorder->asked_psn));
	reorder->asked[0] |= 1;
	reorder->asked_psn = psn;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_asked);

static bool was_asked(const struct rhca_reorder *reorder, u32 psn)
{
	u32 before = rhca_psn_sub(reorder->asked_psn, psn);

	return before < ASKED_PSNS &&
	       reorder->asked[before / ASKED_BITS] >> before % ASKED_BITS & 1;
}

/* The packet was retransmitted: a second copy tells nothing */
static void note_lost(struct rhca_reorder *reorder, u32 psn)
{
	u32 before = rhca_psn_sub(reorder->asked_psn, psn);

	if (was_asked(reorder, psn))
		reorder->asked[before / ASKED_BITS] &= ~(1ULL << before % ASKED_BITS);
}

/**
 * rhca_reorder_repeated - Requests are retransmitted
 * @reorder: of the connection
 * @psn: of the first: a second copy of its response, or of a later one, tells nothing
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
 * rhca_reorder_watch - Take a second copy of a response as a sign that it was late
 * @reorder: of the connection
 * @psn: of the response: the newest passed to rhca_reorder_repeated(). Nothing else brings it again
 */
void rhca_reorder_watch(struct rhca_reorder *reorder, u32 psn)
{
	rhca_reorder_asked(reorder, psn);
	reorder->late_ns = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_watch);

/**
 * rhca_reorder_answered - A missing response has arrived
 * @reorder: of the connection
 * @psn: of it
 * @repeated: its request, or an earlier one that may bring it, was retransmitted
 * @now: time
 */
void rhca_reorder_answered(struct rhca_reorder *reorder, u32 psn, bool repeated, u64 now)
{
	if (!was_asked(reorder, psn)) {
		if (!repeated)
			reorder->late_psn = psn;
	} else if (reorder->missed_at) {
		reorder->late_ns = clamp_t(s64, now - reorder->missed_at,
					   reorder->late_ns, RHCA_REORDER_MAX_NS);
	}
	reorder->missed_at = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_answered);

/*
 * A missing packet has arrived. If @repeated it looks like a retransmission after a loss. If not,
 * others overtook it, or it was requested: then watch whether it comes a second time.
 */
void rhca_reorder_filled(struct rhca_reorder *reorder, u32 psn, bool repeated, u64 now)
{
	if (repeated)
		note_lost(reorder, psn);
	rhca_reorder_answered(reorder, psn, repeated, now);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_filled);

/**
 * rhca_reorder_twice - A packet has arrived twice
 * @reorder: of the connection
 * @psn: of it
 *
 * If it was late, wait from now on at least 1.5 times as long as it was missed.
 *
 * Return: true if it had been requested and the first copy was no retransmission: it was late, not
 * lost.
 */
bool rhca_reorder_twice(struct rhca_reorder *reorder, u32 psn)
{
	if (!was_asked(reorder, psn))
		return false;
	note_lost(reorder, psn);
	reorder->late_psn = psn;
	reorder->wait_ns = max(reorder->wait_ns,
			       reorder->late_ns + reorder->late_ns / 2);
	reorder->late_ns = 0;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_reorder_twice);

/* --- NAKs ------------------------------------------------------------------ */

/**
 * rhca_hold_rule_reset - Initialise the rule of a new connection
 * @rule: the rule, with its @reorder
 */
void rhca_hold_rule_reset(struct rhca_hold_rule *rule)
{
	struct rhca_reorder *reorder = rule->reorder;

	*rule = (struct rhca_hold_rule){ .reorder = reorder };
	*reorder = (struct rhca_reorder){};
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_reset);

/* The packet after a requested one shows how the peer retransmits */
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
		/* The requested packet was part of the peer's go-back, not late */
		note_lost(rule->reorder, rule->filled_psn);
	}
}

/* A duplicate older than the last arrival: the peer has gone back */
static bool begins_pass(const struct rhca_hold_rule *rule, u32 psn, bool twice)
{
	return twice && rhca_psn_before(psn, rule->last_psn) &&
	       rule->naks < RHCA_NAKS_MAX;
}

/*
 * A peer that retransmits one packet sets AckReq on it, but hardly on two that follow each other,
 * except READs. Others set it on every packet, where it shows nothing.
 */
static bool shows_repeat(const struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	return arrival->ack_req && rule->num_ask < 2;
}

/* @first: no packet before it has overtaken the missing one */
static void count_asking(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival,
			 bool first)
{
	if (!arrival->ack_req || arrival->is_read)
		rule->num_ask = 0;
	else if (first)
		rule->num_ask = 1;
	else if (rule->num_ask)
		rule->num_ask = 2;
}

static bool may_ask_again(const struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	return shows_repeat(rule, arrival) && rule->repeats == RHCA_REPEATS_ONE &&
	       rule->naks < RHCA_NAKS_TO_ONE;
}

/**
 * rhca_hold_rule_asks - Note that the expected packet is NAKed
 * @rule: of the connection
 * @expected: the expected PSN
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
 * rhca_hold_rule_waited - The wait for a missing packet is over
 * @rule: of the connection
 * @arrival: no packet, only @now, @num_held and @expected
 *
 * Return: whether to send a NAK.
 */
bool rhca_hold_rule_waited(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	return !rule->nak_sent && arrival->num_held && is_lost(rule, arrival) &&
	       rhca_hold_rule_asks(rule, arrival->expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_waited);

/**
 * rhca_hold_rule_ahead - A packet arrived while an earlier one is missing
 * @rule: of the connection
 * @arrival: the packet; @num_held includes it if it is held
 *
 * If a peer that retransmits one packet and continues requests an ACK, it has not received the NAK,
 * or its retransmission was lost. A refused packet must be sent again in any case.
 *
 * Return: whether to send a NAK.
 */
bool rhca_hold_rule_ahead(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	u32 psn = arrival->psn, end = rhca_psn_add(psn, 1);
	bool first = arrival->num_held <= 1 && !rule->nak_sent && !rule->learns;
	bool lost;

	if (begins_pass(rule, psn, arrival->twice))
		rule->nak_sent = false;
	learn(rule, psn);
	rule->last_psn = psn;
	if (first || rhca_psn_before(rule->end_psn, end))
		rule->end_psn = end;
	count_asking(rule, arrival, first);
	if (first && !arrival->twice)
		rule->reorder->missed_at = 0;
	lost = is_lost(rule, arrival) || arrival->refused;
	if (!rule->nak_sent)
		return lost && rhca_hold_rule_asks(rule, arrival->expected);
	return arrival->num_held && may_ask_again(rule, arrival) &&
	       rhca_hold_rule_asks(rule, arrival->expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_ahead);

/* A peer that goes back N need not set AckReq. After two NAKs the first may have brought it */
static bool is_repeated(const struct rhca_hold_rule *rule,
			const struct rhca_arrival *arrival, bool asked)
{
	return (asked && rule->naks > 1) ||
	       (shows_repeat(rule, arrival) && !arrival->is_read &&
		rule->repeats != RHCA_REPEATS_ALL);
}

/**
 * rhca_hold_rule_filled - The missing packet arrived, and held ones were executed
 * @rule: of the connection
 * @arrival: the packet; @expected and @num_held are current
 *
 * Return: whether to send a NAK, for @expected.
 */
bool rhca_hold_rule_filled(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	u32 psn = arrival->psn;
	bool asked = rule->reorder->asked_psn == psn && rule->nak_sent;
	bool waited = !rule->nak_sent && rule->reorder->missed_at;

	rhca_reorder_filled(rule->reorder, psn, is_repeated(rule, arrival, asked),
			    arrival->now);
	/* A late packet tells nothing about retransmission */
	if (!waited)
		learn(rule, psn);
	rule->last_psn = psn;
	rule->nak_sent = false;
	rule->learns = asked && rhca_psn_before(psn, rhca_psn_sub(rule->end_psn, 1));
	rule->filled_psn = psn;
	if (!arrival->num_held || rule->repeats == RHCA_REPEATS_ALL)
		return false;
	return is_lost(rule, arrival) && rhca_hold_rule_asks(rule, arrival->expected);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_filled);

/*
 * A READ may come twice because it was lost, or its response was. Only if most of the requested
 * ones come twice they are late.
 */
static bool comes_late(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival)
{
	if (arrival->is_read && was_asked(rule->reorder, arrival->psn)) {
		rule->late_reads = min(rule->late_reads + 2, LATE_READS);
		if (rule->late_reads < LATE_READS)
			note_lost(rule->reorder, arrival->psn);
	}
	return rhca_reorder_twice(rule->reorder, arrival->psn);
}

/**
 * rhca_hold_rule_duplicate - A packet arrived that has already been executed
 * @rule: of the connection
 * @arrival: the packet
 *
 * While a packet is missing an acknowledgement adds nothing to the NAK, and would tell a peer that
 * goes back N that its retransmission has arrived. A peer that retransmits one packet, and one that
 * had arrived, has not received the NAK: without it, the peer would assume all held packets lost or
 * dropped. AckReq is always answered: the peer may wait for that before it sends what is missing.
 */
enum rhca_dup_reply rhca_hold_rule_duplicate(struct rhca_hold_rule *rule,
					     const struct rhca_arrival *arrival)
{
	bool pass = begins_pass(rule, arrival->psn, true);

	learn(rule, arrival->psn);
	rule->last_psn = arrival->psn;
	if (comes_late(rule, arrival)) {
		/* What seemed the peer's reaction was the rest of the packets that overtook it */
		rule->repeats = RHCA_REPEATS_UNKNOWN;
		rule->learns = true;
		rule->filled_psn = arrival->psn;
	}
	if (!arrival->num_held)
		return RHCA_DUP_REPLAY;
	if (!is_lost(rule, arrival) || (!pass && !may_ask_again(rule, arrival)))
		return arrival->ack_req ? RHCA_DUP_REPLAY : RHCA_DUP_NOTHING;
	rhca_hold_rule_asks(rule, arrival->expected);
	return RHCA_DUP_NAK;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_hold_rule_duplicate);
