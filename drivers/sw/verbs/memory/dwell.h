/* SPDX-License-Identifier: GPL-2.0 */
/* For tests: who uses memory by a peer's key stays with it for a while */
#ifndef RHCA_SW_VERBS_MEMORY_DWELL_H
#define RHCA_SW_VERBS_MEMORY_DWELL_H

#include <linux/compiler.h>
#include <linux/kconfig.h>
#include <linux/types.h>

#if IS_ENABLED(CONFIG_KUNIT)
void rhca_dwell_init(void);
void rhca_dwell_exit(void);
void rhca_dwell_now(void);

extern u32 rhca_dwell_us;

static inline void rhca_dwell(void)
{
	if (unlikely(READ_ONCE(rhca_dwell_us)))
		rhca_dwell_now();
}
#else
static inline void rhca_dwell_init(void)
{
}

static inline void rhca_dwell_exit(void)
{
}

static inline void rhca_dwell(void)
{
}
#endif

#endif
