/* SPDX-License-Identifier: GPL-2.0 */
/* Codes in the syndrome of an AETH: credits of receive requests, delays of RNR NAKs. */
#ifndef RHCA_WIRE_SYNDROME_H
#define RHCA_WIRE_SYNDROME_H

#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/types.h>

#include "wire/headers.h"

extern const u32 rhca_credits[RHCA_CREDIT_INVALID];
extern const u32 rhca_rnr_delays_us[32];

/**
 * rhca_credit_code - The credit code for a number of posted receive requests
 * @requests: how many are posted
 *
 * Return: the largest code that does not promise more.
 */
static inline u8 rhca_credit_code(u32 requests)
{
	const u8 most = ARRAY_SIZE(rhca_credits) - 1;
	unsigned int log;

	if (requests < 2)
		return requests;
	/* Two codes for each power of two: it, and one and a half of it */
	log = ilog2(requests);
	return min(2 * log + (requests >> (log - 1) & 1), (unsigned int)most);
}

/**
 * rhca_rnr_delay_us - Delay that an RNR NAK asks for
 * @code: 5 bits from the syndrome
 */
static inline u32 rhca_rnr_delay_us(u8 code)
{
	return rhca_rnr_delays_us[code & 31];
}

#endif
