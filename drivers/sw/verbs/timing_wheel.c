// SPDX-License-Identifier: GPL-2.0
/*
 * A timing wheel for each CPU: 64 slots, each of a tick. What fires later than the wheel is
 * long goes round again. One hrtimer for each wheel, only when a slot is filled.
 *
 * A timer is in the wheel of the CPU that starts it. While its function is called it stays
 * with that wheel, so that who stops it knows for what to wait.
 */
#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/percpu.h>
#include <rhca/compat.h>

#include "sw/verbs/section.h"
#include "sw/verbs/timing_wheel.h"

#define TICK_SHIFT	17	/* 131 us: an eighth of what is mostly waited for */
#define SLOTS		BITS_PER_TYPE(u64)
/* From now until the last slot that can be filled: the one that is being emptied is not */
#define MOST_TICKS	(SLOTS - 2)

/*
 * What one softirq may do: 64 functions are called, each of which may send a packet, or 512
 * timers taken out that need not fire
 */
#define BUDGET		512
#define CALL_COSTS	8

/*
 * Of fewer that share the wheel each is started so often that to let it fire, once in a
 * millisecond, costs less than to say for each request that it need not, and to start it again
 */
#define MANY		128

/*
 * Then it fires every half of a millisecond at most. Of many timers one is due at each tick, and
 * each time is an interrupt
 */
#define MANY_TICKS	4

/* The timers of a CPU */
struct rhca_wheel {
	spinlock_t running;		/* held while functions are called */
	spinlock_t lock;		/* protects the rest; inside of @running and QPs' locks */
	u16 id;				/* its CPU's number, from 1 on */
	unsigned int num;		/* timers that are in its lists */
	u64 filled;			/* a bit for each slot that has timers */
	u64 armed;			/* tick at which @timer fires, or IDLE */
	struct hlist_head slot[SLOTS];	/* timers, by tick */
	u64 tick[SLOTS];		/* of the oldest in each slot */
	struct hlist_head due;		/* timers of a slot whose time has come */
	struct hrtimer timer;		/* fires at the next tick with timers */
};

#define IDLE	U64_MAX

static DEFINE_PER_CPU(struct rhca_wheel, wheels);

/* In which a timer is, or was last, or NULL */
static struct rhca_wheel *wheel_of(const struct rhca_wheel_timer *timer)
{
	u16 id = READ_ONCE(timer->wheel);

	return id ? per_cpu_ptr(&wheels, id - 1) : NULL;
}

static void arm(struct rhca_wheel *wheel, u64 tick)
{
	/* What is due already is left to another softirq: one calls all that is before its time */
	u64 at = max(tick << TICK_SHIFT, ktime_get_ns() + 1);

	wheel->armed = tick;
	hrtimer_start(&wheel->timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

/* The first one after its time, so never early. @now: tick */
static u64 tick_for(const struct rhca_wheel *wheel, u64 at, u64 now)
{
	u64 tick = (at >> TICK_SHIFT) + 1;

	if (wheel->num >= MANY)
		tick = round_up(tick, MANY_TICKS);
	return min(tick, now + MOST_TICKS);
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
 * @timer: the timer, set to 0 before it is first used but for its function; one that will
 *	fire earlier than that is left as it is
 * @now: CLOCK_MONOTONIC, in ns
 * @ns: it fires so much later, or up to two ticks after that; where MANY share the wheel
 *	up to MANY_TICKS + 1
 *
 * Context: bottom halves off. Who starts it holds a lock against others who do, which its
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
	else if (!timer->queued)	/* its slot comes before that, and it is put on then */
		timer->at = at;
	WRITE_ONCE(timer->queued, true);
	spin_unlock(&wheel->lock);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_wheel_start);

/**
 * rhca_wheel_need_not_fire - A timer has nothing to do any more
 * @timer: a timer that waits. It may fire all the same
 *
 * Context: as rhca_wheel_start().
 */
void rhca_wheel_need_not_fire(struct rhca_wheel_timer *timer)
{
	struct rhca_wheel *wheel = wheel_of(timer);

	if (READ_ONCE(wheel->num) < MANY)
		return;
	/* Without the lock: who calls functions may be about to call this one's */
	WRITE_ONCE(timer->queued, false);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_wheel_need_not_fire);

/* Its function is not called any more, unless that starts it in another wheel */
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
 * @timer: the timer, which none but its own function starts any more
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

/* Returns the slot with the oldest timers, or SLOTS when there are none */
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

/* What has been sent leaves the rest to another softirq */
static bool has_sent_much(void)
{
	struct rhca_allowance left = rhca_section_left();

	return !rhca_allows(&left, RHCA_SECTION_BYTES / 2);
}

/* Those that are due, up to a budget. Some may have to go round again */
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
	wheel->armed = 0;	/* who starts a timer meanwhile leaves that to the end */
	call_due(wheel, ktime_get_ns());
	arm_for_next(wheel);
	spin_unlock(&wheel->lock);
	spin_unlock(&wheel->running);
	rhca_section_end(begun);
	return HRTIMER_NORESTART;
}

/* Not by an initializer, see rhca_turn_lists_init() */
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

/* No QP exists any more */
void rhca_wheels_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&wheels, cpu)->timer);
}
