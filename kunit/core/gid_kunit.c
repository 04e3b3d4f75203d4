// SPDX-License-Identifier: GPL-2.0
/* Which of a port's GIDs a packet names. */
#include <linux/etherdevice.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>

#include "core/port/port.h"
#include "lib/hca.h"

#define PORT_IFINDEX	7
#define VLAN_IFINDEX	8

#define GID_A	{ .raw = { 0xfe, 0x80, [15] = 1 } }

static const union ib_gid gid_a = GID_A;
static const union ib_gid gid_b = { .raw = { 0xfe, 0x80, [15] = 2 } };
static const union ib_gid gid_zero;

static const struct rhca_gid_entry v1_entry = {
	.gid = GID_A, .type = IB_GID_TYPE_ROCE,
	.ifindex = PORT_IFINDEX,
};

static const struct rhca_gid_entry v2_entry = {
	.gid = GID_A, .type = IB_GID_TYPE_ROCE_UDP_ENCAP,
	.ifindex = PORT_IFINDEX,
};

static const struct rhca_gid_entry vlan_entry = {
	.gid = GID_A, .type = IB_GID_TYPE_ROCE,
	.ifindex = VLAN_IFINDEX,
};

static int gid_init(struct kunit *test)
{
	struct rhca_port *port = test_alloc(test, sizeof(*port));
	struct net_device *ndev = alloc_etherdev(0);

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	seqlock_init(&port->gids.lock);
	rcu_assign_pointer(port->ndev, ndev);
	rhca_gid_table_set(&port->gids, 0, &v1_entry);
	rhca_gid_table_set(&port->gids, 1, &v2_entry);
	rhca_gid_table_set(&port->gids, RHCA_NUM_GIDS - 1, &vlan_entry);
	test->priv = port;
	return 0;
}

static void gid_exit(struct kunit *test)
{
	struct rhca_port *port = test->priv;

	if (port)
		free_netdev(rcu_dereference_protected(port->ndev, true));
}

static struct net other_net;

static const struct find_case {
	const char *desc;
	const union ib_gid *gid;
	enum ib_gid_type type;
	int ifindex;
	int index;
	struct net *net;	/* NULL: init_net */
} find_cases[] = {
	{ "v1",			&gid_a, IB_GID_TYPE_ROCE, 0, 0 },
	{ "v2",			&gid_a, IB_GID_TYPE_ROCE_UDP_ENCAP, 0, 1 },
	{ "v1 on its netdev",	&gid_a, IB_GID_TYPE_ROCE, PORT_IFINDEX, 0 },
	{ "v1 on the VLAN", &gid_a, IB_GID_TYPE_ROCE, VLAN_IFINDEX, RHCA_NUM_GIDS - 1 },
	{ "another netdev",	&gid_a, IB_GID_TYPE_ROCE, 99, -ENOENT },
	{ "another GID",	&gid_b, IB_GID_TYPE_ROCE, 0, -ENOENT },
	{ "v2 is not on the VLAN", &gid_a, IB_GID_TYPE_ROCE_UDP_ENCAP, VLAN_IFINDEX, -ENOENT },
	{ "empty entries are no v1 GID", &gid_zero, IB_GID_TYPE_ROCE, 0, -ENOENT },
	{ "empty entries are no v2 GID", &gid_zero, IB_GID_TYPE_ROCE_UDP_ENCAP, 0, -ENOENT },
	{ "another namespace",	&gid_a, IB_GID_TYPE_ROCE, 0, -ENOENT, &other_net },
};
KUNIT_ARRAY_PARAM_DESC(find, find_cases, desc);

static int find(struct rhca_port *port, const struct rhca_gid_query *query)
{
	int index;

	rcu_read_lock();
	index = rhca_port_gid_index(port, query);
	rcu_read_unlock();
	return index;
}

static void gid_is_found_by_value_type_and_netdev(struct kunit *test)
{
	const struct find_case *c = test->param_value;
	struct rhca_gid_query query = {
		.net = c->net ?: &init_net, .gid = c->gid, .type = c->type, .ifindex = c->ifindex,
	};

	KUNIT_EXPECT_EQ(test, find(test->priv, &query), c->index);
}

static const struct rhca_gid_query v1_query = {
	.net = &init_net, .gid = &gid_a, .type = IB_GID_TYPE_ROCE,
};

static void gid_of_a_port_without_netdev_is_not_found(struct kunit *test)
{
	struct rhca_port *port = test->priv;
	struct net_device *ndev;

	ndev = rcu_replace_pointer(port->ndev, NULL, true);
	KUNIT_EXPECT_EQ(test, find(port, &v1_query), -ENOENT);
	rcu_assign_pointer(port->ndev, ndev);
	KUNIT_EXPECT_EQ(test, find(port, &v1_query), 0);
}

static void gid_is_found_after_a_hole_until_it_is_deleted(struct kunit *test)
{
	static const struct rhca_gid_entry empty;
	struct rhca_port *port = test->priv;
	struct rhca_gid_query query = v1_query;

	rhca_gid_table_set(&port->gids, 0, &empty);
	KUNIT_EXPECT_EQ(test, find(port, &query), RHCA_NUM_GIDS - 1);
	rhca_gid_table_set(&port->gids, RHCA_NUM_GIDS - 1, &empty);
	KUNIT_EXPECT_EQ(test, find(port, &query), -ENOENT);
	query.type = IB_GID_TYPE_ROCE_UDP_ENCAP;
	KUNIT_EXPECT_EQ(test, find(port, &query), 1);
	rhca_gid_table_set(&port->gids, 1, &empty);
	KUNIT_EXPECT_EQ(test, find(port, &query), -ENOENT);
	rhca_gid_table_set(&port->gids, 0, &v1_entry);
	query.type = IB_GID_TYPE_ROCE;
	KUNIT_EXPECT_EQ(test, find(port, &query), 0);
}

/* Two VRFs may have the same addresses */
static void gid_is_found_in_its_l3_domain(struct kunit *test)
{
	static const struct l3mdev_ops ops;
	struct net_device *vrf = test_netdev(test, 1);
	struct rhca_gid_entry entry = v1_entry;
	struct rhca_gid_query query = v1_query;
	struct rhca_port *port = test->priv;

	vrf->l3mdev_ops = &ops;
	vrf->priv_flags |= IFF_L3MDEV_MASTER;
	entry.ifindex = vrf->ifindex;
	rhca_gid_table_set(&port->gids, 0, &entry);
	entry.ifindex = init_net.loopback_dev->ifindex;
	rhca_gid_table_set(&port->gids, 2, &entry);
	query.domain_of = vrf->ifindex;
	KUNIT_EXPECT_EQ(test, find(port, &query), 0);
	query.domain_of = entry.ifindex;
	KUNIT_EXPECT_EQ(test, find(port, &query), 2);
}

TEST_SUITE_WITH(rhca_gid, gid_init, gid_exit,
		KUNIT_CASE_PARAM(gid_is_found_by_value_type_and_netdev, find_gen_params),
		KUNIT_CASE(gid_is_found_in_its_l3_domain),
		KUNIT_CASE(gid_of_a_port_without_netdev_is_not_found),
		KUNIT_CASE(gid_is_found_after_a_hole_until_it_is_deleted));
