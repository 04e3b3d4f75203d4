// SPDX-License-Identifier: GPL-2.0
/* The MAC of a multicast GID, and memberships of a netdev that loses IP. */
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>

#include "core/mcast_join.h"
#include "lib/hca.h"

/* Annex A16.5.1, RFC 2464 section 7, RFC 1112 section 6.4 */
static const struct mac_case {
	const char *desc;
	union ib_gid gid;
	u8 mac[ETH_ALEN];
} mac_cases[] = {
	{ "IPv6", { .raw = { 0xff, 0x15, [13] = 0x12, 0x34, 0x56 } },
	  { 0x33, 0x33, 0x00, 0x12, 0x34, 0x56 } },
	{ "IPv6, all of the low 32 bits",
	  { .raw = { 0xff, 0x02, [11] = 0x01, 0xff, 0xab, 0xcd, 0xef } },
	  { 0x33, 0x33, 0xff, 0xab, 0xcd, 0xef } },
	{ "rdma_cm's form of IPv4 for v1 is an IPv6 group",
	  { .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 9, 1, 2 } },
	  { 0x33, 0x33, 239, 9, 1, 2 } },
	{ "IPv4", { .raw = { [10] = 0xff, 0xff, 239, 9, 1, 2 } }, { 0x01, 0x00, 0x5e, 9, 1, 2 } },
	{ "IPv4, only the low 23 bits",
	  { .raw = { [10] = 0xff, 0xff, 224, 0x81, 2, 3 } }, { 0x01, 0x00, 0x5e, 0x01, 2, 3 } },
};
KUNIT_ARRAY_PARAM_DESC(mac, mac_cases, desc);

static void group_maps_to_mac(struct kunit *test)
{
	const struct mac_case *c = test->param_value;
	u8 mac[ETH_ALEN] = {};

	rhca_mcast_mac(&c->gid, mac);
	KUNIT_EXPECT_MEMEQ(test, mac, c->mac, ETH_ALEN);
}

/* Number of users of the group in the netdev's inet6_dev */
static int num_members(struct net_device *ndev, const union ib_gid *gid)
{
	const struct inet6_dev *idev = __in6_dev_get(ndev);
	const struct ifmcaddr6 *member;
	int num = 0;

	rcu_read_lock();
	for (member = idev ? rcu_dereference(idev->mc_list) : NULL; member;
	     member = rcu_dereference(member->next))
		if (!memcmp(&member->mca_addr, gid->raw, sizeof(gid->raw)))
			num += member->mca_users;
	rcu_read_unlock();
	return num;
}

/* A small MTU removes a netdev's inet6_dev with its groups; the next one has none */
static void group_is_joined_again_when_ipv6_is_back(struct kunit *test)
{
	const union ib_gid group = { .raw = { 0xff, 0x15, [15] = 0x42 } };
	struct rhca_mcast_join *join = test_alloc(test, sizeof(*join));
	struct net_device *ndev = test_netdev(test, 1);

	join->ndev = ndev;
	rtnl_lock();
	KUNIT_EXPECT_EQ(test, rhca_mcast_join(join, &group), 0);
	KUNIT_EXPECT_EQ(test, num_members(ndev, &group), 1);
	KUNIT_EXPECT_EQ(test, dev_set_mtu(ndev, IPV6_MIN_MTU - 1), 0);
	KUNIT_EXPECT_EQ(test, rhca_mcast_join(join, &group), 0);
	KUNIT_EXPECT_NULL(test, join->ip_side);
	KUNIT_EXPECT_EQ(test, dev_set_mtu(ndev, IPV6_MIN_MTU), 0);
	KUNIT_EXPECT_EQ(test, rhca_mcast_join(join, &group), 0);
	KUNIT_EXPECT_EQ(test, num_members(ndev, &group), 1);
	rhca_mcast_leave(join, &group);
	KUNIT_EXPECT_EQ(test, num_members(ndev, &group), 0);
	rtnl_unlock();
}

TEST_SUITE(rhca_mcast_join,
	   KUNIT_CASE(group_is_joined_again_when_ipv6_is_back),
	   KUNIT_CASE_PARAM(group_maps_to_mac, mac_gen_params));
