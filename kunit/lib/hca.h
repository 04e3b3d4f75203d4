/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An HCA for tests: netdevs that keep the packets sent on them, a device of any backend on top, and
 * the objects that kernel verbs need. It uses RoCE v1, which needs no routes and neighbours:
 *
 *	test -> kernel verbs -> backend -> netdev -> test_sent()
 *	test_receive() -> rhca_receive() -> QP -> completions
 *
 * Blocks need v2: see test_hca_speak_v2().
 */
#ifndef RHCA_KUNIT_LIB_HCA_H
#define RHCA_KUNIT_LIB_HCA_H

#include <linux/args.h>
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <rdma/ib_verbs.h>
#include <rhca/backend.h>
#include <rhca/counter.h>

#include "lib/packet.h"

#define TEST_MAX_PORTS	2
#define TEST_MAX_QPS	160
#define TEST_PEER_QPN	0xadbeef
#define TEST_QKEY	0x11111111
#define TEST_RNR_TIMER	12
#define TEST_MTU_BYTES	256
#define TEST_BUFFER_BYTES	(64 * 1024)
#define TEST_BUFFER_PAGES	16		/* of any size */
#define TEST_NAME	"kunit_hca"

/* Does a condition become true within the 20 s that a busy machine may need? */
#define test_becomes(condition) ({				\
	int test_tries = 20000;					\
								\
	while (!(condition) && --test_tries)			\
		usleep_range(1000, 2000);			\
	!!test_tries;						\
})

/* Is there a device on a netdev, for which @condition on @dev holds? It may be ending */
#define test_device_is(netdev, dev, condition) ({		\
	struct rhca_dev *dev = rhca_dev_find(netdev);		\
	bool test_is = dev && (condition);			\
								\
	if (dev)						\
		ib_device_put(&dev->ibdev);			\
	test_is;						\
})

/* Description of a device: a backend, and a netdev for each port */
#define TEST_DEVICE(by, ...) {							\
	.name = TEST_NAME, .backend = (by), .netdevs = { __VA_ARGS__ },		\
	.num_ports = COUNT_ARGS(__VA_ARGS__),					\
}

/* A device and its users' objects */
struct test_hca {
	struct kunit *test;	/* the test */
	u32 num_ports;		/* ports of the device */
	struct net_device *ndev[TEST_MAX_PORTS];	/* their netdevs */
	struct ib_device *ibdev;	/* the device, with a reference */
	struct ib_pd *pd;	/* protection domain */
	struct ib_cq *cq;	/* completion queue of all QPs */
	struct ib_mr *mr;	/* region over @buffer, or NULL */
	struct ib_srq *srq;	/* receive queue of QPs created from now on, or NULL */
	struct ib_qp *qps[TEST_MAX_QPS];	/* created by test_qp() */
	u32 num_qps;		/* how many */
	u8 *buffer;		/* from the page allocator; TEST_BUFFER_BYTES have a payload */
	unsigned long events;	/* BIT(enum ib_event_type) of each that a QP has raised */
	union ib_gid gid;	/* the v1 GID of port 1 */
	u16 gid_index;		/* its index */
	bool damages;		/* damage the next packet that arrives */
};

/* Attributes for test_qp_bring_up() */
struct test_qp_spec {
	int access;		/* qp_access_flags */
	u32 rq_psn;		/* of the first request received */
	u32 sq_psn;		/* of the first packet sent */
	u8 responder_resources;	/* max_dest_rd_atomic */
	u8 initiator_depth;	/* max_rd_atomic */
	u8 retries;		/* retry_cnt and rnr_retry */
	u16 pkey_index;
	u32 dest_qpn;		/* of the peer; 0: TEST_PEER_QPN */
	bool v2;		/* uses v2 over IPv6; for test_bench() */
};

/* A packet that was sent, decoded by numeric offsets */
struct test_sent {
	unsigned int len;	/* bytes from the Ethernet header on */
	u32 priority;		/* passed to the netdev */
	u8 opcode;		/* of the BTH, as the next fields */
	bool solicited;
	bool ack_req;
	u8 pad;
	u16 pkey;
	u32 psn;
	u32 dest_qpn;
	const u8 *extended;	/* the headers after the BTH */
	const u8 *payload;
	const struct sock *owner;	/* socket charged for it */
	unsigned int payload_bytes;
	u8 bytes[TEST_PACKET_BYTES + 14];	/* all of it */
};

struct test_hca *test_hca_create(struct kunit *test, const struct rhca_backend_ops *backend,
				 u32 num_ports);
struct device *test_hardware(struct kunit *test);
struct net_device *test_netdev(struct kunit *test, u32 num);
struct net_device *test_netdev_of(struct kunit *test, u32 num,
				  struct device *parent,
				  struct devlink_port *port);
struct rhca_dev *test_device_of(const struct net_device *ndev);
void test_device_remove(const struct net_device *ndev);
struct rhca_dev *test_device_get(struct kunit *test, const struct net_device *ndev);
void test_netdev_set_up(struct net_device *ndev, bool up);
void test_netdev_leave(struct net_device *ndev);
void test_netdev_remove(struct kunit *test, struct net_device *ndev);
void test_netdevs_remove(struct kunit *test, struct net_device *first, struct net_device *second);
void test_hca_remove(struct test_hca *hca);
void test_qps_destroy(void *hca);
void test_hca_speak_v2(struct test_hca *hca);
struct ib_qp *test_qp(struct test_hca *hca, enum ib_qp_type type);
struct ib_qp *test_qp_of(struct test_hca *hca, enum ib_qp_type type, const struct ib_qp_cap *cap);
struct ib_srq *test_srq(struct test_hca *hca, struct ib_pd *pd, u32 max_wr, u32 limit);
void test_qp_attr(struct test_hca *hca, struct ib_qp *qp,
		  const struct test_qp_spec *spec, enum ib_qp_state next,
		  struct ib_qp_attr *attr, int *mask);
void test_qp_bring_up(struct test_hca *hca, struct ib_qp *qp,
		      const struct test_qp_spec *spec, enum ib_qp_state to);
struct ib_qp *test_qp_in(struct test_hca *hca, enum ib_qp_type type,
			 const struct test_qp_spec *spec, enum ib_qp_state state);
int test_qp_move(struct ib_qp *qp, enum ib_qp_state next);
enum ib_qp_state test_qp_state(struct ib_qp *qp);
int test_qp_to(struct test_hca *hca, struct ib_qp *qp, const struct test_qp_spec *spec,
	       enum ib_qp_state next);
struct rhca_port *test_port(const struct test_hca *hca);
u64 test_count(struct test_hca *hca, enum rhca_counter which);
struct ib_sge test_sge(struct test_hca *hca, u32 offset, u32 bytes);
void test_mr(struct test_hca *hca, struct ib_qp *qp, u32 bytes, int access);
void test_post_recv(struct test_hca *hca, struct ib_qp *qp, u64 id, u32 offset, u32 bytes);
bool test_poll(struct test_hca *hca, struct ib_wc *wc);
bool test_poll_in_time(struct test_hca *hca, struct ib_wc *wc);
void test_expect_payload(struct test_hca *hca, u32 offset, u32 bytes);
void test_expect_wc(struct test_hca *hca, u64 id, enum ib_wc_status status);
void test_expect_completions(struct test_hca *hca, u64 first, u32 num);

void test_address(struct test_hca *hca, struct rdma_ah_attr *ah);
struct ib_ah *test_ah(struct test_hca *hca, struct ib_pd *pd, u32 port);
void test_peer_gid(union ib_gid *gid);
void test_arrive(struct sk_buff *skb, enum rhca_encap encap);
void test_from_peer(struct test_hca *hca, struct test_packet *p);
void test_receive(struct test_hca *hca, struct test_packet *p);
struct sk_buff *test_packet_on(struct test_hca *hca, struct test_packet *p,
			       struct net_device *ndev);
void test_receive_on(struct test_hca *hca, struct test_packet *p, struct net_device *ndev);
void test_answer(struct test_hca *hca, const struct ib_qp *qp, u8 opcode, u32 psn,
		 u32 aeth, unsigned int payload_bytes);
bool test_sent(struct test_hca *hca, struct test_sent *sent);
struct sk_buff *test_sent_v2(struct test_hca *hca);
struct sk_buff *test_segments(struct kunit *test, struct sk_buff *skb);
void test_set_queue(struct test_hca *hca, int result);
void test_while_sending(struct test_hca *hca, void (*meanwhile)(void *data), void *data);
u32 test_num_sent(struct test_hca *hca);

/* A kernel user that delays the end of a device: holder.c */
void test_hold(struct kunit *test, struct rhca_dev *dev);
void test_hold_begins(struct kunit *test);
void test_hold_ends(struct kunit *test);

#endif
