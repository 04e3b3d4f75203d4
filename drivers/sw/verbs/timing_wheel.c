// SPDX-License-Identifier: GPL-2.0
/*
 * A timing wheel for each CPU: 64 slots of one tick each. A timer beyond the wheel's range is
 * requeued when its slot is reached. One hrtimer per wheel, armed only while a slot is filled.
 *
 * A timer is in the wheel of the CPU that starts it. While its function runs it stays associated
 * with that wheel, so that rhca_wheel_stop() knows which wheel to wait for.
 */
#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <rhca/compat.h>

#include "sw/verbs/section.h"
#include "sw/verbs/timing_wheel.h"

#define TICK_SHIFT	17	/* 131 us: an eighth of the usual timeout */
#define SLOTS		BITS_PER_TYPE(u64)
/* From now to the last usable slot: the one being emptied is not usable */
#define MAX_TICKS	(SLOTS - 2)

/*
 * Budget of a softirq: 64 calls of functions, each of which may send a packet, or 512 removals of
 * timers that need not fire
 */
#define BUDGET		512
#define CALL_COSTS	8

/*
 * Below this number of timers in the wheel each is started so often that letting it fire once a
 * millisecond costs less than marking it for each request and starting it again
 */
#define MANY		128

/*
 * From MANY timers on fire only every half a millisecond: one of them would be due at each tick,
 * and each firing is an interrupt
 */
#define MANY_TICKS	4

/* The timers of a CPU */
struct rhca_wheel {
	spinlock_t running;		/* held while functions are called */
	spinlock_t lock;	/* protects the rest; nests inside @running and QPs' locks */
	u16 id;				/* its CPU's number + 1 */
	unsigned int num;		/* timers in its lists */
	u64 filled;			/* bitmap of slots that have timers */
	u64 armed;			/* expiry of @timer, in ticks, or IDLE */
	struct hlist_head slot[SLOTS];	/* timers, by tick */
	u64 tick[SLOTS];		/* earliest tick in each slot */
	struct hlist_head due;		/* timers of an expired slot */
	struct hrtimer timer;		/* expires at the next tick with timers */
};

#define IDLE	U64_MAX

static DEFINE_PER_CPU(struct rhca_wheel, wheels);

/* The wheel a timer is in or was last in, or NULL */
static struct rhca_wheel *wheel_of(const struct rhca_wheel_timer *timer)
{
	u16 id = READ_ONCE(timer->wheel);

	return id ? per_cpu_ptr(&wheels, id - 1) : NULL;
}

static void arm(struct rhca_wheel *wheel, u64 tick)
{
	/* Never arm in the past: the current hrtimer softirq would run it again before it ends */
	u64 at = max(tick << TICK_SHIFT, ktime_get_ns() + 1);

	wheel->armed = tick;
	hrtimer_start(&wheel->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_PINNED_SOFT);
}

/* The first tick after @at, so the timer never fires early. @now: tick */
static u64 tick_for(const struct rhca_wheel *wheel, u64 at, u64 now)
{
	u64 tick = (at >> TICK_SHIFT) + 1;

	if (wheel->num >= MANY)
		tick = round_up(tick, MANY_TICKS);
	return min(tick, now + MAX_TICKS);
}

/* @now: tick */
static void put(struct rhca_wheel *wheel, struct rhca_wheel_timer *timer, u64 now)
{
	u64 tick = tick_for(wheel, timer->at, now);
	unsigned int slot = tick % SLOTS;

	lockdep_assert_held(&wheel->lock);
	timer->slot = slot;
	hlist_add_head(&timer->node, &wheel->slot[slot]);
	if (!(wheel->filled & BIT_ULL(slot)) || tick < wheel->tick[slot])
		wheel->tick[slot] = tick;
	wheel->filled |= BIT_ULL(slot);
	if (tick < wheel->armed)
		arm(wheel, tick);
}

static void take_out(struct rhca_wheel *wheel, struct rhca_wheel_timer *timer)
{
	lockdep_assert_held(&wheel->lock);
	hlist_del(&timer->node);
	if (hlist_empty(&wheel->slot[timer->slot]))
		wheel->filled &= ~BIT_ULL(timer->slot);
	WRITE_ONCE(timer->linked, false);
	WRITE_ONCE(timer->queued, false);
	WRITE_ONCE(wheel->num, wheel->num - 1);
}

static void put_in(struct rhca_wheel *wheel, struct rhca_wheel_timer *timer, u64 at,
		   u64 now)
{
	timer->at = at;
	WRITE_ONCE(timer->wheel, wheel->id);
	WRITE_ONCE(timer->linked, true);
	WRITE_ONCE(wheel->num, wheel->num + 1);
	put(wheel, timer, now >> TICK_SHIFT);
}

/**
 * rhca_wheel_start - Start a timer, or let it fire earlier
 * @timer: the timer, zeroed before first use except for its function; unchanged if it fires earlier
 *	anyway
 * @now: CLOCK_MONOTONIC, in ns
 * @ns: delay; it fires up to two ticks later, up to MANY_TICKS + 1 if the wheel has MANY timers
 *
 * Context: bottom halves off. Concurrent callers for a timer are serialized by a lock, which its
 * function may take.
 */
void rhca_wheel_start(struct rhca_wheel_timer *timer, u64 now, u64 ns)
{
	struct rhca_wheel *here = raw_cpu_ptr(&wheels), *wheel = wheel_of(timer) ?: here;
	u64 at = now + ns;

	spin_lock(&wheel->lock);
	if (wheel != here && !timer->linked && !timer->running) {
		spin_unlock(&wheel->lock);
		wheel = here;
		spin_lock(&wheel->lock);
	}
	if (timer->linked && timer->at > at)
		take_out(wheel, timer);
	if (!timer->linked)
		put_in(wheel, timer, at, now);
	else if (!timer->queued)	/* requeued when its slot is reached */
		timer->at = at;
	WRITE_ONCE(timer->queued, true);
	spin_unlock(&wheel->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_wheel_start);

/**
 * rhca_wheel_need_not_fire - Cancel a timer lazily
 * @timer: a pending timer. It may fire nevertheless
 *
 * Context: as rhca_wheel_start().
 */
void rhca_wheel_need_not_fire(struct rhca_wheel_timer *timer)
{
	struct rhca_wheel *wheel = wheel_of(timer);

	if (READ_ONCE(wheel->num) < MANY)
		return;
	/* Without the lock: the wheel may be about to call its function */
	WRITE_ONCE(timer->queued, false);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_wheel_need_not_fire);

/* On return its function is no longer called, unless it was started in another wheel */
static void stop_in(struct rhca_wheel *wheel, struct rhca_wheel_timer *timer)
{
	spin_lock_bh(&wheel->running);
	spin_lock(&wheel->lock);
	if (timer->linked && timer->wheel == wheel->id)
		take_out(wheel, timer);
	spin_unlock(&wheel->lock);
	spin_unlock_bh(&wheel->running);
}

/**
 * rhca_wheel_stop - Stop a timer for good
 * @timer: the timer, which only its own function may still start
 *
 * Context: process; no lock held that functions of timers take.
 */
void rhca_wheel_stop(struct rhca_wheel_timer *timer)
{
	struct rhca_wheel *wheel;

	do {
		wheel = wheel_of(timer);
		if (!wheel)
			return;
		stop_in(wheel, timer);
	} while (READ_ONCE(timer->linked) || READ_ONCE(timer->wheel) != wheel->id);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_wheel_stop);

/* Returns the slot with the earliest timers, or SLOTS if all are empty */
static unsigned int oldest_slot(const struct rhca_wheel *wheel)
{
	unsigned int oldest = SLOTS, slot;
	u64 left;

	for (left = wheel->filled; left; left &= left - 1) {
		slot = __ffs64(left);
		if (oldest == SLOTS || wheel->tick[slot] < wheel->tick[oldest])
			oldest = slot;
	}
	return oldest;
}

/* Returns whether one was due */
static bool take_slot(struct rhca_wheel *wheel, u64 now)
{
	unsigned int slot = oldest_slot(wheel);

	if (slot == SLOTS || wheel->tick[slot] > now)
		return false;
	wheel->filled &= ~BIT_ULL(slot);
	hlist_move_list(&wheel->slot[slot], &wheel->due);
	return true;
}

static void call(struct rhca_wheel *wheel, struct rhca_wheel_timer *timer)
{
	take_out(wheel, timer);
	timer->running = true;
	spin_unlock(&wheel->lock);
	timer->fired(timer);
	spin_lock(&wheel->lock);
	timer->running = false;
}

/* If much was sent, leave the rest to another softirq */
static bool has_sent_much(void)
{
	struct rhca_allowance left = rhca_section_left();

	return !rhca_allows(&left, RHCA_SECTION_BYTES / 2);
}

/* Call expired timers, up to a budget. Requeues those that are not due yet */
static void call_due(struct rhca_wheel *wheel, u64 now_ns)
{
	u64 now = now_ns >> TICK_SHIFT;
	struct rhca_wheel_timer *timer;
	int budget = BUDGET;

	while (budget > 0 && !has_sent_much()) {
		if (hlist_empty(&wheel->due)) {
			if (!take_slot(wheel, now))
				return;
			continue;
		}
		timer = hlist_entry(wheel->due.first, struct rhca_wheel_timer, node);
		if (!READ_ONCE(timer->queued)) {
			take_out(wheel, timer);
		} else if (timer->at > now_ns) {
			hlist_del(&timer->node);
			put(wheel, timer, now);
		} else {
			call(wheel, timer);
			budget -= CALL_COSTS - 1;
		}
		budget--;
	}
}

static void arm_for_next(struct rhca_wheel *wheel)
{
	unsigned int slot = oldest_slot(wheel);

	if (!hlist_empty(&wheel->due))
		arm(wheel, 0);
	else if (slot != SLOTS)
		arm(wheel, wheel->tick[slot]);
	else
		wheel->armed = IDLE;
}

static enum hrtimer_restart wheel_fired(struct hrtimer *hrtimer)
{
	struct rhca_wheel *wheel = container_of(hrtimer, struct rhca_wheel, timer);
	bool begun = rhca_section_begin();

	spin_lock(&wheel->running);
	spin_lock(&wheel->lock);
	wheel->armed = 0;	/* timers started meanwhile are armed below */
	call_due(wheel, ktime_get_ns());
	arm_for_next(wheel);
	spin_unlock(&wheel->lock);
	spin_unlock(&wheel->running);
	rhca_section_end(begun);
	return HRTIMER_NORESTART;
}

/* No initializer, see rhca_turn_lists_init() */
void rhca_wheels_init(void)
{
	struct rhca_wheel *wheel;
	int cpu;

	for_each_possible_cpu(cpu) {
		wheel = per_cpu_ptr(&wheels, cpu);
		spin_lock_init(&wheel->running);
		spin_lock_init(&wheel->lock);
		wheel->id = cpu + 1;
		wheel->armed = IDLE;
		rhca_hrtimer_setup(&wheel->timer, wheel_fired);
	}
}

/* After the last QP is gone */
void rhca_wheels_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&wheels, cpu)->timer);
}
