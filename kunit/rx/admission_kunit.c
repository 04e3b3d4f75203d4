// SPDX-License-Identifier: GPL-2.0
/*
 * Which packets a QP accepts by the netdev and port they arrive on, and on which its own are sent.
 * The device has two ports; the packets' destination GID is on the first.
 */
#include <rdma/ib_cache.h>

#include "sw/verbs/qp/qp.h"
#include "lib/hca.h"
#include "sw/rx/receive.h"

#define FIRST_PSN	0x100

static const struct test_qp_spec spec = { .rq_psn = FIRST_PSN };

static const struct way_case {
	const char *desc;
	enum ib_qp_type type;
	u8 opcode;
	u32 port;		/* that the packet arrives on */
	bool taken;
	bool elsewhere;		/* in another namespace, where the netdev has the same index */
} way_cases[] = {
	{ "RC by its netdev", IB_QPT_RC, SEND_ONLY, 1, true },
	{ "RC by another port's netdev", IB_QPT_RC, SEND_ONLY, 2, false },
	{ "UC by its netdev", IB_QPT_UC, UC | SEND_ONLY, 1, true },
	{ "UC by another port's netdev", IB_QPT_UC, UC | SEND_ONLY, 2, false },
	{ "UD by its netdev", IB_QPT_UD, UD_SEND_ONLY, 1, true },
	{ "UD by another port's netdev", IB_QPT_UD, UD_SEND_ONLY, 2, false },
	{ "RC in another namespace", IB_QPT_RC, SEND_ONLY, 1, false, true },
	{ "UC in another namespace", IB_QPT_UC, UC | SEND_ONLY, 1, false, true },
	{ "UD in another namespace", IB_QPT_UD, UD_SEND_ONLY, 1, false, true },
};
KUNIT_ARRAY_PARAM_DESC(way, way_cases, desc);

/* Only read */
static struct net_device *netdev_elsewhere(struct kunit *test, int ifindex)
{
	struct net_device *ndev = test_alloc(test, sizeof(*ndev));

	ndev->ifindex = ifindex;
	dev_net_set(ndev, test_alloc(test, sizeof(struct net)));
	return ndev;
}

static void frame_is_taken_from_the_netdev_of_its_gid(struct kunit *test)
{
	const struct way_case *c = test->param_value;
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct ib_qp *qp = test_qp_in(hca, c->type, &spec, IB_QPS_RTR);
	const __be32 deth[2] = { cpu_to_be32(TEST_QKEY), cpu_to_be32(TEST_PEER_QPN) };
	struct test_packet p = {
		.bth = { .opcode = c->opcode, .psn = FIRST_PSN, .dest_qpn = qp->qp_num },
		.extended = deth,
		.extended_bytes = c->type == IB_QPT_UD ? sizeof(deth) : 0,
		.payload_bytes = 8,
	};
	struct net_device *ndev = hca->ndev[c->port - 1];
	struct ib_wc wc;

	if (c->elsewhere)
		ndev = netdev_elsewhere(test, ndev->ifindex);
	test_post_recv(hca, qp, 1, 0, 256);
	test_receive_on(hca, &p, ndev);
	KUNIT_EXPECT_EQ(test, test_poll(hca, &wc), c->taken);
	KUNIT_EXPECT_EQ(test, test_count(hca, RHCA_RX_DROPPED_NOT_FOR_US), !c->taken);
}

static const struct link_case {
	const char *desc;
	enum rhca_encap encap;
	bool link_local;
	bool other_netdev;
	bool taken;
	bool looped;		/* the other netdev is "lo" */
} link_cases[] = {
	{ "v1, the GID's netdev", RHCA_V1, false, false, true },
	{ "v1, another", RHCA_V1, false, true, false },
	{ "v2 IPv4, the GID's netdev", RHCA_V2_IPV4, false, false, true },
	{ "v2 IPv4, another: a weak host", RHCA_V2_IPV4, false, true, true },
	{ "v2 IPv6, another: a weak host", RHCA_V2_IPV6, false, true, true },
	{ "v2 link-local, the GID's netdev", RHCA_V2_IPV6, true, false, true },
	{ "v2 link-local, another", RHCA_V2_IPV6, true, true, false },
	{ "v2 link-local, of this host", RHCA_V2_IPV6, true, true, true, true },
};
KUNIT_ARRAY_PARAM_DESC(link, link_cases, desc);

static void routed_address_is_taken_from_any_netdev(struct kunit *test)
{
	const struct link_case *c = test->param_value;
	struct net_device *ndev = test_netdev(test, 1);
	struct net_device *other = test_netdev(test, 2);
	struct rhca_rx *rx = test_alloc(test, sizeof(*rx));
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);
	bool taken;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	other->flags |= c->looped ? IFF_LOOPBACK : 0;
	skb->dev = c->other_netdev ? other : ndev;
	rx->skb = skb;
	rx->ifindex = skb->dev->ifindex;
	test_flow(&rx->flow, c->encap);
	if (c->link_local)
		test_peer_gid(&rx->flow.dgid);
	rcu_read_lock();
	taken = rhca_rx_arrived_on(rx, ndev->ifindex);
	rcu_read_unlock();
	kfree_skb(skb);
	KUNIT_EXPECT_EQ(test, taken, c->taken);
}

/* Flooding a host must not cause a search of all GID tables */
static void packet_to_no_qp_counts_where_it_arrives(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct rhca_port *second = &to_rhca_dev(hca->ibdev)->ports[1];
	struct test_packet p = {
		.bth = { .opcode = SEND_ONLY, .dest_qpn = 0xfffff0 }, .payload_bytes = 8,
	};
	struct sk_buff *skb;

	test_receive_on(hca, &p, hca->ndev[1]);
	KUNIT_EXPECT_EQ(test, 0, test_count(hca, RHCA_RX_DROPPED_NO_QP));
	KUNIT_EXPECT_EQ(test, 1, rhca_counter_sum(rhca_port_set(second)->values,
						  RHCA_RX_DROPPED_NO_QP));
	/* QP1, by a netdev not of its GID */
	p.bth.dest_qpn = 1;
	test_receive_on(hca, &p, hca->ndev[1]);
	KUNIT_EXPECT_EQ(test, 2, rhca_counter_sum(rhca_port_set(second)->values,
						  RHCA_RX_DROPPED_NO_QP));
	if (!IS_ENABLED(CONFIG_NET_L3_MASTER_DEV))
		return;
	/* A VRF has replaced that netdev in skb->dev */
	p.flow.encap = RHCA_V2_IPV6;
	skb = test_packet_on(hca, &p, hca->ndev[0]);
	IP6CB(skb)->flags = IP6SKB_L3SLAVE;
	IP6CB(skb)->iif = hca->ndev[1]->ifindex;
	test_arrive(skb, RHCA_V2_IPV6);
	KUNIT_EXPECT_EQ(test, 3, rhca_counter_sum(rhca_port_set(second)->values,
						  RHCA_RX_DROPPED_NO_QP));
}

/* With a wrong Q_Key, which QP1 counts */
static void mads_of_a_list_go_to_the_port_of_each(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct rhca_port *ports = to_rhca_dev(hca->ibdev)->ports;
	const __be32 deth[2] = {};
	struct test_packet p = {
		.bth = { .opcode = UD_SEND_ONLY, .dest_qpn = 1 },
		.flow = { .encap = RHCA_V1, .hop_limit = 64 },
		.extended = deth, .extended_bytes = sizeof(deth),
	};
	struct rhca_counters __percpu *counts;
	LIST_HEAD(list);
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, rdma_query_gid(hca->ibdev, i + 1, hca->gid_index,
							&p.flow.dgid));
		list_add_tail(&test_packet_on(hca, &p, hca->ndev[i])->list, &list);
	}
	rhca_receive_list(&list, RHCA_V1);
	for (i = 0; i < 2; i++) {
		counts = rhca_port_set(&ports[i])->values;
		KUNIT_EXPECT_EQ(test, 1, rhca_counter_sum(counts, RHCA_RX_PACKETS));
		KUNIT_EXPECT_EQ(test, 1, rhca_counter_sum(counts, RHCA_RX_DROPPED_BAD_QKEY));
	}
}

/* 14.2.5.6: until all of the 16 bits are 1 */
static void violations_saturate(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UD, &spec, IB_QPS_RTR);
	struct rhca_port *port = test_port(hca);
	const __be32 deth[2] = {};
	struct test_packet p = {
		.bth = { .opcode = UD_SEND_ONLY, .dest_qpn = qp->qp_num },
		.extended = deth, .extended_bytes = sizeof(deth),
	};

	atomic_set(&port->qkey_violations, U16_MAX);
	atomic_set(&port->pkey_violations, U16_MAX);
	test_receive(hca, &p);
	p.bth.pkey = 0x1234;
	/* As on a 32-bit kernel weeks after the last report */
	port->pkeys.reported = jiffies + 1000 * HZ;
	test_receive(hca, &p);
	KUNIT_EXPECT_EQ(test, test_count(hca, RHCA_RX_DROPPED_BAD_QKEY), 1);
	KUNIT_EXPECT_EQ(test, test_count(hca, RHCA_RX_DROPPED_BAD_PKEY), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&port->qkey_violations), U16_MAX);
	KUNIT_EXPECT_EQ(test, atomic_read(&port->pkey_violations), U16_MAX);
	KUNIT_EXPECT_FALSE(test, timer_pending(&port->pkeys.report.timer));
}

/* --- the way out ------------------------------------------------------------ */

static int send_datagram(struct test_hca *hca, struct ib_qp *qp, u32 port)
{
	struct ib_ud_wr wr = {
		.wr = { .opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED },
		.remote_qpn = TEST_PEER_QPN, .remote_qkey = TEST_QKEY,
		.port_num = port, .ah = test_ah(hca, hca->pd, port),
	};
	int ret = ib_post_send(qp, &wr.wr, NULL);

	rdma_destroy_ah(wr.ah, 0);
	return ret;
}

static void datagram_leaves_by_the_port_of_its_qp(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UD, &spec, IB_QPS_RTS);
	struct ib_wc wc;

	KUNIT_EXPECT_TRUE(test, hca->ibdev->attrs.device_cap_flags & IB_DEVICE_UD_AV_PORT_ENFORCE);
	KUNIT_EXPECT_EQ(test, send_datagram(hca, qp, 2), -EINVAL);
	KUNIT_EXPECT_FALSE(test, test_poll(hca, &wc));
	KUNIT_EXPECT_EQ(test, send_datagram(hca, qp, 1), 0);
	KUNIT_EXPECT_TRUE(test, test_poll(hca, &wc));
}

static void connection_leaves_by_the_port_of_its_qp(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_UC, &spec, IB_QPS_INIT);
	struct ib_qp_attr attr;
	int mask;

	test_qp_attr(hca, qp, &spec, IB_QPS_RTR, &attr, &mask);
	rdma_ah_set_port_num(&attr.ah_attr, 2);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, &attr, mask), -EINVAL);
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	KUNIT_EXPECT_EQ(test, ib_modify_qp(qp, &attr, mask), 0);
}

TEST_SUITE(rhca_admission,
	   KUNIT_CASE_PARAM(frame_is_taken_from_the_netdev_of_its_gid, way_gen_params),
	   KUNIT_CASE_PARAM(routed_address_is_taken_from_any_netdev, link_gen_params),
	   KUNIT_CASE(packet_to_no_qp_counts_where_it_arrives),
	   KUNIT_CASE(mads_of_a_list_go_to_the_port_of_each),
	   KUNIT_CASE(violations_saturate),
	   KUNIT_CASE(datagram_leaves_by_the_port_of_its_qp),
	   KUNIT_CASE(connection_leaves_by_the_port_of_its_qp));
