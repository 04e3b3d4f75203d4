/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections: what runs from where bottom halves are turned off until they may be on again,
 * and keeps the processor's other softirqs waiting (on PREEMPT_RT, those that have a
 * lower priority). Each has an allowance of packets and bytes that it may send; what is
 * beyond that is left to the next one, in a tasklet.
 */
#ifndef RHCA_SW_VERBS_SECTION_H
#define RHCA_SW_VERBS_SECTION_H

#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/types.h>

/*
 * With PREEMPT_RT about ten microseconds, and a message of 64 KiB goes in one. Elsewhere
 * nobody has asked for the latency: there it is 64 packets, whatever their size.
 */
#define RHCA_SECTION_PACKETS		64U
#define RHCA_SECTION_BYTES		(64U << 10)	/* of payload */
#define RHCA_SECTION_COUNTS_BYTES	IS_ENABLED(CONFIG_PREEMPT_RT)

/* What may still be sent */
struct rhca_allowance {
	u32 packets;	/* so many packets */
	u32 bytes;	/* of payload together, where RHCA_SECTION_COUNTS_BYTES */
};

#define RHCA_WHOLE_ALLOWANCE \
	((struct rhca_allowance) { RHCA_SECTION_PACKETS, RHCA_SECTION_BYTES })

/* May another packet with so much payload be sent? */
static inline bool rhca_allows(const struct rhca_allowance *left, u32 bytes)
{
	return left->packets &&
	       (!RHCA_SECTION_COUNTS_BYTES || left->bytes >= bytes);
}

static inline void rhca_allowance_use(struct rhca_allowance *left, u32 packets, u32 bytes)
{
	left->packets -= min(packets, left->packets);
	left->bytes -= min(bytes, left->bytes);
}

/*
 * The section that is under way on a CPU. Where threads with bottom halves off preempt each
 * other (PREEMPT_RT without PREEMPT_RT_NEEDS_BH_LOCK) another one may be here meanwhile, for
 * which it is as if there were none.
 */
struct rhca_section {
	const struct task_struct *owner;	/* whose it is; NULL: there is none */
	struct rhca_allowance left;		/* what it may still send */
	u64 now;				/* rhca_section_time(); 0: nobody has asked */
};

DECLARE_PER_CPU(struct rhca_section, rhca_sections);

/*
 * A pass through a QP has the whole allowance where nobody has begun a section, since it
 * is one by itself. All of these: bottom halves off.
 */
static inline struct rhca_allowance rhca_section_left(void)
{
	const struct rhca_section *section = this_cpu_ptr(&rhca_sections);

	if (section->owner == current)
		return section->left;
	return RHCA_WHOLE_ALLOWANCE;
}

static inline void rhca_section_use(u32 packets, u32 bytes)
{
	struct rhca_section *section = this_cpu_ptr(&rhca_sections);

	if (section->owner == current)
		rhca_allowance_use(&section->left, packets, bytes);
}

/* More than one pass is to follow. Returns false inside of a section, which goes on */
static inline bool rhca_section_begin(void)
{
	struct rhca_section *section = this_cpu_ptr(&rhca_sections);

	if (section->owner)
		return false;
	section->left = RHCA_WHOLE_ALLOWANCE;
	section->now = 0;
	section->owner = current;
	return true;
}

/* @begun: by rhca_section_begin() */
static inline void rhca_section_end(bool begun)
{
	if (begun)
		this_cpu_ptr(&rhca_sections)->owner = NULL;
}

#endif
