// SPDX-License-Identifier: GPL-2.0
/*
 * QPs that are attached to multicast groups. The core knows the groups and has
 * the netdevs join them; this is who gets a copy of a packet, IBTA vol. 1, 10.5.2.
 *
 * RTNL protects the table. Packets look under RCU.
 */
#include <linux/hashtable.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "core/device.h"
#include "core/mcast.h"
#include "sw/verbs/device.h"
#include "sw/verbs/mcast.h"
#include "sw/verbs/qp.h"

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
 */
struct group {
	struct hlist_node node;
	struct rcu_head rcu;
	union ib_gid gid;
	struct rhca_port *port;
	struct hlist_head members;
	u32 num_members;
};

/* An attached QP */
struct member {
	struct hlist_node node;
	struct rcu_head rcu;
	struct rhca_verbs_qp *qp;
	struct rhca_qp_handle *handle;
};

static bool is_group(const struct group *group, const union ib_gid *gid)
{
	return !memcmp(&group->gid, gid, sizeof(*gid));
}

static struct group *find_group(const struct rhca_port *port,
				const union ib_gid *gid)
{
	struct group *group;

	hash_for_each_possible(groups, group, node, rhca_mcast_hash(gid))
		if (group->port == port && is_group(group, gid))
			return group;
	return NULL;
}

static struct group *create_group(struct rhca_port *port,
				  const union ib_gid *gid)
{
	struct group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);

	if (!group)
		return NULL;
	group->gid = *gid;
	group->port = port;
	hash_add_rcu(groups, &group->node, rhca_mcast_hash(gid));
	return group;
}

static void end_group_if_empty(struct group *group)
{
	if (group->num_members)
		return;
	hash_del_rcu(&group->node);
	kfree_rcu(group, rcu);
}

static struct member *create_member(struct rhca_verbs_qp *qp)
{
	struct member *member;

	if (!rhca_limit_take(qp->dev, RHCA_LIMIT_MCAST_QP, RHCA_MAX_MCAST_QPS))
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

static int add_member(struct group *group, struct rhca_verbs_qp *qp)
{
	struct member *member = NULL;

	if (group->num_members < RHCA_MAX_MCAST_GROUP_QPS)
		member = create_member(qp);
	if (!member)
		return -ENOMEM;
	hlist_add_head_rcu(&member->node, &group->members);
	group->num_members++;
	return 0;
}

static void remove_member(struct group *group, const struct rhca_verbs_qp *qp)
{
	struct member *member;
	struct hlist_node *next;

	hlist_for_each_entry_safe(member, next, &group->members, node) {
		if (member->qp != qp)
			continue;
		hlist_del_rcu(&member->node);
		rhca_limit_give(qp->dev, RHCA_LIMIT_MCAST_QP);
		kfree_rcu(member, rcu);
		group->num_members--;
	}
}

/* &struct rhca_backend_ops.mcast_attach */
int rhca_verbs_mcast_attach(struct rhca_qp *core, struct rhca_port *port,
			    const union ib_gid *gid)
{
	struct group *group = find_group(port, gid);
	int ret;

	ASSERT_RTNL();
	if (!group)
		group = create_group(port, gid);
	if (!group)
		return -ENOMEM;
	ret = add_member(group, to_verbs_qp(core));
	end_group_if_empty(group);
	return ret;
}

/* &struct rhca_backend_ops.mcast_detach */
void rhca_verbs_mcast_detach(struct rhca_qp *core, struct rhca_port *port,
			     const union ib_gid *gid)
{
	struct group *group = find_group(port, gid);

	ASSERT_RTNL();
	if (!group)
		return;
	remove_member(group, to_verbs_qp(core));
	end_group_if_empty(group);
}

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

	hash_for_each_possible_rcu(groups, group, node, rhca_mcast_hash(gid))
		if (is_group(group, gid) &&
		    rhca_mcast_joined(group->port, gid, ndev))
			return group->port;
	return NULL;
}

static void deliver_to(struct group *group, struct rhca_mcast_visitor *visitor)
{
	struct rhca_verbs_qp *qp;
	struct member *member;

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

	hash_for_each_possible_rcu(groups, group, node, rhca_mcast_hash(gid))
		if (is_group(group, gid) &&
		    rhca_mcast_joined(group->port, gid, ndev))
			deliver_to(group, visitor);
}
