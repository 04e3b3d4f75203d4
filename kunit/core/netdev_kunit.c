// SPDX-License-Identifier: GPL-2.0
/* Which RoCE versions a netdev can carry; and remembering netdevs. */
#include <linux/if_arp.h>
#include <net/rtnetlink.h>

#include "core/rules/netdev.h"
#include "lib/hca.h"

#define V1	BIT(IB_GID_TYPE_ROCE)
#define V2	BIT(IB_GID_TYPE_ROCE_UDP_ENCAP)

static const u8 some_mac[ETH_ALEN] __aligned(2) = { 2, 0, 0, 0, 0, 1 };
static const u8 no_mac[ETH_ALEN] __aligned(2);

static const struct carries_case {
	const char *desc;
	unsigned short type;
	const char *kind;
	unsigned long gid_types;
	const u8 *mac;		/* NULL: some_mac */
} carries_cases[] = {
	{ "NIC",		ARPHRD_ETHER,		NULL,		V1 | V2 },
	{ "veth",		ARPHRD_ETHER,		"veth",		V1 | V2 },
	{ "macvlan",		ARPHRD_ETHER,		"macvlan",	V1 | V2 },
	{ "ipvlan has no MAC of its own", ARPHRD_ETHER,	"ipvlan",	V2 },
	{ "VRF drops what is not IP", ARPHRD_ETHER,	"vrf",		V2 },
	{ "netkit in L2 mode",	ARPHRD_ETHER,		"netkit",	V1 | V2 },
	{ "netkit in L3 mode has no MAC", ARPHRD_ETHER,	"netkit",	V2, no_mac },
	{ "loopback",		ARPHRD_LOOPBACK,	NULL,		V1 | V2 },
	{ "tun, WireGuard",	ARPHRD_NONE,		"wireguard",	V2 },
	{ "ipip",		ARPHRD_TUNNEL,		"ipip",		V2 },
	{ "ip6tnl",		ARPHRD_TUNNEL6,		"ip6tnl",	V2 },
	{ "sit",		ARPHRD_SIT,		"sit",		V2 },
	{ "gre",		ARPHRD_IPGRE,		"gre",		V2 },
	{ "ip6gre",		ARPHRD_IP6GRE,		"ip6gre",	V2 },
	{ "ppp",		ARPHRD_PPP,		"ppp",		V2 },
	{ "modem",		ARPHRD_RAWIP,		NULL,		V2 },
	{ "IPoIB has RDMA already", ARPHRD_INFINIBAND,	"ipoib",	0 },
	{ "CAN carries no IP",	ARPHRD_CAN,		"vcan",		0 },
	{ "netlink monitor",	ARPHRD_NETLINK,		"nlmon",	0 },
};
KUNIT_ARRAY_PARAM_DESC(carries, carries_cases, desc);

static void netdev_carries_what_its_link_type_allows(struct kunit *test)
{
	const struct carries_case *c = test->param_value;
	struct rtnl_link_ops *ops = test_alloc(test, sizeof(*ops));
	struct net_device *ndev = test_alloc(test, sizeof(*ndev));

	ndev->type = c->type;
	ndev->dev_addr = c->mac ?: some_mac;
	if (c->kind) {
		ops->kind = c->kind;
		ndev->rtnl_link_ops = ops;
	}
	KUNIT_EXPECT_EQ(test, rhca_netdev_gid_types(ndev), c->gid_types);
}

static void noted_netdev_is_found_while_it_exists(struct kunit *test)
{
	struct rhca_netdev_id id, none, elsewhere;
	struct net_device *ndev = test_netdev(test, 1);

	rhca_netdev_note(&id, ndev);
	rhca_netdev_note(&none, NULL);
	elsewhere = id;
	elsewhere.net_cookie++;
	KUNIT_EXPECT_PTR_EQ(test, rhca_netdev_get(&id), ndev);
	dev_put(ndev);
	KUNIT_EXPECT_NULL(test, rhca_netdev_get(&none));
	KUNIT_EXPECT_NULL(test, rhca_netdev_get(&elsewhere));
	test_netdev_remove(test, ndev);
	KUNIT_EXPECT_NULL(test, rhca_netdev_get(&id));
}

TEST_SUITE(rhca_netdev,
	   KUNIT_CASE_PARAM(netdev_carries_what_its_link_type_allows, carries_gen_params),
	   KUNIT_CASE(noted_netdev_is_found_while_it_exists));
