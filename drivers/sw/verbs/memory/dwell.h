/* SPDX-License-Identifier: GPL-2.0 */
/* For tests: who uses memory by a peer's key stays with it for a while */
#ifndef RHCA_SW_VERBS_MEMORY_DWELL_H
#define RHCA_SW_VERBS_MEMORY_DWELL_H

#include <linux/kconfig.h>

#if IS_ENABLED(CONFIG_KUNIT)
void rhca_dwell_init(void);
void rhca_dwell_exit(void);
void rhca_dwell(void);
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
