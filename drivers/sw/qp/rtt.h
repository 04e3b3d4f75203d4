/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round-trip time of a connection, as RFC 6298 estimates it, in ns. Pure: no clock, lock or
 * packet in it. One packet is timed at a time: it asks for an acknowledgement and is sent for
 * the first time (Karn's rule: of one that was repeated nobody knows which copy is answered).
 */
#ifndef RHCA_SW_QP_RTT_H
#define RHCA_SW_QP_RTT_H

#include <linux/types.h>

#include "wire/psn.h"

/*
 * Later than so many times what repeats take to be answered is late: as 2 round trips and
 * 4 deviations are, for what only a mean is known of. Round trips of what is sent for the
 * first time are longer, by the window before it.
 */
#define RHCA_LATE_ANSWERS	4ULL

/* 9.7.6.1.3 lets the interval be up to four times, 1 << this, what was asked for */
#define RHCA_ACK_TIMEOUT_SHIFT	2

/* Round-trip time of a connection */
struct rhca_rtt {
	u64 sent_at;	/* when @psn was sent, ns; 0: nothing is timed */
	u64 least_at;	/* when @least was measured, ns */
	u32 psn : 24;	/* the packet that is timed */
	u32 skip : 8;	/* so many packets from @psn on are not timed */
	u32 smoothed;	/* SRTT, ns; 0: there has been no sample */
	u32 deviation;	/* RTTVAR, ns */
	u32 least;	/* the least of the last RHCA_RTT_LEAST_NS, ns: the path without queues */
};

/* Routes change: what was the shortest way longer ago does not count */
#define RHCA_RTT_LEAST_NS	(10ULL * 1000000000)

static inline bool rhca_rtt_is_idle(const struct rhca_rtt *rtt)
{
	return !rtt->sent_at;
}

/*
 * Is @psn, which asks for an acknowledgement, to be timed? The clock need be read
 * only then: where packets wait in no queue it is enough to time some.
 */
static inline bool rhca_rtt_is_due(const struct rhca_rtt *rtt, u32 psn)
{
	return rhca_rtt_is_idle(rtt) &&
	       (!rtt->skip || rhca_psn_diff(psn, rtt->psn) >= rtt->skip);
}

static inline void rhca_rtt_begin(struct rhca_rtt *rtt, u32 psn, u64 now)
{
	rtt->psn = psn;
	rtt->sent_at = now;
}

bool rhca_rtt_ends(const struct rhca_rtt *rtt, u32 upto);
void rhca_rtt_end(struct rhca_rtt *rtt, u64 now);
void rhca_rtt_repeat_answered(struct rhca_rtt *rtt, u32 answer_ns);
void rhca_rtt_forget(struct rhca_rtt *rtt, u32 psn);
bool rhca_rtt_is_queued(const struct rhca_rtt *rtt);
u64 rhca_rtt_timeout(const struct rhca_rtt *rtt);
u64 rhca_rtt_ack_ns(const struct rhca_rtt *rtt, u64 asked);
u64 rhca_rtt_probe_ns(const struct rhca_rtt *rtt, bool recovering, u32 answer_ns,
		      u32 tries, u64 most);

#endif
