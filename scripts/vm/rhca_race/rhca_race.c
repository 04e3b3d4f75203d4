// SPDX-License-Identifier: GPL-2.0
/*
 * A data race for scripts/check/kcsan.sh: while it is loaded, one thread adds to a number and
 * another one reads it; with "marked=1" both mark their accesses.
 */
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>

static bool marked;
module_param(marked, bool, 0444);
MODULE_PARM_DESC(marked, "Both accesses are marked: no race is reported");

static struct task_struct *writer, *reader;
static unsigned long number, seen;

static noinline void rhca_race_write(void)
{
	if (marked)
		WRITE_ONCE(number, READ_ONCE(number) + 1);
	else
		number++;
}

static noinline void rhca_race_read(void)
{
	if (marked)
		seen += READ_ONCE(number);
	else
		seen += number;
}

static int run(void *access)
{
	void (*once)(void) = access;

	while (!kthread_should_stop()) {
		once();
		cond_resched();
	}
	return 0;
}

static int __init rhca_race_init(void)
{
	writer = kthread_run(run, rhca_race_write, "rhca_race_write");
	if (IS_ERR(writer))
		return PTR_ERR(writer);
	reader = kthread_run(run, rhca_race_read, "rhca_race_read");
	if (IS_ERR(reader)) {
		kthread_stop(writer);
		return PTR_ERR(reader);
	}
	return 0;
}

static void __exit rhca_race_exit(void)
{
	kthread_stop(reader);
	kthread_stop(writer);
}

module_init(rhca_race_init);
module_exit(rhca_race_exit);
MODULE_DESCRIPTION("A data race that is to be found");
MODULE_LICENSE("GPL");
