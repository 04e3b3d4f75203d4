// SPDX-License-Identifier: GPL-2.0
/*
 * Two faults that a debug kernel finds: two locks taken in both orders, and a write beyond memory.
 * The locks come first: lockdep is off after another report.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

static DEFINE_MUTEX(first_lock);
static DEFINE_MUTEX(second_lock);

static void lock_both(struct mutex *outer, struct mutex *inner)
{
	mutex_lock(outer);
	mutex_lock(inner);
	mutex_unlock(inner);
	mutex_unlock(outer);
}

static int __init wrong_init(void)
{
	char *memory = kmalloc(16, GFP_KERNEL);

	lock_both(&first_lock, &second_lock);
	lock_both(&second_lock, &first_lock);
	if (!memory)
		return -ENOMEM;
	OPTIMIZER_HIDE_VAR(memory);
	memory[16] = 1;
	kfree(memory);
	return 0;
}
module_init(wrong_init);

static void __exit wrong_exit(void)
{
}
module_exit(wrong_exit);

MODULE_DESCRIPTION("Faults for a kernel with checks");
MODULE_LICENSE("GPL");
