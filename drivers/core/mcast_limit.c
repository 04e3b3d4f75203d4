// SPDX-License-Identifier: GPL-2.0
/*
 * Limit on a user's attachments to multicast groups. Each group costs the host a membership and
 * perhaps an entry in the NIC's filter, so users without CAP_NET_ADMIN have a limit.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <rhca/compat.h>

#include "core/mcast_limit.h"
#include "core/port/device_types.h"
#include "core/port/port.h"
#include "core/qp/qp.h"

static unsigned int mcast_user_limit = 256;
module_param(mcast_user_limit, uint, 0644);
MODULE_PARM_DESC(mcast_user_limit, "Attachments to multicast groups of one user without CAP_NET_ADMIN, on all devices (default: 256)");

/* A user with attached QPs */
struct rhca_mcast_owner {
	struct list_head entry;	/* in @owners, under RTNL */
	kuid_t uid;		/* the user */
	u32 attachments;	/* of the QPs of all its processes */
};

static LIST_HEAD(owners);

static struct rhca_mcast_owner *find_owner(kuid_t uid)
{
	struct rhca_mcast_owner *owner;

	list_for_each_entry(owner, &owners, entry)
		if (uid_eq(owner->uid, uid))
			return owner;
	owner = kzalloc(sizeof(*owner), GFP_KERNEL_ACCOUNT);
	if (owner) {
		owner->uid = uid;
		list_add(&owner->entry, &owners);
	}
	return owner;
}

/* Uncharge one attachment. @owner: from rhca_mcast_owner_get(), or NULL. RTNL held. */
void rhca_mcast_owner_put(struct rhca_mcast_owner *owner)
{
	if (!owner || --owner->attachments)
		return;
	list_del(&owner->entry);
	kfree(owner);
}

static bool is_limited(const struct rhca_qp *qp, struct net_device *ndev)
{
	return qp->is_user &&
	       !(ndev && ns_capable(dev_net(ndev)->user_ns, CAP_NET_ADMIN));
}

static void explain_limit(const struct rhca_qp *qp)
{
	ibdev_warn_ratelimited(&qp->dev->ibdev,
			       "%s[%d]: user %u is attached to multicast groups %u times: raise mcast_user_limit of module roce_hca, or give it CAP_NET_ADMIN\n",
			       current->comm, task_pid_nr(current),
			       from_kuid(&init_user_ns, current_uid()),
			       mcast_user_limit);
}

/*
 * Charge one attachment to the calling user. @owner: for rhca_mcast_owner_put(); NULL for a user
 * without limit. RTNL held. Returns 0; -ENOMEM without memory, or at the limit mcast_user_limit,
 * which is then logged.
 */
int rhca_mcast_owner_get(struct rhca_port *port, const struct rhca_qp *qp,
			 struct rhca_mcast_owner **owner)
{
	struct net_device *ndev = rhca_port_get_netdev(port);
	bool limited = is_limited(qp, ndev);

	ASSERT_RTNL();
	dev_put(ndev);
	*owner = NULL;
	if (!limited)
		return 0;
	*owner = find_owner(current_uid());
	if (!*owner)
		return -ENOMEM;
	if ((*owner)->attachments++ < READ_ONCE(mcast_user_limit))
		return 0;
	rhca_mcast_owner_put(*owner);
	explain_limit(qp);
	return -ENOMEM;
}
