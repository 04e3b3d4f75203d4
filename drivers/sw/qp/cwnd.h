/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion window: how many packets of a connection may be in flight. As in RFC 5681 it doubles
 * with each acknowledged window until a loss halves it, then grows by one per window. Pure: no
 * clock, lock or packet in it.
 */
#ifndef RHCA_SW_QP_CWND_H
#define RHCA_SW_QP_CWND_H

#include <linux/types.h>

#include "sw/qp/rtt.h"

/*
 * Maximum in flight: 512 KiB at the largest MTU, the bandwidth-delay product of 40 Gb/s and 100 us,
 * and half of the default backlog of a CPU (net.core.netdev_max_backlog).
 */
#define RHCA_SEND_WINDOW	128

/* Initial window: a quarter of that, as the path is unknown */
#define RHCA_CWND_INITIAL	32

/* Minimum: with 1, a lost acknowledgement would stall the connection */
#define RHCA_CWND_MIN		2

/* Congestion window */
struct rhca_cwnd {
	u16 packets;		/* that may be in flight */
	u16 threshold;		/* from here on it grows by one (ssthresh of RFC 5681) */
	u16 acked;		/* packets acknowledged since it last grew */
	bool recovering;	/* @recover_psn is valid */
	u32 recover_psn;	/* losses before this PSN have been reacted to */
};

/*
 * Is a full queue the cause of a loss, not the wire? Of the first one it is taken for it: in its
 * first slow start the window doubles until a queue overflows.
 */
static inline bool rhca_cwnd_overflows(const struct rhca_cwnd *cwnd, const struct rhca_rtt *rtt)
{
	return cwnd->threshold == RHCA_SEND_WINDOW || rhca_rtt_is_queued(rtt);
}

void rhca_cwnd_reset(struct rhca_cwnd *cwnd);
void rhca_cwnd_acked(struct rhca_cwnd *cwnd, u32 packets, u32 upto);
void rhca_cwnd_lost(struct rhca_cwnd *cwnd, u32 psn, u32 newest_psn);
void rhca_cwnd_timed_out(struct rhca_cwnd *cwnd, u32 newest_psn);

#endif
