// SPDX-License-Identifier: GPL-2.0
/* Hardware before software, and software once that is removed; the hardware only records. */
#include <linux/debug_locks.h>
#include <linux/device.h>
#include <linux/prandom.h>
#include <linux/rtnetlink.h>
#include <net/devlink.h>
#include <rhca/compat.h>

#include "core/device.h"
#include "core/port/offer.h"
#include "core/port/port_pkeys.h"
#include "core/qp/port_qos.h"
#include "core/registry.h"
#include "core/rules/netdev.h"
#include "lib/elsewhere.h"
#include "lib/hca.h"
#include "lib/recording_backend.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_act.h"
#include "lifecycle/slot_apply.h"
#include "lifecycle/slot_events.h"

#define STEP_MS		20

/* A netdev for which the test may add an offer of hardware */
struct bench {
	struct kunit *test;		/* the test */
	struct device *parent;		/* its hardware, or NULL */
	/* its port of that after the next reload, or NULL */
	struct devlink_port *port;
	struct devlink_port ports[2];	/* two ports of @parent */
	struct net_device *ndev;	/* the netdev */
	struct net_device *second;	/* another one, or NULL */
	struct rhca_offer offer;	/* covers it */
	bool offered;			/* @offer is added */
	struct rhca_dev *dev;		/* its device when that was recorded */
	u32 serial;			/* of @dev */
	unsigned int references;	/* ib_core's reference count of @dev then */
	void *other;			/* another driver's device */
	struct rhca_dev *held;		/* a device that the test uses */
};

static struct net_device *covered;

static bool covers(const struct rhca_offer *offer, const struct net_device *ndev)
{
	return ndev == READ_ONCE(covered);
}

static void withdraw_offer(struct bench *b)
{
	if (b->offered)
		rhca_offer_withdraw(&b->offer);
	b->offered = false;
}

static void remove_all(void *data)
{
	struct bench *b = data;

	if (b->held)	/* otherwise waiting for its end would hang */
		ib_device_put(&b->held->ibdev);
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
	test_at_end(test, remove_all, b);
	return b;
}

static struct bench *make_bench(struct kunit *test)
{
	return make_bench_on(test, NULL);
}

/* Another bench of the test, on its @i-th netdev, in software */
static struct bench *make_bench_beside(struct kunit *test, unsigned int i)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->test = test;
	b->ndev = test_netdev(test, i);
	return b;
}

/* On hardware, as far as the netdev can tell */
static struct bench *make_hardware_bench(struct kunit *test)
{
	return make_bench_on(test, test_hardware(test));
}

static struct rhca_dev *find(struct bench *b)
{
	return test_device_of(b->ndev);
}

static bool is_served_by(const struct net_device *ndev, const struct rhca_backend_ops *backend)
{
	struct rhca_dev *dev = test_device_of(ndev);

	return dev ? dev->backend == backend : !backend;
}

/* Wait until the netdev has a device by this backend; NULL: none */
static struct rhca_dev *wait_for(struct bench *b, const struct rhca_backend_ops *backend)
{
	KUNIT_ASSERT_TRUE_MSG(b->test, test_becomes(is_served_by(b->ndev, backend)),
			      "%s: no device by %s", netdev_name(b->ndev),
			      backend ? backend->name : "nobody");
	return find(b);
}

/* --- events and checks ---------------------------------------------------------------- */

#define STEP(name, ...)	static void name(struct bench *b, const char *arg) { __VA_ARGS__; }
#define EXPECT(is)	KUNIT_EXPECT_TRUE_MSG(b->test, is, "at \"%s\"", arg ?: "")
#define ASSERT_DONE(call)	KUNIT_ASSERT_EQ(b->test, 0, call)

static void offer(struct bench *b, const char *arg)
{
	rhca_offer_add(&b->offer);
	b->offered = true;
}

/* As an adapter's next offer */
static void able(struct bench *b, const char *arg)
{
	WRITE_ONCE(b->offer.able, true);
	WRITE_ONCE(b->offer.failed, false);
	rhca_slot_kick(NULL);
}

/* "devlink dev reload" of a driver that removes its netdev first */
static void reload(struct bench *b, const char *arg)
{
	const struct net_device *old = b->ndev;

	test_netdev_remove(b->test, b->ndev);
	/* A new netdev may have the same address */
	EXPECT(!rhca_slot_is_unwanted(old));
	b->ndev = test_netdev_of(b->test, 1, b->parent, b->port);
	WRITE_ONCE(covered, b->ndev);
	if (b->offered)
		able(b, NULL);
}

/* A software device on the bench's netdev, and on the second one if there is one */
static struct rhca_dev_spec spec_of(struct bench *b, const char *name)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&rhca_sw_backend, b->ndev, b->second);

	spec.num_ports = b->second ? 2 : 1;
	spec.name = name;
	return spec;
}

/* A reference may keep the last test's device of that name for a moment */
static void make(struct bench *b, const char *arg)
{
	struct rhca_dev_spec spec = spec_of(b, TEST_NAME);
	int ret = 0;

	test_becomes((ret = rhca_dev_create(&spec)) != -ENFILE);
	KUNIT_ASSERT_EQ(b->test, ret, 0);
}

static void choose(struct bench *b, const char *name)
{
	struct rhca_dev_spec spec = spec_of(b, name);

	KUNIT_ASSERT_EQ(b->test, 0, rhca_choice_create(&spec));
}

/* The netdev's event cannot save the settings of its device, which is not registered yet */
static void move_meanwhile(struct bench *b, const char *arg)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&recording_backend, b->ndev);

	spec.name = NULL;
	recording_move_netdevs(true);
	KUNIT_ASSERT_EQ(b->test, -ENODEV, rhca_choice_create(&spec));
	recording_move_netdevs(false);
}

/* As "rdma link del" does */
static void user_removes(struct bench *b, const char *arg)
{
	struct rhca_dev *dev = test_device_get(b->test, b->ndev);

	ib_unregister_device_and_put(&dev->ibdev);
}

/* The same for a device that is already being removed: then ib_core has nothing to do */
static void user_removes_too(struct bench *b, const char *arg)
{
	struct rhca_dev *dev = test_device_get(b->test, b->ndev);
	int ret;

	ret = rhca_link_del(&dev->ibdev);
	ib_device_put(&dev->ibdev);
	if (ret == -EOPNOTSUPP)
		kunit_skip(b->test, "this kernel does not tell of it");
	KUNIT_EXPECT_EQ(b->test, ret, 0);
}

static void goes_down_and_up(struct bench *b, const char *arg)
{
	test_netdev_set_up(b->ndev, false);
	test_netdev_set_up(b->ndev, true);
}

/* A device that moves to another RDMA namespace cannot be found: as ib_core sets the count */
static void begin_way(struct bench *b, const char *arg)
{
	msleep(10 * STEP_MS);	/* clients have seen new devices */
	b->dev = find(b);
	b->references = refcount_read(&b->dev->ibdev.refcount);
	refcount_set(&b->dev->ibdev.refcount, 0);
}

static void end_way(struct bench *b, const char *arg)
{
	msleep(10 * STEP_MS);
	KUNIT_EXPECT_NULL(b->test, find(b));
	refcount_set(&b->dev->ibdev.refcount, b->references);
	rhca_dev_plugged(b->dev);
	rhca_slot_kick(NULL);
}

static int number(const char *arg)
{
	int n;

	return kstrtoint(arg, 0, &n) ? INT_MIN : n;
}

static bool has_partition(struct bench *b, u32 port)
{
	struct rhca_pkey_table pkeys;

	rhca_pkeys_copy(&find(b)->ports[port], &pkeys);
	return rhca_pkeys_has_partitions(&pkeys) && pkeys.key[1] == 0x8001;
}

static int ttl_of(struct bench *b, u32 port)
{
	return find(b)->ports[port].qos.ttl;
}

static bool is_named(struct bench *b)
{
	return !strcmp(dev_name(&find(b)->ibdev.dev), TEST_NAME);
}

STEP(withdraw, withdraw_offer(b))
STEP(unable, b->offer.able = false)
STEP(let_fail, recording_fail(RECORDED_DEV_INIT, -EIO))
STEP(let_work, recording_fail(RECORDED_DEV_INIT, 0))
STEP(speak_v2, recording_limit_gid_types(BIT(IB_GID_TYPE_ROCE_UDP_ENCAP)))
STEP(speak_none, recording_limit_gid_types(0))
STEP(kick, rhca_slot_kick(NULL))
STEP(hold, test_hold(b->test, find(b)))
STEP(hold_begins, test_hold_begins(b->test))
STEP(hold_ends, test_hold_ends(b->test))
STEP(on_port_0, b->port = &b->ports[0])
STEP(on_port_1, b->port = &b->ports[1]; b->ports[1].index = 1)
STEP(set_ttl, ASSERT_DONE(rhca_ttl_store(&find(b)->ports[0], arg)))
STEP(set_tclass, ASSERT_DONE(rhca_tclass_store(&find(b)->ports[0], arg)))
STEP(set_pkeys, ASSERT_DONE(rhca_pkeys_store(&find(b)->ports[0], arg)))
STEP(set_cc, find(b)->ports[0].cc.np_cnp_prio = number(arg))
STEP(on_hardware, wait_for(b, &recording_backend))
STEP(on_software, wait_for(b, &rhca_sw_backend))
STEP(on_none, wait_for(b, NULL))
STEP(gone, EXPECT(!rhca_netdev_served(b->ndev) && !atomic_read(&b->offer.users)))
STEP(ended, EXPECT(test_becomes(!rhca_netdev_served(b->ndev))))
STEP(unserved, msleep(10 * STEP_MS); rhca_slot_flush(); EXPECT(!rhca_netdev_served(b->ndev)))
STEP(unserved_for_long, msleep(1500); EXPECT(!rhca_netdev_served(b->ndev)))
STEP(a_moment, msleep(10 * STEP_MS))
STEP(note, b->dev = find(b); b->serial = b->dev ? b->dev->serial : 0)
STEP(stays, msleep(10 * STEP_MS); rhca_slot_flush(); EXPECT(b->dev && find(b) == b->dev))
STEP(no_offer, EXPECT(!find(b)->offer))
/* One was attempted, and hardware does not retry for now */
STEP(tried, EXPECT(test_becomes(recording_num(RECORDED_DEV_INIT) == 1)))
STEP(v2_only, EXPECT(rdma_protocol_roce_udp_encap(&find(b)->ibdev, 1) &&
		     !rdma_protocol_roce_eth_encap(&find(b)->ibdev, 1)))
STEP(named, EXPECT(is_named(b)))
STEP(renamed, EXPECT(!is_named(b)))
STEP(ttl, EXPECT(ttl_of(b, 0) == number(arg)))
STEP(tclass, EXPECT(find(b)->ports[0].qos.tclass.global == number(arg)))
STEP(cc, EXPECT(find(b)->ports[0].cc.np_cnp_prio == number(arg)))
STEP(partition, EXPECT(has_partition(b, 0)))

STEP(another, EXPECT(find(b)->serial != b->serial))
STEP(goes, test_device_remove(b->ndev))
/* As if its netdev had: the pointer to the namespace is only compared */
STEP(has_moved, rhca_slot_flush(); find(b)->ports[0].net = (const void *)b)
STEP(is_taken, rhca_slot_device_taken(find(b)))
STEP(pkeys_are_kept, EXPECT(rhca_pkeys_store(&find(b)->ports[0], arg)))
STEP(makes_no_room, EXPECT(!rhca_slot_make_room(b->ndev, true) &&
			   !rhca_slot_is_set(b->ndev, RHCA_SLOT_RETURNS)))
STEP(is_held, b->held = test_device_get(b->test, b->ndev))
STEP(leaves, test_netdev_leave(b->ndev))
STEP(other_netdev, b->ndev = test_netdev(b->test, 2))
STEP(is_covered, WRITE_ONCE(covered, b->ndev))
STEP(let_go, ib_device_put(&b->held->ibdev); b->held = NULL)
STEP(exits, EXPECT(recording_num(RECORDED_DEV_EXIT) == number(arg)))
/* The creator of the device is briefly a user, too */
STEP(used_once, EXPECT(test_becomes(atomic_read(&b->offer.users) == 1)))
STEP(kicked_until_served, EXPECT(test_becomes(find(b) || (rhca_slot_kick(NULL), false))))

/* A device with only these ports is to be created again */
static void set_returns(struct bench *b, const char *arg)
{
	struct rhca_slot_ports ports = { .num = b->second ? 2 : 1 };

	rhca_netdev_note(&ports.netdev[0], b->ndev);
	rhca_netdev_note(&ports.netdev[1], b->second);
	KUNIT_ASSERT_EQ(b->test, 0, rhca_slot_set_returns(b->ndev, &ports));
}

/* The device is back, as another one */
static bool is_new_and_named(struct bench *b)
{
	return test_device_is(b->ndev, dev, dev->serial != b->serial &&
					    !strcmp(dev_name(&dev->ibdev.dev), TEST_NAME));
}

static void set_both(struct bench *b, const char *arg)
{
	struct rhca_port *ports = find(b)->ports;

	ASSERT_DONE(rhca_ttl_store(&ports[0], "7"));
	ASSERT_DONE(rhca_ttl_store(&ports[1], "8"));
	ASSERT_DONE(rhca_pkeys_store(&ports[1], "1 0x8001"));
}

static void both_are_set(struct bench *b, const char *name)
{
	KUNIT_EXPECT_STREQ(b->test, dev_name(&find(b)->ibdev.dev), name);
	KUNIT_EXPECT_EQ(b->test, ttl_of(b, 0), 7);
	KUNIT_EXPECT_EQ(b->test, ttl_of(b, 1), 8);
	KUNIT_EXPECT_TRUE(b->test, has_partition(b, 1));
}

static void both_reload(struct bench *b, const char *arg)
{
	test_netdevs_remove(b->test, b->ndev, b->second);
	b->ndev = test_netdev_of(b->test, 1, b->parent, NULL);
	b->second = test_netdev_of(b->test, 2, b->parent, NULL);
}

static void second_removed(struct bench *b, const char *arg)
{
	rtnl_lock();
	rhca_slot_netdev_removed(b->second);
	rtnl_unlock();
}

/* As a LAG that replaces the device which is to be created again */
static void is_added_as_lag(struct bench *b, const char *arg)
{
	struct rhca_dev *dev = find(b);

	dev->replaced.num_devices = 1;
	dev->replaced.device[0].num_ports = 1;
	rhca_netdev_note(&dev->replaced.device[0].netdev[0], b->ndev);
	rhca_slot_device_added(dev);
	dev->replaced.num_devices = 0;
}

static void is_paired(struct bench *b, const char *arg)
{
	struct rhca_slot_known known;

	rhca_slot_read(b->ndev, &known);
	EXPECT(known.pair.ifindex == b->second->ifindex);
}

STEP(second, b->second = test_netdev(b->test, 2))
STEP(second_of_hardware, b->second = test_netdev_of(b->test, 2, b->parent, NULL))
STEP(second_on_hardware, EXPECT(test_becomes(is_served_by(b->second, &recording_backend))))
STEP(not_on_hardware, EXPECT(!is_served_by(b->ndev, &recording_backend)))
STEP(second_not_on_hardware, EXPECT(!is_served_by(b->second, &recording_backend)))
STEP(flush, rhca_slot_flush())
STEP(first_goes, test_netdev_remove(b->test, b->ndev); b->ndev = b->second)
STEP(both_served, EXPECT(find(b)->num_ports == 2 && test_device_of(b->second) == find(b)))
STEP(pair, ASSERT_DONE(rhca_slot_set_pair(b->ndev, b->second)))
STEP(unpair, ASSERT_DONE(rhca_slot_set_pair(b->ndev, NULL)))
STEP(makes_room, EXPECT(rhca_slot_make_room(b->ndev, true)))
/* The one that the test holds cannot be found any more */
STEP(held_is_added, rhca_slot_device_added(b->held))
STEP(set_held_ttl, ASSERT_DONE(rhca_ttl_store(&b->held->ports[0], arg)))
STEP(set_held_tclass, ASSERT_DONE(rhca_tclass_store(&b->held->ports[0], arg)))
STEP(is_back, EXPECT(test_becomes(is_new_and_named(b))))
STEP(bring_back, rhca_slot_bring_back(b->ndev))
STEP(returns, EXPECT(rhca_slot_is_set(b->ndev, RHCA_SLOT_RETURNS)))
STEP(returns_no_more, EXPECT(!rhca_slot_is_set(b->ndev, RHCA_SLOT_RETURNS)))
STEP(is_added, rhca_slot_device_added(find(b)))
STEP(removed, rhca_slot_device_removed(find(b), false))
STEP(wanted, EXPECT(!rhca_slot_is_unwanted(b->ndev)))

static void other_comes(struct bench *b, const char *arg);
static void other_goes(struct bench *b, const char *arg);
static void lag_comes_and_goes(struct bench *b, const char *arg);
static void lag_fails(struct bench *b, const char *arg);
static void offer_for_second(struct bench *b, const char *arg);

#define MAX_STEPS	17

/* Events of a netdev, and the expected results */
static const struct course {
	const char *desc;
	enum { ON_NOTHING, ON_HARDWARE, ON_RADIO } on;	/* kind of netdev; a radio is software */
	struct {
		void (*act)(struct bench *b, const char *arg);
		const char *arg;
	} step[MAX_STEPS];
} courses[] = {
	{ "offer makes a device", .step = {
		{ offer }, { on_hardware }, { withdraw }, { gone } } },
	{ "offer that is not able makes no device", .step = {
		{ unable }, { offer }, { unserved }, { able }, { on_hardware } } },
	{ "settings survive hardware and software in turn", .step = {
		{ make }, { set_tclass, "104" }, { set_cc, "3" }, { offer }, { on_hardware },
		{ named }, { tclass, "104" }, { cc, "3" }, { set_tclass, "32" }, { set_cc, "2" },
		{ withdraw }, { on_software }, { named }, { tclass, "32" }, { cc, "2" } } },
	/* As the user left them, not as when hardware took over */
	{ "settings outlive the netdev of hardware", ON_HARDWARE, {
		{ make }, { offer }, { on_hardware }, { set_tclass, "104" }, { set_ttl, "7" },
		{ set_cc, "3" }, { reload }, { on_hardware }, { named }, { tclass, "104" },
		{ ttl, "7" }, { cc, "3" },
		/* And those of the last device, not of an earlier one */
		{ set_ttl, "8" }, { reload }, { on_hardware }, { ttl, "8" } } },
	/* A new netdev is a different one, even with the same MAC address */
	{ "settings end with a netdev of software", .step = {
		{ make }, { offer }, { on_hardware }, { set_ttl, "7" }, { set_cc, "3" },
		{ reload }, { on_hardware }, { renamed }, { ttl, "0" }, { cc, "6" } } },
	/* The last one's are used, even defaults */
	{ "settings are those of the last device", ON_HARDWARE, {
		{ make }, { set_ttl, "7" }, { reload }, { choose }, { named }, { ttl, "7" },
		{ set_ttl, "0" }, { reload }, { choose }, { ttl, "0" } } },
	{ "settings outlive a netdev that moves meanwhile", ON_HARDWARE, {
		{ make }, { set_ttl, "7" }, { set_pkeys, "1 0x8001" }, { reload },
		{ move_meanwhile }, { ended }, { choose }, { ttl, "7" }, { partition } } },
	/* Any user could create it: its parent is on no bus */
	{ "settings end with a simulated netdev", ON_RADIO, {
		{ choose }, { set_ttl, "7" }, { reload }, { choose }, { ttl, "0" } } },
	/* Ports of a switch may share a parent and an address: the port decides */
	{ "settings are those of the port", ON_HARDWARE, {
		{ on_port_0 }, { reload }, { choose }, { set_ttl, "7" }, { on_port_1 },
		{ reload }, { choose }, { ttl, "0" }, { on_port_0 }, { reload }, { choose },
		{ ttl, "7" } } },
	/* Hardware must not break the isolation of tenants */
	{ "port with partitions stays with software", .step = {
		{ make }, { set_pkeys, "1 0x8001" }, { note }, { offer }, { stays },
		{ on_software }, { set_pkeys, "2 0x8002" } } },
	{ "hardware serves when the partitions are the default again", .step = {
		{ make }, { set_pkeys, "1 0x8001" }, { note }, { offer }, { stays },
		{ set_pkeys, "1 0" }, { on_hardware } } },
	/* Even if nothing was saved before: no hardware has served it */
	{ "partitions outlive the netdev of hardware", ON_HARDWARE, {
		{ make }, { set_pkeys, "1 0x8001" }, { note }, { offer }, { stays }, { reload },
		{ on_software }, { partition }, { named },
		/* The new device's partitions are writable, and decide */
		{ set_pkeys, "1 0" }, { on_hardware } } },
	/* The next device does not get them, unless it replaces the old one */
	{ "settings end when the user removes the device", .step = {
		{ make }, { set_tclass, "104" }, { offer }, { on_hardware }, { user_removes },
		{ choose }, { on_hardware }, { renamed }, { tclass, "-1" } } },
	{ "no stand-in for a device that the user removed", .step = {
		{ offer }, { on_hardware }, { withdraw }, { on_software }, { user_removes },
		{ goes_down_and_up }, { unserved_for_long } } },
	/* An event of another netdev does not replace software and retry */
	{ "software serves where hardware fails", .step = {
		{ make }, { let_fail }, { offer }, { tried }, { on_software }, { named },
		{ no_offer }, { note }, { kick }, { stays }, { tried }, { let_work }, { able },
		{ on_hardware } } },
	{ "device that the user removed is made on request", .step = {
		{ offer }, { on_hardware }, { user_removes }, { able }, { unserved }, { make },
		{ able }, { on_hardware } } },
	{ "removal by the user ends with a netdev of software", .step = {
		{ offer }, { on_hardware }, { user_removes }, { reload }, { on_hardware } } },
	/* Two reloads: the last netdev has only what was saved of the first */
	{ "removal by the user survives reloads", ON_HARDWARE, {
		{ offer }, { on_hardware }, { set_ttl, "7" }, { user_removes }, { reload },
		{ unserved }, { reload }, { unserved }, { make }, { able }, { on_hardware },
		{ ttl, "0" }, { reload }, { on_hardware } } },
	/* Firmware with one version has no GIDs, and no QP1 traffic, of the other */
	{ "hardware serves the RoCE versions it can", .step = {
		{ speak_v2 }, { offer }, { on_hardware }, { v2_only }, { withdraw },
		{ on_software }, { speak_none }, { offer }, { a_moment }, { on_software } } },
	{ "hardware takes over from a device that is back", .step = {
		{ make }, { begin_way }, { offer }, { end_way }, { on_hardware } } },
	/* It came later, and software continues: hardware could not serve beside it */
	{ "software stays beside another driver", .step = {
		{ make }, { note }, { other_comes }, { offer }, { stays }, { other_goes },
		{ able }, { on_hardware } } },
	/* The first driver keeps the port */
	{ "nothing is made beside another driver", .step = {
		{ other_comes }, { offer }, { unserved }, { other_goes }, { able },
		{ on_hardware } } },
	/* A user's settings of a port apply to any device of ours */
	{ "settings outlive a stand-in that gives way", .step = {
		{ offer }, { on_hardware }, { withdraw }, { on_software }, { set_ttl, "7" },
		{ set_pkeys, "1 0x8001" }, { other_comes }, { on_none }, { other_goes },
		{ on_software }, { ttl, "7" }, { partition } } },
	/* Software that made room for hardware that was withdrawn meanwhile */
	{ "software serves when hardware has ended", .step = {
		{ make }, { hold }, { offer }, { hold_begins }, { withdraw }, { hold_ends },
		{ on_software }, { named } } },
	/* The user wants neither it nor a hardware device there */
	{ "device that makes room and is removed by the user does not return", .step = {
		{ make }, { hold }, { offer }, { hold_begins }, { user_removes_too },
		{ hold_ends }, { ended }, { unserved }, { withdraw }, { unserved }, { make },
		{ on_software } } },
	/* Events of others do not delay it, however frequent */
	{ "kicks do not delay a stand-in", .step = {
		{ offer }, { on_hardware }, { withdraw }, { kicked_until_served } } },
	/* A LAG is its members' device, until a user requests one on a member */
	{ "members of a LAG that the user removed get no devices", .step = {
		{ lag_comes_and_goes }, { offer }, { unserved }, { make }, { able },
		{ on_hardware } } },
	/* Hardware takes over from software that cannot be removed yet; another netdev is served */
	{ "removal that blocks delays no other netdev", .step = {
		{ make }, { hold }, { offer }, { hold_begins }, { second }, { offer_for_second },
		{ second_on_hardware }, { not_on_hardware }, { hold_ends }, { on_hardware } } },
	/*
	 * A netdev that moves to another namespace leaves its device at once, which ends with its
	 * last reference: until then the backend cannot use the hardware again. Only that end
	 * triggers the next device
	 */
	{ "offer has one device at a time", .step = {
		{ offer }, { on_hardware }, { is_held }, { leaves }, { other_netdev },
		{ is_covered }, { able }, { unserved }, { tried }, { exits, "0" }, { let_go },
		{ on_hardware }, { exits, "1" }, { used_once } } },
	/* Software keeps serving while hardware still has another netdev */
	{ "software waits for a free offer", .step = {
		{ offer }, { on_hardware }, { is_held }, { leaves }, { other_netdev }, { make },
		{ note }, { is_covered }, { able }, { stays }, { let_go }, { on_hardware } } },
	/* As on rdma_rxe's exit; created again once, with all settings made until the end */
	{ "device that rdma_rxe unregistered returns", .step = {
		{ make }, { note }, { set_ttl, "7" }, { set_pkeys, "1 0x8001" }, { is_taken },
		{ pkeys_are_kept, "1 0" }, { goes }, { on_software }, { another }, { named },
		{ ttl, "7" }, { partition }, { goes }, { unserved } } },
	/* Hardware serves one port */
	{ "device that rdma_rxe unregistered returns with all ports", .step = {
		{ second }, { make }, { is_taken }, { offer }, { goes }, { on_software },
		{ both_served } } },
	{ "device returns only where all its netdevs stay", .step = {
		{ second }, { set_returns }, { second_removed }, { returns_no_more } } },
	/* Devices of a LAG's members are created again when it ends */
	{ "device returns after one that replaces it", .step = {
		{ make }, { set_returns }, { is_added_as_lag }, { returns }, { is_added },
		{ returns_no_more } } },
	/* Hardware serves single ports: the second netdev, once the device ended with its first */
	{ "second port is decided on after the first has ended", .step = {
		{ second }, { make }, { offer_for_second }, { flush },
		{ second_not_on_hardware }, { first_goes }, { second_on_hardware } } },
	/* A user may create one first, which is no failure */
	{ "request of the user precedes a returning device", .step = {
		{ make }, { note }, { set_returns }, { bring_back }, { returns }, { stays },
		{ is_added } } },
	{ "unregistered device returns only on the same netdev", .step = {
		{ make }, { has_moved }, { is_taken }, { goes }, { unserved } } },
	/* Nor is a device created again that is being removed for another reason */
	{ "device that is removed makes no room", .step = {
		{ make }, { has_moved }, { makes_no_room } } },
	/* Before clients see it as added, which must not end the wait for its successor */
	{ "device that makes room as it appears returns", .step = {
		{ make }, { note }, { is_held }, { hold }, { second }, { makes_room }, { pair },
		{ held_is_added }, { let_go }, { returns }, { is_paired }, { unpair },
		{ hold_ends }, { is_back } } },
	{ "settings written while a device makes room are kept", .step = {
		{ make }, { note }, { is_held }, { makes_room }, { set_held_ttl, "7" },
		{ set_held_tclass, "104" }, { let_go }, { is_back }, { ttl, "7" },
		{ tclass, "104" } } },
	/* A netdev's end removes all ports of its device; the remaining ones keep theirs, too */
	{ "settings of all ports are kept", ON_HARDWARE, {
		{ second }, { choose, TEST_NAME "_two" }, { set_both }, { reload },
		{ choose }, { both_are_set, TEST_NAME "_two" } } },
	/*
	 * Both are already being unregistered at the event of the first one. The device is removed
	 * as by its user: other tests have hardware of the same name
	 */
	{ "settings of ports that go together are kept", ON_HARDWARE, {
		{ second_of_hardware }, { choose, TEST_NAME "_both" }, { set_both },
		{ both_reload }, { choose }, { both_are_set, TEST_NAME "_both" },
		{ user_removes } } },
	{ "members of a LAG that fails have their devices", .step = {
		{ choose }, { set_ttl, "7" }, { removed }, { goes }, { lag_fails }, { wanted },
		{ offer }, { on_hardware }, { ttl, "7" } } },
};
KUNIT_ARRAY_PARAM_DESC(course, courses, desc);

static void unregister_radio(void *data)
{
	root_device_unregister(data);
}

static struct device *radio(struct kunit *test)
{
	struct device *parent = root_device_register("kunit_radio");

	KUNIT_ASSERT_FALSE(test, IS_ERR(parent));
	test_at_end(test, unregister_radio, parent);
	return parent;
}

static void netdev_has_the_device_that_it_should(struct kunit *test)
{
	const struct course *c = test->param_value;
	struct bench *b;

	if (c->step[0].act == on_port_0 && IS_ENABLED(CONFIG_NET_DEVLINK))
		kunit_skip(test, "devlink wants ports of its own");
	b = make_bench_on(test, c->on == ON_HARDWARE ? test_hardware(test) :
				c->on == ON_RADIO ? radio(test) : NULL);
	test_steps(test, c, s, s->act(b, s->arg));
}

static int withdraw_it(struct kunit *test, void *offer)
{
	rhca_offer_withdraw(offer);
	return 0;
}

static int unregister(struct kunit *test, void *ndev)
{
	test_netdev_remove(test, ndev);
	return 0;
}

static void withdrawal_waits_for_creation_in_progress(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct elsewhere *e;

	offer(b, NULL);
	KUNIT_ASSERT_PTR_EQ(test, rhca_offer_find(b->ndev), &b->offer);
	e = test_begin(test_elsewhere(test, withdraw_it, &b->offer));
	test_waits(e);
	rhca_offer_release(&b->offer);
	test_end(e);
	b->offered = false;
}

/*
 * A withdrawal waits for users of the offer. To lockdep that is a lock, so that it reports a user
 * that takes a lock under which offers are withdrawn.
 */
static void offer_in_use_is_a_lock_to_lockdep(struct kunit *test)
{
#ifdef CONFIG_LOCKDEP
	struct bench *b = make_bench(test);
	struct rhca_offer *found;

	if (!debug_locks)
		kunit_skip(test, "lockdep is off after a report");
	offer(b, NULL);
	found = rhca_offer_find(b->ndev);
	KUNIT_ASSERT_PTR_EQ(test, found, &b->offer);
	KUNIT_EXPECT_TRUE(test, lock_is_held(&b->offer.users_map));
	rhca_offer_release(found);
	KUNIT_EXPECT_FALSE(test, lock_is_held(&b->offer.users_map));
#else
	kunit_skip(test, "no lockdep");
#endif
}

/*
 * The event of the second cannot find the device, which is moving. If the other netdev is then
 * removed before the device has checked both, no slot must be left for the second
 */
static void netdev_unregistered_during_a_move_leaves_no_slot(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_slot_known known;
	struct elsewhere *e;

	second_of_hardware(b, NULL);
	choose(b, TEST_NAME "_way");
	set_both(b, NULL);
	begin_way(b, NULL);
	e = test_begin(test_elsewhere(test, unregister, b->second));
	KUNIT_EXPECT_TRUE(test, test_becomes(READ_ONCE(b->second->reg_state) ==
					     NETREG_UNREGISTERED));
	refcount_set(&b->dev->ibdev.refcount, b->references);
	rtnl_lock();
	rhca_slot_netdev_removed(b->ndev);
	rhca_dev_remove_netdev(b->ndev);
	rtnl_unlock();
	test_end(e);
	rhca_slot_read(b->second, &known);	/* compares the pointer only */
	b->second = NULL;
	KUNIT_EXPECT_FALSE(test, known.tenants);
	/* Other tests have hardware of the same name */
	choose(b, NULL);
	user_removes(b, NULL);
}

/* Until the device has released the netdev, the kernel repeats the event that could not find it */
static void netdev_unregistered_during_a_move_takes_its_device_along(struct kunit *test)
{
	struct bench *b = make_bench_beside(test, 2);
	struct elsewhere *e;

	make(b, NULL);
	begin_way(b, NULL);
	e = test_begin(test_elsewhere(test, unregister, b->ndev));
	KUNIT_EXPECT_TRUE(test, test_becomes(READ_ONCE(b->ndev->reg_state) == NETREG_UNREGISTERED));
	end_way(b, NULL);
	test_end(e);
}

/* The device is back after the event of one netdev's end, and before that of the other */
static struct {
	struct notifier_block nb;	/* behind the one of the module */
	struct bench *b;		/* the bench, whose device is moving until then */
	const struct net_device *notified;	/* the first of the two */
} way_back;

static int end_way_between(struct notifier_block *nb, unsigned long event, void *ptr)
{
	if (event == NETDEV_UNREGISTER && netdev_notifier_info_to_dev(ptr) == way_back.notified)
		refcount_set(&way_back.b->dev->ibdev.refcount, way_back.b->references);
	return NOTIFY_DONE;
}

static void netdev_with_a_late_notifier_leaves_no_slot(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_slot_known known;
	struct device *old;

	second_of_hardware(b, NULL);
	old = get_device(&b->second->dev);	/* so that its address stays its own */
	choose(b, TEST_NAME "_way");
	set_both(b, NULL);
	begin_way(b, NULL);
	way_back.nb.notifier_call = end_way_between;
	way_back.b = b;
	way_back.notified = b->second;
	KUNIT_ASSERT_EQ(test, 0, register_netdevice_notifier(&way_back.nb));
	test_netdevs_remove(test, b->second, b->ndev);
	unregister_netdevice_notifier(&way_back.nb);
	rhca_slot_read(b->second, &known);	/* compares its address */
	b->second = NULL;
	KUNIT_EXPECT_FALSE(test, known.tenants);
	put_device(old);
	/* Other tests have hardware of the same name */
	b->ndev = test_netdev_of(test, 1, b->parent, NULL);
	choose(b, NULL);
	user_removes(b, NULL);
}

/* ib_core unbinds a device from its netdev after clients have seen its removal */
static void another_driver_that_leaves_delays_a_standin_once(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rhca_slot_facts f = { .other = RHCA_OTHER_CHANGING };
	unsigned long since = rhca_slot_decided(b->ndev, &f, RHCA_ROW_OTHER_CHANGES);

	msleep(2 * STEP_MS);
	f.other = RHCA_OTHER_NONE;
	KUNIT_EXPECT_EQ(test, rhca_slot_decided(b->ndev, &f, RHCA_ROW_STANDS_IN), since);
	KUNIT_EXPECT_EQ(test, rhca_slot_decided(b->ndev, &f, RHCA_ROW_STANDS_IN), since);
	KUNIT_EXPECT_NE(test, rhca_slot_decided(b->ndev, &f, RHCA_ROW_MAY_STAND_IN), since);
}

/*
 * The next netdev on the same hardware, which has no offer yet, starts the delay again. (Its user
 * has removed the device, so that nothing else decides on it here.)
 */
static void standin_delay_restarts_on_the_next_netdev(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	struct rhca_slot_facts f = {};
	unsigned long since;

	choose(b, NULL);
	user_removes(b, NULL);
	rhca_slot_flush();
	f.other = RHCA_OTHER_CHANGING;
	since = rhca_slot_decided(b->ndev, &f, RHCA_ROW_STANDS_IN);
	msleep(2 * STEP_MS);
	reload(b, NULL);
	KUNIT_EXPECT_TRUE(test, rhca_slot_is_unwanted(b->ndev));
	f.other = RHCA_OTHER_NONE;
	KUNIT_EXPECT_NE(test, rhca_slot_decided(b->ndev, &f, RHCA_ROW_STANDS_IN), since);
}

static struct rhca_dev *make_lag(struct bench *b)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&rhca_sw_backend, test_netdev(b->test, 2));

	spec.name = TEST_NAME "_lag";
	spec.replaced = (struct rhca_lag_record) {
		.num_devices = 1, .device = { { .name = "member", .num_ports = 1 } },
	};
	rhca_netdev_note(&spec.replaced.device[0].netdev[0], b->ndev);
	KUNIT_ASSERT_EQ(b->test, 0, rhca_dev_create(&spec));
	return test_device_get(b->test, spec.netdevs[0]);
}

static void lag_comes_and_goes(struct bench *b, const char *arg)
{
	ib_unregister_device_and_put(&make_lag(b)->ibdev);
}

/* Clients have seen the device by then, and the registering task unregisters it, as in ib_core */
static void lag_fails(struct bench *b, const char *arg)
{
	struct rhca_dev *dev = make_lag(b);

	WRITE_ONCE(dev->registrant, current);
	ib_unregister_device_and_put(&dev->ibdev);
}

/*
 * The device is recognised by its number when it is back. By then it has another netdev, for which
 * there was no request
 */
static void netdev_reset_during_a_move_keeps_the_wish(struct kunit *test)
{
	struct bench *b = make_hardware_bench(test);
	/* Hold it, so that the next netdev has another address */
	struct device *old = get_device(&b->ndev->dev);
	struct rhca_slot_ports ports = {};
	struct rhca_slot_known known;
	struct rhca_dev *dev;

	make(b, NULL);
	dev = test_device_get(test, b->ndev);
	rhca_slot_set_wish(b->ndev, RHCA_WISH_LINK, NULL);
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_returns(b->ndev, &ports));
	rhca_slot_device_removed(dev, true);
	reload(b, NULL);
	KUNIT_EXPECT_TRUE(test, rhca_slot_is_unwanted(b->ndev));
	KUNIT_EXPECT_FALSE(test, rhca_slot_is_set(b->ndev, RHCA_SLOT_RETURNS));
	rhca_slot_device_added(dev);
	rhca_slot_read(b->ndev, &known);
	KUNIT_EXPECT_EQ(test, known.wish, RHCA_WISH_NONE);
	ib_device_put(&dev->ibdev);
	put_device(old);
}

/*
 * Another driver's device, which is only bound to a netdev, and asked for netdevs: that is after
 * the facts about a netdev's own device were collected
 */
struct other_device {
	struct ib_device ibdev;
};

static const struct net_device *kicked_when_asked;
static const struct net_device *joined_when_asked;	/* joins it to this one, or NULL */
static bool is_noted;		/* it is kicked again */
static const struct net_device *always_kicked;	/* each time, for one decision after the other */

static struct net_device *other_get_netdev(struct ib_device *ibdev, u32 port)
{
	const struct net_device *ndev = xchg(&kicked_when_asked, READ_ONCE(always_kicked));

	if (ndev && joined_when_asked)
		rhca_slot_set_pair(ndev, joined_when_asked);
	if (ndev) {
		if (ndev == READ_ONCE(always_kicked))
			rhca_slot_set(ndev, RHCA_SLOT_KICKED, true);
		rhca_slot_kick(ndev);
		WRITE_ONCE(is_noted, rhca_slot_is_set(ndev, RHCA_SLOT_KICKED));
	}
	return NULL;
}

static int other_query_device(struct ib_device *ibdev,
			      struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	return 0;
}

static int other_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
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

	.get_netdev		= other_get_netdev,
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

static void other_comes(struct bench *b, const char *arg)
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
	test_at_end(b->test, remove_other, other);
	b->other = other;
}

static void other_goes(struct bench *b, const char *arg)
{
	kunit_release_action(b->test, remove_other, b->other);
}

/* An event after the facts were collected is not missed. No rule matches: nothing is created */
static void rule_is_due_until_it_is_decided_on(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct bench *other = make_bench_beside(test, 2);

	other_comes(other, NULL);
	WRITE_ONCE(is_noted, false);
	WRITE_ONCE(kicked_when_asked, b->ndev);
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set(b->ndev, RHCA_SLOT_RULE_DUE, true));
	rhca_slot_kick(b->ndev);
	KUNIT_EXPECT_TRUE(test, test_becomes(!rhca_slot_is_set(b->ndev, RHCA_SLOT_RULE_DUE)));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(is_noted));
}

/* Whatever its user does to it */
static void netdev_kicked_in_each_decision_delays_no_other(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct bench *other = make_bench_beside(test, 2);
	struct net_device *newer = test_netdev(test, 3);

	other_comes(other, NULL);
	rhca_slot_flush();
	WRITE_ONCE(always_kicked, b->ndev);
	WRITE_ONCE(kicked_when_asked, b->ndev);
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set(b->ndev, RHCA_SLOT_KICKED, true));
	rhca_slot_kick(b->ndev);
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set(newer, RHCA_SLOT_RULE_DUE, true));
	rhca_slot_kick(newer);
	KUNIT_EXPECT_TRUE(test, test_becomes(!rhca_slot_is_set(newer, RHCA_SLOT_RULE_DUE)));
	WRITE_ONCE(always_kicked, NULL);
	WRITE_ONCE(kicked_when_asked, NULL);
	rhca_slot_flush();
}

/* Begin or end to look like a bond, though without the private data of one */
static void toggle_bond(struct net_device *ndev)
{
	ndev->flags ^= IFF_MASTER;
	ndev->priv_flags ^= IFF_BONDING;
}

/* Users may make any number of them, and change them at any rate, in namespaces of their own */
static void bonds_without_devices_of_ours_are_not_looked_at(struct kunit *test)
{
	struct net_device *bond = test_netdev(test, 1), *member = test_netdev(test, 2);
	struct rhca_slot_facts f = {};
	unsigned long now;

	toggle_bond(bond);
	rhca_slot_kick(NULL);
	rhca_slot_flush();
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set(member, RHCA_SLOT_LATER, true));
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, 0, netdev_master_upper_dev_link(member, bond, NULL, NULL, NULL));
	netdev_upper_dev_unlink(member, bond);
	rtnl_unlock();
	rhca_slot_flush();
	KUNIT_EXPECT_TRUE(test, rhca_slot_is_set(member, RHCA_SLOT_LATER));
	msleep(STEP_MS);
	now = jiffies;
	/* As of now, since there was no decision before */
	KUNIT_EXPECT_TRUE(test, time_after_eq(rhca_slot_decided(bond, &f, RHCA_ROW_OTHERWISE),
					      now));
	toggle_bond(bond);
}

static bool has_lag(const struct net_device *ndev)
{
	return test_device_is(ndev, dev, dev->replaced.num_devices);
}

/* The previous pair is given up, as its partitions differ, but not this one */
static void pair_joined_during_a_decision_is_decided_on(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct bench *second = make_bench_beside(test, 2);
	struct bench *other = make_bench_beside(test, 3);
	struct net_device *newer = test_netdev(test, 4);

	choose(b, NULL);
	choose(second, NULL);
	set_pkeys(second, "1 0x8001");
	other_comes(other, NULL);
	rhca_slot_flush();
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(b->ndev, second->ndev));
	joined_when_asked = newer;
	WRITE_ONCE(kicked_when_asked, b->ndev);
	rhca_slot_kick(b->ndev);
	KUNIT_EXPECT_TRUE(test, test_becomes(has_lag(newer)));
	KUNIT_EXPECT_FALSE(test, has_lag(second->ndev));
	joined_when_asked = NULL;
	KUNIT_EXPECT_EQ(test, 0, rhca_slot_set_pair(b->ndev, NULL));
	rhca_slot_kick(b->ndev);
	KUNIT_EXPECT_TRUE(test, test_becomes(find(b) && !has_lag(b->ndev)));
	rhca_slot_flush();
	test_device_remove(second->ndev);
}

static struct net_device *covered_too;

static bool covers_too(const struct rhca_offer *offer, const struct net_device *ndev)
{
	return ndev == READ_ONCE(covered_too);
}

static void remove_too(void *data)
{
	struct rhca_offer *offer = data;

	rhca_offer_withdraw(offer);
	test_device_remove(covered_too);
	WRITE_ONCE(covered_too, NULL);
}

/* Adds an offer of hardware for the second netdev */
static void offer_for_second(struct bench *b, const char *arg)
{
	struct rhca_offer *too = test_alloc(b->test, sizeof(*too));

	*too = (struct rhca_offer) {
		.backend = &recording_backend, .covers = covers_too,
		.able = true,
	};
	WRITE_ONCE(covered_too, b->second);
	rhca_offer_add(too);
	test_at_end(b->test, remove_too, too);
}

/* The netdev was unregistered after the decision to create its device again, and its slot freed */
static void device_of_an_unregistered_netdev_does_not_return(struct kunit *test)
{
	struct net_device *ndev = test_netdev(test, 2);
	struct rhca_slot_known known;

	rhca_slot_read(ndev, &known);
	KUNIT_EXPECT_EQ(test, known.ports.num, 0);
	rhca_slot_bring_back(ndev);
	KUNIT_EXPECT_FALSE(test, rhca_netdev_served(ndev));
}

/* --- events in any order ------------------------------------------------------------- */

/* What hardware, and a device that is being removed, refuses */
static void try_pkeys(struct bench *b, const char *arg)
{
	test_device_is(b->ndev, dev, !rhca_pkeys_store(&dev->ports[0], arg));
}

STEP(goes_down, test_netdev_set_up(b->ndev, false))
STEP(comes_up, test_netdev_set_up(b->ndev, true))

/* Events, and those that undo them; they overlap in any order */
static const struct {
	void (*act[2])(struct bench *b, const char *arg);
	const char *arg[2];
} happenings[] = {
	{ { withdraw, offer } }, { { unable, able } }, { { other_comes, other_goes } },
	{ { goes_down, comes_up } }, { { try_pkeys, try_pkeys }, { "1 0x8001", "1 0" } },
};

#define NUM_HAPPENINGS	ARRAY_SIZE(happenings)
#define NUM_ORDERS	16

/* Whatever the last event is, it must be enough: an event without a kick is seen only here */
static void order_of_events_does_not_matter(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct rnd_state random;
	u32 order, left, i;

	offer(b, NULL);
	for (order = 0; order < NUM_ORDERS; order++) {
		u8 done[NUM_HAPPENINGS] = {};

		recording_clear();
		prandom_seed_state(&random, order);
		for (left = 2 * NUM_HAPPENINGS; left;) {
			i = prandom_u32_state(&random) % NUM_HAPPENINGS;
			if (done[i] == 2)
				continue;
			happenings[i].act[done[i]](b, happenings[i].arg[done[i]]);
			done[i]++;
			left--;
			if (prandom_u32_state(&random) % 2)
				rhca_slot_flush();
		}
		/* What refused the default partitions may have been about to leave */
		KUNIT_ASSERT_TRUE_MSG(test,
				      test_becomes((try_pkeys(b, "1 0"),
						    is_served_by(b->ndev, &recording_backend))),
				      "order %u", order);
	}
}

TEST_SUITE(rhca_control_choice,
	   KUNIT_CASE_PARAM(netdev_has_the_device_that_it_should, course_gen_params),
	   KUNIT_CASE(withdrawal_waits_for_creation_in_progress),
	   KUNIT_CASE(offer_in_use_is_a_lock_to_lockdep),
	   KUNIT_CASE(netdev_unregistered_during_a_move_leaves_no_slot),
	   KUNIT_CASE(netdev_unregistered_during_a_move_takes_its_device_along),
	   KUNIT_CASE(netdev_with_a_late_notifier_leaves_no_slot),
	   KUNIT_CASE(another_driver_that_leaves_delays_a_standin_once),
	   KUNIT_CASE(standin_delay_restarts_on_the_next_netdev),
	   KUNIT_CASE(rule_is_due_until_it_is_decided_on),
	   KUNIT_CASE(netdev_kicked_in_each_decision_delays_no_other),
	   KUNIT_CASE(bonds_without_devices_of_ours_are_not_looked_at),
	   KUNIT_CASE(pair_joined_during_a_decision_is_decided_on),
	   KUNIT_CASE(order_of_events_does_not_matter),
	   KUNIT_CASE(netdev_reset_during_a_move_keeps_the_wish),
	   KUNIT_CASE(device_of_an_unregistered_netdev_does_not_return));
