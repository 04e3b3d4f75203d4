/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rate of a QP: the DCQCN reaction point (Zhu et al., SIGCOMM 2015), in the form and with the
 * parameters of adapters. State in, state out: no lock, packet or QP.
 */
#ifndef RHCA_SW_TX_RATE_H
#define RHCA_SW_TX_RATE_H

#include <linux/math64.h>
#include <linux/types.h>

#include "core/rules/cc.h"

/* kbit/s, if the netdev's speed is unknown: 400 Gbit/s, the fastest available */
#define RHCA_RATE_MAX		400000000U

/* Rate of a QP */
struct rhca_rate {
	u32 rate;	/* now, kbit/s */
	u32 target;	/* that recovery aims at, kbit/s */
	u16 alpha;	/* how congested the path is, of 1024 */
	u8 time_stage;	/* increases by time since the last reduction */
	u8 byte_stage;	/* increases by bytes since then */
	bool marked;	/* a CNP has arrived since @alpha_at */
	bool raised;	/* there was an increase since the last reduction */
	s32 bytes_left;	/* until the next increase by bytes */
	u32 bytes_since;	/* sent since the last increase by time */
	u64 alpha_at;	/* when @alpha was last updated, ns */
	u64 raise_at;	/* when the last increase by time was due, ns */
	u64 cut_at;	/* when the last reduction was, ns */
};

void rhca_rate_begin(struct rhca_rate *rate, const struct rhca_cc *cc,
		     u32 first, u64 now);
void rhca_rate_catch_up(struct rhca_rate *rate, const struct rhca_cc *cc,
			u32 packet, u64 now);
void rhca_rate_sent(struct rhca_rate *rate, const struct rhca_cc *cc, u32 bytes);
bool rhca_rate_cnp(struct rhca_rate *rate, const struct rhca_cc *cc, u32 packet,
		   u32 used, u64 now);

/* Maximum rate of a QP, kbit/s */
static inline u32 rhca_rate_max(const struct rhca_cc *cc)
{
	u64 most = (u64)READ_ONCE(cc->rp_max_rate) * 1000;

	return most && most < RHCA_RATE_MAX ? most : RHCA_RATE_MAX;
}

/* Time to send @bytes, ns */
static inline u64 rhca_rate_time(const struct rhca_rate *rate, u32 bytes)
{
	return div_u64((u64)bytes * 8 * 1000000, rate->rate);
}

#endif
