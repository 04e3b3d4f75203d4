// SPDX-License-Identifier: GPL-2.0
/*
 * One device in place of two, and back.
 *
 * A bond of exactly two ports in a mode that RoCE knows becomes one device, and
 * so do two netdevs that the file roce_lag_ecmp_dev joins. The devices of the
 * members go; the new one remembers what they were, and when it ends they come
 * back. Devices cannot be made and removed where events are told, so both are
 * jobs of one ordered work queue, which look at the state as it is by then.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/bonding.h>

#include "control/lag.h"
#include "control/link.h"
#include "core/comeback.h"
#include "core/device.h"
#include "core/registry.h"

static struct workqueue_struct *lag_wq;
static bool stopped;
static DEFINE_SPINLOCK(jobs_lock);	/* protects @stopped against queueing */

/**
 * struct members - The devices of members
 * @record: what they are
 * @pkeys: partitions of the first port found
 * @facts: what decides on a LAG
 */
struct members {
	struct rhca_lag_record record;
	struct rhca_pkey_table pkeys;
	struct rhca_lag_facts facts;
};

/* --- what there is -------------------------------------------------------------- */

/* A LAG has one table: tenants that the ports keep apart would meet */
static void compare_partitions(struct members *members, struct rhca_dev *dev)
{
	struct rhca_pkey_table pkeys;
	u32 i;

	for (i = 0; i < dev->num_ports; i++) {
		rhca_pkeys_copy(&dev->ports[i], &pkeys);
		if (!i && !members->record.num_devices)
			members->pkeys = pkeys;
		if (memcmp(&pkeys, &members->pkeys, sizeof(pkeys)))
			members->facts.partitions_differ = true;
	}
}

/* Enter a device into the record */
static void record_device(struct members *members, struct rhca_dev *dev)
{
	struct rhca_lag_record *record = &members->record;
	struct rhca_lag_replaced *replaced;
	const struct net_device *ndev;
	u32 i;

	if (record->num_devices == RHCA_LAG_MEMBERS)
		return;
	compare_partitions(members, dev);
	replaced = &record->device[record->num_devices++];
	strscpy(replaced->name, dev_name(&dev->ibdev.dev),
		sizeof(replaced->name));
	rcu_read_lock();
	for (i = 0; i < dev->num_ports && i < RHCA_LAG_MEMBERS; i++) {
		ndev = rcu_dereference(dev->ports[i].ndev);
		replaced->ifindex[i] = ndev ? ndev->ifindex : 0;
		replaced->num_ports++;
	}
	rcu_read_unlock();
}

/* Ports of a member's device that are no members: a LAG would take them along */
static u32 ports_outside(const struct rhca_dev *dev, struct net_device *bond)
{
	struct net_device *ndev;
	u32 i, outside = 0;

	for (i = 0; i < dev->num_ports; i++) {
		ndev = rtnl_dereference(dev->ports[i].ndev);
		outside += !ndev || netdev_master_upper_dev_get(ndev) != bond;
		outside += !!rcu_access_pointer(dev->ports[i].second);
	}
	return outside;
}

/* Hardware that makes one device of bonded ports itself is not told how */
static bool decides_itself(const struct rhca_dev *dev)
{
	return dev->offer && dev->offer->decides_lag;
}

static void look_at_member(struct net_device *bond, struct net_device *member,
			   struct members *members)
{
	struct rhca_lag_facts *facts = &members->facts;
	struct rhca_dev *dev = rhca_dev_find(member);

	facts->num_members++;
	facts->disabled |= rhca_lag_refused(member);
	if (!dev)
		return;
	if (!decides_itself(dev)) {
		facts->num_ports++;
		facts->num_outside += ports_outside(dev, bond);
		if (!rhca_lag_record_covers(&members->record, member->ifindex))
			record_device(members, dev);
	}
	ib_device_put(&dev->ibdev);
}

static void look_at_bond(struct net_device *bond, struct members *members)
{
	struct net_device *member;
	struct list_head *iter;

	ASSERT_RTNL();
	netdev_for_each_lower_dev(bond, member, iter)
		look_at_member(bond, member, members);
}

/* The same where the LAG has taken the members' devices */
static void look_at_lag(struct net_device *bond, struct members *members)
{
	struct rhca_lag_facts *facts = &members->facts;
	struct net_device *member;
	struct list_head *iter;

	ASSERT_RTNL();
	netdev_for_each_lower_dev(bond, member, iter) {
		facts->num_members++;
		facts->disabled |= rhca_lag_refused(member);
		/* Somebody was quicker and made a device on a member */
		facts->num_outside += rhca_netdev_served(member);
		facts->num_ports += rhca_lag_record_covers(&members->record,
							   member->ifindex);
	}
}

/*
 * What a device on the netdev stands for; no device when it is no LAG of ours.
 * Those that come back get the partitions that the LAG has.
 */
static void look_at_replaced(const struct net_device *ndev,
			     struct members *members)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	memset(members, 0, sizeof(*members));
	if (!dev)
		return;
	members->record = dev->replaced;
	rhca_pkeys_copy(&dev->ports[0], &members->pkeys);
	ib_device_put(&dev->ibdev);
}

/* What was written to a table that has been copied would be lost */
static void freeze_partitions(const struct net_device *ndev, bool frozen)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	u32 i;

	if (!dev)
		return;
	for (i = 0; i < dev->num_ports; i++)
		rhca_pkeys_freeze(&dev->ports[i], frozen);
	ib_device_put(&dev->ibdev);
}

/**
 * rhca_lag_has_member - Does a LAG device stand for this netdev?
 * @ndev: the netdev
 */
bool rhca_lag_has_member(const struct net_device *ndev)
{
	struct members members = {};
	struct net_device *master;

	rcu_read_lock();
	master = netdev_master_upper_dev_get_rcu((struct net_device *)ndev);
	if (master)
		look_at_replaced(master, &members);
	rcu_read_unlock();
	return rhca_lag_record_covers(&members.record, ndev->ifindex);
}

/* --- making and ending ------------------------------------------------------------ */

static void restore(struct net *net, const struct members *members)
{
	const struct rhca_dev_spec lag = {
		.backend	= rhca_link_backend(),
		.replaced	= members->record,
		.pkeys		= { &members->pkeys },
	};

	rhca_comeback_replaced(net, &lag);
}

static void remove_members(struct net *net,
			   const struct rhca_lag_record *record)
{
	struct net_device *ndev;
	u32 i;

	for (i = 0; i < record->num_devices; i++) {
		ndev = dev_get_by_index(net, record->device[i].ifindex[0]);
		if (ndev)
			rhca_dev_remove(ndev);
		dev_put(ndev);
	}
}

/* Users of the members' devices see them go as if they were unplugged */
static void make_lag(const struct members *members, struct net_device *first,
		     struct net_device *second)
{
	const struct rhca_lag_record *record = &members->record;
	struct rhca_dev_spec spec = {
		.backend	= rhca_link_backend(),
		.netdevs	= { first },
		.num_ports	= 1,
		.second		= second,
		.replaced	= *record,
		.pkeys		= { &members->pkeys },
	};
	int ret;

	remove_members(dev_net(first), record);
	ret = rhca_dev_create(&spec);
	if (!ret) {
		pr_info("%s is one RDMA device now, in place of %s%s%s\n",
			netdev_name(first), record->device[0].name,
			record->num_devices > 1 ? " and " : "",
			record->device[1].name);
		return;
	}
	pr_warn("no RDMA device in place of those of %s's members: error %d\n",
		netdev_name(first), ret);
	restore(dev_net(first), members);
}

static void end_lag(struct net_device *ndev)
{
	struct members members;

	freeze_partitions(ndev, true);
	look_at_replaced(ndev, &members);
	if (members.record.num_devices && rhca_dev_remove(ndev))
		restore(dev_net(ndev), &members);
}

/* @members has the record of the LAG that there is, or none and gets it */
static bool bond_qualifies(struct net_device *bond, struct members *members)
{
	bool qualifies;

	rtnl_lock();
	members->facts.bond_mode =
		BOND_MODE((struct bonding *)netdev_priv(bond));
	if (members->record.num_devices)
		look_at_lag(bond, members);
	else
		look_at_bond(bond, members);
	qualifies = bond->reg_state == NETREG_REGISTERED &&
		    rhca_lag_decide(&members->facts) != RHCA_LAG_NONE;
	rtnl_unlock();
	return qualifies;
}

static void freeze_recorded(struct net *net,
			    const struct rhca_lag_record *record, bool frozen)
{
	struct net_device *ndev;
	u32 i;

	for (i = 0; i < record->num_devices; i++) {
		ndev = dev_get_by_index(net, record->device[i].ifindex[0]);
		if (ndev)
			freeze_partitions(ndev, frozen);
		dev_put(ndev);
	}
}

/* Look again when nobody can change the tables, and make it if it still holds */
static void make_bond_lag(struct net_device *bond,
			  const struct rhca_lag_record *record)
{
	struct members members = {};

	freeze_recorded(dev_net(bond), record, true);
	if (bond_qualifies(bond, &members))
		make_lag(&members, bond, NULL);
	freeze_recorded(dev_net(bond), record, false);	/* if not made */
}

static void check_bond(struct net_device *bond)
{
	struct members members;
	bool is_lag, wanted;

	look_at_replaced(bond, &members);
	is_lag = members.record.num_devices;
	wanted = bond_qualifies(bond, &members);
	if (is_lag && !wanted)
		end_lag(bond);
	if (is_lag || !wanted)
		return;
	if (rhca_netdev_served(bond))
		netdev_info(bond, "has an RDMA device of its own, so its members keep theirs\n");
	else if (!rhca_link_check(bond))
		make_bond_lag(bond, &members.record);
}

/* Can the device on a netdev be one half of a pair? It is recorded if so */
static bool record_half(struct members *members, struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool usable;

	if (!dev)
		return true;
	usable = dev->num_ports == 1 && !dev->replaced.num_devices &&
		 !decides_itself(dev);
	if (usable)
		record_device(members, dev);
	ib_device_put(&dev->ibdev);
	return usable && !members->facts.partitions_differ;
}

/* As it was when the file was written, unless somebody came between */
static void make_pair(struct net_device *first, struct net_device *second)
{
	struct members members = {};

	freeze_partitions(first, true);
	freeze_partitions(second, true);
	if (record_half(&members, first) && members.record.num_devices &&
	    record_half(&members, second))
		make_lag(&members, first, second);
	freeze_partitions(first, false);	/* where nothing was made */
	freeze_partitions(second, false);
}

/* --- jobs --------------------------------------------------------------------------- */

enum job_kind {
	JOB_CHECK_BOND,
	JOB_MAKE_PAIR,
	JOB_END_LAG,
};

struct job {
	struct work_struct work;
	enum job_kind kind;
	struct net_device *first;
	struct net_device *second;
	netdevice_tracker first_tracker;
	netdevice_tracker second_tracker;
};

static void release_job(struct job *job)
{
	netdev_put(job->first, &job->first_tracker);
	netdev_put(job->second, &job->second_tracker);
	kfree(job);
}

static void do_job(struct work_struct *work)
{
	struct job *job = container_of(work, struct job, work);

	switch (job->kind) {
	case JOB_CHECK_BOND:
		check_bond(job->first);
		break;
	case JOB_MAKE_PAIR:
		make_pair(job->first, job->second);
		break;
	case JOB_END_LAG:
		end_lag(job->first);
		break;
	}
	release_job(job);
}

static int queue_job(enum job_kind kind, struct net_device *first,
		     struct net_device *second)
{
	struct job *job = kzalloc(sizeof(*job), GFP_ATOMIC);
	bool queued;

	if (!job)
		return -ENOMEM;
	INIT_WORK(&job->work, do_job);
	job->kind = kind;
	job->first = first;
	job->second = second;
	netdev_hold(first, &job->first_tracker, GFP_ATOMIC);
	netdev_hold(second, &job->second_tracker, GFP_ATOMIC);
	spin_lock(&jobs_lock);
	queued = !stopped && queue_work(lag_wq, &job->work);
	spin_unlock(&jobs_lock);
	if (!queued)
		release_job(job);
	return 0;
}

/**
 * rhca_lag_bond_changed - A bond got or lost a member
 * @bond: a bond's netdev
 *
 * Context: RTNL held.
 */
void rhca_lag_bond_changed(struct net_device *bond)
{
	if (queue_job(JOB_CHECK_BOND, bond, NULL))
		netdev_warn(bond, "no memory to look whether it is a RoCE LAG\n");
}

/**
 * rhca_lag_device_added - A device of ours has appeared, perhaps on a member or
 * back on a bond that has changed meanwhile
 * @dev: the device
 *
 * Context: any that may not sleep either.
 */
void rhca_lag_device_added(struct rhca_dev *dev)
{
	struct net_device *ndev, *master;
	u32 i;

	rcu_read_lock();
	for (i = 0; i < dev->num_ports; i++) {
		ndev = rcu_dereference(dev->ports[i].ndev);
		master = ndev ? netdev_master_upper_dev_get_rcu(ndev) ?: ndev :
				NULL;
		if (master && netif_is_bond_master(master))
			rhca_lag_bond_changed(master);
	}
	rcu_read_unlock();
}

/**
 * rhca_lag_netdev_gone - A netdev is being unregistered: so is a LAG on it
 * @ndev: the netdev; its device has not been told yet
 *
 * Context: RTNL held.
 */
void rhca_lag_netdev_gone(struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	struct members members;

	rhca_lag_allow(ndev);
	if (!dev)
		return;
	freeze_partitions(ndev, true);
	look_at_replaced(ndev, &members);
	if (members.record.num_devices && rhca_dev_claim(dev))
		restore(dev_net(ndev), &members);
	ib_device_put(&dev->ibdev);
}

/* --- pairs that the user wants -------------------------------------------------- */

/* Why two netdevs cannot be joined, or 0 */
static int check_pair(struct rhca_dev *dev, struct net_device *first,
		      struct net_device *second)
{
	struct members members = {};

	if (dev->num_ports != 1 || dev->replaced.num_devices ||
	    netif_is_bond_master(first))
		return -EOPNOTSUPP;
	if (second == first || second->type != ARPHRD_ETHER ||
	    netif_is_bond_slave(first) || netif_is_bond_slave(second) ||
	    netif_is_bond_master(second))
		return -EINVAL;
	if (!rhca_netdev_served(second))
		return rhca_link_check(second);
	record_device(&members, dev);
	return record_half(&members, second) ? 0 : -EBUSY;
}

/**
 * rhca_lag_join - Make one device for two netdevs without a bond, in a moment
 * @dev: the device of the first one
 * @first: its netdev; the caller holds a reference
 * @name: of the other netdev
 *
 * Context: may sleep. The device is gone some time after success.
 * Return: 0; -ENODEV when there is no netdev of that name; -EINVAL when the two
 * cannot be a pair; -EOPNOTSUPP when the device is a LAG, on a bond or has
 * several ports; -EBUSY when the other's device cannot be taken; -ENOMEM.
 */
int rhca_lag_join(struct rhca_dev *dev, struct net_device *first,
		  const char *name)
{
	struct net_device *second = dev_get_by_name(dev_net(first), name);
	int ret;

	if (!second)
		return -ENODEV;
	ret = check_pair(dev, first, second);
	if (!ret)
		ret = queue_job(JOB_MAKE_PAIR, first, second);
	dev_put(second);
	return ret;
}

/**
 * rhca_lag_part - End in a moment what rhca_lag_join() made; else do nothing
 * @dev: the device
 * @first: its netdev; the caller holds a reference
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_lag_part(struct rhca_dev *dev, struct net_device *first)
{
	if (!rcu_access_pointer(dev->ports[0].second))
		return 0;
	return queue_job(JOB_END_LAG, first, NULL);
}

/* --- life ----------------------------------------------------------------------------- */

int rhca_lag_init(void)
{
	lag_wq = alloc_ordered_workqueue("roce_hca_lag", 0);
	return lag_wq ? 0 : -ENOMEM;
}

/**
 * rhca_lag_stop - Module unload: no LAG is made or ended any more
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_lag_stop(void)
{
	spin_lock(&jobs_lock);
	stopped = true;
	spin_unlock(&jobs_lock);
	flush_workqueue(lag_wq);
}

/**
 * rhca_lag_exit - Free what is left, when no device is
 */
void rhca_lag_exit(void)
{
	destroy_workqueue(lag_wq);
	rhca_lag_forget_refusals();
}
