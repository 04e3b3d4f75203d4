// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups, IBTA vol. 1, 10.5.2. A group is a GID on a port. While a QP
 * is attached to it, the port's netdev is a member, and so are the netdevs of
 * the port's GIDs (VLANs and other uppers), because an attachment does not say
 * which GID its packets will come by.
 *
 * Each group costs the host a membership and perhaps an entry of the NIC's filter,
 * so a user who may not administer the network has a limit.
 *
 * RTNL protects the groups, which joining at a netdev needs anyway, and which
 * is held when a netdev goes. Packets look under RCU.
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
#include <rhca/compat.h>

#include "core/device.h"
#include "sw/verbs/mcast.h"
#include "core/mcast_join.h"
#include "core/qp.h"

/* Of all devices: a packet needs one lookup, its netdev says which are meant */
static DEFINE_READ_MOSTLY_HASHTABLE(groups, 10);

/**
 * struct group - A multicast group on a port
 * @node: in the table
 * @rcu: packets may look at it while it goes
 * @gid: its GID
 * @port: the port
 * @members: attached QPs
 * @num_members: how many
 * @joins: netdevs that are members
 */
struct group {
	struct hlist_node node;
	struct rcu_head rcu;
	union ib_gid gid;
	struct rhca_port *port;
	struct hlist_head members;
	u32 num_members;
	struct hlist_head joins;
};

static unsigned int mcast_user_limit = 256;
module_param(mcast_user_limit, uint, 0644);
MODULE_PARM_DESC(mcast_user_limit, "Attachments to multicast groups of one user without CAP_NET_ADMIN, on all devices (default: 256)");

/**
 * struct owner - A user with attached QPs
 * @entry: in the list of them, under RTNL
 * @uid: the user
 * @attachments: of the QPs of all its processes
 */
struct owner {
	struct list_head entry;
	kuid_t uid;
	u32 attachments;
};

static LIST_HEAD(owners);

/* An attached QP; ib_core does not let it be destroyed before it is detached */
struct member {
	struct hlist_node node;
	struct rcu_head rcu;
	struct rhca_qp *qp;
	struct rhca_qp_handle *handle;
	struct owner *owner;	/* NULL: no process's, or nobody's who is limited */
};

/* Processes choose GIDs: nobody shall be able to fill one bucket */
static u32 hash_gid(const union ib_gid *gid)
{
	static u32 seed;

	get_random_once(&seed, sizeof(seed));
	return jhash(gid->raw, sizeof(gid->raw), seed);
}

static bool same_gid(const union ib_gid *a, const union ib_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
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

/* Leave the netdevs that have no GID of the port any more; NULL: leave all */
static void leave_netdevs(struct group *group, const struct net_device *ndev)
{
	struct rhca_mcast_join *join;
	struct hlist_node *next;

	hlist_for_each_entry_safe(join, next, &group->joins, node)
		if (!ndev || (join->ndev != ndev &&
			      !rhca_gid_has_netdev(group->port,
						   join->ndev->ifindex)))
			leave_netdev(group, join);
}

static int join_netdevs(struct group *group, struct net_device *ndev)
{
	struct net_device *gid_ndev;
	int ret = join_netdev(group, ndev);
	int i, ifindex;

	for (i = 0; i < RHCA_NUM_GIDS && !ret; i++) {
		ifindex = rhca_gid_ifindex(group->port, i);
		gid_ndev = ifindex ? __dev_get_by_index(dev_net(ndev), ifindex) :
				     NULL;
		if (gid_ndev)
			ret = join_netdev(group, gid_ndev);
	}
	return ret;
}

/* Be a member where the group's port is now, and only there */
static int update_netdevs(struct group *group)
{
	struct net_device *ndev = rhca_port_get_netdev(group->port);
	int ret = 0;

	leave_netdevs(group, ndev);
	if (ndev)
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
 * rhca_mcast_gids_changed - A port may have its GIDs on other netdevs now
 *
 * Context: any. ib_core adds and deletes GIDs with and without RTNL, so the
 * work is done later.
 */
void rhca_mcast_gids_changed(void)
{
	schedule_work(&update_work);
}

/**
 * rhca_mcast_forget_netdev - A netdev is going, or moves to another namespace
 * @ndev: the netdev
 *
 * Context: RTNL held.
 */
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

/* --- users ---------------------------------------------------------------- */

static struct owner *find_owner(kuid_t uid)
{
	struct owner *owner;

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

static void put_owner(struct owner *owner)
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

/* Count one attachment more for the calling user; @owner may be NULL then */
static int get_owner(struct rhca_port *port, const struct rhca_qp *qp,
		     struct owner **owner)
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
	put_owner(*owner);
	explain_limit(qp);
	return -ENOMEM;
}

/* --- groups and members --------------------------------------------------- */

static struct group *find_group(const struct rhca_port *port,
				const union ib_gid *gid)
{
	struct group *group;

	hash_for_each_possible(groups, group, node, hash_gid(gid))
		if (group->port == port && same_gid(&group->gid, gid))
			return group;
	return NULL;
}

static struct group *create_group(struct rhca_port *port,
				  const union ib_gid *gid)
{
	struct group *group;

	if (!rhca_limit_take(port->dev, RHCA_LIMIT_MCAST_GROUP,
			     RHCA_MAX_MCAST_GROUPS))
		return ERR_PTR(-ENOMEM);
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group) {
		rhca_limit_give(port->dev, RHCA_LIMIT_MCAST_GROUP);
		return ERR_PTR(-ENOMEM);
	}
	group->gid = *gid;
	group->port = port;
	hash_add_rcu(groups, &group->node, hash_gid(gid));
	return group;
}

/* The last QP has left, or the first one could not come */
static void end_group(struct group *group)
{
	leave_netdevs(group, NULL);
	hash_del_rcu(&group->node);
	rhca_limit_give(group->port->dev, RHCA_LIMIT_MCAST_GROUP);
	kfree_rcu(group, rcu);
}

static struct member *find_member(const struct group *group,
				  const struct rhca_qp *qp)
{
	struct member *member;

	hlist_for_each_entry(member, &group->members, node)
		if (member->qp == qp)
			return member;
	return NULL;
}

static struct member *create_member(struct group *group, struct rhca_qp *qp)
{
	struct member *member;

	if (group->num_members >= RHCA_MAX_MCAST_GROUP_QPS ||
	    !rhca_limit_take(qp->dev, RHCA_LIMIT_MCAST_QP, RHCA_MAX_MCAST_QPS))
		return NULL;
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member) {
		rhca_limit_give(qp->dev, RHCA_LIMIT_MCAST_QP);
		return NULL;
	}
	member->qp = qp;
	member->handle = qp->handle;
	return member;
}

static int add_member(struct group *group, struct rhca_qp *qp)
{
	struct member *member;
	struct owner *owner;
	int ret;

	if (find_member(group, qp))
		return -EEXIST;
	ret = get_owner(group->port, qp, &owner);
	if (ret)
		return ret;
	member = create_member(group, qp);
	if (!member) {
		put_owner(owner);
		return -ENOMEM;
	}
	member->owner = owner;
	hlist_add_head_rcu(&member->node, &group->members);
	group->num_members++;
	return 0;
}

static void remove_member(struct group *group, struct member *member)
{
	hlist_del_rcu(&member->node);
	rhca_limit_give(member->qp->dev, RHCA_LIMIT_MCAST_QP);
	put_owner(member->owner);
	kfree_rcu(member, rcu);
	group->num_members--;
}

static int attach(struct rhca_port *port, struct rhca_qp *qp,
		  const union ib_gid *gid)
{
	struct group *group = find_group(port, gid);
	int ret;

	if (!group)
		group = create_group(port, gid);
	if (IS_ERR(group))
		return PTR_ERR(group);
	ret = add_member(group, qp);
	if (!ret && group->num_members == 1) {
		ret = update_netdevs(group);
		if (ret)
			remove_member(group, find_member(group, qp));
	}
	if (!group->num_members)
		end_group(group);
	return ret;
}

/* ib_core has checked the type of the QP and the GID. RoCE has no LIDs. */
static int attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct rhca_qp *qp = to_rhca_qp(ibqp);
	struct rhca_port *port = READ_ONCE(qp->port);
	int ret;

	if (!port && qp->dev->num_ports == 1)
		port = &qp->dev->ports[0];
	if (!port)
		return -EINVAL;		/* INIT says which it is */
	rtnl_lock();
	ret = attach(port, qp, gid);
	rtnl_unlock();
	return ret;
}

/* Wherever it was attached: the QP may have changed its port since */
static int detach(struct rhca_qp *qp, const union ib_gid *gid)
{
	struct member *member;
	struct group *group;

	hash_for_each_possible(groups, group, node, hash_gid(gid)) {
		member = same_gid(&group->gid, gid) ? find_member(group, qp) :
						      NULL;
		if (!member)
			continue;
		remove_member(group, member);
		if (!group->num_members)
			end_group(group);
		return 0;
	}
	return -EINVAL;
}

static int detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	int ret;

	rtnl_lock();
	ret = detach(to_rhca_qp(ibqp), gid);
	rtnl_unlock();
	return ret;
}

/* --- packets -------------------------------------------------------------- */

/**
 * rhca_mcast_port - Is a netdev a member of a group that has QPs of ours?
 * @gid: the group
 * @ndev: the netdev
 *
 * Context: RCU read side; the port is valid as long as that lasts.
 * Return: the port, one of them if there are several, or NULL.
 */
struct rhca_port *rhca_mcast_port(const union ib_gid *gid,
				  const struct net_device *ndev)
{
	struct group *group;

	hash_for_each_possible_rcu(groups, group, node, hash_gid(gid))
		if (same_gid(&group->gid, gid) && find_join(group, ndev))
			return group->port;
	return NULL;
}

static void deliver_to(struct group *group, struct rhca_mcast_visitor *visitor)
{
	struct member *member;
	struct rhca_qp *qp;

	hlist_for_each_entry_rcu(member, &group->members, node) {
		qp = rhca_qp_get_handle(member->handle);
		if (!qp)
			continue;
		if (READ_ONCE(qp->port) == group->port)
			visitor->visit(visitor, qp);
		rhca_qp_put(qp);
	}
}

/**
 * rhca_mcast_visit - Hand a packet to the QPs of its group
 * @gid: destination of the packet
 * @ndev: the netdev it came in by
 * @visitor: called with each QP that is attached and on its port
 *
 * Context: RCU read side.
 */
void rhca_mcast_visit(const union ib_gid *gid, const struct net_device *ndev,
		      struct rhca_mcast_visitor *visitor)
{
	struct group *group;

	hash_for_each_possible_rcu(groups, group, node, hash_gid(gid))
		if (same_gid(&group->gid, gid) && find_join(group, ndev))
			deliver_to(group, visitor);
}

/**
 * rhca_mcast_exit - Module exit: no device, so no group, is left
 */
void rhca_mcast_exit(void)
{
	cancel_work_sync(&update_work);
}

const struct ib_device_ops rhca_mcast_verbs = {
	.attach_mcast	= attach_mcast,
	.detach_mcast	= detach_mcast,
};
