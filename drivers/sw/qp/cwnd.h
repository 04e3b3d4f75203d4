/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Congestion window: how many packets of a connection may be under way. As in RFC 5681 it
 * doubles with each window that arrives until a loss halves it, and grows by one from there.
 * Pure: no clock, lock or packet in it.
 */
#ifndef RHCA_SW_QP_CWND_H
#define RHCA_SW_QP_CWND_H

#include <linux/types.h>

/*
 * In flight at most: 512 KiB at the largest MTU, the bandwidth-delay product of 40 Gb/s and 100
 * us, and half of the default backlog of a CPU (net.core.netdev_max_backlog).
 */
#define RHCA_SEND_WINDOW	128

/* A new connection's: a quarter of that, since nothing is known of its path */
#define RHCA_CWND_INITIAL	32

/* With one packet less an acknowledgement that is lost stops everything */
#define RHCA_CWND_LEAST		2

/* Congestion window */
struct rhca_cwnd {
	u16 packets;		/* that may be in flight */
	u16 threshold;		/* where it begins to grow by one (ssthresh of RFC 5681) */
	u16 acked;		/* packets acknowledged since it has grown */
	bool recovering;	/* @recover_psn says something */
	u32 recover_psn;	/* losses before this PSN belong to one that has been answered */
};

void rhca_cwnd_reset(struct rhca_cwnd *cwnd);
void rhca_cwnd_acked(struct rhca_cwnd *cwnd, u32 packets, u32 upto);
void rhca_cwnd_lost(struct rhca_cwnd *cwnd, u32 psn, u32 newest_psn);
void rhca_cwnd_timed_out(struct rhca_cwnd *cwnd, u32 newest_psn);

#endif
