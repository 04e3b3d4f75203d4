/* SPDX-License-Identifier: GPL-2.0 */
/* Clock for loss detection. */
#ifndef RHCA_SW_QP_CLOCK_H
#define RHCA_SW_QP_CLOCK_H

#include <linux/kconfig.h>
#include <linux/timekeeping.h>

#include "sw/verbs/section.h"

#if IS_ENABLED(CONFIG_KUNIT)
/* Time set by tests, in ns; 0: the real time */
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
 * rhca_now() as first read in this section, at most some ten microseconds ago: for longer waits, of
 * which many QPs may start one in a section. Bottom halves off.
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
