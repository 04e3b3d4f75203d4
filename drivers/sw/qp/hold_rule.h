/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a responder that holds what comes behind a gap says that something is missing.
 * State in, decision out: no packet, lock or QP.
 */
#ifndef RHCA_SW_QP_HOLD_RULE_H
#define RHCA_SW_QP_HOLD_RULE_H

#include <linux/types.h>

/* Half of what can be held: a gap that is real has to be filled before that is used up */
#define RHCA_REORDER_MOST	64

/**
 * struct rhca_reorder - How far packets of a path overtake each other
 * @asked: bit n: the packet n before @asked_psn was asked for, and has not come again
 * @asked_psn: the newest that was asked for
 * @late_psn: of the newest packet that was late, or where @extent was last lowered
 * @extent: so many later packets are waited for, 1..RHCA_REORDER_MOST
 *
 * So many later ones are waited for before one that is missing counts as lost (RFC 4653;
 * RFC 8985, 6.2). What was asked for, and comes twice, had only been late.
 */
struct rhca_reorder {
	u64 asked[2];
	u32 asked_psn;
	u32 late_psn;
	u8 extent;
};

/* A packet is asked for so often: each NAK may cost the peer one of its retries */
#define RHCA_NAKS_MOST		4
/* To a peer that repeats one packet a NAK too many does nothing: for a window of READs */
#define RHCA_NAKS_TO_ONE	16

/**
 * enum rhca_peer_repeats - How a peer repeats, as far as it has been seen
 * @RHCA_REPEATS_UNKNOWN: it has not
 * @RHCA_REPEATS_ALL: everything from the missing packet on: it goes back N
 * @RHCA_REPEATS_ONE: the missing packet, and then what is new
 */
enum rhca_peer_repeats {
	RHCA_REPEATS_UNKNOWN,
	RHCA_REPEATS_ALL,
	RHCA_REPEATS_ONE,
};

/**
 * struct rhca_hold_rule - What has arrived, as far as a NAK depends on it
 * @last_psn: of the newest arrival
 * @end_psn: behind the furthest one, while something is missing
 * @filled_psn: that had been asked for and came, while @learns
 * @repeats: what the peer does about a NAK
 * @naks: that have asked for what the newest one asked for
 * @nak_sent: what is expected has been asked for
 * @not_ready: by an RNR NAK: the peer repeats all, and nothing is held
 * @learns: the next arrival shows what the peer does
 * @reorder: how far packets overtake each other, and what NAKs have asked for
 */
struct rhca_hold_rule {
	u32 last_psn;
	u32 end_psn;
	u32 filled_psn;
	u8 repeats;
	u8 naks;
	bool nak_sent;
	bool not_ready;
	bool learns;
	struct rhca_reorder reorder;
};

/**
 * enum rhca_dup_reply - What is said about a request that was executed before
 * @RHCA_DUP_REPLAY: what was said then
 * @RHCA_DUP_NAK: that something else is missing
 * @RHCA_DUP_NOTHING: nothing, since that has been said
 */
enum rhca_dup_reply {
	RHCA_DUP_REPLAY,
	RHCA_DUP_NAK,
	RHCA_DUP_NOTHING,
};

/**
 * struct rhca_duplicate - A packet that has been executed before
 * @psn: of it
 * @expected: what is expected
 * @num_held: packets that are held behind that
 * @ack_req: it asks for an acknowledgement
 */
struct rhca_duplicate {
	u32 psn;
	u32 expected;
	u32 num_held;
	bool ack_req;
};

void rhca_reorder_reset(struct rhca_reorder *reorder);
u32 rhca_reorder_extent(struct rhca_reorder *reorder, u32 psn);
void rhca_reorder_asked(struct rhca_reorder *reorder, u32 psn);
void rhca_reorder_filled(struct rhca_reorder *reorder, u32 psn, bool repeated);
bool rhca_reorder_twice(struct rhca_reorder *reorder, u32 psn);

void rhca_hold_rule_reset(struct rhca_hold_rule *rule);
bool rhca_hold_rule_ahead(struct rhca_hold_rule *rule, u32 psn, u32 expected,
			  u32 num_held, bool twice, bool ack_req);
bool rhca_hold_rule_filled(struct rhca_hold_rule *rule, u32 psn, u32 expected,
			   u32 num_held, bool repeated);
enum rhca_dup_reply rhca_hold_rule_duplicate(struct rhca_hold_rule *rule,
					     const struct rhca_duplicate *dup);
bool rhca_hold_rule_asks(struct rhca_hold_rule *rule, u32 expected);

/* What was to come next did, and nothing is or was missing */
static inline void rhca_hold_rule_in_order(struct rhca_hold_rule *rule, u32 psn)
{
	rule->last_psn = psn;
}

/* Is anything open that rhca_hold_rule_filled() has to hear of? */
static inline bool rhca_hold_rule_open(const struct rhca_hold_rule *rule)
{
	return rule->nak_sent || rule->not_ready || rule->learns;
}

#endif
