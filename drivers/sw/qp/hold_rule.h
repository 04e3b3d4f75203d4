/* SPDX-License-Identifier: GPL-2.0 */
/* When a responder that holds what is behind a gap says so. Pure: no packet, lock or QP in it. */
#ifndef RHCA_SW_QP_HOLD_RULE_H
#define RHCA_SW_QP_HOLD_RULE_H

#include <linux/time64.h>
#include <linux/types.h>

/* Half of what can be held: a gap that is real has to be filled before that is used up */
#define RHCA_REORDER_MOST	64
/* A data center has no path that is longer than another by that */
#define RHCA_REORDER_MOST_NS	(10 * NSEC_PER_MSEC)

/*
 * How far packets of a path overtake each other. So long is waited before a packet that is
 * missing counts as lost (RFC 8985, 6.2), if not RHCA_REORDER_MOST have come behind it. What
 * was asked for, and comes twice, had only been late. All times are in ns.
 */
struct rhca_reorder {
	u64 asked[2];	/* bit n: that n before @asked_psn was asked for, and has not come again */
	u64 missed_at;	/* since then something is missing; 0: nothing is, as far as is known */
	/* So long one that was asked for, not sent again, has been missed since one came twice */
	u32 late_ns;
	u32 wait_ns;	/* so long what is missing is waited for; 0: no packet overtakes another */
	u32 asked_psn;	/* the newest that was asked for */
	u32 late_psn;	/* of the newest packet that was late, or where @wait_ns was last lowered */
};

/* A packet is asked for so often: each NAK may cost the peer one of its retries */
#define RHCA_NAKS_MOST		4
/* To a peer that repeats one packet a NAK too many does nothing: for a window of READs */
#define RHCA_NAKS_TO_ONE	16

/* How a peer repeats, as far as it has been seen */
enum rhca_peer_repeats {
	RHCA_REPEATS_UNKNOWN,	/* it has not */
	RHCA_REPEATS_ALL,	/* everything from the missing packet on: it goes back N */
	RHCA_REPEATS_ONE,	/* the missing packet, and then what is new */
};

/* What has arrived, as far as a NAK depends on it */
struct rhca_hold_rule {
	u32 last_psn;	/* of the newest arrival */
	u32 end_psn;	/* behind the furthest one, while something is missing */
	u32 filled_psn;	/* that had been asked for and came, while @learns */
	u8 repeats;	/* what the peer does about a NAK */
	u8 naks;	/* that have asked for what the newest one asked for */
	u8 late_reads;	/* 2 more for a READ asked for that came twice, 1 less for each asked */
	bool nak_sent;	/* what is expected has been asked for */
	bool not_ready;	/* by an RNR NAK: the peer repeats all, and nothing is held */
	bool learns;	/* the next arrival shows what the peer does */
	/* how far packets overtake each other, and what NAKs have asked for */
	struct rhca_reorder *reorder;
};

/* What is said about a request that was executed before */
enum rhca_dup_reply {
	RHCA_DUP_REPLAY,	/* what was said then */
	RHCA_DUP_NAK,		/* that something else is missing */
	RHCA_DUP_NOTHING,	/* nothing, since that has been said */
};

/* A request packet that is not the next one, or fills a gap */
struct rhca_arrival {
	u64 now;	/* time, ns */
	u32 psn;	/* of it */
	u32 expected;	/* what is expected */
	u32 num_held;	/* packets that are held behind that */
	bool ack_req;	/* it asks for an acknowledgement */
	bool is_read;	/* a READ or an atomic, which always asks */
	bool twice;	/* it is held already */
	bool refused;	/* it cannot be held */
};

bool rhca_reorder_lost(struct rhca_reorder *reorder, u32 psn, u32 num_held, u64 now);
void rhca_reorder_asked(struct rhca_reorder *reorder, u32 psn);
void rhca_reorder_begin(struct rhca_reorder *reorder, u32 psn);
bool rhca_reorder_alone(const struct rhca_reorder *reorder, u32 psn);
void rhca_reorder_repeated(struct rhca_reorder *reorder, u32 psn);
void rhca_reorder_watch(struct rhca_reorder *reorder, u32 psn);
void rhca_reorder_answered(struct rhca_reorder *reorder, u32 psn, bool repeated, u64 now);
void rhca_reorder_filled(struct rhca_reorder *reorder, u32 psn, bool repeated, u64 now);
bool rhca_reorder_twice(struct rhca_reorder *reorder, u32 psn);
void rhca_hold_rule_reset(struct rhca_hold_rule *rule);
bool rhca_hold_rule_ahead(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival);
bool rhca_hold_rule_filled(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival);
bool rhca_hold_rule_waited(struct rhca_hold_rule *rule, const struct rhca_arrival *arrival);
enum rhca_dup_reply rhca_hold_rule_duplicate(struct rhca_hold_rule *rule,
					     const struct rhca_arrival *arrival);
bool rhca_hold_rule_asks(struct rhca_hold_rule *rule, u32 expected);

/* When a NAK is due for what is missing; 0: it has been said, or nothing is missing */
static inline u64 rhca_hold_rule_due(const struct rhca_hold_rule *rule)
{
	return rule->nak_sent || !rule->reorder->missed_at ? 0 :
	       rule->reorder->missed_at + rule->reorder->wait_ns;
}

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
