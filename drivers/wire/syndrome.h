/* SPDX-License-Identifier: GPL-2.0 */
/* Codes in the syndrome of an AETH: credits of receive requests, delays of RNR NAKs. */
#ifndef RHCA_WIRE_SYNDROME_H
#define RHCA_WIRE_SYNDROME_H

#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/types.h>

#include "wire/headers.h"

/**
 * rhca_credits - Receive requests of a credit code, 9.7.7.2.1, table 46
 * @code: from 2 on two for each power of two: for that, and for one and a half of it
 */
static inline u32 rhca_credits(u8 code)
{
	return code < 2 ? code : (2 + (code & 1)) << (code / 2 - 1);
}

/**
 * rhca_credit_code - Credit code for a number of posted receive requests
 * @requests: how many are posted
 *
 * Return: the largest code that does not promise more.
 */
static inline u8 rhca_credit_code(u32 requests)
{
	unsigned int log;

	if (requests < 2)
		return requests;
	log = ilog2(requests);
	return min(2 * log + (requests >> (log - 1) & 1), RHCA_CREDIT_INVALID - 1U);
}

/**
 * rhca_rnr_delay_us - Delay requested by an RNR NAK, 9.7.5.2.8, table 45
 * @code: 5 bits from the syndrome
 */
static inline u32 rhca_rnr_delay_us(u8 code)
{
	/* The same steps, of 10 us; 0 means the one after 31 */
	return 10 * rhca_credits(code & 31 ?: 32);
}

#endif
