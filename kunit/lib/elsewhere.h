/* SPDX-License-Identifier: GPL-2.0 */
/* A call by another thread, mostly one that waits for what the test does next. */
#ifndef RHCA_KUNIT_LIB_ELSEWHERE_H
#define RHCA_KUNIT_LIB_ELSEWHERE_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/workqueue.h>

struct elsewhere {
	struct work_struct work;	/* makes the call */
	struct kunit *test;		/* the test */
	int (*call)(struct kunit *test, void *arg);	/* returns an error */
	void *arg;			/* its argument */
	int ret;			/* its result */
	struct task_struct *task;	/* the thread, NULL before the call */
	unsigned long switches;		/* context switches of @task before the call */
	struct completion done;		/* it has returned */
};

struct elsewhere *test_elsewhere(struct kunit *test, int (*call)(struct kunit *test, void *arg),
				 void *arg);
struct elsewhere *test_begin(struct elsewhere *e);
bool test_sleeps(struct elsewhere *e);
bool test_waits(struct elsewhere *e);
void test_end(struct elsewhere *e);

#endif
