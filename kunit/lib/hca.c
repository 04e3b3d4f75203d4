// SPDX-License-Identifier: GPL-2.0
#include <linux/etherdevice.h>
#include <linux/ipv6.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <linux/scatterlist.h>
#include <linux/udp.h>
#include <linux/unaligned.h>
#include <net/dcbnl.h>
#include <net/gso.h>
#include <net/rtnetlink.h>
#include <rdma/ib_cache.h>

#include "core/device.h"
#include "core/registry.h"
#include "hca.h"
#include "sw/verbs/counters.h"
#include "sw/tx/post_delay.h"
#include "sw/rx/receive.h"

static const u8 peer_mac[ETH_ALEN] = { 0x02, 0, 0, 0, 0x0f, 0x0f };

/* --- the netdev: it keeps packets of RoCE and drops others --------------------- */

struct tap {
	struct sk_buff_head sent;
	struct sk_buff_head sent_v2;
	int result;
	void (*meanwhile)(void *data);
	void *data;
};

static bool is_v2(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) &&
	       ipv6_hdr(skb)->nexthdr == IPPROTO_UDP &&
	       udp_hdr(skb)->dest == htons(4791);
}

static netdev_tx_t tap_xmit(struct sk_buff *skb, struct net_device *ndev)
{
	struct tap *tap = netdev_priv(ndev);
	void (*meanwhile)(void *data) = tap->meanwhile;

	if (meanwhile && is_v2(skb)) {
		tap->meanwhile = NULL;
		meanwhile(tap->data);
	}
	if (tap->result == NET_XMIT_DROP)
		kfree_skb(skb);
	else if (skb->protocol == htons(0x8915))
		skb_queue_tail(&tap->sent, skb);
	else if (is_v2(skb))
		skb_queue_tail(&tap->sent_v2, skb);
	else
		kfree_skb(skb);
	return (netdev_tx_t)tap->result;
}

static const struct net_device_ops tap_ops = {
	.ndo_start_xmit = tap_xmit,
};

/* An APP table needs no support by the driver */
static const struct dcbnl_rtnl_ops tap_dcb_ops = {};

void test_netdev_set_up(struct net_device *ndev, bool up)
{
	rtnl_lock();
	if (up)
		dev_open(ndev, NULL);
	else
		dev_close(ndev);
	rtnl_unlock();
}

static struct net_device *tap_create(struct kunit *test, u32 num,
				     struct device *parent,
				     struct devlink_port *port)
{
	const u8 mac[ETH_ALEN] = { 0x02, 0, 0, 0, 0, num };
	struct net_device *ndev = alloc_etherdev(sizeof(struct tap));
	struct tap *tap;
	int ret;

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	tap = netdev_priv(ndev);
	skb_queue_head_init(&tap->sent);
	skb_queue_head_init(&tap->sent_v2);
	strscpy(ndev->name, "kunit%d", sizeof(ndev->name));
	eth_hw_addr_set(ndev, mac);
	ndev->netdev_ops = &tap_ops;
	ndev->dcbnl_ops = &tap_dcb_ops;
	ndev->features |= NETIF_F_SG | NETIF_F_HIGHDMA;
	ndev->priv_flags |= IFF_NO_QUEUE;
	ndev->lltx = true;
	ndev->max_mtu = 9000;
	ndev->mtu = 4500;
	SET_NETDEV_DEV(ndev, parent);
	SET_NETDEV_DEVLINK_PORT(ndev, port);
	ret = register_netdev(ndev);
	if (ret)
		free_netdev(ndev);
	KUNIT_ASSERT_EQ(test, ret, 0);
	test_netdev_set_up(ndev, true);
	KUNIT_EXPECT_TRUE(test, netif_running(ndev));
	return ndev;
}

static void tap_free(struct net_device *ndev)
{
	struct tap *tap = netdev_priv(ndev);

	skb_queue_purge(&tap->sent);
	skb_queue_purge(&tap->sent_v2);
	free_netdev(ndev);
}

static void tap_destroy(void *ndev)
{
	unregister_netdev(ndev);
	tap_free(ndev);
}

/* A netdev of a hardware port, as from a driver that can be unbound; both pointers may be NULL */
struct net_device *test_netdev_of(struct kunit *test, u32 num,
				  struct device *parent,
				  struct devlink_port *port)
{
	struct net_device *ndev = tap_create(test, num, parent, port);

	test_at_end(test, tap_destroy, ndev);
	return ndev;
}

static void unregister_hardware(void *data)
{
	platform_device_unregister(data);
}

/* A hardware device for netdevs; removed when the test ends */
struct device *test_hardware(struct kunit *test)
{
	struct platform_device *device;

	device = platform_device_register_simple("kunit_adapter", PLATFORM_DEVID_AUTO, NULL, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(device));
	test_at_end(test, unregister_hardware, device);
	return &device->dev;
}

/* A netdev without a device, removed when the test ends */
struct net_device *test_netdev(struct kunit *test, u32 num)
{
	return test_netdev_of(test, num, NULL, NULL);
}

/* Remove it before the test ends */
void test_netdev_remove(struct kunit *test, struct net_device *ndev)
{
	kunit_release_action(test, tap_destroy, ndev);
}

/* Two netdevs that a driver unregisters at once, as when an adapter is unplugged */
void test_netdevs_remove(struct kunit *test, struct net_device *first, struct net_device *second)
{
	LIST_HEAD(list);

	kunit_remove_action(test, tap_destroy, first);
	kunit_remove_action(test, tap_destroy, second);
	rtnl_lock();
	unregister_netdevice_queue(first, &list);
	unregister_netdevice_queue(second, &list);
	unregister_netdevice_many(&list);
	rtnl_unlock();
	tap_free(first);
	tap_free(second);
}

/* --- the device --------------------------------------------------------------- */

/* Destroy all QPs of a struct test_hca; for test_at_end(), before something else is freed */
void test_qps_destroy(void *data)
{
	struct test_hca *hca = data;

	while (hca->num_qps)
		ib_destroy_qp(hca->qps[--hca->num_qps]);
}

static void destroy_objects(struct test_hca *hca)
{
	test_qps_destroy(hca);
	if (hca->mr)
		ib_dereg_mr(hca->mr);
	if (hca->srq)
		ib_destroy_srq(hca->srq);
	if (hca->cq)
		ib_destroy_cq(hca->cq);
	if (hca->pd)
		ib_dealloc_pd(hca->pd);
}

static void test_hca_destroy(void *data)
{
	struct test_hca *hca = data;
	u32 i;

	destroy_objects(hca);
	if (hca->ibdev)
		ib_unregister_device_and_put(hca->ibdev);
	for (i = 0; i < TEST_MAX_PORTS; i++)
		if (hca->ndev[i])
			tap_destroy(hca->ndev[i]);
	free_pages((unsigned long)hca->buffer, ilog2(TEST_BUFFER_PAGES));
}

static void register_hca(struct test_hca *hca, const struct rhca_backend_ops *backend)
{
	struct rhca_dev_spec spec = {
		.name = TEST_NAME, .backend = backend,
		.num_ports = hca->num_ports,
	};
	struct rhca_dev *dev;
	u32 i;

	for (i = 0; i < hca->num_ports; i++) {
		hca->ndev[i] = tap_create(hca->test, i + 1, NULL, NULL);
		spec.netdevs[i] = hca->ndev[i];
	}
	KUNIT_ASSERT_EQ(hca->test, rhca_dev_create(&spec), 0);
	dev = test_device_get(hca->test, hca->ndev[0]);
	hca->ibdev = &dev->ibdev;
	/* Without probes nothing happens that the test does not request */
	for (i = 0; i < hca->num_ports; i++)
		dev->ports[i].cc.adp_retrans = false;
}

static void create_objects(struct test_hca *hca)
{
	struct ib_cq_init_attr attr = { .cqe = 512 };
	struct ib_pd *pd = ib_alloc_pd(hca->ibdev, 0);
	struct ib_cq *cq;

	KUNIT_ASSERT_FALSE(hca->test, IS_ERR(pd));
	hca->pd = pd;
	cq = ib_create_cq(hca->ibdev, NULL, NULL, NULL, &attr);
	KUNIT_ASSERT_FALSE(hca->test, IS_ERR(cq));
	hca->cq = cq;
}

static void find_gid(struct test_hca *hca)
{
	const struct ib_gid_attr *attr;
	u16 i;

	for (i = 0; i < 8; i++) {
		attr = rdma_get_gid_attr(hca->ibdev, 1, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE) {
			hca->gid = attr->gid;
			hca->gid_index = i;
			rdma_put_gid_attr(attr);
			return;
		}
		rdma_put_gid_attr(attr);
	}
	KUNIT_ASSERT_TRUE_MSG(hca->test, false, "no RoCE v1 GID");
}

/* A device of @backend, each port on its own netdev; removed when the test ends */
struct test_hca *test_hca_create(struct kunit *test, const struct rhca_backend_ops *backend,
				 u32 num_ports)
{
	struct test_hca *hca = test_alloc(test, sizeof(*hca));
	u32 i;

	rhca_doorbell_gap_ns = 0;	/* send posted requests at once */
	hca->test = test;
	hca->num_ports = num_ports;
	test_at_end(test, test_hca_destroy, hca);
	hca->buffer = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP,
					     ilog2(TEST_BUFFER_PAGES));
	KUNIT_ASSERT_NOT_NULL(test, hca->buffer);
	for (i = 0; i < TEST_BUFFER_BYTES; i++)
		hca->buffer[i] = test_payload(i);
	register_hca(hca, backend);
	create_objects(hca);
	find_gid(hca);
	return hca;
}

/* Remove it before the test ends */
void test_hca_remove(struct test_hca *hca)
{
	kunit_release_action(hca->test, test_hca_destroy, hca);
}

/* Blocks pass this kind of netdev unsegmented */
static struct rtnl_link_ops veth_ops = { .kind = "veth" };

/*
 * QPs brought up from now on use RoCE v2 over IPv6; port 1 accepts blocks, and packets leave it
 * without neighbour entries. See test_sent_v2().
 */
void test_hca_speak_v2(struct test_hca *hca)
{
	struct net_device *ndev = hca->ndev[0];

	hca->gid_index++;	/* the v2 GID follows the v1 GID of the same address */
	rtnl_lock();
	ndev->rtnl_link_ops = &veth_ops;
	ndev->features |= NETIF_F_HW_CSUM | NETIF_F_GSO_UDP_L4;
	dev_change_flags(ndev, ndev->flags | IFF_NOARP, NULL);
	rtnl_unlock();
}

/* The device on a netdev, or NULL; the test holds the netdev, and only the test removes it */
struct rhca_dev *test_device_of(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (dev)
		ib_device_put(&dev->ibdev);
	return dev;
}

/* The device on a netdev, which must exist; takes a reference */
struct rhca_dev *test_device_get(struct kunit *test, const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	return dev;
}

/* Part it from its device at once, as when it moves to another namespace */
void test_netdev_leave(struct net_device *ndev)
{
	rtnl_lock();
	rhca_dev_remove_netdev(ndev);
	rtnl_unlock();
}

/* Remove the device on a netdev, if any, but not as its user */
void test_device_remove(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (!dev)
		return;
	set_bit(RHCA_DEV_REMOVED, &dev->flags);
	ib_unregister_device_and_put(&dev->ibdev);
}

/* --- QPs ----------------------------------------------------------------------- */

static void note_event(struct ib_event *event, void *context)
{
	struct test_hca *hca = context;

	set_bit(event->event, &hca->events);
}

/* A new QP, destroyed with the device unless the caller removes it from @hca->qps */
struct ib_qp *test_qp_of(struct test_hca *hca, enum ib_qp_type type, const struct ib_qp_cap *cap)
{
	struct ib_qp_init_attr init = {
		.event_handler = note_event, .qp_context = hca,
		.send_cq = hca->cq, .recv_cq = hca->cq, .srq = hca->srq,
		.cap = *cap, .sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = type, .port_num = 1,
	};
	struct ib_qp *qp;

	KUNIT_ASSERT_LT(hca->test, hca->num_qps, TEST_MAX_QPS);
	qp = ib_create_qp(hca->pd, &init);
	KUNIT_ASSERT_FALSE(hca->test, IS_ERR(qp));
	hca->qps[hca->num_qps++] = qp;
	return qp;
}

/* A receive queue for QPs created from now on */
struct ib_srq *test_srq(struct test_hca *hca, struct ib_pd *pd, u32 max_wr, u32 limit)
{
	struct ib_srq_init_attr init = {
		.attr = { .max_wr = max_wr, .max_sge = 1, .srq_limit = limit },
	};
	struct ib_srq *srq = ib_create_srq(pd, &init);

	KUNIT_ASSERT_FALSE(hca->test, IS_ERR(srq));
	hca->srq = srq;
	return srq;
}

struct ib_qp *test_qp(struct test_hca *hca, enum ib_qp_type type)
{
	static const struct ib_qp_cap cap = {
		.max_send_wr = 64, .max_recv_wr = 8, .max_send_sge = 4,
		.max_recv_sge = 2, .max_inline_data = 64,
	};

	return test_qp_of(hca, type, &cap);
}

/* fe80:: with the EUI-64 of the peer's MAC */
void test_peer_gid(union ib_gid *gid)
{
	*gid = (union ib_gid) { .raw = { 0xfe, 0x80, [11] = 0xff, 0xfe, 0,
					 0x0f, 0x0f } };
}

/* An address vector of the peer */
void test_address(struct test_hca *hca, struct rdma_ah_attr *ah)
{
	union ib_gid peer;

	test_peer_gid(&peer);
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(ah, 1);
	rdma_ah_set_grh(ah, &peer, 0, hca->gid_index, 64, 0);
	ether_addr_copy(ah->roce.dmac, peer_mac);
}

/* An address handle of the peer, by a port of ours, in a domain; to be destroyed by the caller */
struct ib_ah *test_ah(struct test_hca *hca, struct ib_pd *pd, u32 port)
{
	struct rdma_ah_attr attr = {};
	struct ib_ah *ah;

	test_address(hca, &attr);
	rdma_ah_set_port_num(&attr, port);
	ah = rdma_create_ah(pd, &attr, 0);
	KUNIT_ASSERT_FALSE(hca->test, IS_ERR(ah));
	return ah;
}

static void attr_init(struct ib_qp *qp, const struct test_qp_spec *spec,
		      struct ib_qp_attr *attr, int *mask)
{
	attr->port_num = 1;
	attr->pkey_index = spec->pkey_index;
	*mask |= IB_QP_PKEY_INDEX | IB_QP_PORT;
	if (qp->qp_type == IB_QPT_UD) {
		attr->qkey = TEST_QKEY;
		*mask |= IB_QP_QKEY;
	} else {
		attr->qp_access_flags = spec->access;
		*mask |= IB_QP_ACCESS_FLAGS;
	}
}

static void attr_rtr(struct test_hca *hca, struct ib_qp *qp,
		     const struct test_qp_spec *spec, struct ib_qp_attr *attr,
		     int *mask)
{
	if (qp->qp_type == IB_QPT_UD)
		return;
	test_address(hca, &attr->ah_attr);
	attr->path_mtu = IB_MTU_256;
	attr->dest_qp_num = spec->dest_qpn ?: TEST_PEER_QPN;
	attr->rq_psn = spec->rq_psn;
	*mask |= IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN;
	if (qp->qp_type == IB_QPT_RC) {
		attr->max_dest_rd_atomic = spec->responder_resources;
		attr->min_rnr_timer = TEST_RNR_TIMER;
		*mask |= IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER;
	}
}

/* No ACK timeout: nothing happens that the test does not request */
static void attr_rts(struct ib_qp *qp, const struct test_qp_spec *spec,
		     struct ib_qp_attr *attr, int *mask)
{
	attr->sq_psn = spec->sq_psn;
	*mask |= IB_QP_SQ_PSN;
	if (qp->qp_type == IB_QPT_RC) {
		attr->max_rd_atomic = spec->initiator_depth;
		attr->retry_cnt = spec->retries;
		attr->rnr_retry = spec->retries;
		*mask |= IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY |
			 IB_QP_MAX_QP_RD_ATOMIC;
	}
}

/* The attributes required by the transition to INIT, RTR or RTS; other states require none */
void test_qp_attr(struct test_hca *hca, struct ib_qp *qp,
		  const struct test_qp_spec *spec, enum ib_qp_state next,
		  struct ib_qp_attr *attr, int *mask)
{
	memset(attr, 0, sizeof(*attr));
	attr->qp_state = next;
	*mask = IB_QP_STATE;
	if (next == IB_QPS_INIT)
		attr_init(qp, spec, attr, mask);
	else if (next == IB_QPS_RTR)
		attr_rtr(hca, qp, spec, attr, mask);
	else if (next == IB_QPS_RTS)
		attr_rts(qp, spec, attr, mask);
}

/* Move to a state whose transition requires no other attributes than these */
int test_qp_to(struct test_hca *hca, struct ib_qp *qp, const struct test_qp_spec *spec,
	       enum ib_qp_state next)
{
	struct ib_qp_attr attr;
	int mask;

	test_qp_attr(hca, qp, spec, next, &attr, &mask);
	return ib_modify_qp(qp, &attr, mask);
}

/* From RESET through all states in between */
void test_qp_bring_up(struct test_hca *hca, struct ib_qp *qp,
		      const struct test_qp_spec *spec, enum ib_qp_state to)
{
	enum ib_qp_state state;

	for (state = IB_QPS_INIT; state <= to; state++)
		KUNIT_ASSERT_EQ_MSG(hca->test, 0, test_qp_to(hca, qp, spec, state),
				    "to state %d", state);
}

/* A new QP in @state */
struct ib_qp *test_qp_in(struct test_hca *hca, enum ib_qp_type type,
			 const struct test_qp_spec *spec, enum ib_qp_state state)
{
	struct ib_qp *qp = test_qp(hca, type);

	test_qp_bring_up(hca, qp, spec, state);
	return qp;
}

/* Changes the state only */
int test_qp_move(struct ib_qp *qp, enum ib_qp_state next)
{
	struct ib_qp_attr attr = { .qp_state = next };

	return ib_modify_qp(qp, &attr, IB_QP_STATE);
}

enum ib_qp_state test_qp_state(struct ib_qp *qp)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(qp, &attr, IB_QP_STATE, &init) ? -1 : attr.qp_state;
}

/* The first port */
struct rhca_port *test_port(const struct test_hca *hca)
{
	return &to_rhca_dev(hca->ibdev)->ports[0];
}

/* Value of a software device's counter */
u64 test_count(struct test_hca *hca, enum rhca_counter which)
{
	return rhca_counter_sum(rhca_port_set(test_port(hca))->values, which);
}

/* An SGE for @bytes of the buffer, starting at @offset */
struct ib_sge test_sge(struct test_hca *hca, u32 offset, u32 bytes)
{
	return (struct ib_sge) {
		.addr = (uintptr_t)hca->buffer + offset, .length = bytes,
		.lkey = hca->pd->local_dma_lkey,
	};
}

/* They must be the first bytes of test_payload() */
void test_expect_payload(struct test_hca *hca, u32 offset, u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i++)
		if (hca->buffer[offset + i] != test_payload(i))
			break;
	KUNIT_EXPECT_EQ_MSG(hca->test, i, bytes, "first wrong byte");
}

/* A region over the first @bytes of the buffer; @qp is in RTS */
void test_mr(struct test_hca *hca, struct ib_qp *qp, u32 bytes, int access)
{
	struct scatterlist sg;
	struct ib_reg_wr wr = {
		.wr = { .opcode = IB_WR_REG_MR, .send_flags = IB_SEND_SIGNALED },
		.access = access,
	};
	struct kunit *test = hca->test;
	struct ib_wc wc;

	sg_init_one(&sg, hca->buffer, bytes);
	hca->mr = ib_alloc_mr(hca->pd, IB_MR_TYPE_MEM_REG, TEST_BUFFER_PAGES + 1);
	if (IS_ERR(hca->mr))
		hca->mr = NULL;
	KUNIT_ASSERT_NOT_NULL(test, hca->mr);
	KUNIT_ASSERT_EQ(test, 1, ib_dma_map_sg(hca->ibdev, &sg, 1, DMA_BIDIRECTIONAL));
	KUNIT_ASSERT_EQ(test, 1, ib_map_mr_sg(hca->mr, &sg, 1, NULL, PAGE_SIZE));
	wr.mr = hca->mr;
	wr.key = hca->mr->rkey;
	KUNIT_ASSERT_EQ(test, 0, ib_post_send(qp, &wr.wr, NULL));
	KUNIT_ASSERT_TRUE(test, test_poll(hca, &wc));
	KUNIT_ASSERT_EQ(test, wc.status, IB_WC_SUCCESS);
}

void test_post_recv(struct test_hca *hca, struct ib_qp *qp, u64 id, u32 offset, u32 bytes)
{
	struct ib_sge sge = test_sge(hca, offset, bytes);
	struct ib_recv_wr wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1,
	};

	KUNIT_ASSERT_EQ(hca->test, 0, ib_post_recv(qp, &wr, NULL));
}

bool test_poll(struct test_hca *hca, struct ib_wc *wc)
{
	return ib_poll_cq(hca->cq, 1, wc) == 1;
}

/* Wait for a completion of background work */
bool test_poll_in_time(struct test_hca *hca, struct ib_wc *wc)
{
	return test_becomes(test_poll(hca, wc));
}

/* The next completion, which must be there */
void test_expect_wc(struct test_hca *hca, u64 id, enum ib_wc_status status)
{
	struct ib_wc wc;

	KUNIT_ASSERT_TRUE(hca->test, test_poll(hca, &wc));
	KUNIT_EXPECT_EQ(hca->test, wc.wr_id, id);
	KUNIT_EXPECT_EQ(hca->test, (int)wc.status, (int)status);
}

/* Exactly @num completions are pending: in order from ID @first, each successful */
void test_expect_completions(struct test_hca *hca, u64 first, u32 num)
{
	struct ib_wc wc;

	while (num--)
		test_expect_wc(hca, first++, IB_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(hca->test, test_poll(hca, &wc));
}

/* --- packets ------------------------------------------------------------------- */

/* From the peer to this HCA, unless the test sets more of the flow than its framing */
void test_from_peer(struct test_hca *hca, struct test_packet *p)
{
	if (p->flow.hop_limit)
		return;
	p->flow.hop_limit = 64;
	p->flow.udp_sport = p->flow.encap == RHCA_V1 ? 0 : 0xd00d;
	p->flow.dgid = hca->gid;
	test_peer_gid(&p->flow.sgid);
}

/* A packet that has not arrived yet; see test_from_peer() */
struct sk_buff *test_packet_on(struct test_hca *hca, struct test_packet *p, struct net_device *ndev)
{
	/* Tests may disable bottom halves, so that no tasklet runs between two packets */
	u8 *bytes = kzalloc(TEST_PACKET_BYTES, GFP_ATOMIC);
	struct sk_buff *skb;

	KUNIT_ASSERT_NOT_NULL(hca->test, bytes);
	test_from_peer(hca, p);
	skb = test_skb(hca->test, bytes, test_build(bytes, p), TEST_LINEAR, 0);
	skb->dev = ndev;
	kfree(bytes);
	return skb;
}

/* As received from a netdev or a socket */
void test_arrive(struct sk_buff *skb, enum rhca_encap encap)
{
	local_bh_disable();
	rhca_receive(skb, encap);
	local_bh_enable();
}

void test_receive_on(struct test_hca *hca, struct test_packet *p, struct net_device *ndev)
{
	struct sk_buff *skb = test_packet_on(hca, p, ndev);

	if (hca->damages)	/* the last byte before the ICRC */
		skb->data[skb->len - 5] ^= 1;
	hca->damages = false;
	test_arrive(skb, RHCA_V1);
}

/* Receive a packet on the netdev of port 1 */
void test_receive(struct test_hca *hca, struct test_packet *p)
{
	test_receive_on(hca, p, hca->ndev[0]);
}

/* The peer answers with an AETH; an atomic response then carries the value 0x12345678 */
void test_answer(struct test_hca *hca, const struct ib_qp *qp, u8 opcode, u32 psn,
		 u32 aeth, unsigned int payload_bytes)
{
	__be32 headers[3] = { cpu_to_be32(aeth), 0, cpu_to_be32(0x12345678) };
	struct test_packet p = {
		.bth = { .opcode = opcode, .psn = psn & 0xffffff, .dest_qpn = qp->qp_num },
		.extended = headers,
		.extended_bytes = opcode == READ_MIDDLE ? 0 : opcode == ATOMIC_ACK ? 12 : 4,
		.payload_bytes = payload_bytes,
	};

	test_receive(hca, &p);
}

#define BTH_AT	(14 + 40)	/* Ethernet, GRH */

static void take_apart(struct test_sent *sent)
{
	const u8 *bth = sent->bytes + BTH_AT;
	unsigned int headers = rhca_transport_bytes(bth[0]);

	sent->opcode = bth[0];
	sent->solicited = bth[1] >> 7;
	sent->pkey = get_unaligned_be16(bth + 2);
	sent->pad = bth[1] >> 4 & 3;
	sent->dest_qpn = get_unaligned_be24(bth + 5);
	sent->ack_req = bth[8] >> 7;
	sent->psn = get_unaligned_be24(bth + 9);
	sent->extended = bth + 12;
	sent->payload = bth + headers;
	sent->payload_bytes = sent->len - BTH_AT - headers - sent->pad - 4;
}

static void expect_sound(struct test_hca *hca, struct sk_buff *skb)
{
	struct rhca_rx *rx = test_alloc(hca->test, sizeof(*rx));

	skb_pull(skb, ETH_HLEN);
	KUNIT_EXPECT_EQ(hca->test, rhca_rx_parse(rx, skb, RHCA_V1), RHCA_PARSE_OK);
	KUNIT_EXPECT_TRUE(hca->test, rhca_rx_icrc_ok(rx));
	kunit_kfree(hca->test, rx);
}

/* The oldest unchecked packet sent by port 1, with its ICRC verified; returns false if none */
bool test_sent(struct test_hca *hca, struct test_sent *sent)
{
	struct tap *tap = netdev_priv(hca->ndev[0]);
	struct sk_buff *skb = skb_dequeue(&tap->sent);

	if (!skb)
		return false;
	memset(sent, 0, sizeof(*sent));
	sent->len = skb->len;
	sent->priority = skb->priority;
	sent->owner = skb->sk;
	KUNIT_ASSERT_LE(hca->test, skb->len, sizeof(sent->bytes));
	KUNIT_ASSERT_EQ(hca->test, 0, skb_copy_bits(skb, 0, sent->bytes, skb->len));
	take_apart(sent);
	expect_sound(hca, skb);
	kfree_skb(skb);
	return true;
}

/*
 * The same for RoCE v2: returns the skb at its Ethernet header, to be freed by the caller, or NULL
 */
struct sk_buff *test_sent_v2(struct test_hca *hca)
{
	struct tap *tap = netdev_priv(hca->ndev[0]);

	return skb_dequeue(&tap->sent_v2);
}

/* Segment a block, which is consumed: returns a list by skb->next. A single packet is unchanged */
struct sk_buff *test_segments(struct kunit *test, struct sk_buff *skb)
{
	struct sk_buff *list;

	if (!skb_is_gso(skb))
		return skb;
	list = __skb_gso_segment(skb, NETIF_F_SG, true);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(list));
	consume_skb(skb);
	return list;
}

/*
 * What the queue of port 1 returns for packets from now on: NET_XMIT_SUCCESS (as at first) or
 * NET_XMIT_CN if it accepts them, NET_XMIT_DROP if not.
 */
void test_set_queue(struct test_hca *hca, int result)
{
	struct tap *tap = netdev_priv(hca->ndev[0]);

	WRITE_ONCE(tap->result, result);
}

/*
 * Call @meanwhile once, when the next skb of RoCE v2 is handed to port 1 and before it is queued or
 * rejected. Usually in softirq context: it must only expect, not assert.
 */
void test_while_sending(struct test_hca *hca, void (*meanwhile)(void *data), void *data)
{
	struct tap *tap = netdev_priv(hca->ndev[0]);

	tap->data = data;
	tap->meanwhile = meanwhile;
}

u32 test_num_sent(struct test_hca *hca)
{
	struct tap *tap = netdev_priv(hca->ndev[0]);

	return skb_queue_len(&tap->sent);
}
