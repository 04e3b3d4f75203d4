// SPDX-License-Identifier: GPL-2.0
/* Late requests about LAGs, and files about LAGs if hardware decides. */
#include <linux/device.h>

#include "core/device.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "core/rules/netdev.h"
#include "lib/hca.h"
#include "lib/recording_backend.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_act.h"
#include "lifecycle/slot_apply.h"
#include "lifecycle/slot_events.h"
#include "lifecycle/lag.h"
#include "control/sysfs.h"

/* Members' devices would be created again within this time */
#define COMES_BACK_MS	1000

static void remove_device(void *data)
{
	test_device_remove(data);
}

/* Exists until the test ends */
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
	test_at_end(test, remove_device, spec.netdevs[0]);
	dev = test_device_of(spec.netdevs[0]);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	return dev;
}

static int part(struct rhca_dev *dev, struct net_device *first)
{
	int ret = rhca_lag_part(dev, first);

	rhca_slot_kick(first);
	return ret;
}

/* A late request to end a LAG finds another device, which stays usable */
static void late_end_of_a_lag_freezes_no_table(struct kunit *test)
{
	struct rhca_dev *pair, *plain;
	struct net_device *ndev;

	recording_clear();
	pair = make_device(test, TEST_NAME, 1, test_netdev(test, 2), NULL);
	plain = make_device(test, TEST_NAME "_plain", 3, NULL, NULL);
	ndev = rhca_port_get_netdev(&plain->ports[0]);
	KUNIT_EXPECT_EQ(test, part(pair, ndev), 0);
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

/* An adapter decides itself whether its bonded ports are one device */
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
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, write_file(test, dev, "roce_lag_enable", "0"));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, write_file(test, dev, "roce_lag_enable", "1"));
	expect_file(test, dev, "roce_lag_enable", "1\n");
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, write_file(test, dev, "roce_lag_ecmp_dev", other->name));
	rhca_slot_flush();
	KUNIT_EXPECT_TRUE(test, rhca_netdev_served(ndev));
	expect_file(test, dev, "roce_lag_ecmp_dev", "\n");

	/* If it does not, they are accepted */
	offer->decides_lag = false;
	KUNIT_EXPECT_EQ(test, 1, write_file(test, dev, "roce_lag_enable", "0"));
	expect_file(test, dev, "roce_lag_enable", "0\n");
	KUNIT_EXPECT_EQ(test, 1, write_file(test, dev, "roce_lag_enable", "1"));
	expect_file(test, dev, "roce_lag_enable", "1\n");
	KUNIT_EXPECT_EQ(test, -EINVAL, write_file(test, dev, "roce_lag_ecmp_dev", ndev->name));
}

/* --- members that are reset ------------------------------------------------------ */

/* Create a device as for a user or a rule of netdevs= */
static struct rhca_dev *choose_device(struct kunit *test, const char *name, struct net_device *ndev)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&rhca_sw_backend, ndev);
	struct rhca_dev *dev;

	spec.name = name;
	KUNIT_ASSERT_EQ(test, 0, rhca_choice_create(&spec));
	dev = test_device_of(ndev);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	return dev;
}

static void expect_member(struct kunit *test, const struct rhca_dev *dev, const char *name)
{
	struct rhca_pkey_table pkeys;

	rhca_pkeys_copy((struct rhca_port *)&dev->ports[0], &pkeys);
	KUNIT_EXPECT_STREQ(test, dev_name(&dev->ibdev.dev), name);
	KUNIT_EXPECT_EQ(test, pkeys.key[1], 0x8001);
	KUNIT_EXPECT_EQ(test, dev->ports[0].cc.enable, 1);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.tclass.global, RHCA_TCLASS_OFF);
}

/*
 * Wait for the LAG on a netdev, until clients have seen it: it can be found before that, but is not
 * removed then. The caller puts it
 */
static struct rhca_dev *find_lag(struct kunit *test, const struct net_device *ndev)
{
	struct rhca_dev *dev;

	KUNIT_ASSERT_TRUE(test, test_becomes((dev = test_device_of(ndev)) &&
					     dev->replaced.num_devices));
	rhca_slot_flush();
	return rhca_dev_find(ndev);
}

/* Wait for a device that is no LAG. Returns NULL on timeout */
static struct rhca_dev *wait_for_own(const struct net_device *ndev)
{
	struct rhca_dev *dev;

	return test_becomes((dev = test_device_of(ndev)) && !dev->replaced.num_devices) ?
	       dev : NULL;
}

/* Has it a new device that is no LAG, and is no other due to be created again? */
static bool has_returned(const struct net_device *ndev, u32 old)
{
	return test_device_is(ndev, dev, dev->serial != old && !dev->replaced.num_devices &&
					 !rhca_slot_is_set(ndev, RHCA_SLOT_RETURNS));
}

/* --- events of LAGs, and checks -------------------------------------------------------- */

#define NETDEVS	4

/* Netdevs; the first two become one device */
struct bench {
	struct kunit *test;			/* the test */
	struct device *parent;			/* their hardware, or NULL */
	struct net_device *ndev[NETDEVS];	/* the netdevs */
	u32 serial[NETDEVS];			/* of devices created on them */
	struct rhca_dev *dev;			/* the LAG, or a device to be joined to it */
	u32 lag_serial;				/* of the LAG when it was recorded */
};

static const char *const names[NETDEVS] = {
	TEST_NAME "_a", TEST_NAME "_b", TEST_NAME "_c", TEST_NAME "_d",
};

#define STEP(name, ...)	static void name(struct bench *b, u32 n) { __VA_ARGS__; }
#define EXPECT(is)	KUNIT_EXPECT_TRUE_MSG(b->test, is, "%u", n)
#define EXPECT_DONE(call)	KUNIT_EXPECT_EQ(b->test, 0, call)
#define IS_SET(flag)	rhca_slot_is_set(b->ndev[n], RHCA_SLOT_##flag)

/* Write the next netdev to one netdev's file */
static void asks_to_join(struct bench *b, u32 n)
{
	b->dev = test_device_of(b->ndev[n]);
	KUNIT_EXPECT_EQ(b->test, strlen(b->ndev[n + 1]->name),
			write_file(b->test, b->dev, "roce_lag_ecmp_dev", b->ndev[n + 1]->name));
}

static void may_not_join(struct bench *b, u32 n)
{
	KUNIT_EXPECT_EQ(b->test, -EBUSY,
			write_file(b->test, test_device_of(b->ndev[n]), "roce_lag_ecmp_dev",
				   b->ndev[n + 1]->name));
}

/* A device on the first and third netdev is to be created again */
static void returns_with_third(struct bench *b, u32 n)
{
	struct rhca_slot_ports ports = { .num = 2 };

	rhca_netdev_note(&ports.netdev[0], b->ndev[0]);
	rhca_netdev_note(&ports.netdev[1], b->ndev[2]);
	EXPECT_DONE(rhca_slot_set_returns(b->ndev[0], &ports));
}

/* A device on this netdev only is to be created again */
static void returns_alone(struct bench *b, u32 n)
{
	struct rhca_slot_ports ports = { .num = 1 };

	rhca_netdev_note(&ports.netdev[0], b->ndev[n]);
	EXPECT_DONE(rhca_slot_set_returns(b->ndev[n], &ports));
}

/* As if the next netdev went, or moved, after it was looked up by its name: no one has its index */
static void joins_one_that_goes(struct bench *b, u32 n)
{
	struct net_device *second = b->ndev[n + 1];
	int index = second->ifindex;

	rtnl_lock();
	second->ifindex = INT_MAX;
	KUNIT_EXPECT_EQ(b->test, -ENODEV, rhca_slot_set_pair(b->ndev[n], second));
	second->ifindex = index;
	rtnl_unlock();
}

/* Once, with their old names and the LAG's partitions */
static void members_return(struct bench *b, u32 n)
{
	struct rhca_dev *dev;
	u32 i;

	for (i = 0; i < 2; i++) {
		dev = wait_for_own(b->ndev[i]);
		KUNIT_EXPECT_NOT_NULL(b->test, dev);
		if (dev)
			expect_member(b->test, dev, names[i]);
		test_device_remove(b->ndev[i]);
	}
	msleep(200);
	KUNIT_EXPECT_FALSE(b->test, rhca_netdev_served(b->ndev[0]));
	KUNIT_EXPECT_FALSE(b->test, rhca_netdev_served(b->ndev[1]));
}

/* If two are joined to each other, part only the pair of the first one */
static void ends_for_whom_it_was_made(struct bench *b, u32 n)
{
	n = b->dev->ports[0].made_on == b->ndev[1];
	EXPECT_DONE(part(b->dev, b->ndev[n]));
}

static bool is_lag_number(const struct rhca_dev *dev, u32 n)
{
	char name[IB_DEVICE_NAME_MAX];

	snprintf(name, sizeof(name), "roce_lag%u", n);
	return !strcmp(dev_name(&dev->ibdev.dev), name);
}

STEP(choose, b->serial[n] = choose_device(b->test, names[n], b->ndev[n])->serial)
STEP(choose_lag_0, choose_device(b->test, "roce_lag0", b->ndev[n]))
STEP(finds_lag, b->dev = find_lag(b->test, b->ndev[n]))
STEP(stands_for, EXPECT(b->dev->replaced.num_devices == n))
STEP(note_lag, b->lag_serial = b->dev->serial)
STEP(another_lag, EXPECT(b->dev->serial != b->lag_serial))
STEP(lag_number, EXPECT(is_lag_number(b->dev, n)))
STEP(set_pkeys, EXPECT_DONE(rhca_pkeys_store(&b->dev->ports[0], "1 0x8001")))
STEP(set_ttl, WRITE_ONCE(b->dev->ports[0].qos.ttl, n))
STEP(ttl, EXPECT(b->dev->ports[0].qos.ttl == n))
STEP(second_is, EXPECT(rcu_access_pointer(b->dev->ports[0].second) == b->ndev[n]))
STEP(with_first, EXPECT(test_device_of(b->ndev[n]) == test_device_of(b->ndev[0])))
STEP(same_on, EXPECT(test_device_of(b->ndev[n]) == b->dev))
STEP(ends, EXPECT_DONE(part(b->dev, b->ndev[n])))
STEP(user_removes, rhca_slot_device_removed(b->dev, true))
STEP(removed, rhca_slot_device_removed(test_device_of(b->ndev[n]), false))
STEP(is_taken, rhca_slot_device_taken(b->dev))
STEP(put, ib_device_put(&b->dev->ibdev))
STEP(asks_to_part, KUNIT_EXPECT_EQ(b->test, 1, write_file(b->test, b->dev, "roce_lag_ecmp_dev",
							  "\n")))
STEP(hold_lag, test_hold(b->test, b->dev))
STEP(hold, test_hold(b->test, test_device_of(b->ndev[n])))
STEP(hold_begins, test_hold_begins(b->test))
STEP(hold_ends, test_hold_ends(b->test))
STEP(flush, rhca_slot_flush())
STEP(kick, rhca_slot_kick(NULL))
STEP(a_while, msleep(COMES_BACK_MS))
STEP(missed, EXPECT_DONE(rhca_slot_set(b->ndev[n], RHCA_SLOT_RULE_MISSED, true)))
STEP(not_missed, EXPECT(!IS_SET(RULE_MISSED)))
STEP(due, EXPECT(test_becomes(IS_SET(RULE_DUE))))
/* No rule names it, so nothing happens */
STEP(not_due, EXPECT(test_becomes(!IS_SET(RULE_DUE))))
STEP(pair, EXPECT_DONE(rhca_slot_set_pair(b->ndev[n], b->ndev[n + 1])))
STEP(pair_back, EXPECT_DONE(rhca_slot_set_pair(b->ndev[n], b->ndev[n - 1])))
STEP(unpair, EXPECT_DONE(rhca_slot_set_pair(b->ndev[n], NULL)))
STEP(served, EXPECT(rhca_netdev_served(b->ndev[n])))
STEP(unserved, EXPECT(!rhca_netdev_served(b->ndev[n])))
STEP(own, EXPECT(wait_for_own(b->ndev[n])))
STEP(returned, EXPECT(test_becomes(has_returned(b->ndev[n], b->serial[n]))))
STEP(goes, test_device_remove(b->ndev[n]))
STEP(netdev_goes, test_netdev_remove(b->test, b->ndev[n]))
STEP(netdev_is_back, b->ndev[n] = test_netdev_of(b->test, n + 1, b->parent, NULL))
/* Chosen without a name */
STEP(member_is_back, expect_member(b->test, choose_device(b->test, NULL, b->ndev[n]), names[n]))
/* By its user: another row has hardware of the same name */
STEP(unwanted, ib_unregister_device_and_put(&test_device_get(b->test, b->ndev[n])->ibdev))

#define JOIN(first)	{ asks_to_join, first }, { finds_lag, (first) + 1 }
#define JOIN_TWO(first)	{ choose, (first) + 1 }, { choose, first }, JOIN(first), { stands_for, 2 }
#define PART		{ ends, 0 }, { put }
#define OWN(nth)	{ own, nth }, { goes, nth }
/* Tenants stay isolated whichever netdev is removed first */
#define RESET(first)	JOIN_TWO(0), { set_pkeys }, { put }, { netdev_goes, first }, \
			{ netdev_goes, !(first) }, { netdev_is_back, 0 }, { netdev_is_back, 1 }, \
			{ member_is_back, 0 }, { member_is_back, 1 }, { unwanted, 0 }, \
			{ unwanted, 1 }

#define MAX_STEPS	32

static const struct course {
	const char *desc;
	struct {
		void (*act)(struct bench *b, u32 n);
		u32 n;
	} step[MAX_STEPS];
	bool on_hardware;
} courses[] = {
	{ "members return when their LAG ends", {
		JOIN_TWO(0), { set_pkeys }, PART, { members_return } } },
	{ "members that are reset keep their partitions", { RESET(0) }, true },
	{ "members that are reset in the other order keep theirs", { RESET(1) }, true },
	/* If users hold one, only its members wait for it, but no new LAG */
	{ "LAG that cannot end delays no other netdev", {
		JOIN_TWO(0), { hold_lag }, PART, { hold_begins }, JOIN_TWO(2), { second_is, 3 },
		{ user_removes }, { put }, { goes, 2 }, { served, 0 }, { hold_ends }, OWN(0),
		OWN(1) } },
	/* The pair blocked it, and the netdev had no device before to be created again */
	{ "rule refused by a pair is due when the pair ends", {
		{ choose, 0 }, JOIN(0), { missed, 1 }, { hold_lag }, PART, { hold_begins },
		{ flush }, { due, 1 }, { not_missed, 1 }, { served, 1 }, { hold_ends },
		{ own, 0 }, { not_due, 1 }, { unserved, 1 }, { goes, 0 } } },
	/*
	 * It has no LAG. Set missed first: a look before they are parted gives the pair up, too.
	 * The rule is due until the netdev is looked at, which may already have happened
	 */
	{ "rule refused by a pair is due when the pair is separated", {
		{ missed, 1 }, { pair, 0 }, { unpair, 0 }, { not_missed, 1 }, { kick },
		{ not_due, 1 } } },
	/* Likewise if its first netdev is removed, or has a device that is no LAG */
	{ "rule refused by a pair is due when the pair is not made", {
		{ flush }, { missed, 1 }, { missed, 3 }, { pair, 0 }, { netdev_goes, 0 },
		{ not_missed, 1 }, { flush }, { pair, 2 }, { choose, 2 }, { not_missed, 3 },
		{ not_due, 1 }, { not_due, 3 }, { goes, 2 } } },
	/* While the members' devices make room: both are created again */
	{ "pair is separated before it has a device", {
		{ choose, 1 }, { choose, 0 }, { hold, 0 }, { asks_to_join, 0 }, { hold_begins },
		{ asks_to_part }, { hold_ends }, { returned, 0 }, { returned, 1 }, { flush },
		{ goes, 0 }, { goes, 1 } } },
	/* The one that is looked at first has the device of both */
	{ "netdevs joined to each other are a pair", {
		{ choose, 1 }, { choose, 0 }, { pair_back, 1 }, { pair, 0 }, { kick },
		{ finds_lag, 1 }, { stands_for, 2 }, { same_on, 0 }, { flush },
		{ ends_for_whom_it_was_made }, { put }, OWN(0), OWN(1) } },
	/*
	 * As on rdma_rxe's exit: the LAG is created again, with its name and settings, and its
	 * members' devices when it ends. Later LAGs do not get its settings
	 */
	{ "LAG that rdma_rxe unregistered is made again", {
		{ choose_lag_0, 2 }, JOIN_TWO(0), { note_lag }, { goes, 2 }, { set_pkeys },
		{ set_ttl, 9 }, { is_taken }, { put }, { goes, 0 }, { finds_lag, 1 },
		{ another_lag }, { lag_number, 1 }, { ttl, 9 }, PART, { members_return },
		JOIN_TWO(0), { lag_number, 0 }, { ttl, 0 }, PART, { members_return } } },
	/* The request to end it comes during its removal: its members get no devices, either */
	{ "LAG that ends while the user removes it leaves no devices", {
		JOIN_TWO(0), { user_removes }, { ends, 0 }, { flush }, { put }, { goes, 0 },
		{ a_while }, { unserved, 0 }, { goes, 0 }, { unserved, 1 }, { goes, 1 } } },
	/* Likewise if a netdev of it is removed meanwhile, as a bond may be */
	{ "removal counts when its netdev is unregistered", {
		JOIN_TWO(0), { user_removes }, { put }, { netdev_goes, 0 }, { a_while },
		{ unserved, 1 }, { goes, 1 } } },
	/* Both have made room for a LAG that does not exist yet. With either one removed */
	{ "device of a pair returns when the other netdev is unregistered", {
		{ choose, 1 }, { removed, 1 }, { goes, 1 }, { flush }, { pair, 0 },
		{ returns_alone, 1 }, { netdev_goes, 0 }, { returned, 1 }, { goes, 1 },
		{ choose, 2 }, { removed, 2 }, { goes, 2 }, { flush }, { pair, 2 },
		{ returns_alone, 2 }, { netdev_goes, 3 }, { returned, 2 }, { goes, 2 } } },
	/* Another one may get its index */
	{ "netdev that is being unregistered is in no pair", { { joins_one_that_goes, 0 } } },
	/* As if it existed: its other netdev would have no device as long as the LAG */
	{ "device of several ports that returns is in no pair", {
		{ choose, 0 }, { removed, 0 }, { goes, 0 }, { choose, 2 }, { removed, 2 },
		{ goes, 2 }, { choose, 1 }, { flush }, { returns_with_third },
		{ may_not_join, 1 }, { kick }, { own, 0 }, { with_first, 2 }, { flush },
		{ goes, 1 }, { goes, 0 } } },
};
KUNIT_ARRAY_PARAM_DESC(course, courses, desc);

static void netdevs_have_the_lag_that_they_should(struct kunit *test)
{
	const struct course *c = test->param_value;
	struct bench *b = test_alloc(test, sizeof(*b));
	u32 i;

	b->test = test;
	b->parent = c->on_hardware ? test_hardware(test) : NULL;
	for (i = 0; i < NETDEVS; i++)
		b->ndev[i] = test_netdev_of(test, i + 1, b->parent, NULL);
	test_steps(test, c, s, s->act(b, s->n));
}

TEST_SUITE(rhca_control_lag,
	   KUNIT_CASE_PARAM(netdevs_have_the_lag_that_they_should, course_gen_params),
	   KUNIT_CASE(late_end_of_a_lag_freezes_no_table),
	   KUNIT_CASE(files_are_refused_where_hardware_decides));
