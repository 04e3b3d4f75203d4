// SPDX-License-Identifier: GPL-2.0
/*
 * A device of another driver, which does nothing but being on a netdev, and being asked for
 * netdevs: that is when a netdev's own device has been looked at.
 */
#include <kunit/test.h>
#include <rdma/ib_verbs.h>

#include "lib/other_driver.h"

struct test_other {
	struct ib_device ibdev;
};

static void (*when_asked)(void *data);
static void *when_asked_data;

static int other_query_device(struct ib_device *ibdev,
			      struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	return 0;
}

static int other_query_port(struct ib_device *ibdev, u32 port,
			    struct ib_port_attr *attr)
{
	attr->gid_tbl_len = 1;
	return 0;
}

static int other_port_immutable(struct ib_device *ibdev, u32 port,
				struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_USNIC;
	immutable->gid_tbl_len = 1;
	return 0;
}

static struct net_device *other_get_netdev(struct ib_device *ibdev, u32 port)
{
	void (*at_once)(void *data);

	at_once = xchg(&when_asked, NULL);
	if (at_once)
		at_once(when_asked_data);
	return NULL;
}

static const struct ib_device_ops other_verbs = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_USNIC,

	.get_netdev		= other_get_netdev,
	.get_port_immutable	= other_port_immutable,
	.query_device		= other_query_device,
	.query_port		= other_query_port,
};

static void remove_other(void *data)
{
	struct test_other *other = data;

	ib_unregister_device(&other->ibdev);
	ib_dealloc_device(&other->ibdev);
}

/**
 * test_other_comes - Another driver has a device on a netdev
 * @test: the test, with whose end it goes at the latest
 * @ndev: the netdev
 */
struct test_other *test_other_comes(struct kunit *test, struct net_device *ndev)
{
	struct test_other *other = ib_alloc_device(test_other, ibdev);
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->ibdev.node_type = RDMA_NODE_USNIC_UDP;
	other->ibdev.phys_port_cnt = 1;
	ib_set_device_ops(&other->ibdev, &other_verbs);
	ret = ib_device_set_netdev(&other->ibdev, ndev, 1) ?:
	      ib_register_device(&other->ibdev, "kunit_other", NULL);
	if (ret)
		ib_dealloc_device(&other->ibdev);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, remove_other, other));
	return other;
}

/**
 * test_other_goes - It has it no more
 * @test: the test
 * @other: of test_other_comes()
 */
void test_other_goes(struct kunit *test, struct test_other *other)
{
	kunit_release_action(test, remove_other, other);
}

/**
 * test_other_when_asked - The next time that it is asked for its netdev, which is while
 *	the device of another one is decided on
 * @now: called then, once; may sleep
 * @data: given to it
 */
void test_other_when_asked(void (*now)(void *data), void *data)
{
	when_asked_data = data;
	WRITE_ONCE(when_asked, now);
}
