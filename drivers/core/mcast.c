// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups, IBTA vol. 1, 10.5.2. A group is a GID on a port. While a QP is attached to it,
 * the port's netdev is a member, and so are the netdevs of the port's GIDs (VLANs and other
 * uppers), as an attachment does not say through which GID its packets arrive. The backend keeps
 * with the attachment what it needs to deliver to the QP.
 *
 * RTNL protects the groups: joining at a netdev needs it anyway, and it is held when a netdev is
 * unregistered. Packets read under RCU. RTNL, which is host-wide, is not held while the backend is
 * called, as an adapter executes a firmware command.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/moduleparam.h>
#include <linux/once.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/mcast.h"
#include "core/mcast_join.h"
#include "core/port/device_types.h"
#include "core/port/port.h"
#include "core/qp/qp.h"
#include "core/rules/gid.h"

/* Of all devices: one lookup for a packet; its netdev selects the groups */
static DEFINE_READ_MOSTLY_HASHTABLE(groups, 10);

/* A multicast group on a port */
struct group {
	struct hlist_node node;		/* in the table */
	struct rcu_head rcu;		/* packets may still use it on removal */
	union ib_gid gid;
	struct rhca_port *port;
	struct hlist_head attachments;	/* QPs, struct rhca_mcast_attachment */
	struct hlist_head reserved;	/* being attached by the backend; not for packets */
	u32 num_attachments;		/* on both lists, or being detached */
	struct hlist_head joins;	/* netdevs that are members */
};

/* Processes choose GIDs: prevent them from filling one bucket */
static u32 hash_gid(const union ib_gid *gid)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash(gid->raw, sizeof(gid->raw), seed);
}

/* --- netdevs -------------------------------------------------------------- */

static struct rhca_mcast_join *find_join(const struct group *group,
					 const struct net_device *ndev)
{
	struct rhca_mcast_join *join;

	hlist_for_each_entry_rcu(join, &group->joins, node,
				 lockdep_rtnl_is_held())
		if (join->ndev == ndev)
			return join;
	return NULL;
}

static int join_netdev(struct group *group, struct net_device *ndev)
{
	struct rhca_mcast_join *join = find_join(group, ndev);

	if (!join) {
		if (ndev->reg_state != NETREG_REGISTERED)
			return 0;
		join = kzalloc(sizeof(*join), GFP_KERNEL_ACCOUNT);
		if (!join)
			return -ENOMEM;
		join->ndev = ndev;
		hlist_add_head_rcu(&join->node, &group->joins);
	}
	return rhca_mcast_join(join, &group->gid);
}

static void leave_netdev(struct group *group, struct rhca_mcast_join *join)
{
	rhca_mcast_leave(join, &group->gid);
	hlist_del_rcu(&join->node);
	kfree_rcu(join, rcu);
}

/* Leave all netdevs but @ndev and those with a GID of the port; NULL: leave all */
static void leave_netdevs(struct group *group, const struct net_device *ndev)
{
	struct rhca_mcast_join *join;
	struct hlist_node *next;

	hlist_for_each_entry_safe(join, next, &group->joins, node)
		if (!ndev || (join->ndev != ndev &&
			      !rhca_gid_has_netdev(&group->port->gids,
						   join->ndev->ifindex)))
			leave_netdev(group, join);
}

static int join_netdevs(struct group *group, struct net_device *ndev)
{
	struct net_device *gid_ndev;
	int ret = join_netdev(group, ndev);
	int i, ifindex;

	for (i = 0; i < RHCA_NUM_GIDS && !ret; i++) {
		ifindex = rhca_gid_ifindex(&group->port->gids, i);
		gid_ndev = ifindex ? __dev_get_by_index(dev_net(ndev), ifindex) :
				     NULL;
		if (gid_ndev)
			ret = join_netdev(group, gid_ndev);
	}
	return ret;
}

/* Make the netdevs of the group's port members, and no others */
static int update_netdevs(struct group *group)
{
	struct net_device *ndev = rhca_port_get_netdev(group->port);
	int ret = 0;

	leave_netdevs(group, ndev);
	/* A moved netdev is about to leave its port, and indices are of the port's namespace */
	if (ndev && net_eq(dev_net(ndev), group->port->net))
		ret = join_netdevs(group, ndev);
	dev_put(ndev);
	return ret;
}

static void update_all(struct work_struct *work)
{
	struct group *group;
	int bucket;

	rtnl_lock();
	hash_for_each(groups, bucket, group, node)
		update_netdevs(group);
	rtnl_unlock();
}

static DECLARE_WORK(update_work, update_all);

/**
 * rhca_mcast_gids_changed - The netdevs of a port's GIDs, or their in_device or inet6_dev, may
 *	have changed
 *
 * Context: any. ib_core adds and deletes GIDs with and without RTNL, so a work item does it.
 */
void rhca_mcast_gids_changed(void)
{
	schedule_work(&update_work);
}

/* A netdev is being unregistered or moved to another namespace. RTNL held. */
void rhca_mcast_forget_netdev(const struct net_device *ndev)
{
	struct rhca_mcast_join *join;
	struct group *group;
	int bucket;

	ASSERT_RTNL();
	hash_for_each(groups, bucket, group, node) {
		join = find_join(group, ndev);
		if (join)
			leave_netdev(group, join);
	}
}

/* --- limit ---------------------------------------------------------------- */

/*
 * Each group costs the host a membership and perhaps an entry in the NIC's filter, so users without
 * CAP_NET_ADMIN have a limit
 */
static unsigned int mcast_user_limit = 256;
module_param(mcast_user_limit, uint, 0644);
MODULE_PARM_DESC(mcast_user_limit, "Attachments to multicast groups of one user without CAP_NET_ADMIN, on all devices (default: 256)");

/* How many each limited user has, with the QPs of all its processes; under RTNL */
static DEFINE_XARRAY_FLAGS(charges, XA_FLAGS_ACCOUNT);

static unsigned long num_charged(kuid_t uid)
{
	return xa_to_value(xa_load(&charges, __kuid_val(uid)));
}

/* @uid: the one charged for it, or invalid */
static void uncharge(kuid_t uid)
{
	unsigned long num;

	if (!uid_valid(uid))
		return;
	num = num_charged(uid) - 1;
	xa_store(&charges, __kuid_val(uid), num ? xa_mk_value(num) : NULL, GFP_KERNEL);
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

/* Charge an attachment to the calling user. -ENOMEM also at the limit, which is then logged. */
static int charge(struct rhca_mcast_attachment *attachment)
{
	struct net_device *ndev = rhca_port_get_netdev(attachment->port);
	bool limited = is_limited(attachment->qp, ndev);
	kuid_t uid = current_uid();
	unsigned long num;

	ASSERT_RTNL();
	dev_put(ndev);
	attachment->owner = limited ? uid : INVALID_UID;
	if (!limited)
		return 0;
	num = num_charged(uid);
	if (num >= READ_ONCE(mcast_user_limit)) {
		explain_limit(attachment->qp);
		return -ENOMEM;
	}
	return xa_err(xa_store(&charges, __kuid_val(uid), xa_mk_value(num + 1),
			       GFP_KERNEL_ACCOUNT));
}

/* --- groups and attachments ----------------------------------------------- */

static struct group *find_group(const struct rhca_port *port,
				const union ib_gid *gid)
{
	struct group *group;

	hash_for_each_possible_rcu(groups, group, node, hash_gid(gid),
				   lockdep_rtnl_is_held())
		if (group->port == port && rhca_gid_equal(&group->gid, gid))
			return group;
	return NULL;
}

static struct group *create_group(struct rhca_port *port,
				  const union ib_gid *gid)
{
	struct rhca_dev *dev = port->dev;
	struct group *group;

	if (dev->num_mcast_groups >= dev->ibdev.attrs.max_mcast_grp)
		return ERR_PTR(-ENOMEM);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	group->gid = *gid;
	group->port = port;
	hash_add_rcu(groups, &group->node, hash_gid(gid));
	dev->num_mcast_groups++;
	return group;
}

/* The last QP was detached, or attaching the first one failed */
static void end_group(struct group *group)
{
	leave_netdevs(group, NULL);
	hash_del_rcu(&group->node);
	group->port->dev->num_mcast_groups--;
	kfree_rcu(group, rcu);
}

static struct rhca_mcast_attachment *
find_attachment(const struct hlist_head *attachments, const struct rhca_qp *qp)
{
	struct rhca_mcast_attachment *attachment;

	hlist_for_each_entry(attachment, attachments, node)
		if (attachment->qp == qp)
			return attachment;
	return NULL;
}

/* The limits that query_device reports */
static bool has_room(const struct group *group)
{
	const struct rhca_dev *dev = group->port->dev;
	const struct ib_device_attr *attrs = &dev->ibdev.attrs;

	return group->num_attachments < attrs->max_mcast_qp_attach &&
	       dev->num_mcast_attachments < attrs->max_total_mcast_qp_attach;
}

/* Join the netdevs, and reserve a place: prevents a second attach and the end of the group */
static int reserve(struct group *group, struct rhca_mcast_attachment *attachment)
{
	const struct rhca_qp *qp = attachment->qp;
	int ret;

	if (find_attachment(&group->attachments, qp) ||
	    find_attachment(&group->reserved, qp))
		return -EEXIST;
	if (!has_room(group))
		return -ENOMEM;
	ret = charge(attachment);
	if (ret)
		return ret;
	ret = group->num_attachments ? 0 : update_netdevs(group);
	if (ret) {
		uncharge(attachment->owner);
		return ret;
	}
	attachment->gid = &group->gid;
	hlist_add_head(&attachment->node, &group->reserved);
	group->num_attachments++;
	group->port->dev->num_mcast_attachments++;
	return 0;
}

/* All but the backend's part; packets do not see the QP yet */
static int begin_attachment(struct rhca_mcast_attachment *attachment,
			    const union ib_gid *gid)
{
	struct rhca_port *port = attachment->port;
	struct group *group;
	int ret;

	ASSERT_RTNL();
	group = find_group(port, gid) ?: create_group(port, gid);
	if (IS_ERR(group))
		return PTR_ERR(group);
	ret = reserve(group, attachment);
	if (ret && !group->num_attachments)
		end_group(group);
	return ret;
}

static struct group *group_of(struct rhca_mcast_attachment *attachment)
{
	return container_of(attachment->gid, struct group, gid);
}

/* Called when it is on no list and the backend has detached it */
static void end_attachment(struct rhca_mcast_attachment *attachment)
{
	struct group *group = group_of(attachment);

	ASSERT_RTNL();
	group->num_attachments--;
	group->port->dev->num_mcast_attachments--;
	uncharge(attachment->owner);
	kfree_rcu(attachment, rcu);
	if (!group->num_attachments)
		end_group(group);
}

/* @error: the backend's result */
static void finish_attachment(struct rhca_mcast_attachment *attachment, int error)
{
	ASSERT_RTNL();
	hlist_del(&attachment->node);
	if (error)
		end_attachment(attachment);
	else
		hlist_add_head_rcu(&attachment->node,
				   &group_of(attachment)->attachments);
}

static int attach(struct rhca_port *port, struct rhca_qp *qp,
		  const union ib_gid *gid)
{
	struct rhca_mcast_attachment *attachment;
	int ret;

	attachment = kzalloc(sizeof(*attachment), GFP_KERNEL_ACCOUNT);
	if (!attachment)
		return -ENOMEM;
	attachment->qp = qp;
	attachment->port = port;
	rtnl_lock();
	ret = begin_attachment(attachment, gid);
	rtnl_unlock();
	if (ret) {
		kfree(attachment);
		return ret;
	}
	ret = qp->dev->backend->mcast_attach(attachment);
	rtnl_lock();
	finish_attachment(attachment, ret);
	rtnl_unlock();
	return ret;
}

/* ib_core has checked the type of the QP and the GID. RoCE has no LIDs. */
static int attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	struct rhca_port *port = READ_ONCE(qp->port);

	if (!port && qp->dev->num_ports == 1)
		port = &qp->dev->ports[0];
	if (!port)
		return -EINVAL;		/* not known before INIT */
	return attach(port, qp, gid);
}

/* On any port: the QP may have changed its port since */
static struct rhca_mcast_attachment *take_out(struct rhca_qp *qp,
					      const union ib_gid *gid)
{
	struct rhca_mcast_attachment *attachment;
	struct group *group;

	hash_for_each_possible(groups, group, node, hash_gid(gid)) {
		attachment = rhca_gid_equal(&group->gid, gid) ?
			find_attachment(&group->attachments, qp) : NULL;
		if (!attachment)
			continue;
		hlist_del_rcu(&attachment->node);
		return attachment;
	}
	return NULL;
}

static int detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	const struct rhca_backend_ops *backend = qp->dev->backend;
	struct rhca_mcast_attachment *attachment;

	rtnl_lock();
	attachment = take_out(qp, gid);
	rtnl_unlock();
	if (!attachment)
		return -EINVAL;
	if (backend->mcast_detach)
		backend->mcast_detach(attachment);
	rtnl_lock();
	end_attachment(attachment);
	rtnl_unlock();
	return 0;
}

/* False for an adapter, which receives by itself. All attachments of a group have one backend. */
static bool takes_packets(const struct group *group)
{
	const struct rhca_mcast_attachment *first;

	first = hlist_entry_safe(rcu_dereference(hlist_first_rcu(&group->attachments)),
				 struct rhca_mcast_attachment, node);
	return first && first->private;
}

static bool group_matches(const struct group *group, const union ib_gid *gid,
			  const struct net_device *ndev)
{
	return rhca_gid_equal(&group->gid, gid) && find_join(group, ndev) &&
	       takes_packets(group);
}

/**
 * rhca_mcast_port - Find a port that wants packets to a group that arrive on a netdev
 * @gid: the group
 * @ndev: the netdev
 *
 * Context: RCU read side, under which the port stays valid.
 * Return: the port, one of them if there are several, or NULL.
 */
struct rhca_port *rhca_mcast_port(const union ib_gid *gid,
				  const struct net_device *ndev)
{
	struct group *group;

	hash_for_each_possible_rcu(groups, group, node, hash_gid(gid))
		if (group_matches(group, gid, ndev))
			return group->port;
	return NULL;
}

/**
 * rhca_mcast_visit - Call back for the QPs of a packet's group
 * @gid: destination of the packet
 * @ndev: the netdev it arrived on
 * @visitor: called for each QP that is attached
 *
 * Context: RCU read side.
 */
void rhca_mcast_visit(const union ib_gid *gid, const struct net_device *ndev,
		      struct rhca_mcast_visitor *visitor)
{
	struct rhca_mcast_attachment *attachment;
	struct group *group;

	hash_for_each_possible_rcu(groups, group, node, hash_gid(gid)) {
		if (!group_matches(group, gid, ndev))
			continue;
		hlist_for_each_entry_rcu(attachment, &group->attachments, node)
			visitor->visit(visitor, attachment);
	}
}

/**
 * rhca_mcast_exit - Module exit, when no device and so no group is left
 */
void rhca_mcast_exit(void)
{
	cancel_work_sync(&update_work);
}

const struct ib_device_ops rhca_mcast_verbs = {
	.attach_mcast	= attach_mcast,
	.detach_mcast	= detach_mcast,
};
