// SPDX-License-Identifier: GPL-2.0
/*
 * The timing wheel: timers never expire early, expire exactly once, and not after they are stopped.
 * Only this tests the order of timers that are moved, and stopping one that its function restarts.
 * QPs' use of it for probes is tested with recovery and the requester.
 */
#include <linux/bottom_half.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/ktime.h>

#include "lib/packet.h"
#include "sw/verbs/timing_wheel.h"

/* A timer of a test */
struct timed {
	struct rhca_wheel_timer timer;
	spinlock_t lock;	/* held to start it, as the send lock of a QP */
	u64 due;		/* not before this, ns */
	u32 calls;		/* of its function */
	u64 fired_at;		/* last expiry, ns */
	bool early;		/* it has fired before @due */
	u64 again_ns;		/* its function starts it again after so long, if not 0 */
	u32 order;		/* position among the test's timers, from 1 */
	struct completion done;	/* it has fired */
};

static atomic_t num_fired;

static void start_locked(struct timed *t, u64 ns)
{
	u64 now = ktime_get_ns();

	if (!rhca_wheel_is_queued(&t->timer) || now + ns < t->due)
		t->due = now + ns;
	rhca_wheel_start(&t->timer, now, ns);
}

static void start(struct timed *t, u64 ns)
{
	spin_lock_bh(&t->lock);
	start_locked(t, ns);
	spin_unlock_bh(&t->lock);
}

static void fired(struct rhca_wheel_timer *timer)
{
	struct timed *t = container_of(timer, struct timed, timer);

	spin_lock(&t->lock);
	if (!rhca_wheel_is_queued(timer)) {
		t->calls++;
		t->fired_at = ktime_get_ns();
		t->early |= t->fired_at < t->due;
		t->order = atomic_inc_return(&num_fired);
		if (t->again_ns)
			start_locked(t, t->again_ns);
		complete(&t->done);
	}
	spin_unlock(&t->lock);
}

static struct timed *make(struct kunit *test, u32 num)
{
	struct timed *timed = test_alloc(test, num * sizeof(*timed));
	u32 i;

	atomic_set(&num_fired, 0);
	for (i = 0; i < num; i++) {
		timed[i].timer.fired = fired;
		spin_lock_init(&timed[i].lock);
		init_completion(&timed[i].done);
	}
	return timed;
}

static void stop_all(struct timed *timed, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		rhca_wheel_stop(&timed[i].timer);
}

/* The timeout is so long that only a stopped wheel exceeds it */
static bool has_fired(struct timed *t)
{
	return wait_for_completion_timeout(&t->done, 30 * HZ);
}

#define MANY	500

/* Shorter and longer than the wheel's range, and more at one time than one softirq runs */
static void timers_fire_and_never_early(struct kunit *test)
{
	static const u64 waits[] = { 0, 1, 200000, 1000000, 7900000, 8400000, 30000000 };
	struct timed *timed = make(test, MANY);
	u32 i;

	for (i = 0; i < MANY; i++)
		start(&timed[i], i < MANY / 2 ? 3000000 : waits[i % ARRAY_SIZE(waits)]);
	for (i = 0; i < MANY; i++) {
		KUNIT_EXPECT_TRUE(test, has_fired(&timed[i]));
		KUNIT_EXPECT_FALSE(test, timed[i].early);
		KUNIT_EXPECT_EQ(test, timed[i].calls, 1);
		KUNIT_EXPECT_FALSE(test, rhca_wheel_is_queued(&timed[i].timer));
	}
	stop_all(timed, MANY);
}

static void only_an_earlier_start_moves_a_timer(struct kunit *test)
{
	struct timed *timed = make(test, 3);

	local_bh_disable();	/* none fires until all are started */
	start(&timed[0], 60 * NSEC_PER_SEC);
	start(&timed[1], 40 * NSEC_PER_MSEC);
	start(&timed[2], 2 * NSEC_PER_MSEC);
	start(&timed[2], 60 * NSEC_PER_SEC);
	start(&timed[0], NSEC_PER_MSEC);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, has_fired(&timed[1]));
	KUNIT_EXPECT_EQ(test, timed[1].order, 3);
	KUNIT_EXPECT_EQ(test, timed[0].calls, 1);
	KUNIT_EXPECT_EQ(test, timed[2].calls, 1);
	KUNIT_EXPECT_FALSE(test, timed[0].early);
	stop_all(timed, 3);
}

static void stopped_timer_does_not_fire(struct kunit *test)
{
	struct timed *timed = make(test, 3);

	local_bh_disable();
	start(&timed[0], 5 * NSEC_PER_MSEC);
	start(&timed[1], 50 * NSEC_PER_MSEC);
	rhca_wheel_stop(&timed[0].timer);
	local_bh_enable();
	rhca_wheel_stop(&timed[2].timer);	/* never started */
	KUNIT_EXPECT_FALSE(test, rhca_wheel_is_queued(&timed[0].timer));
	KUNIT_EXPECT_TRUE(test, has_fired(&timed[1]));
	KUNIT_EXPECT_EQ(test, timed[0].calls, 0);
	stop_all(timed, 3);
}

static void timer_that_starts_itself_can_be_stopped(struct kunit *test)
{
	struct timed *timed = make(test, MANY);
	u32 i, calls;

	for (i = 0; i < MANY; i++) {
		timed[i].again_ns = 1 + i % 300 * NSEC_PER_USEC;
		start(&timed[i], i % 300 * NSEC_PER_USEC);
	}
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_TRUE(test, has_fired(&timed[i]));
	for (i = 0; i < MANY; i++) {
		rhca_wheel_stop(&timed[i].timer);
		calls = timed[i].calls;
		KUNIT_EXPECT_FALSE(test, rhca_wheel_is_queued(&timed[i].timer));
		if (i % 100 == 0)
			usleep_range(1000, 2000);
		KUNIT_EXPECT_EQ(test, timed[i].calls, calls);
	}
}

/* With few timers it may still fire; with many it does not */
static void timer_that_need_not_fire_does_not(struct kunit *test)
{
	struct timed *timed = make(test, MANY);
	u32 i;

	local_bh_disable();
	for (i = 0; i < MANY; i++)
		start(&timed[i], 60 * NSEC_PER_SEC);
	start(&timed[MANY - 1], 20 * NSEC_PER_MSEC);
	start(&timed[0], 2 * NSEC_PER_MSEC);
	spin_lock(&timed[0].lock);
	rhca_wheel_need_not_fire(&timed[0].timer);
	spin_unlock(&timed[0].lock);
	local_bh_enable();
	KUNIT_EXPECT_FALSE(test, rhca_wheel_is_queued(&timed[0].timer));
	/* Others can still use its slot */
	start(&timed[1], NSEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, has_fired(&timed[1]));
	KUNIT_EXPECT_TRUE(test, has_fired(&timed[MANY - 1]));
	KUNIT_EXPECT_EQ(test, timed[0].calls, 0);
	stop_all(timed, MANY);
}

/* Each expiry is an interrupt, so timers of half a millisecond (2^19 ns) share one at its end */
static void timers_share_an_interrupt(struct kunit *test)
{
	struct timed *timed = make(test, MANY);
	u32 i;

	local_bh_disable();
	for (i = MANY; i-- > 0; )	/* start the longest first */
		start(&timed[i], i < 200 ? i * 30 * NSEC_PER_USEC : 60 * NSEC_PER_SEC);
	local_bh_enable();
	for (i = 0; i < 200; i++) {
		KUNIT_EXPECT_TRUE(test, has_fired(&timed[i]));
		KUNIT_EXPECT_GT(test, timed[i].fired_at >> 19, timed[i].due >> 19);
	}
	stop_all(timed, MANY);
}

/* It keeps its place, but must fire once, at its new time */
static void timer_that_need_not_fire_can_be_started_again(struct kunit *test)
{
	static const u64 waits[] = { NSEC_PER_MSEC, 4 * NSEC_PER_MSEC, 20 * NSEC_PER_MSEC };
	struct timed *timed = make(test, MANY);
	u32 i;

	local_bh_disable();
	for (i = 0; i < MANY; i++)
		start(&timed[i], i < 3 ? 4 * NSEC_PER_MSEC : 60 * NSEC_PER_SEC);
	for (i = 0; i < 3; i++) {
		spin_lock(&timed[i].lock);
		rhca_wheel_need_not_fire(&timed[i].timer);
		start_locked(&timed[i], waits[i]);
		spin_unlock(&timed[i].lock);
	}
	local_bh_enable();
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, has_fired(&timed[i]));
		KUNIT_EXPECT_FALSE(test, timed[i].early);
		KUNIT_EXPECT_EQ(test, timed[i].calls, 1);
	}
	KUNIT_EXPECT_EQ(test, timed[2].order, 3);
	stop_all(timed, MANY);
}

TEST_SUITE(rhca_timing_wheel,
	   KUNIT_CASE(timers_fire_and_never_early),
	   KUNIT_CASE(only_an_earlier_start_moves_a_timer),
	   KUNIT_CASE(stopped_timer_does_not_fire),
	   KUNIT_CASE(timer_that_starts_itself_can_be_stopped),
	   KUNIT_CASE(timers_share_an_interrupt),
	   KUNIT_CASE(timer_that_need_not_fire_does_not),
	   KUNIT_CASE(timer_that_need_not_fire_can_be_started_again));
