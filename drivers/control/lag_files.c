// SPDX-License-Identifier: GPL-2.0
/*
 * Device files roce_lag_enable (may the ports' bond be a LAG?) and roce_lag_ecmp_dev (the netdev to
 * make a LAG with, without a bond).
 */
#include <linux/rtnetlink.h>
#include <rhca/compat.h>

#include "control/sysfs.h"
#include "core/port/port.h"
#include "lifecycle/lag.h"
#include "lifecycle/lag_members.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_apply.h"

static bool is_enabled(struct net_device *ndev)
{
	return !rhca_slot_is_set(ndev, RHCA_SLOT_LAG_OFF);
}

/* Checks all members of the bond that a netdev is or is in, or else the netdev, if any */
static bool members_enabled(struct net_device *ndev)
{
	struct net_device *bond = ndev ? rhca_lag_bond_of(ndev) : NULL;
	struct net_device *member;
	struct list_head *iter;
	bool enabled = true;

	ASSERT_RTNL();
	if (!bond)
		return !ndev || is_enabled(ndev);
	netdev_for_each_lower_dev(bond, member, iter)
		enabled &= is_enabled(member);
	return enabled;
}

/* Sets the same members; the bond may become a LAG or stop being one */
static int enable_members(struct net_device *ndev, bool enable)
{
	struct net_device *bond = ndev ? rhca_lag_bond_of(ndev) : NULL;
	struct net_device *member;
	struct list_head *iter;
	int ret = 0;

	ASSERT_RTNL();
	if (!bond)
		return ndev ? rhca_slot_set(ndev, RHCA_SLOT_LAG_OFF, !enable) : 0;
	netdev_for_each_lower_dev(bond, member, iter) {
		ret = rhca_slot_set(member, RHCA_SLOT_LAG_OFF, !enable);
		if (ret)
			break;
	}
	rhca_lag_bond_changed(bond);
	rhca_slot_kick(NULL);
	return ret;
}

static ssize_t roce_lag_enable_show(struct device *device,
				    struct device_attribute *attr, char *buf)
{
	struct rhca_dev *dev = rhca_dev_of(device);
	bool enabled = true;
	u32 i;

	rtnl_lock();
	for (i = 0; i < dev->num_ports; i++)
		enabled &= members_enabled(rtnl_dereference(dev->ports[i].ndev));
	rtnl_unlock();
	return sysfs_emit(buf, "%d\n", enabled);
}

static bool refused_by_hardware(struct rhca_dev *dev, const char *file)
{
	if (!rhca_lag_by_hardware(dev))
		return false;
	ibdev_err(&dev->ibdev,
		  "%s: the hardware decides, nothing is changed\n", file);
	return true;
}

/* May remove the device that owns this file: by a job, not here */
static ssize_t roce_lag_enable_store(struct device *device,
				     struct device_attribute *attr,
				     const char *buf, size_t len)
{
	struct rhca_dev *dev = rhca_dev_of(device);
	int ret = 0;
	u32 i;

	if (!sysfs_streq(buf, "0") && !sysfs_streq(buf, "1")) {
		ibdev_err(&dev->ibdev,
			  "roce_lag_enable takes 0 or 1, nothing is changed\n");
		return -EINVAL;
	}
	if (refused_by_hardware(dev, "roce_lag_enable"))
		return -EOPNOTSUPP;
	rtnl_lock();
	for (i = 0; i < dev->num_ports && !ret; i++)
		ret = enable_members(rtnl_dereference(dev->ports[i].ndev), buf[0] == '1');
	rtnl_unlock();
	return ret ?: len;
}
static DEVICE_ATTR_RW(roce_lag_enable);

static ssize_t roce_lag_ecmp_dev_show(struct device *device,
				      struct device_attribute *attr, char *buf)
{
	const struct net_device *second;
	ssize_t len;

	rcu_read_lock();
	second = rcu_dereference(rhca_dev_of(device)->ports[0].second);
	len = sysfs_emit(buf, "%s\n", second ? second->name : "");
	rcu_read_unlock();
	return len;
}

static ssize_t roce_lag_ecmp_dev_store(struct device *device,
				       struct device_attribute *attr,
				       const char *buf, size_t len)
{
	struct rhca_dev *dev = rhca_dev_of(device);
	struct net_device *first;
	char name[ALTIFNAMSIZ + 1];	/* plus a newline */
	bool is_whole = strscpy(name, buf, sizeof(name)) >= 0;
	int ret = -ENODEV;

	if (refused_by_hardware(dev, "roce_lag_ecmp_dev"))
		return -EOPNOTSUPP;
	strim(name);
	first = rhca_port_get_netdev(&dev->ports[0]);
	if (first && is_whole) {
		ret = name[0] ? rhca_lag_join(dev, first, name) : rhca_lag_part(dev, first);
		rhca_slot_kick(first);
	}
	dev_put(first);
	if (ret)
		ibdev_err(&dev->ibdev,
			  "no LAG with '%s': error %d, nothing is changed; roce_lag_ecmp_dev takes the name of another Ethernet netdev that is in no bond and has the same partitions, or nothing to end the LAG\n",
			  name, ret);
	return ret ?: len;
}
static DEVICE_ATTR_RW(roce_lag_ecmp_dev);

static struct attribute *lag_attributes[] = {
	&dev_attr_roce_lag_enable.attr,
	&dev_attr_roce_lag_ecmp_dev.attr,
	NULL
};

const struct attribute_group rhca_lag_files = {
	.attrs = lag_attributes,
};
EXPORT_SYMBOL_IF_KUNIT(rhca_lag_files);
