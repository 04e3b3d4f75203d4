/* SPDX-License-Identifier: GPL-2.0 */
/* When a responder that holds packets after a gap sends NAKs. Pure: no packet, lock or QP in it. */
#ifndef RHCA_SW_QP_HOLD_RULE_H
#define RHCA_SW_QP_HOLD_RULE_H

#include <linux/time64.h>
#include <linux/types.h>

/* Half of what can be held: a real gap must be filled before the rest is used up */
#define RHCA_REORDER_MAX	64
/* Paths in a data center do not differ by more */
#define RHCA_REORDER_MAX_NS	(10 * NSEC_PER_MSEC)

/*
 * How far packets of a path overtake each other. A missing packet counts as lost after this wait
 * (RFC 8985, 6.2), or once RHCA_REORDER_MAX packets have followed. A requested packet that arrives
 * twice was only late. All times are in ns.
 */
struct rhca_reorder {
	u64 asked[2];	/* bit n: @asked_psn - n was requested, and no second copy came */
	u64 missed_at;	/* since when a packet is missing; 0: none, as far as known */
	/* Longest time that a requested, not retransmitted one was missed, since one came twice */
	u32 late_ns;
	u32 wait_ns;	/* wait for a missing packet; 0: packets do not overtake each other */
	u32 asked_psn;	/* the newest one requested */
	u32 late_psn;	/* the newest late one, or where @wait_ns was last reduced */
};

/* NAKs per packet: each may cost the peer one of its retries */
#define RHCA_NAKS_MAX		4
/* The same if the peer retransmits one packet: extra NAKs do no harm, for a window of READs */
#define RHCA_NAKS_TO_ONE	16

/* How a peer has been seen to retransmit */
enum rhca_peer_repeats {
	RHCA_REPEATS_UNKNOWN,	/* not seen yet */
	RHCA_REPEATS_ALL,	/* everything from the missing packet on (go back N) */
	RHCA_REPEATS_ONE,	/* only the missing packet, then new ones */
};

/* State of arrivals that NAKs depend on */
struct rhca_hold_rule {
	u32 last_psn;	/* of the newest arrival */
	u32 end_psn;	/* after the furthest arrival while something is missing */
	u32 filled_psn;	/* requested packet that arrived, while @learns */
	u8 repeats;	/* how the peer reacts to a NAK */
	u8 naks;	/* NAKs sent for the same PSN as the newest */
	u8 late_reads;	/* plus 2 if a requested READ came twice, minus 1 per request */
	bool nak_sent;	/* a NAK was sent for the expected packet */
	bool learns;	/* the next arrival shows how the peer retransmits */
	u8 num_ask;	/* that overtook the missing one, up to 2; 0: not all have AckReq */
	/* reordering, and what NAKs have requested */
	struct rhca_reorder *reorder;
};

/* Reply to a request already executed */
enum rhca_dup_reply {
	RHCA_DUP_REPLAY,	/* the same as before */
	RHCA_DUP_NAK,		/* a NAK for a missing packet */
	RHCA_DUP_NOTHING,	/* nothing: the NAK was already sent */
};

/* A request packet that is not the next one, or fills a gap */
struct rhca_arrival {
	u64 now;	/* time, ns */
	u32 psn;	/* of it */
	u32 expected;	/* what is expected */
	u32 num_held;	/* packets held after that */
	bool ack_req;	/* AckReq is set */
	bool is_read;	/* a READ or an atomic, which always gets an answer */
	bool twice;	/* already held */
	bool refused;	/* it cannot be held */
};

bool rhca_reorder_lost(struct rhca_reorder *reorder, u32 psn, u32 num_held, u64 now);
void rhca_reorder_asked(struct rhca_reorder *reorder, u32 psn);
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

/* When a NAK for the missing packet is due; 0: it was sent, or nothing is missing */
static inline u64 rhca_hold_rule_due(const struct rhca_hold_rule *rule)
{
	return rule->nak_sent || !rule->reorder->missed_at ? 0 :
	       rule->reorder->missed_at + rule->reorder->wait_ns;
}

/* The expected packet arrived, and nothing is or was missing */
static inline void rhca_hold_rule_in_order(struct rhca_hold_rule *rule, u32 psn)
{
	rule->last_psn = psn;
}

/* Must rhca_hold_rule_filled() be called for the next expected packet? */
static inline bool rhca_hold_rule_open(const struct rhca_hold_rule *rule)
{
	return rule->nak_sent || rule->learns;
}

#endif
