// SPDX-License-Identifier: GPL-2.0
/*
 * What a fence waits for is the copy of one packet, which takes less time than it takes
 * to look whether it has been waited for. A kernel for tests can make it last: smp-churn
 * writes to a file how long. No other kernel has anything of this.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/percpu.h>

#include "sw/verbs/memory/dwell.h"

#if IS_ENABLED(CONFIG_KUNIT)
/* A softirq handles up to 64 packets, and shall not take seconds for them */
#define MOST_US	1000U
#define EACH	8

static DEFINE_PER_CPU(unsigned int, num_uses);
u32 rhca_dwell_us;

/**
 * rhca_dwell_init - Offer the file to write microseconds to
 */
void rhca_dwell_init(void)
{
	debugfs_create_u32("roce_hca_dwell_us", 0600, NULL, &rhca_dwell_us);
}

/**
 * rhca_dwell_exit - Take it back
 */
void rhca_dwell_exit(void)
{
	debugfs_lookup_and_remove("roce_hca_dwell_us", NULL);
}

/* Stay as long as the file says, each eighth time. Any context. */
void rhca_dwell_now(void)
{
	if (!(this_cpu_inc_return(num_uses) % EACH))
		udelay(min(READ_ONCE(rhca_dwell_us), MOST_US));
}
#endif
