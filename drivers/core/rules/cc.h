/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loss and congestion of a port: what users may set.
 */
#ifndef RHCA_CORE_RULES_CC_H
#define RHCA_CORE_RULES_CC_H

#include <linux/types.h>

/**
 * struct rhca_cc - How a port of the software HCA deals with loss
 * @selective_repeat: hold what comes behind a gap, and repeat only what is missing
 * @adp_retrans: repeat by the measured round trip; only the ACK timeout takes a retry
 */
struct rhca_cc {
	bool selective_repeat;
	bool adp_retrans;
};

#define RHCA_CC_DEFAULT	{ .selective_repeat = true, .adp_retrans = true }

#endif
