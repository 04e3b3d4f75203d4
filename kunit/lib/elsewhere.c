// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/sched.h>

#include "lib/elsewhere.h"
#include "lib/hca.h"
#include "lib/packet.h"

static void make_call(struct work_struct *work)
{
	struct elsewhere *e = container_of(work, struct elsewhere, work);

	e->switches = current->nvcsw;
	WRITE_ONCE(e->task, current);
	e->ret = e->call(e->test, e->arg);
	complete(&e->done);
}

/* Prepare a call */
struct elsewhere *test_elsewhere(struct kunit *test, int (*call)(struct kunit *test, void *arg),
				 void *arg)
{
	struct elsewhere *e = test_alloc(test, sizeof(*e));

	e->test = test;
	e->call = call;
	e->arg = arg;
	init_completion(&e->done);
	INIT_WORK(&e->work, make_call);
	return e;
}

/* In any context. Each call that has begun must be ended by test_end() */
struct elsewhere *test_begin(struct elsewhere *e)
{
	queue_work(system_unbound_wq, &e->work);
	return e;
}

/* It must not spin: with a real-time priority it could keep others off its CPU for ever */
bool test_sleeps(struct elsewhere *e)
{
	struct task_struct *task = READ_ONCE(e->task);

	return task && READ_ONCE(task->nvcsw) > e->switches;
}

/* Expect that it has not returned after a while; if it has, what it waits for may be freed */
bool test_waits(struct elsewhere *e)
{
	bool waits;

	test_becomes(READ_ONCE(e->task));
	msleep(100);
	waits = !completion_done(&e->done);
	KUNIT_EXPECT_TRUE(e->test, waits);
	return waits;
}

/* Expect that it returns, without an error */
void test_end(struct elsewhere *e)
{
	KUNIT_EXPECT_NE(e->test, 0, wait_for_completion_timeout(&e->done, 60 * HZ));
	KUNIT_EXPECT_EQ(e->test, 0, e->ret);
}
