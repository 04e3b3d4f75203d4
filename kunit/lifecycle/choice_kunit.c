// SPDX-License-Identifier: GPL-2.0
/*
 * Hardware before software, and software when the hardware goes: with a backend
 * that only records in the place of hardware.
 */
#include <kunit/test.h>
#include <linux/debug_locks.h>
#include <linux/device.h>
#include <linux/delay.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>
#include <net/devlink.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"
#include "core/offer.h"
#include "core/port/port_pkeys.h"
#include "core/qp/port_qos.h"
#include "core/registry.h"
#include "core/rules/netdev_id.h"
#include "lib/hca.h"
#include "lib/holder.h"
#include "lib/recording_backend.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_act.h"
#include "lifecycle/slot_apply.h"
#include "sw/backend.h"

#define PATIENCE_MS	20000	/* one second is waited for, on a busy machine */
#define STEP_MS		20

/**
 * struct bench - A netdev that hardware may offer to serve
 * @test: the test
 * @parent: the hardware that it is on, or NULL
 * @port: the port of that which it is after the next reload, or NULL
 * @ndev: the netdev
 * @offer: covers it
 * @offered: the offer is in the list
 */
struct bench {
	struct kunit *test;
	struct device *parent;
	struct devlink_port *port;
	struct net_device *ndev;
	struct rhca_offer offer;
	bool offered;
};

static struct net_device *covered;

static bool covers(const struct rhca_offer *offer, const struct net_device *ndev)
{
	return ndev == READ_ONCE(covered);
}

static void add_offer(struct bench *b)
{
	rhca_offer_add(&b->offer);
	b->offered = true;
}

static void withdraw_offer(struct bench *b)
{
	if (b->offered)
		rhca_offer_withdraw(&b->offer);
	b->offered = false;
}

static struct rhca_dev *find(struct bench *b)
{
	struct rhca_dev *dev = rhca_dev_find(b->ndev);

	/* The bench holds the netdev, and nobody else removes the device */
	if (dev)
		ib_device_put(&dev->ibdev);
	return dev;
}

/* Until the netdev has a device by this backend, or none for NULL */
static struct rhca_dev *wait_for(struct bench *b,
				 const struct rhca_backend_ops *backend)
{
	struct rhca_dev *dev;
	int ms;

	for (ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		dev = find(b);
		if (dev ? dev->backend == backend : !backend)
			return dev;
		msleep(STEP_MS);
	}
	KUNIT_FAIL_AND_ABORT(b->test, "%s: no device by %s within %d ms",
			     netdev_name(b->ndev),
			     backend ? backend->name : "nobody", PATIENCE_MS);
	return NULL;
}

static void remove_all(void *data)
{
	struct bench *b = data;

	withdraw_offer(b);
	WRITE_ONCE(covered, NULL);
	test_device_remove(b->ndev);
}

static struct bench *make_bench_on(struct kunit *test, struct device *parent)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	recording_clear();
	b->test = test;
	b->parent = parent;
	b->ndev = test_netdev_of(test, 1, parent, NULL);
	b->offer.backend = &recording_backend;
	b->offer.covers = covers;
	b->offer.able = true;
	WRITE_ONCE(covered, b->ndev);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, remove_all, b));
	return b;
}

static struct bench *make_bench(struct kunit *test)
{
	return make_bench_on(test, NULL);
}

/* On hardware, as it looks to a netdev */
static struct bench *make_hardware_bench(struct kunit *test)
{
	return make_bench_on(test, test_hardware(test));
}

/* "devlink dev reload", of a driver that takes its netdev away first */
static void reload(struct bench *b)
{
	test_netdev_remove(b->test, b->ndev);
	b->ndev = test_netdev_of(b->test, 1, b->parent, b->port);
	WRITE_ONCE(covered, b->ndev);
	if (b->offered)
		rhca_offer_changed(&b->offer, true);
}

/* The last test's device of that name may be held for a moment by who looks at it */
static void make_software(struct bench *b)
{
	struct rhca_dev_spec spec = {
		.name = TEST_NAME, .backend = &rhca_sw_backend,
		.netdevs = { b->ndev }, .num_ports = 1,
	};
	int ms, ret = -ENFILE;

	for (ms = 0; ms < PATIENCE_MS && ret == -ENFILE; ms += STEP_MS) {
		if (ms)
			msleep(STEP_MS);
		ret = rhca_dev_create(&spec);
	}
	KUNIT_ASSERT_EQ(b->test, ret, 0);
}

static void offer_makes_a_device(struct kunit *test)
{
	struct bench *b = make_bench(test);

	add_offer(b);
	wait_for(b, &recording_backend);
	withdraw_offer(b);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
	KUNIT_EXPECT_EQ(test, atomic_read(&b->offer.users), 0);
}

/**
 * struct withdrawal - Of an offer, elsewhere, since it waits
 * @work: withdraws it
 * @offer: the offer
 * @done: it has been withdrawn
 */
struct withdrawal {
	struct work_struct work;
	struct rhca_offer *offer;
	struct completion done;
};

static void withdraw_work(struct work_struct *work)
{
	struct withdrawal *withdrawal = container_of(work, struct withdrawal,
						     work);

	rhca_offer_withdraw(withdrawal->offer);
	complete(&withdrawal->done);
}

static void withdrawal_waits_for_who_has_found_the_offer(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct withdrawal w = { .offer = &b->offer };

	add_offer(b);
	KUNIT_ASSERT_PTR_EQ(test, rhca_offer_find(b->ndev), &b->offer);
	init_completion(&w.done);
	INIT_WORK_ONSTACK(&w.work, withdraw_work);
	queue_work(system_unbound_wq, &w.work);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, completion_done(&w.done));
	rhca_offer_release(&b->offer);
	wait_for_completion(&w.done);
	destroy_work_on_stack(&w.work);
	b->offered = false;
}

/*
 * A withdrawal waits for who has found the offer: for lockdep that is a lock, so that
 * one under which offers are withdrawn is reported where it is taken meanwhile.
 */
static void offer_that_is_found_is_a_lock(struct kunit *test)
{
#ifdef CONFIG_LOCKDEP
	struct bench *b = make_bench(test);
	struct rhca_offer *found;

	if (!debug_locks)
		kunit_skip(test, "lockdep is off after a report");
	add_offer(b);
	found = rhca_offer_find(b->ndev);
	KUNIT_ASSERT_PTR_EQ(test, found, &b->offer);
	KUNIT_EXPECT_TRUE(test, lock_is_held(&b->offer.users_map));
	rhca_offer_release(found);
	KUNIT_EXPECT_FALSE(test, lock_is_held(&b->offer.users_map));
#else
	kunit_skip(test, "no lockdep");
#endif
}

static void offer_that_is_not_able_makes_none(struct kunit *test)
{
	struct bench *b = make_bench(test);

	b->offer.able = false;
	add_offer(b);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
	rhca_offer_changed(&b->offer, true);
	wait_for(b, &recording_backend);
}

static void settings_go_along_there_and_back(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev;

	make_software(b);
	dev = find(b);
	KUNIT_ASSERT_EQ(test, 0, rhca_tclass_store(&dev->ports[0], "104"));
	add_offer(b);
	dev = wait_for(b, &recording_backend);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.tclass->global, 104);
	KUNIT_ASSERT_EQ(test, 0, rhca_tclass_store(&dev->ports[0], "32"));

	withdraw_offer(b);
	dev = wait_for(b, &rhca_sw_backend);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.tclass->global, 32);
}

/* As the user left them, not as they were when hardware took over */
static void settings_outlive_the_netdev_of_hardware(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_dev *dev;

	make_software(b);
	add_offer(b);
	dev = wait_for(b, &recording_backend);
	KUNIT_ASSERT_EQ(test, 0, rhca_tclass_store(&dev->ports[0], "104"));
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	reload(b);
	dev = wait_for(b, &recording_backend);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.tclass->global, 104);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 7);
	/* And they are those of the last device, not of one before it */
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "8"));
	reload(b);
	dev = wait_for(b, &recording_backend);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 8);
}

/* A netdev of software that is made anew is another one, whatever its MAC address */
static void settings_end_with_a_netdev_of_software(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev;

	make_software(b);
	add_offer(b);
	dev = wait_for(b, &recording_backend);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	reload(b);
	dev = wait_for(b, &recording_backend);
	KUNIT_EXPECT_STRNEQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 0);
}

/* "1 0x8001" is in its table */
static void expect_partition(struct kunit *test, struct rhca_port *port)
{
	struct rhca_pkey_table pkeys;

	rhca_pkeys_copy(port, &pkeys);
	KUNIT_EXPECT_TRUE(test, rhca_pkeys_part_tenants(&pkeys));
	KUNIT_EXPECT_EQ(test, pkeys.key[1], 0x8001);
}

static struct rhca_dev *choose_device(struct bench *b)
{
	struct rhca_dev_spec spec = {
		.backend = &rhca_sw_backend,
		.netdevs = { b->ndev }, .num_ports = 1,
	};

	KUNIT_ASSERT_EQ(b->test, 0, rhca_choice_create(&spec));
	return find(b);
}

/* Nor those of a former one: the last one's count, also where they are the default */
static void settings_are_those_of_the_last_device(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_dev *dev;

	make_software(b);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&find(b)->ports[0], "7"));
	reload(b);
	dev = choose_device(b);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 7);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "0"));
	reload(b);
	dev = choose_device(b);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 0);
}

/* The netdev has not found its device, which is not registered yet, to save them */
static void settings_outlive_a_netdev_that_moves_meanwhile(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_dev_spec spec = {
		.backend = &recording_backend,
		.netdevs = { b->ndev }, .num_ports = 1,
	};
	struct rhca_dev *dev;

	make_software(b);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&find(b)->ports[0], "7"));
	KUNIT_ASSERT_EQ(test, 0, rhca_pkeys_store(&find(b)->ports[0], "1 0x8001"));
	reload(b);
	spec.netdevs[0] = b->ndev;
	recording_move_netdevs(true);
	KUNIT_ASSERT_EQ(test, -ENODEV, rhca_choice_create(&spec));
	recording_move_netdevs(false);
	dev = choose_device(b);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 7);
	expect_partition(test, &dev->ports[0]);
}

/* A device of two ports, by software: its first netdev is the bench's */
static void make_two_ports(struct bench *b, const char *name, struct net_device *second)
{
	struct rhca_dev_spec spec = {
		.name = name, .backend = &rhca_sw_backend,
		.netdevs = { b->ndev, second }, .num_ports = 2,
	};

	KUNIT_ASSERT_EQ(b->test, 0, rhca_choice_create(&spec));
}

static void set_both_ports(struct bench *b)
{
	struct rhca_dev *dev = find(b);

	KUNIT_ASSERT_EQ(b->test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	KUNIT_ASSERT_EQ(b->test, 0, rhca_ttl_store(&dev->ports[1], "8"));
	KUNIT_ASSERT_EQ(b->test, 0, rhca_pkeys_store(&dev->ports[1], "1 0x8001"));
}

static void expect_both_ports(struct bench *b, const char *name)
{
	struct rhca_dev *dev = find(b);

	KUNIT_EXPECT_STREQ(b->test, dev_name(&dev->ibdev.dev), name);
	KUNIT_EXPECT_EQ(b->test, dev->ports[0].qos.ttl, 7);
	KUNIT_EXPECT_EQ(b->test, dev->ports[1].qos.ttl, 8);
	expect_partition(b->test, &dev->ports[1]);
}

/* All ports of a device go with one netdev; those whose netdev stays keep theirs, too */
static void settings_of_all_ports_are_kept(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct net_device *second = test_netdev(test, 2);

	make_two_ports(b, TEST_NAME "_two", second);
	set_both_ports(b);
	reload(b);
	make_two_ports(b, NULL, second);
	expect_both_ports(b, TEST_NAME "_two");
}

/* Both are being unregistered when the first one says so */
static void settings_of_ports_that_go_together_are_kept(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct net_device *second = test_netdev_of(test, 2, b->parent, NULL);
	struct rhca_dev *dev;

	make_two_ports(b, TEST_NAME "_both", second);
	set_both_ports(b);
	test_netdevs_remove(test, b->ndev, second);
	b->ndev = test_netdev_of(test, 1, b->parent, NULL);
	make_two_ports(b, NULL, test_netdev_of(test, 2, b->parent, NULL));
	expect_both_ports(b, TEST_NAME "_both");
	/* Its user removes it: other tests have hardware of the same name */
	dev = rhca_dev_find(b->ndev);
	ib_unregister_device_and_put(&dev->ibdev);
}

/* Those of a switch may be on one parent with one address: it is the port that counts */
static void settings_are_those_of_the_port(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct devlink_port *ports = test_alloc(test, 2 * sizeof(*ports));
	struct rhca_dev *dev;

	if (IS_ENABLED(CONFIG_NET_DEVLINK))
		kunit_skip(test, "devlink wants ports of its own");
	ports[1].index = 1;
	b->port = &ports[0];
	reload(b);
	dev = choose_device(b);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	b->port = &ports[1];
	reload(b);
	dev = choose_device(b);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 0);
	b->port = &ports[0];
	reload(b);
	dev = choose_device(b);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 7);
}

static void unregister_radio(void *data)
{
	root_device_unregister(data);
}

/* What software has made, and any user could, has a parent on no bus */
static void settings_end_with_a_simulated_netdev(struct kunit *test)
{
	struct device *parent = root_device_register("kunit_radio");
	struct rhca_dev *dev;
	struct bench *b;

	KUNIT_ASSERT_FALSE(test, IS_ERR(parent));
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test,
							   unregister_radio,
							   parent));
	b = make_bench_on(test, parent);
	dev = choose_device(b);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	reload(b);
	dev = choose_device(b);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 0);
}

/* Return: a software device that has partitions, and hardware is on offer */
static struct rhca_dev *keep_by_partitions(struct kunit *test, struct bench *b)
{
	struct rhca_dev *dev;

	make_software(b);
	dev = find(b);
	KUNIT_ASSERT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0x8001"));
	add_offer(b);
	msleep(10 * STEP_MS);
	KUNIT_ASSERT_PTR_EQ(test, find(b), dev);
	return dev;
}

/* Tenants that are kept apart must not meet because hardware came */
static void port_with_partitions_stays_with_software(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev = keep_by_partitions(test, b);

	KUNIT_EXPECT_PTR_EQ(test, dev->backend, &rhca_sw_backend);
	/* And the table can still be written */
	KUNIT_EXPECT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "2 0x8002"));
}

static void hardware_serves_when_the_partitions_are_the_default_again(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev = keep_by_partitions(test, b);

	KUNIT_ASSERT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0"));
	wait_for(b, &recording_backend);
}

/* Also where nothing was kept before: no hardware has served it */
static void partitions_outlive_the_netdev_of_hardware(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_dev *dev;

	keep_by_partitions(test, b);
	reload(b);
	dev = wait_for(b, &rhca_sw_backend);
	expect_partition(test, &dev->ports[0]);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	/* The new device's can be written, and decide */
	KUNIT_ASSERT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0"));
	wait_for(b, &recording_backend);
}

/* They are those of a device: the next one has none of them, unless it replaces it */
static void settings_end_with_what_the_user_removed(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev_spec spec = {
		.backend = &rhca_sw_backend,
		.netdevs = { b->ndev }, .num_ports = 1,
	};
	struct rhca_dev *dev;

	make_software(b);
	KUNIT_ASSERT_EQ(test, 0, rhca_tclass_store(&find(b)->ports[0], "104"));
	add_offer(b);
	wait_for(b, &recording_backend);
	dev = rhca_dev_find(b->ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	ib_unregister_device_and_put(&dev->ibdev);
	KUNIT_ASSERT_EQ(test, 0, rhca_choice_create(&spec));
	dev = wait_for(b, &recording_backend);
	KUNIT_EXPECT_STRNEQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_NE(test, dev->ports[0].qos.tclass->global, 104);
}

static void nothing_stands_in_where_the_user_removed_it(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev;

	add_offer(b);
	wait_for(b, &recording_backend);
	withdraw_offer(b);
	wait_for(b, &rhca_sw_backend);
	/* As "rdma link del" does */
	dev = rhca_dev_find(b->ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	ib_unregister_device_and_put(&dev->ibdev);
	rtnl_lock();
	dev_close(b->ndev);
	dev_open(b->ndev, NULL);
	rtnl_unlock();
	msleep(1500);	/* longer than a stand-in waits */
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
}

/* ib_core parts a device from its netdev after it has said that it leaves */
static void another_driver_that_leaves_delays_a_standin_once(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_slot_facts f = { .other = RHCA_OTHER_CHANGING };
	unsigned long since = rhca_slot_decided(b->ndev, &f, 7);

	msleep(2 * STEP_MS);
	f.other = RHCA_OTHER_NONE;
	KUNIT_EXPECT_EQ(test, rhca_slot_decided(b->ndev, &f, 16), since);
	KUNIT_EXPECT_EQ(test, rhca_slot_decided(b->ndev, &f, 16), since);
	KUNIT_EXPECT_NE(test, rhca_slot_decided(b->ndev, &f, 17), since);
}

/* What happens to others, however often, does not delay it */
static void kicks_do_not_put_off_a_standin(struct kunit *test)
{
	struct bench *b = make_bench(test);
	int ms;

	add_offer(b);
	wait_for(b, &recording_backend);
	withdraw_offer(b);
	for (ms = 0; ms < PATIENCE_MS && !find(b); ms += STEP_MS) {
		rhca_slot_kick(NULL);
		msleep(STEP_MS);
	}
	KUNIT_EXPECT_NOT_NULL(test, find(b));
}

/* Hardware that fails to come up does not cost the port its device */
static void software_serves_where_hardware_fails(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct recorded got[2];
	struct rhca_dev *dev;
	int ms;

	make_software(b);
	recording_fail(RECORDED_DEV_INIT, -EIO);
	add_offer(b);
	for (ms = 0; ms < PATIENCE_MS; ms += STEP_MS) {
		if (recording_of_call(RECORDED_DEV_INIT, got, 1))
			break;
		msleep(STEP_MS);
	}
	dev = wait_for(b, &rhca_sw_backend);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_NULL(test, dev->offer);
	/* Another netdev is no reason to give it up and to try again */
	rhca_slot_kick(NULL);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_EQ(test, 1, recording_of_call(RECORDED_DEV_INIT, got, 2));
	KUNIT_EXPECT_PTR_EQ(test, dev, wait_for(b, &rhca_sw_backend));
	recording_fail(RECORDED_DEV_INIT, 0);
	rhca_offer_changed(&b->offer, true);
	wait_for(b, &recording_backend);
}

static void what_the_user_removed_does_not_come_back(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev;

	add_offer(b);
	wait_for(b, &recording_backend);
	dev = rhca_dev_find(b->ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	ib_unregister_device_and_put(&dev->ibdev);
	rhca_offer_changed(&b->offer, true);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
	/* Until somebody asks for it */
	make_software(b);
	rhca_offer_changed(&b->offer, true);
	wait_for(b, &recording_backend);
}

/* The device of a LAG is that of its members */
static void members_of_what_the_user_removed_have_none(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev_spec spec = {
		.name = TEST_NAME "_lag", .backend = &rhca_sw_backend,
		.netdevs = { test_netdev(test, 2) }, .num_ports = 1,
		.replaced = {
			.num_devices = 1,
			.device = { { .name = "member", .num_ports = 1 } },
		},
	};
	struct rhca_dev *dev;

	rhca_netdev_note(&spec.replaced.device[0].netdev[0], b->ndev);
	KUNIT_ASSERT_EQ(test, 0, rhca_dev_create(&spec));
	dev = rhca_dev_find(spec.netdevs[0]);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	ib_unregister_device_and_put(&dev->ibdev);
	add_offer(b);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
	/* Until somebody asks for it */
	make_software(b);
	rhca_offer_changed(&b->offer, true);
	wait_for(b, &recording_backend);
}

static void what_the_user_removed_stays_away_after_a_reload(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_dev *dev;

	add_offer(b);
	wait_for(b, &recording_backend);
	dev = rhca_dev_find(b->ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	ib_unregister_device_and_put(&dev->ibdev);
	reload(b);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
	/* Twice, since the second one knows of the first one only what was kept */
	reload(b);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
	make_software(b);
	rhca_offer_changed(&b->offer, true);
	dev = wait_for(b, &recording_backend);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 0);
	reload(b);
	wait_for(b, &recording_backend);
}

/* The device is known by its number when it is back, its netdev is another one by then */
static void netdev_that_is_reset_on_the_way_is_wanted(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	/* Held, so that the next netdev has another address */
	struct device *old = get_device(&b->ndev->dev);
	struct rhca_dev *dev;

	make_software(b);
	dev = rhca_dev_find(b->ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	rhca_slot_device_removed(dev, true);
	reload(b);
	KUNIT_EXPECT_TRUE(test, rhca_slot_is_unwanted(b->ndev));
	rhca_slot_device_added(dev);
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_unwanted(b->ndev));
	ib_device_put(&dev->ibdev);
	put_device(old);
}

/*
 * A netdev that moves to another namespace leaves its device at once, which goes when
 * its last user lets it: what the backend has of the hardware is not used twice.
 */
static void offer_has_one_device_at_a_time(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct net_device *other = test_netdev(test, 2);
	struct recorded *got = test_alloc(test, 2 * sizeof(*got));
	struct rhca_dev *dev;
	unsigned int i;

	add_offer(b);
	wait_for(b, &recording_backend);
	dev = rhca_dev_find(b->ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	rtnl_lock();
	rhca_dev_remove_netdev(b->ndev);
	rtnl_unlock();
	b->ndev = other;
	WRITE_ONCE(covered, other);
	rhca_offer_changed(&b->offer, true);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(other));
	KUNIT_EXPECT_EQ(test, 1, recording_of_call(RECORDED_DEV_INIT, got, 2));
	KUNIT_EXPECT_EQ(test, 0, recording_of_call(RECORDED_DEV_EXIT, got, 2));
	/* The last user tells who chooses, and nobody else does */
	ib_device_put(&dev->ibdev);
	wait_for(b, &recording_backend);
	KUNIT_EXPECT_EQ(test, 1, recording_of_call(RECORDED_DEV_EXIT, got, 2));
	/* Who has made the device is a user as well, for a moment more */
	for (i = 0; i < 100 && atomic_read(&b->offer.users) > 1; i++)
		msleep(STEP_MS);
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&b->offer.users));
}

/* Firmware that speaks one version has no GIDs, and no QP1 traffic, of the other */
static void hardware_speaks_what_it_can(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev;

	recording_limit_gid_types(BIT(IB_GID_TYPE_ROCE_UDP_ENCAP));
	add_offer(b);
	dev = wait_for(b, &recording_backend);
	KUNIT_EXPECT_TRUE(test, rdma_protocol_roce_udp_encap(&dev->ibdev, 1));
	KUNIT_EXPECT_FALSE(test, rdma_protocol_roce_eth_encap(&dev->ibdev, 1));
	withdraw_offer(b);
	wait_for(b, &rhca_sw_backend);
	/* Where it speaks none, software goes on */
	recording_limit_gid_types(0);
	add_offer(b);
	msleep(10 * STEP_MS);
	wait_for(b, &rhca_sw_backend);
}

/* Software serves on where hardware has another netdev for the moment */
static void software_waits_for_a_free_offer(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct net_device *first = b->ndev;
	struct rhca_dev *dev, *held;

	add_offer(b);
	wait_for(b, &recording_backend);
	held = rhca_dev_find(first);
	KUNIT_ASSERT_NOT_NULL(test, held);
	rtnl_lock();
	rhca_dev_remove_netdev(first);
	rtnl_unlock();
	b->ndev = test_netdev(test, 2);
	make_software(b);
	dev = find(b);
	WRITE_ONCE(covered, b->ndev);
	rhca_offer_changed(&b->offer, true);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_PTR_EQ(test, find(b), dev);
	ib_device_put(&held->ibdev);
	wait_for(b, &recording_backend);
}

/* On its way between RDMA namespaces it could not be found; as ib_core leaves the count */
static void hardware_takes_over_from_a_device_that_is_back(struct kunit *test)
{
	struct bench *b = make_bench(test);
	unsigned int references;
	struct rhca_dev *dev;

	make_software(b);
	dev = find(b);
	msleep(10 * STEP_MS);	/* who looks at new devices has done so */
	references = refcount_read(&dev->ibdev.refcount);
	refcount_set(&dev->ibdev.refcount, 0);
	set_bit(RHCA_DEV_UNPLUGGED, &dev->flags);
	add_offer(b);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_NULL(test, find(b));
	refcount_set(&dev->ibdev.refcount, references);
	rhca_dev_plugged(dev);
	wait_for(b, &recording_backend);
}

/* A device of another driver, which does nothing but being on a netdev */
struct other_device {
	struct ib_device ibdev;
};

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

static const struct ib_device_ops other_verbs = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_USNIC,

	.get_port_immutable	= other_port_immutable,
	.query_device		= other_query_device,
	.query_port		= other_query_port,
};

static void remove_other(void *data)
{
	struct other_device *other = data;

	ib_unregister_device(&other->ibdev);
	ib_dealloc_device(&other->ibdev);
}

static struct other_device *make_other(struct bench *b)
{
	struct other_device *other = ib_alloc_device(other_device, ibdev);
	int ret;

	KUNIT_ASSERT_NOT_NULL(b->test, other);
	other->ibdev.node_type = RDMA_NODE_USNIC_UDP;
	other->ibdev.phys_port_cnt = 1;
	ib_set_device_ops(&other->ibdev, &other_verbs);
	ret = ib_device_set_netdev(&other->ibdev, b->ndev, 1) ?:
	      ib_register_device(&other->ibdev, "kunit_other", NULL);
	if (ret)
		ib_dealloc_device(&other->ibdev);
	KUNIT_ASSERT_EQ(b->test, ret, 0);
	KUNIT_ASSERT_EQ(b->test, 0, kunit_add_action_or_reset(b->test,
							      remove_other,
							      other));
	return other;
}

/*
 * It came later than the software device, which works on. Hardware could not serve
 * beside it, so the port would have no device of ours.
 */
static void software_stays_beside_another_driver(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct other_device *other;
	struct rhca_dev *dev;

	make_software(b);
	dev = find(b);
	other = make_other(b);
	add_offer(b);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_PTR_EQ(test, find(b), dev);
	kunit_release_action(test, remove_other, other);
	rhca_offer_changed(&b->offer, true);
	wait_for(b, &recording_backend);
}

/* Who was there first keeps the port to himself */
static void nothing_is_made_beside_another_driver(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct other_device *other = make_other(b);

	add_offer(b);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
	kunit_release_action(test, remove_other, other);
	rhca_offer_changed(&b->offer, true);
	wait_for(b, &recording_backend);
}

/* What the user has set for a port is there whenever a device of ours is */
static void settings_outlive_a_standin_that_gives_way(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct other_device *other;
	struct rhca_dev *dev;

	add_offer(b);
	wait_for(b, &recording_backend);
	withdraw_offer(b);
	dev = wait_for(b, &rhca_sw_backend);
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	KUNIT_ASSERT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0x8001"));
	other = make_other(b);
	wait_for(b, NULL);
	kunit_release_action(test, remove_other, other);
	dev = wait_for(b, &rhca_sw_backend);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 7);
	expect_partition(test, &dev->ports[0]);
}

static struct net_device *covered_too;

static bool covers_too(const struct rhca_offer *offer,
		       const struct net_device *ndev)
{
	return ndev == READ_ONCE(covered_too);
}

static bool is_served_by_hardware(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool is = dev && dev->backend == &recording_backend;

	if (dev)
		ib_device_put(&dev->ibdev);
	return is;
}

static void remove_too(void *data)
{
	struct rhca_offer *offer = data;

	rhca_offer_withdraw(offer);
	test_device_remove(covered_too);
	WRITE_ONCE(covered_too, NULL);
}

/* Hardware offers to serve another netdev, too */
static void offer_too(struct kunit *test, struct net_device *ndev)
{
	struct rhca_offer *too = test_alloc(test, sizeof(*too));

	*too = (struct rhca_offer) {
		.backend = &recording_backend, .covers = covers_too,
		.able = true,
	};
	WRITE_ONCE(covered_too, ndev);
	rhca_offer_add(too);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, remove_too, too));
}

static void expect_served_too(struct kunit *test)
{
	int ms;

	for (ms = 0; ms < PATIENCE_MS && !is_served_by_hardware(covered_too);
	     ms += STEP_MS)
		msleep(STEP_MS);
	KUNIT_EXPECT_TRUE(test, is_served_by_hardware(covered_too));
}

/* Hardware takes over from software that cannot leave; another netdev is served */
static void removal_that_hangs_holds_up_no_other_netdev(struct kunit *test)
{
	struct bench *b = make_bench(test);

	make_software(b);
	test_hold(test, find(b));
	add_offer(b);
	test_hold_begins(test);
	offer_too(test, test_netdev(test, 2));
	expect_served_too(test);
	KUNIT_EXPECT_FALSE(test, is_served_by_hardware(b->ndev));
	test_hold_ends(test);
	wait_for(b, &recording_backend);
}

/* Hardware serves single ports: the other one, when the device goes with its first */
static void port_is_looked_at_when_the_one_beside_it_goes(struct kunit *test)
{
	struct rhca_dev_spec spec = {
		.name = TEST_NAME, .backend = &rhca_sw_backend, .num_ports = 2,
	};

	recording_clear();
	spec.netdevs[0] = test_netdev(test, 1);
	spec.netdevs[1] = test_netdev(test, 2);
	KUNIT_ASSERT_EQ(test, 0, rhca_dev_create(&spec));
	offer_too(test, spec.netdevs[1]);
	rhca_slot_flush();
	KUNIT_EXPECT_FALSE(test, is_served_by_hardware(spec.netdevs[1]));
	test_netdev_remove(test, spec.netdevs[0]);
	expect_served_too(test);
}

/* What was to make way for hardware is back when that has gone meanwhile */
static void software_is_back_when_hardware_has_gone(struct kunit *test)
{
	struct bench *b = make_bench(test);

	make_software(b);
	test_hold(test, find(b));
	add_offer(b);
	test_hold_begins(test);
	withdraw_offer(b);
	test_hold_ends(test);
	KUNIT_EXPECT_STREQ(test, TEST_NAME,
			   dev_name(&wait_for(b, &rhca_sw_backend)->ibdev.dev));
}

/* As rdma_rxe's exit does it; what is set until the end is there again */
static void device_that_was_taken_returns(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev;
	u32 serial;

	make_software(b);
	dev = find(b);
	serial = dev->serial;
	KUNIT_ASSERT_EQ(test, 0, rhca_ttl_store(&dev->ports[0], "7"));
	KUNIT_ASSERT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0x8001"));
	KUNIT_EXPECT_TRUE(test, rhca_slot_device_taken(dev));
	KUNIT_EXPECT_NE(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0"));
	test_device_remove(b->ndev);
	dev = wait_for(b, &rhca_sw_backend);
	KUNIT_EXPECT_NE(test, dev->serial, serial);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), TEST_NAME);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 7);
	expect_partition(test, &dev->ports[0]);
	/* Once */
	test_device_remove(b->ndev);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
}

static void device_that_was_taken_returns_with_all_ports(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev_spec spec = {
		.name = TEST_NAME, .backend = &rhca_sw_backend,
		.netdevs = { b->ndev, test_netdev(test, 2) }, .num_ports = 2,
	};
	struct rhca_dev *dev;

	KUNIT_ASSERT_EQ(test, 0, rhca_dev_create(&spec));
	KUNIT_EXPECT_TRUE(test, rhca_slot_device_taken(find(b)));
	/* Hardware serves one port */
	add_offer(b);
	test_device_remove(b->ndev);
	dev = wait_for(b, &rhca_sw_backend);
	KUNIT_EXPECT_EQ(test, dev->num_ports, 2);
	KUNIT_EXPECT_PTR_EQ(test, dev, rhca_dev_find(spec.netdevs[1]));
	ib_device_put(&dev->ibdev);
}

/* Who asks for one before it is back has it, which is no failure */
static void device_that_returns_comes_after_the_user(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_slot_ports ports = { .num = 1 };

	make_software(b);
	rhca_netdev_note(&ports.netdev[0], b->ndev);
	KUNIT_ASSERT_EQ(test, 0, rhca_slot_set_returns(b->ndev, &ports));
	rhca_slot_bring_back(b->ndev);
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_set(b->ndev, RHCA_SLOT_FAILED));
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(b->ndev));
	rhca_slot_device_added(find(b));
}

/* A LAG's members are to return when it ends, which it may before all have heard of it */
static void device_that_ends_as_it_appears_is_followed(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_slot_ports ports = { .num = 1 };
	struct rhca_dev *dev;

	make_software(b);
	dev = find(b);
	rhca_netdev_note(&ports.netdev[0], b->ndev);
	KUNIT_ASSERT_EQ(test, 0, rhca_slot_set_returns(b->ndev, &ports));
	dev->replaced.num_devices = 1;
	set_bit(RHCA_DEV_REMOVED, &dev->flags);
	rhca_slot_device_added(dev);
	dev->replaced.num_devices = 0;
	KUNIT_EXPECT_TRUE(test, rhca_slot_is_set(b->ndev, RHCA_SLOT_RETURNS));
	/* Of one that stands for no other it has come true */
	rhca_slot_device_added(dev);
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_set(b->ndev, RHCA_SLOT_RETURNS));
	clear_bit(RHCA_DEV_REMOVED, &dev->flags);
}

static void device_that_was_taken_stays_where_it_was(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_dev *dev;

	make_software(b);
	dev = find(b);
	dev->ports[0].net = (const void *)dev;
	KUNIT_EXPECT_FALSE(test, rhca_slot_device_taken(dev));
	test_device_remove(b->ndev);
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(b->ndev));
}

static struct kunit_case choice_cases[] = {
	KUNIT_CASE(offer_makes_a_device),
	KUNIT_CASE(withdrawal_waits_for_who_has_found_the_offer),
	KUNIT_CASE(offer_that_is_found_is_a_lock),
	KUNIT_CASE(offer_that_is_not_able_makes_none),
	KUNIT_CASE(settings_go_along_there_and_back),
	KUNIT_CASE(settings_outlive_the_netdev_of_hardware),
	KUNIT_CASE(settings_end_with_a_netdev_of_software),
	KUNIT_CASE(settings_are_those_of_the_last_device),
	KUNIT_CASE(settings_outlive_a_netdev_that_moves_meanwhile),
	KUNIT_CASE(settings_of_all_ports_are_kept),
	KUNIT_CASE(settings_of_ports_that_go_together_are_kept),
	KUNIT_CASE(settings_are_those_of_the_port),
	KUNIT_CASE(settings_end_with_a_simulated_netdev),
	KUNIT_CASE(port_with_partitions_stays_with_software),
	KUNIT_CASE(hardware_serves_when_the_partitions_are_the_default_again),
	KUNIT_CASE(partitions_outlive_the_netdev_of_hardware),
	KUNIT_CASE(settings_end_with_what_the_user_removed),
	KUNIT_CASE(nothing_stands_in_where_the_user_removed_it),
	KUNIT_CASE(another_driver_that_leaves_delays_a_standin_once),
	KUNIT_CASE(kicks_do_not_put_off_a_standin),
	KUNIT_CASE(software_serves_where_hardware_fails),
	KUNIT_CASE(what_the_user_removed_does_not_come_back),
	KUNIT_CASE(members_of_what_the_user_removed_have_none),
	KUNIT_CASE(what_the_user_removed_stays_away_after_a_reload),
	KUNIT_CASE(netdev_that_is_reset_on_the_way_is_wanted),
	KUNIT_CASE(offer_has_one_device_at_a_time),
	KUNIT_CASE(software_waits_for_a_free_offer),
	KUNIT_CASE(hardware_speaks_what_it_can),
	KUNIT_CASE(hardware_takes_over_from_a_device_that_is_back),
	KUNIT_CASE(software_stays_beside_another_driver),
	KUNIT_CASE(nothing_is_made_beside_another_driver),
	KUNIT_CASE(settings_outlive_a_standin_that_gives_way),
	KUNIT_CASE(removal_that_hangs_holds_up_no_other_netdev),
	KUNIT_CASE(port_is_looked_at_when_the_one_beside_it_goes),
	KUNIT_CASE(software_is_back_when_hardware_has_gone),
	KUNIT_CASE(device_that_was_taken_returns),
	KUNIT_CASE(device_that_was_taken_returns_with_all_ports),
	KUNIT_CASE(device_that_ends_as_it_appears_is_followed),
	KUNIT_CASE(device_that_was_taken_stays_where_it_was),
	KUNIT_CASE(device_that_returns_comes_after_the_user),
	{}
};

TEST_SUITE("rhca_control_choice", choice_cases);
