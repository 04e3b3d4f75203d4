// SPDX-License-Identifier: GPL-2.0
/*
 * roce_lag_enable and roce_lag_ecmp_dev in a device's folder: may its ports'
 * bond be a LAG, and with which netdev does it make one without a bond?
 */
#include <linux/rtnetlink.h>
#include <rhca/compat.h>

#include "control/sysfs.h"
#include "lifecycle/lag.h"
#include "lifecycle/lag_members.h"
#include "lifecycle/slot.h"

static struct rhca_dev *dev_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct rhca_dev, ibdev);
}

typedef int (*member_step)(struct net_device *ndev, bool *enabled);

static struct net_device *bond_of(struct net_device *ndev)
{
	struct net_device *master = netdev_master_upper_dev_get(ndev) ?: ndev;

	return netif_is_bond_master(master) ? master : NULL;
}

/* The members of the bond that a port is or belongs to; else its netdev */
static int step_members(struct net_device *ndev, member_step step,
			bool *enabled)
{
	struct net_device *bond = bond_of(ndev);
	struct net_device *member;
	struct list_head *iter;
	int ret = 0;

	ASSERT_RTNL();
	if (!bond)
		return step(ndev, enabled);
	netdev_for_each_lower_dev(bond, member, iter) {
		ret = step(member, enabled);
		if (ret)
			break;
	}
	return ret;
}

static int step_ports(struct rhca_dev *dev, member_step step, bool *enabled)
{
	struct net_device *ndev;
	int ret = 0;
	u32 i;

	for (i = 0; i < dev->num_ports && !ret; i++) {
		ndev = rtnl_dereference(dev->ports[i].ndev);
		if (ndev)
			ret = step_members(ndev, step, enabled);
	}
	return ret;
}

static int collect_enabled(struct net_device *ndev, bool *enabled)
{
	*enabled &= !rhca_slot_is_set(ndev, RHCA_SLOT_LAG_OFF);
	return 0;
}

static int set_enabled(struct net_device *ndev, bool *enabled)
{
	return rhca_slot_set(ndev, RHCA_SLOT_LAG_OFF, !*enabled);
}

static ssize_t roce_lag_enable_show(struct device *device,
				    struct device_attribute *attr, char *buf)
{
	bool enabled = true;

	rtnl_lock();
	step_ports(dev_of(device), collect_enabled, &enabled);
	rtnl_unlock();
	return sysfs_emit(buf, "%d\n", enabled);
}

static void recheck_bonds(struct rhca_dev *dev)
{
	struct net_device *ndev, *bond;
	u32 i;

	for (i = 0; i < dev->num_ports; i++) {
		ndev = rtnl_dereference(dev->ports[i].ndev);
		bond = ndev ? bond_of(ndev) : NULL;
		if (bond)
			rhca_lag_bond_changed(bond);
	}
}

static bool refused_by_hardware(struct rhca_dev *dev, const char *file)
{
	if (!rhca_lag_by_hardware(dev))
		return false;
	ibdev_err(&dev->ibdev,
		  "%s: the hardware decides, nothing is changed\n", file);
	return true;
}

/* The device whose file this is may go because of it: in a job, not here */
static ssize_t roce_lag_enable_store(struct device *device,
				     struct device_attribute *attr,
				     const char *buf, size_t len)
{
	struct rhca_dev *dev = dev_of(device);
	bool enabled;
	int ret;

	if (!sysfs_streq(buf, "0") && !sysfs_streq(buf, "1")) {
		ibdev_err(&dev->ibdev,
			  "roce_lag_enable takes 0 or 1, nothing is changed\n");
		return -EINVAL;
	}
	if (refused_by_hardware(dev, "roce_lag_enable"))
		return -EOPNOTSUPP;
	enabled = buf[0] == '1';
	rtnl_lock();
	ret = step_ports(dev, set_enabled, &enabled);
	recheck_bonds(dev);
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
	second = rcu_dereference(dev_of(device)->ports[0].second);
	len = sysfs_emit(buf, "%s\n", second ? second->name : "");
	rcu_read_unlock();
	return len;
}

static ssize_t roce_lag_ecmp_dev_store(struct device *device,
				       struct device_attribute *attr,
				       const char *buf, size_t len)
{
	struct rhca_dev *dev = dev_of(device);
	struct net_device *first;
	char name[ALTIFNAMSIZ + 1];	/* and a newline */
	bool is_whole = strscpy(name, buf, sizeof(name)) >= 0;
	int ret = -ENODEV;

	if (refused_by_hardware(dev, "roce_lag_ecmp_dev"))
		return -EOPNOTSUPP;
	strim(name);
	rcu_read_lock();
	first = rcu_dereference(dev->ports[0].ndev);
	dev_hold(first);
	rcu_read_unlock();
	if (first && is_whole)
		ret = name[0] ? rhca_lag_join(dev, first, name) : rhca_lag_part(dev, first);
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
