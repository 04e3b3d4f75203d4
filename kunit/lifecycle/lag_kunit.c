// SPDX-License-Identifier: GPL-2.0
/* Jobs about LAGs that come too late, and files about LAGs where hardware decides. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/device.h>

#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "core/rules/netdev_id.h"
#include "lib/hca.h"
#include "lib/recording_backend.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_act.h"
#include "lifecycle/slot_apply.h"
#include "lifecycle/slot_events.h"
#include "lifecycle/lag.h"
#include "control/sysfs.h"
#include "sw/backend.h"

/* Within which members' devices would be made again */
#define COMES_BACK_MS	1000

static void remove_device(void *data)
{
	test_device_remove(data);
}

/* Stays until the test ends */
static struct rhca_dev *make_device(struct kunit *test, const char *name,
				    u32 num, struct net_device *second,
				    struct rhca_offer *offer)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, test_netdev(test, num));
	struct rhca_dev *dev;

	spec.name = name;
	spec.second = second;
	spec.offer = offer;
	KUNIT_ASSERT_EQ(test, rhca_dev_create(&spec), 0);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, remove_device,
							   spec.netdevs[0]));
	dev = test_device_of(spec.netdevs[0]);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	return dev;
}

/* It was to end a LAG: what is there now is none, and can be used as before */
static void end_that_comes_late_freezes_no_table(struct kunit *test)
{
	struct rhca_dev *pair, *plain;
	struct net_device *ndev;

	recording_clear();
	pair = make_device(test, TEST_NAME, 1, test_netdev(test, 2), NULL);
	plain = make_device(test, TEST_NAME "_plain", 3, NULL, NULL);
	ndev = rhca_port_get_netdev(&plain->ports[0]);
	KUNIT_EXPECT_EQ(test, rhca_lag_part(pair, ndev), 0);
	rhca_slot_flush();
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(ndev));
	KUNIT_EXPECT_EQ(test, 0, rhca_pkeys_store(&plain->ports[0], "1 0x8001"));
	dev_put(ndev);
}

static struct device_attribute *find_file(struct kunit *test, const char *name)
{
	struct attribute **file = rhca_lag_files.attrs;

	while (*file && strcmp((*file)->name, name))
		file++;
	KUNIT_ASSERT_NOT_NULL(test, *file);
	return container_of(*file, struct device_attribute, attr);
}

static ssize_t write_file(struct kunit *test, struct rhca_dev *dev,
			  const char *name, const char *words)
{
	struct device_attribute *file = find_file(test, name);

	return file->store(&dev->ibdev.dev, file, words, strlen(words));
}

static void expect_file(struct kunit *test, struct rhca_dev *dev,
			const char *name, const char *words)
{
	struct device_attribute *file = find_file(test, name);
	char *page = test_alloc(test, PAGE_SIZE);

	file->show(&dev->ibdev.dev, file, page);
	KUNIT_EXPECT_STREQ(test, page, words);
}

/* An adapter makes one device of its bonded ports, or none, by itself */
static void files_are_refused_where_hardware_decides(struct kunit *test)
{
	struct rhca_offer *offer = test_alloc(test, sizeof(*offer));
	struct net_device *other = test_netdev(test, 2);
	struct net_device *ndev;
	struct rhca_dev *dev;

	recording_clear();
	offer->backend = &recording_backend;
	offer->decides_lag = true;
	dev = make_device(test, TEST_NAME, 1, NULL, offer);
	ndev = rhca_port_get_netdev(&dev->ports[0]);
	dev_put(ndev);		/* stays until the test ends */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			write_file(test, dev, "roce_lag_enable", "0"));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			write_file(test, dev, "roce_lag_enable", "1"));
	expect_file(test, dev, "roce_lag_enable", "1\n");
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			write_file(test, dev, "roce_lag_ecmp_dev", other->name));
	rhca_slot_flush();
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(ndev));
	expect_file(test, dev, "roce_lag_ecmp_dev", "\n");

	/* And where it does not, they are taken */
	offer->decides_lag = false;
	KUNIT_EXPECT_EQ(test, 1, write_file(test, dev, "roce_lag_enable", "0"));
	expect_file(test, dev, "roce_lag_enable", "0\n");
	KUNIT_EXPECT_EQ(test, 1, write_file(test, dev, "roce_lag_enable", "1"));
	expect_file(test, dev, "roce_lag_enable", "1\n");
	KUNIT_EXPECT_EQ(test, -EINVAL,
			write_file(test, dev, "roce_lag_ecmp_dev", ndev->name));
}

/* --- members that are reset ------------------------------------------------------ */

/* A device made as a user or a rule of netdevs= makes it */
static struct rhca_dev *choose_device(struct kunit *test, const char *name,
				      struct net_device *ndev)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&rhca_sw_backend, ndev);
	struct rhca_dev *dev;

	spec.name = name;
	KUNIT_ASSERT_EQ(test, 0, rhca_choice_create(&spec));
	dev = test_device_of(ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	return dev;
}

static void expect_member(struct kunit *test, const struct rhca_dev *dev,
			  const char *name)
{
	struct rhca_pkey_table pkeys;

	rhca_pkeys_copy((struct rhca_port *)&dev->ports[0], &pkeys);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), name);
	KUNIT_EXPECT_EQ(test, pkeys.key[1], 0x8001);
	KUNIT_EXPECT_EQ(test, dev->ports[0].cc.enable, 1);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.tclass.global, RHCA_TCLASS_OFF);
}

/*
 * The LAG on a netdev, as soon as there is one, and its clients have heard of it: it can
 * be found before, but nobody removes it then. The caller puts it
 */
static struct rhca_dev *find_lag(struct kunit *test, const struct net_device *ndev)
{
	struct rhca_dev *dev;

	KUNIT_ASSERT_TRUE(test, test_becomes((dev = test_device_of(ndev)) &&
					     dev->replaced.num_devices));
	rhca_slot_flush();
	return rhca_dev_find(ndev);
}

/* The device on the first netdev, and one on the second if there is, become one */
static struct rhca_dev *join_device(struct kunit *test, struct rhca_dev *dev,
				    const struct net_device *second)
{
	KUNIT_EXPECT_EQ(test, strlen(second->name),
			write_file(test, dev, "roce_lag_ecmp_dev", second->name));
	return find_lag(test, second);
}

/* Two devices become one. The caller puts it */
static struct rhca_dev *join(struct kunit *test, struct net_device *ndev[])
{
	struct rhca_dev *dev;

	choose_device(test, TEST_NAME "_b", ndev[1]);
	dev = choose_device(test, TEST_NAME "_a", ndev[0]);
	dev = join_device(test, dev, ndev[1]);
	KUNIT_EXPECT_EQ(test, dev->replaced.num_devices, 2);
	return dev;
}

/* A LAG whose netdevs go, number @first as the first one, before a device is back */
static void reset_members(struct kunit *test, u32 first)
{
	struct device *parent = test_hardware(test);
	struct net_device *ndev[2];
	struct rhca_dev *dev;
	u32 i;

	for (i = 0; i < 2; i++)
		ndev[i] = test_netdev_of(test, i + 1, parent, NULL);
	dev = join(test, ndev);
	KUNIT_EXPECT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0x8001"));
	ib_device_put(&dev->ibdev);

	test_netdev_remove(test, ndev[first]);
	test_netdev_remove(test, ndev[!first]);
	for (i = 0; i < 2; i++)
		ndev[i] = test_netdev_of(test, i + 1, parent, NULL);
	expect_member(test, choose_device(test, NULL, ndev[0]), TEST_NAME "_a");
	expect_member(test, choose_device(test, NULL, ndev[1]), TEST_NAME "_b");
	for (i = 0; i < 2; i++) {
		test_device_remove(ndev[i]);
		test_netdev_remove(test, ndev[i]);
	}
}

/* The LAG, whose reference is put here, begins to end */
static void part(struct kunit *test, struct rhca_dev *lag, struct net_device *ndev)
{
	KUNIT_EXPECT_EQ(test, 0, rhca_lag_part(lag, ndev));
	ib_device_put(&lag->ibdev);
}

/* Tenants stay apart whichever of the netdevs goes first */
static void members_that_are_reset_keep_their_partitions(struct kunit *test)
{
	reset_members(test, 0);
	reset_members(test, 1);
}

/* Of its own: none that stands for others. Returns NULL if there is none in time */
static struct rhca_dev *wait_for_own(const struct net_device *ndev)
{
	struct rhca_dev *dev;

	return test_becomes((dev = test_device_of(ndev)) && !dev->replaced.num_devices) ?
	       dev : NULL;
}

static void expect_own(struct kunit *test, struct net_device *ndev[])
{
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_NOT_NULL(test, wait_for_own(ndev[i]));
		test_device_remove(ndev[i]);
	}
}

/* The LAG is parted: under their names, with its partitions, once */
static void expect_members_return(struct kunit *test, struct rhca_dev *lag,
				  struct net_device *ndev[])
{
	static const char *const name[] = { TEST_NAME "_a", TEST_NAME "_b" };
	struct rhca_dev *dev;
	u32 i;

	part(test, lag, ndev[0]);
	for (i = 0; i < ARRAY_SIZE(name); i++) {
		dev = wait_for_own(ndev[i]);
		KUNIT_EXPECT_NOT_NULL(test, dev);
		if (dev)
			expect_member(test, dev, name[i]);
		test_device_remove(ndev[i]);
	}
	msleep(200);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(ndev[0]));
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(ndev[1]));
}

static void members_return_when_their_lag_ends(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct rhca_dev *dev = join(test, ndev);

	KUNIT_EXPECT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0x8001"));
	expect_members_return(test, dev, ndev);
}

/* One that its users hold is waited for by its members alone, and by no LAG that begins */
static void lag_that_cannot_end_holds_up_no_other(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct net_device *others[] = { test_netdev(test, 3), test_netdev(test, 4) };
	struct rhca_dev *dev = join(test, ndev);

	test_hold(test, dev);
	part(test, dev, ndev[0]);
	test_hold_begins(test);
	choose_device(test, TEST_NAME "_d", others[1]);
	dev = choose_device(test, TEST_NAME "_c", others[0]);
	dev = join_device(test, dev, others[1]);
	KUNIT_EXPECT_EQ(test, dev->replaced.num_devices, 2);
	KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(dev->ports[0].second), others[1]);
	rhca_slot_device_removed(dev, true);
	ib_device_put(&dev->ibdev);
	test_device_remove(others[0]);
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(ndev[0]));
	test_hold_ends(test);
	expect_own(test, ndev);
}

/* The pair was in its way, and none returns to the netdev: it had no device before */
static void rule_that_missed_a_pair_is_due_when_that_ends(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct rhca_dev *dev = choose_device(test, TEST_NAME "_a", ndev[0]);

	dev = join_device(test, dev, ndev[1]);
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set(ndev[1], RHCA_SLOT_RULE_MISSED, true));
	test_hold(test, dev);
	part(test, dev, ndev[0]);
	test_hold_begins(test);
	rhca_slot_flush();
	KUNIT_EXPECT_TRUE(test, test_becomes(rhca_slot_is_set(ndev[1], RHCA_SLOT_RULE_DUE)));
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_set(ndev[1], RHCA_SLOT_RULE_MISSED));
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(ndev[1]));
	test_hold_ends(test);
	KUNIT_EXPECT_NOT_NULL(test, wait_for_own(ndev[0]));
	/* None names it, so that it comes to nothing */
	KUNIT_EXPECT_TRUE(test, test_becomes(!rhca_slot_is_set(ndev[1], RHCA_SLOT_RULE_DUE)));
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(ndev[1]));
	test_device_remove(ndev[0]);
}

/* There has not been a LAG of it */
static void rule_that_missed_a_pair_is_due_when_that_is_given_up(struct kunit *test)
{
	struct net_device *first = test_netdev(test, 1), *second = test_netdev(test, 2);

	/* First: who looks at the two before they are parted gives the pair up, too */
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set(second, RHCA_SLOT_RULE_MISSED, true));
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(first, second));
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(first, NULL));
	/* And until it has been looked at, which it may have been */
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_set(second, RHCA_SLOT_RULE_MISSED));
	rhca_slot_kick(NULL);
	KUNIT_EXPECT_TRUE(test, test_becomes(!rhca_slot_is_set(second, RHCA_SLOT_RULE_DUE)));
}

/* Likewise, since its first netdev goes, or has a device that stands for no other */
static void rule_that_missed_a_pair_is_due_when_that_comes_to_nothing(struct kunit *test)
{
	struct net_device *gone = test_netdev(test, 1), *own = test_netdev(test, 2);
	struct net_device *second[] = { test_netdev(test, 3), test_netdev(test, 4) };
	u32 i;

	rhca_slot_flush();
	for (i = 0; i < ARRAY_SIZE(second); i++)
		KUNIT_EXPECT_EQ(test, 0, rhca_slot_set(second[i], RHCA_SLOT_RULE_MISSED, true));
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(gone, second[0]));
	test_netdev_remove(test, gone);
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_set(second[0], RHCA_SLOT_RULE_MISSED));
	rhca_slot_flush();
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(own, second[1]));
	choose_device(test, NULL, own);
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_set(second[1], RHCA_SLOT_RULE_MISSED));
	for (i = 0; i < ARRAY_SIZE(second); i++)
		KUNIT_EXPECT_TRUE(test, test_becomes(!rhca_slot_is_set(second[i],
								       RHCA_SLOT_RULE_DUE)));
	test_device_remove(own);
}

/* One of its own that has followed another one, and is not to be followed itself */
static bool has_returned(const struct net_device *ndev, u32 old)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool is;

	if (!dev)
		return false;
	is = dev->serial != old && !dev->replaced.num_devices &&
	     !rhca_slot_is_set(ndev, RHCA_SLOT_RETURNS);
	ib_device_put(&dev->ibdev);
	return is;
}

/* While the members' devices make room for it: they return, and are two */
static void pair_is_given_up_before_it_has_a_device(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	u32 i, serial[ARRAY_SIZE(ndev)];
	struct rhca_dev *dev;

	serial[1] = choose_device(test, TEST_NAME "_b", ndev[1])->serial;
	dev = choose_device(test, TEST_NAME "_a", ndev[0]);
	serial[0] = dev->serial;
	test_hold(test, dev);
	KUNIT_EXPECT_EQ(test, strlen(ndev[1]->name),
			write_file(test, dev, "roce_lag_ecmp_dev", ndev[1]->name));
	test_hold_begins(test);
	KUNIT_EXPECT_EQ(test, 1, write_file(test, dev, "roce_lag_ecmp_dev", "\n"));
	test_hold_ends(test);
	for (i = 0; i < ARRAY_SIZE(ndev); i++)
		KUNIT_EXPECT_TRUE(test, test_becomes(has_returned(ndev[i], serial[i])));
	rhca_slot_flush();
	for (i = 0; i < ARRAY_SIZE(ndev); i++)
		test_device_remove(ndev[i]);
}

/* One of them, whichever is looked at first, has the device of both */
static void netdevs_joined_to_each_other_are_a_pair(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct rhca_dev *dev;
	u32 i;

	choose_device(test, TEST_NAME "_b", ndev[1]);
	choose_device(test, TEST_NAME "_a", ndev[0]);
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(ndev[1], ndev[0]));
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(ndev[0], ndev[1]));
	rhca_slot_kick(NULL);
	dev = find_lag(test, ndev[1]);
	KUNIT_EXPECT_EQ(test, dev->replaced.num_devices, 2);
	KUNIT_EXPECT_PTR_EQ(test, dev, test_device_of(ndev[0]));
	/* The other one's wish has ended, too: only the first one's is parted here */
	rhca_slot_flush();
	i = dev->ports[0].made_on == ndev[1];
	part(test, dev, ndev[i]);
	expect_own(test, ndev);
}

/*
 * As rdma_rxe's exit takes it: a LAG again, under its name and with its settings, whose
 * members return when that ends
 */
static void lag_that_was_taken_is_one_again(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct rhca_dev *other = choose_device(test, "roce_lag0", test_netdev(test, 3));
	struct rhca_dev *dev = join(test, ndev);
	u32 serial = dev->serial;

	test_device_remove(other->ports[0].made_on);
	KUNIT_EXPECT_EQ(test, 0, rhca_pkeys_store(&dev->ports[0], "1 0x8001"));
	WRITE_ONCE(dev->ports[0].qos.ttl, 9);
	KUNIT_EXPECT_TRUE(test, rhca_slot_device_taken(dev));
	ib_device_put(&dev->ibdev);
	test_device_remove(ndev[0]);
	dev = find_lag(test, ndev[1]);
	KUNIT_EXPECT_NE(test, dev->serial, serial);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), "roce_lag1");
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 9);
	expect_members_return(test, dev, ndev);
	/* And no LAG afterwards has what was that one's */
	dev = join(test, ndev);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), "roce_lag0");
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.ttl, 0);
	expect_members_return(test, dev, ndev);
}

/* The end finds the device while it is being removed, and its members' stay away, too */
static void end_while_the_user_removes_it_brings_nothing_back(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct rhca_dev *dev = join(test, ndev);
	u32 i;

	rhca_slot_device_removed(dev, true);
	KUNIT_EXPECT_EQ(test, 0, rhca_lag_part(dev, ndev[0]));
	rhca_slot_flush();
	ib_device_put(&dev->ibdev);
	test_device_remove(ndev[0]);
	msleep(COMES_BACK_MS);
	for (i = 0; i < ARRAY_SIZE(ndev); i++) {
		KUNIT_EXPECT_FALSE(test, rhca_netdev_served(ndev[i]));
		test_device_remove(ndev[i]);
	}
}

/* Likewise when a netdev of it goes meanwhile, as a bond does */
static void removal_counts_when_its_netdev_goes(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct rhca_dev *dev = join(test, ndev);

	rhca_slot_device_removed(dev, true);
	ib_device_put(&dev->ibdev);
	test_netdev_remove(test, ndev[0]);
	msleep(COMES_BACK_MS);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(ndev[1]));
	test_device_remove(ndev[1]);
}

/* A device that returns had two netdevs: the second one has another device by now */
static void lag_waits_for_all_netdevs_of_what_it_stands_for(struct kunit *test)
{
	struct net_device *ndev[] = { test_netdev(test, 1), test_netdev(test, 2) };
	struct net_device *other = test_netdev(test, 3);
	struct rhca_slot_ports ports = { .num = 2 };
	struct rhca_dev *dev;

	rhca_slot_device_removed(choose_device(test, TEST_NAME "_a", ndev[0]), false);
	test_device_remove(ndev[0]);
	test_hold(test, choose_device(test, TEST_NAME "_c", other));
	rhca_slot_flush();
	rhca_netdev_note(&ports.netdev[0], ndev[0]);
	rhca_netdev_note(&ports.netdev[1], other);
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(ndev[0], ndev[1]));
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_returns(ndev[0], &ports));
	rhca_slot_kick(NULL);
	rhca_slot_flush();
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(ndev[0]));
	test_hold_begins(test);
	test_hold_ends(test);
	dev = find_lag(test, ndev[1]);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(other));
	part(test, dev, ndev[0]);
	/* One of the two that were on it */
	KUNIT_EXPECT_NOT_NULL(test, wait_for_own(other));
	rhca_slot_flush();
	test_device_remove(other);
	test_device_remove(ndev[0]);
}

static struct kunit_case lag_job_cases[] = {
	KUNIT_CASE(end_while_the_user_removes_it_brings_nothing_back),
	KUNIT_CASE(removal_counts_when_its_netdev_goes),
	KUNIT_CASE(members_that_are_reset_keep_their_partitions),
	KUNIT_CASE(members_return_when_their_lag_ends),
	KUNIT_CASE(rule_that_missed_a_pair_is_due_when_that_ends),
	KUNIT_CASE(pair_is_given_up_before_it_has_a_device),
	KUNIT_CASE(rule_that_missed_a_pair_is_due_when_that_is_given_up),
	KUNIT_CASE(rule_that_missed_a_pair_is_due_when_that_comes_to_nothing),
	KUNIT_CASE(netdevs_joined_to_each_other_are_a_pair),
	KUNIT_CASE(lag_that_was_taken_is_one_again),
	KUNIT_CASE(lag_that_cannot_end_holds_up_no_other),
	KUNIT_CASE(lag_waits_for_all_netdevs_of_what_it_stands_for),
	KUNIT_CASE(end_that_comes_late_freezes_no_table),
	KUNIT_CASE(files_are_refused_where_hardware_decides),
	{}
};

TEST_SUITE("rhca_control_lag", lag_job_cases);
