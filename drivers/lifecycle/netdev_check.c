// SPDX-License-Identifier: GPL-2.0
/* Netdevs that a device of ours may be on. */
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

/* Can there be a RoCE device on a netdev at all? Any context. */
bool rhca_netdev_can_roce(const struct net_device *ndev)
{
	return rhca_netdev_gid_types(ndev) & rhca_gid_types_enabled() &&
	       !is_vlan_dev(ndev);
}

/* Why there can be no RoCE on it */
static void explain(const struct net_device *ndev)
{
	if (!rhca_netdev_gid_types(ndev))
		pr_warn("%s carries neither Ethernet frames nor IP packets (link type %u)\n",
			netdev_name(ndev), ndev->type);
	else if (!(rhca_netdev_gid_types(ndev) & rhca_gid_types_enabled()))
		pr_warn("%s carries RoCE v2 only, which roce_mode=v1 excludes\n",
			netdev_name(ndev));
	else /* ib_core gives its addresses to the device on the netdev below */
		pr_warn("%s is a VLAN, whose addresses are GIDs of the RDMA device on %s: make that one\n",
			netdev_name(ndev), netdev_name(vlan_dev_real_dev(ndev)));
}

/*
 * May a device of ours be on this netdev? Returns 0; -EINVAL for a VLAN, and when it carries no
 * RoCE version that is enabled; -EEXIST when there is one; -EBUSY when another driver serves it
 * or a LAG stands for it. The log says so.
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
	if (rhca_others_serve(ndev, other, sizeof(other))) {
		pr_warn("%s is served by RDMA device %s of another driver: remove that first (rdma link del %s)\n",
			netdev_name(ndev), other, other);
		return -EBUSY;
	}
	return 0;
}
