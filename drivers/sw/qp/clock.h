/* SPDX-License-Identifier: GPL-2.0 */
/* The time by which losses are judged. */
#ifndef RHCA_SW_QP_CLOCK_H
#define RHCA_SW_QP_CLOCK_H

#include <linux/kconfig.h>
#include <linux/timekeeping.h>

#include "sw/verbs/section.h"

#if IS_ENABLED(CONFIG_KUNIT)
/* Tests say how late it is, in ns; 0: it is what it is */
extern u64 rhca_test_now;

static inline u64 rhca_now(void)
{
	u64 now = READ_ONCE(rhca_test_now);

	return now ?: ktime_get_mono_fast_ns();
}
#else
/* Monotonic, in ns; may be read in any context */
static inline u64 rhca_now(void)
{
	return ktime_get_mono_fast_ns();
}
#endif

/*
 * rhca_now() when it was first asked for in the section, some ten microseconds ago at most: for
 * waits that are longer, where many QPs begin one in a section. Bottom halves off.
 */
static inline u64 rhca_section_time(void)
{
	struct rhca_section *section = this_cpu_ptr(&rhca_sections);

	if (section->owner != current)
		return rhca_now();
	if (!section->now)
		section->now = rhca_now();
	return section->now;
}

#endif
