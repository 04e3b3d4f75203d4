// SPDX-License-Identifier: GPL-2.0
/* A client of ib_core that delays the unregistration of a device until the test allows it. */
#include <linux/completion.h>
#include <linux/jiffies.h>

#include "core/device.h"
#include "lib/hca.h"

#define PATIENCE	msecs_to_jiffies(20000)	/* on a busy machine */

static struct ib_device *held;
static DECLARE_COMPLETION(begun);
static DECLARE_COMPLETION(ends);

static int holder_add(struct ib_device *ibdev)
{
	return 0;
}

static void holder_remove(struct ib_device *ibdev, void *data)
{
	if (ibdev != READ_ONCE(held))
		return;
	WRITE_ONCE(held, NULL);
	complete(&begun);
	wait_for_completion(&ends);
}

static struct ib_client holder = {
	.name		= "kunit_holder",
	.add		= holder_add,
	.remove		= holder_remove,
	.no_kverbs_req	= true,
};

static void end_hold(void *unused)
{
	WRITE_ONCE(held, NULL);
	complete_all(&ends);
	ib_unregister_client(&holder);
}

/* Hold a device, one at a time, until test_hold_ends() or the test's end */
void test_hold(struct kunit *test, struct rhca_dev *dev)
{
	reinit_completion(&begun);
	reinit_completion(&ends);
	WRITE_ONCE(held, &dev->ibdev);
	KUNIT_ASSERT_EQ(test, 0, ib_register_client(&holder));
	test_at_end(test, end_hold, NULL);
}

/* Wait until the device is being unregistered */
void test_hold_begins(struct kunit *test)
{
	KUNIT_ASSERT_NE(test, 0UL, wait_for_completion_timeout(&begun, PATIENCE));
}

void test_hold_ends(struct kunit *test)
{
	kunit_release_action(test, end_hold, NULL);
}
