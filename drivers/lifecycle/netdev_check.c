// SPDX-License-Identifier: GPL-2.0
/* Which netdevs can have a device of ours. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>

#include "core/registry.h"
#include "core/rules/netdev.h"
#include "core/rules/policy.h"
#include "lifecycle/lag_members.h"
#include "lifecycle/netdev_check.h"
#include "lifecycle/others.h"

/* Can a netdev have a RoCE device at all? Any context. */
bool rhca_netdev_can_roce(const struct net_device *ndev)
{
	return rhca_netdev_gid_types(ndev) & rhca_gid_types_enabled() &&
	       !is_vlan_dev(ndev);
}

/* Log why a netdev cannot have a RoCE device */
static void explain(const struct net_device *ndev)
{
	if (!rhca_netdev_gid_types(ndev))
		pr_warn("%s carries neither Ethernet frames nor IP packets (link type %u)\n",
			netdev_name(ndev), ndev->type);
	else if (!(rhca_netdev_gid_types(ndev) & rhca_gid_types_enabled()))
		pr_warn("%s carries RoCE v2 only, which roce_mode=v1 excludes\n",
			netdev_name(ndev));
	else if (IS_ENABLED(CONFIG_VLAN_8021Q))
		/* ib_core adds its addresses to the device on the netdev below */
		pr_warn("%s is a VLAN, whose addresses are GIDs of the RDMA device on %s: make that one\n",
			netdev_name(ndev), netdev_name(vlan_dev_real_dev(ndev)));
}

/*
 * Can this netdev have a device of ours? Returns 0; -EINVAL for a VLAN, or if it supports no
 * enabled RoCE version; -EEXIST if it has one; -EBUSY if another driver serves it or it is a member
 * of a LAG. Logs the reason.
 */
int rhca_netdev_check(struct net_device *ndev)
{
	char other[IB_DEVICE_NAME_MAX];

	if (!rhca_netdev_can_roce(ndev)) {
		explain(ndev);
		return -EINVAL;
	}
	if (rhca_netdev_served(ndev)) {
		pr_warn("%s has a RoCE device already\n", netdev_name(ndev));
		return -EEXIST;
	}
	if (rhca_lag_has_member(ndev)) {
		pr_warn("%s belongs to a bond that is one RDMA device: end that first (roce_lag_enable)\n",
			netdev_name(ndev));
		return -EBUSY;
	}
	if (rhca_others_serve(ndev, other)) {
		pr_warn("%s is served by RDMA device %s of another driver: remove that first (rdma link del %s)\n",
			netdev_name(ndev), other, other);
		return -EBUSY;
	}
	return 0;
}
