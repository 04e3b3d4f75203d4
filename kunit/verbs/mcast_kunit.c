// SPDX-License-Identifier: GPL-2.0
/* Which QPs get datagrams to a multicast group, and the groups of the netdev. */
#include <linux/etherdevice.h>
#include <linux/ipv6.h>

#include "core/port/device_types.h"
#include "lib/hca.h"
#include "lib/recording_backend.h"
#include "sw/rx/receive.h"

#define GROUP_QPN	0xffffff
#define PAYLOAD_BYTES	24
#define RECV_BYTES	(40 + PAYLOAD_BYTES)
#define UNUSED_LID	0

static union ib_gid group = { .raw = { 0xff, 0x15, [13] = 1, 2, 3 } };
static union ib_gid other = { .raw = { 0xff, 0x15, [13] = 1, 2, 4 } };
static const u8 group_mac[ETH_ALEN] = { 0x33, 0x33, 0, 1, 2, 3 };
static const struct test_qp_spec plain;

static bool in_filter(struct net_device *ndev)
{
	struct netdev_hw_addr *addr;
	bool found = false;

	netif_addr_lock_bh(ndev);
	netdev_for_each_mc_addr(addr, ndev)
		found |= ether_addr_equal(addr->addr, group_mac);
	netif_addr_unlock_bh(ndev);
	return found;
}

static struct ib_qp *ud_qp(struct test_hca *hca, u64 id)
{
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UD, &plain, IB_QPS_RTS);

	test_post_recv(hca, qp, id, id * 1024, RECV_BYTES);
	return qp;
}

static struct sk_buff *datagram(struct test_hca *hca, const struct rhca_flow *flow, u32 qpn,
				u32 qkey, struct net_device *ndev)
{
	__be32 deth[2] = { cpu_to_be32(qkey), cpu_to_be32(0x123456) };
	struct test_packet p = {
		.flow = *flow, .bth = { .opcode = UD_SEND_ONLY, .dest_qpn = qpn },
		.extended = deth, .extended_bytes = sizeof(deth),
		.payload_bytes = PAYLOAD_BYTES,
	};

	test_peer_gid(&p.flow.sgid);
	return test_packet_on(hca, &p, ndev);
}

static void arrive(struct test_hca *hca, const union ib_gid *dgid, u32 qpn, u32 qkey)
{
	const struct rhca_flow flow = { .encap = RHCA_V1, .hop_limit = 1, .dgid = *dgid };

	test_arrive(datagram(hca, &flow, qpn, qkey, hca->ndev[0]), RHCA_V1);
}

/* BIT(wr_id) of each receive that completed */
static unsigned long received(struct test_hca *hca)
{
	unsigned long ids = 0;
	struct ib_wc wc;

	while (test_poll(hca, &wc)) {
		KUNIT_EXPECT_EQ(hca->test, wc.status, IB_WC_SUCCESS);
		KUNIT_EXPECT_EQ(hca->test, wc.byte_len, RECV_BYTES);
		ids |= BIT(wc.wr_id);
	}
	return ids;
}

static void attached_qps_get_a_copy_each(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(qp); i++)
		qp[i] = ud_qp(hca, i + 1);
	KUNIT_EXPECT_FALSE(test, in_filter(hca->ndev[0]));
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp[i], &group, UNUSED_LID));
	KUNIT_EXPECT_TRUE(test, in_filter(hca->ndev[0]));
	arrive(hca, &group, GROUP_QPN, TEST_QKEY);
	KUNIT_EXPECT_EQ(test, received(hca), BIT(1) | BIT(2));
	KUNIT_EXPECT_EQ(test, test_count(hca, RHCA_RX_MULTICAST_PACKETS), 1);

	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp[0], &group, UNUSED_LID));
	KUNIT_EXPECT_TRUE(test, in_filter(hca->ndev[0]));
	test_post_recv(hca, qp[1], 4, 8192, RECV_BYTES);
	arrive(hca, &group, GROUP_QPN, TEST_QKEY);
	KUNIT_EXPECT_EQ(test, received(hca), BIT(4));
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp[1], &group, UNUSED_LID));
	KUNIT_EXPECT_FALSE(test, in_filter(hca->ndev[0]));
	arrive(hca, &group, GROUP_QPN, TEST_QKEY);
	KUNIT_EXPECT_EQ(test, received(hca), 0);
}

static const struct drop_case {
	const char *desc;
	const union ib_gid *dgid;	/* NULL: the port's own */
	bool one_qp;			/* a QP number, not that of groups */
	u32 qkey;
	enum rhca_counter counter;
	bool assigned;			/* the group is an address of the netdev */
} drop_cases[] = {
	{ "another group", &other, false, TEST_QKEY, RHCA_RX_DROPPED_NO_QP },
	{ "another Q_Key", &group, false, TEST_QKEY + 1, RHCA_RX_DROPPED_BAD_QKEY },
	{ "group GID, but one QP", &group, true, TEST_QKEY, RHCA_RX_DROPPED_NOT_FOR_US },
	{ "one QP, by a GID that is a group", &group, true, TEST_QKEY, RHCA_RX_DROPPED_NOT_FOR_US,
	  .assigned = true },
	{ "all QPs, but no group GID", NULL, false, TEST_QKEY, RHCA_RX_DROPPED_NOT_FOR_US },
};
KUNIT_ARRAY_PARAM_DESC(drop, drop_cases, desc);

static void what_is_not_for_the_group_is_counted_and_dropped(struct kunit *test)
{
	const struct drop_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	const struct rhca_gid_entry address = {
		.gid = group, .type = IB_GID_TYPE_ROCE, .ifindex = hca->ndev[0]->ifindex,
	};
	struct ib_qp *qp = ud_qp(hca, 1);
	struct ib_port_attr attr;
	u64 before;

	if (c->assigned)
		rhca_gid_table_set(&to_rhca_dev(hca->ibdev)->ports[0].gids, RHCA_NUM_GIDS - 1,
				   &address);
	KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp, &group, UNUSED_LID));
	before = test_count(hca, c->counter);
	arrive(hca, c->dgid ?: &hca->gid, c->one_qp ? qp->qp_num : GROUP_QPN, c->qkey);
	KUNIT_EXPECT_EQ(test, received(hca), 0);
	KUNIT_EXPECT_EQ(test, test_count(hca, c->counter), before + 1);
	KUNIT_EXPECT_EQ(test, 0, ib_query_port(hca->ibdev, 1, &attr));
	KUNIT_EXPECT_EQ(test, attr.qkey_viol_cntr, c->counter == RHCA_RX_DROPPED_BAD_QKEY);
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &group, UNUSED_LID));
}

static void attaching_twice_is_refused(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = ud_qp(hca, 1);

	KUNIT_EXPECT_EQ(test, -EINVAL, ib_detach_mcast(qp, &group, UNUSED_LID));
	KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp, &group, UNUSED_LID));
	KUNIT_EXPECT_EQ(test, -EEXIST, ib_attach_mcast(qp, &group, UNUSED_LID));
	KUNIT_EXPECT_EQ(test, -EBUSY, ib_destroy_qp(qp));
	arrive(hca, &group, GROUP_QPN, TEST_QKEY);
	KUNIT_EXPECT_EQ(test, received(hca), BIT(1));
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &group, UNUSED_LID));
	KUNIT_EXPECT_EQ(test, -EINVAL, ib_detach_mcast(qp, &group, UNUSED_LID));
	KUNIT_EXPECT_FALSE(test, in_filter(hca->ndev[0]));
}

static void group_is_one_of_its_port(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct ib_qp *qp = ud_qp(hca, 1);

	KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp, &group, UNUSED_LID));
	KUNIT_EXPECT_TRUE(test, in_filter(hca->ndev[0]));
	KUNIT_EXPECT_FALSE(test, in_filter(hca->ndev[1]));
	swap(hca->ndev[0], hca->ndev[1]);	/* it arrives on the other one */
	arrive(hca, &group, GROUP_QPN, TEST_QKEY);
	swap(hca->ndev[0], hca->ndev[1]);
	KUNIT_EXPECT_EQ(test, received(hca), 0);
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &group, UNUSED_LID));
}

/* For a packet on a VRF, IPv6 records the lower netdev that it arrived on */
static void packet_of_a_vrf_is_for_the_netdev_below(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct ib_qp *qp = ud_qp(hca, 1);
	const struct rhca_flow flow = {
		.encap = RHCA_V2_IPV6, .hop_limit = 1, .dgid = group, .udp_sport = 0xd00d,
	};
	struct sk_buff *skb;

	if (!IS_ENABLED(CONFIG_NET_L3_MASTER_DEV))
		kunit_skip(test, "no VRFs");
	KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp, &group, UNUSED_LID));
	skb = datagram(hca, &flow, GROUP_QPN, TEST_QKEY, hca->ndev[1]);
	IP6CB(skb)->flags = IP6SKB_L3SLAVE;
	IP6CB(skb)->iif = hca->ndev[0]->ifindex;
	test_arrive(skb, RHCA_V2_IPV6);
	KUNIT_EXPECT_EQ(test, received(hca), BIT(1));
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &group, UNUSED_LID));
}

/* An adapter receives for its groups itself; packets in the stack are not for us */
static void group_of_another_backend_is_not_ours(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &recording_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UD, &plain, IB_QPS_RTS);

	KUNIT_ASSERT_EQ(test, 0, ib_attach_mcast(qp, &group, UNUSED_LID));
	arrive(hca, &group, GROUP_QPN, TEST_QKEY);
	KUNIT_EXPECT_EQ(test, received(hca), 0);
	KUNIT_EXPECT_EQ(test, 0, ib_detach_mcast(qp, &group, UNUSED_LID));
}

TEST_SUITE(rhca_mcast,
	   KUNIT_CASE(attached_qps_get_a_copy_each),
	   KUNIT_CASE_PARAM(what_is_not_for_the_group_is_counted_and_dropped, drop_gen_params),
	   KUNIT_CASE(attaching_twice_is_refused),
	   KUNIT_CASE(group_is_one_of_its_port),
	   KUNIT_CASE(packet_of_a_vrf_is_for_the_netdev_below),
	   KUNIT_CASE(group_of_another_backend_is_not_ours));
