// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs about LAGs that come too late.
 */
#include <kunit/test.h>

#include "control/lag.h"
#include "core/device.h"
#include "core/registry.h"
#include "hca.h"
#include "recording_backend.h"

static void remove_device(void *data)
{
	rhca_dev_remove(data);
}

/* Stays until the test ends */
static struct rhca_dev *make_device(struct kunit *test, const char *name,
				    u32 num, struct net_device *second)
{
	struct rhca_dev_spec spec = {
		.name = name, .backend = &recording_backend,
		.netdevs = { test_netdev(test, num) }, .num_ports = 1,
		.second = second,
	};
	struct rhca_dev *dev;

	KUNIT_ASSERT_EQ(test, rhca_dev_create(&spec), 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, remove_device,
							   spec.netdevs[0]));
	dev = rhca_dev_find(spec.netdevs[0]);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	ib_device_put(&dev->ibdev);
	return dev;
}

/* It was to end a LAG: what is there now is none, and can be used as before */
static void end_that_comes_late_freezes_no_table(struct kunit *test)
{
	struct rhca_dev *pair, *plain;
	struct net_device *ndev;

	recording_clear();
	pair = make_device(test, TEST_NAME, 1, test_netdev(test, 2));
	plain = make_device(test, TEST_NAME "_plain", 3, NULL);
	ndev = rhca_port_get_netdev(&plain->ports[0]);
	KUNIT_EXPECT_EQ(test, rhca_lag_part(pair, ndev), 0);
	rhca_lag_flush();
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(ndev));
	KUNIT_EXPECT_EQ(test, 0, rhca_pkeys_store(&plain->ports[0],
						  "1 0x8001"));
	dev_put(ndev);
}

static struct kunit_case lag_job_cases[] = {
	KUNIT_CASE(end_that_comes_late_freezes_no_table),
	{}
};

static struct kunit_suite lag_job_suite = {
	.name = "rhca_control_lag",
	.test_cases = lag_job_cases,
};

kunit_test_suite(lag_job_suite);
