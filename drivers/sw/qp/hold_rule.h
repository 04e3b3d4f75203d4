/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a responder that holds what comes behind a gap says that something is missing.
 * State in, decision out: no packet, lock or QP.
 */
#ifndef RHCA_SW_QP_HOLD_RULE_H
#define RHCA_SW_QP_HOLD_RULE_H

#include <linux/types.h>

/* A peer is believed to reorder packets by that much at most */
#define RHCA_NAK_AFTER_MOST	64

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
 * @nak_psn: that the newest NAK has asked for
 * @filled_psn: that had been asked for and came, while @learns
 * @in_order: packets that came in order since @nak_after was lowered
 * @nak_after: so many later packets are waited for before one counts as lost
 * @repeats: what the peer does about a NAK
 * @naks: that have asked for @nak_psn
 * @nak_sent: what is expected has been asked for
 * @not_ready: by an RNR NAK: the peer repeats all, and nothing is held
 * @learns: the next arrival shows what the peer does
 * @was_late: what @nak_psn asked for came twice: it had not been lost
 */
struct rhca_hold_rule {
	u32 last_psn;
	u32 end_psn;
	u32 nak_psn;
	u32 filled_psn;
	u16 in_order;
	u8 nak_after;
	u8 repeats;
	u8 naks;
	bool nak_sent;
	bool not_ready;
	bool learns;
	bool was_late;
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
 * @is_read: a READ or an atomic: maybe its response has been lost
 */
struct rhca_duplicate {
	u32 psn;
	u32 expected;
	u32 num_held;
	bool ack_req;
	bool is_read;
};

void rhca_hold_rule_reset(struct rhca_hold_rule *rule);
bool rhca_hold_rule_ahead(struct rhca_hold_rule *rule, u32 psn, u32 expected,
			  u32 num_held, bool twice, bool ack_req);
bool rhca_hold_rule_filled(struct rhca_hold_rule *rule, u32 psn, u32 expected,
			   u32 num_held);
enum rhca_dup_reply rhca_hold_rule_duplicate(struct rhca_hold_rule *rule,
					     const struct rhca_duplicate *dup);
void rhca_hold_rule_lower(struct rhca_hold_rule *rule);
bool rhca_hold_rule_asks(struct rhca_hold_rule *rule, u32 expected);

/* What was to come next did, and nothing is or was missing */
static inline void rhca_hold_rule_in_order(struct rhca_hold_rule *rule, u32 psn)
{
	rule->last_psn = psn;
	if (unlikely(rule->nak_after > 1))
		rhca_hold_rule_lower(rule);
}

/* Is anything open that rhca_hold_rule_filled() has to hear of? */
static inline bool rhca_hold_rule_open(const struct rhca_hold_rule *rule)
{
	return rule->nak_sent || rule->not_ready || rule->learns;
}

#endif
