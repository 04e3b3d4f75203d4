/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Round-trip time of a connection, as RFC 6298 estimates it, in ns. Pure: no clock, lock or packet
 * in it. One packet is timed at a time, with AckReq set and sent for the first time (Karn's rule:
 * after a retransmission it is unknown which copy was answered).
 */
#ifndef RHCA_SW_QP_RTT_H
#define RHCA_SW_QP_RTT_H

#include <linux/types.h>

#include "wire/psn.h"

/*
 * A retransmission's answer is late after this multiple of its mean. Only the mean is known, so
 * this stands for 2 round trips and 4 deviations. First transmissions take longer, by the window
 * queued before them.
 */
#define RHCA_LATE_ANSWERS	4ULL

/* 9.7.6.1.3 allows up to four times, 1 << this, the configured timeout */
#define RHCA_ACK_TIMEOUT_SHIFT	2

/* Round-trip time of a connection */
struct rhca_rtt {
	u64 sent_at;	/* when @psn was sent, ns; 0: none is timed */
	u64 least_at;	/* when @least was measured, ns */
	u32 psn : 24;	/* the timed packet */
	u32 skip : 8;	/* packets from @psn on not to time */
	u32 smoothed;	/* SRTT, ns; 0: no sample yet */
	u32 deviation;	/* RTTVAR, ns */
	u32 least;	/* minimum in RHCA_RTT_MIN_WINDOW_NS, ns: the path without queueing */
};

/* Routes change: older minima do not count */
#define RHCA_RTT_MIN_WINDOW_NS	(10ULL * 1000000000)

static inline bool rhca_rtt_is_idle(const struct rhca_rtt *rtt)
{
	return !rtt->sent_at;
}

/*
 * Should @psn, which has AckReq set, be timed? Saves reading the clock: without queueing it is
 * enough to time some packets.
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
void rhca_rtt_at_least(struct rhca_rtt *rtt, u64 ns);
void rhca_rtt_forget(struct rhca_rtt *rtt, u32 psn);
bool rhca_rtt_is_direct(const struct rhca_rtt *rtt, u64 ns);
bool rhca_rtt_is_queued(const struct rhca_rtt *rtt);
u64 rhca_rtt_timeout(const struct rhca_rtt *rtt);
u64 rhca_rtt_ack_ns(const struct rhca_rtt *rtt, u64 asked);
u64 rhca_rtt_probe_ns(const struct rhca_rtt *rtt, bool recovering, u32 answer_ns,
		      u32 tries, u64 most);

#endif
