/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 24-bit serial arithmetic of packet and message sequence numbers, IBTA vol. 1, 9.7.2: of two
 * numbers the one that is less than 2^23 ahead is newer.
 */
#ifndef RHCA_WIRE_PSN_H
#define RHCA_WIRE_PSN_H

#include <linux/types.h>

#include "wire/headers.h"

static inline u32 rhca_psn_add(u32 psn, u32 n)
{
	return (psn + n) & RHCA_PSN_MASK;
}

static inline u32 rhca_psn_sub(u32 psn, u32 n)
{
	return (psn - n) & RHCA_PSN_MASK;
}

/* Distance from b to a, in -2^23 .. 2^23 - 1; negative if a is older */
static inline s32 rhca_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

static inline bool rhca_psn_before(u32 a, u32 b)
{
	return rhca_psn_diff(a, b) < 0;
}

static inline bool rhca_psn_between(u32 psn, u32 first, u32 last)
{
	return rhca_psn_diff(psn, first) >= 0 && rhca_psn_diff(last, psn) >= 0;
}

#endif
