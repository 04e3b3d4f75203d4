/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections: code that runs with bottom halves disabled and so delays the CPU's other softirqs (with
 * PREEMPT_RT, those of lower priority). Each has an allowance of packets and bytes that it may
 * send; the rest is left to the next section, in a tasklet.
 */
#ifndef RHCA_SW_VERBS_SECTION_H
#define RHCA_SW_VERBS_SECTION_H

#include <linux/bottom_half.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/types.h>

/*
 * With PREEMPT_RT about ten microseconds, enough for a message of 64 KiB. Without it low latency
 * was not requested, so the limit is 64 packets of any size.
 */
#define RHCA_SECTION_PACKETS		64U
#define RHCA_SECTION_BYTES		(64U << 10)	/* of payload */
#define RHCA_SECTION_COUNTS_BYTES	IS_ENABLED(CONFIG_PREEMPT_RT)

/*
 * A softirq uses the time of the process that it interrupts, or that enables bottom halves, no
 * matter whose packets it sends. Once a CPU has sent so many in a period, which takes about half a
 * millisecond, the rest is left to ksoftirqd, with which the process shares the CPU like with any
 * other thread.
 */
#define RHCA_BORROWED_PACKETS		512U
#define RHCA_BORROW_PERIOD		msecs_to_jiffies(10)

/* Rest of what may be sent */
struct rhca_allowance {
	u32 packets;	/* number of packets */
	u32 bytes;	/* their payload, if RHCA_SECTION_COUNTS_BYTES */
};

#define RHCA_WHOLE_ALLOWANCE \
	((struct rhca_allowance) { RHCA_SECTION_PACKETS, RHCA_SECTION_BYTES })

/* May another packet with @bytes of payload be sent? */
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
 * The current section of a CPU. If threads with bottom halves disabled can preempt each other
 * (PREEMPT_RT without PREEMPT_RT_NEEDS_BH_LOCK), another thread may run here meanwhile, which
 * treats it as absent.
 */
struct rhca_section {
	const struct task_struct *owner;	/* its thread; NULL: no section */
	struct rhca_allowance left;		/* rest of its allowance */
	u64 now;				/* rhca_section_time(); 0: not read yet */
	unsigned long since;		/* begin of the period that @sent is about, jiffies */
	u32 sent;				/* packets of all sections in it */
};

DECLARE_PER_CPU(struct rhca_section, rhca_sections);

/*
 * Without a section a pass through a QP has the whole allowance, as it is a section by itself.
 * Bottom halves off for all of these functions.
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

	if (section->owner == current) {
		rhca_allowance_use(&section->left, packets, bytes);
		section->sent += packets;
	}
}

/*
 * Not kernel threads. Nor processes that precede ksoftirqd: as long as they are busy, it would not
 * run at all, or rarely
 */
static inline bool rhca_is_spared(const struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD) && READ_ONCE(task->prio) >= DEFAULT_PRIO;
}

/* Has this CPU sent as much as it may in the time of a process? */
static inline bool rhca_section_has_borrowed(void)
{
	return this_cpu_read(rhca_sections.sent) >= RHCA_BORROWED_PACKETS;
}

/* May this softirq send more in the time of the process? */
static inline bool rhca_section_may_borrow(void)
{
	return !rhca_section_has_borrowed() || !in_serving_softirq() || !rhca_is_spared(current);
}

/* Run softirqs here: the process has nothing else to do, or posts much itself. Bottom halves on */
static inline void rhca_section_lend(void)
{
	local_bh_disable();
	this_cpu_write(rhca_sections.sent, 0);
	local_bh_enable();
}

/* Begin a section of several passes. Returns false inside a section, which continues */
static inline bool rhca_section_begin(void)
{
	struct rhca_section *section = this_cpu_ptr(&rhca_sections);

	if (section->owner)
		return false;
	/* Unsigned: the CPU may have sent nothing while half of all jiffies passed */
	if (jiffies - section->since >= RHCA_BORROW_PERIOD) {
		section->since = jiffies;
		section->sent = 0;
	}
	section->left = RHCA_WHOLE_ALLOWANCE;
	section->now = 0;
	section->owner = current;
	return true;
}

/* @begun: from rhca_section_begin() */
static inline void rhca_section_end(bool begun)
{
	if (begun)
		this_cpu_ptr(&rhca_sections)->owner = NULL;
}

#endif
