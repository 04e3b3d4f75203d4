// SPDX-License-Identifier: GPL-2.0
/*
 * A tenant that uses the driver as much as its limits allow, and does nothing else, for
 * tenants-lib.sh. It sleeps only where the kernel makes it.
 *
 * usage: hostile-tenant KIND DEVICE_A GID_A DEVICE_B GID_B ADDRESS
 *
 * KIND: see kinds[] at the end; "burn" only uses processor time. ADDRESS is the IPv4
 * address of B. It prints "running" once it has started; on SIGTERM it prints how many
 * steps it has made and how often a limit was hit, and exits.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <signal.h>
#include <sys/socket.h>

#include "rc-pair.h"

#define PAGE		4096
#define ROCE_UDP_PORT	4791

static struct end a, b;
static const char *device;
static struct sockaddr_in address = { .sin_family = AF_INET };
static volatile sig_atomic_t ended;
static unsigned long refused;

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static void drain(struct ibv_cq *cq)
{
	struct ibv_wc wc[16];

	while (ibv_poll_cq(cq, 16, wc) > 0)
		;
}

/* Poll completions of valid requests. Returns their number */
static int reap(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n = 0;

	for (; ibv_poll_cq(cq, 1, &wc) > 0; n++)
		if (wc.status != IBV_WC_SUCCESS)
			errx(1, "a request failed: %s", ibv_wc_status_str(wc.status));
	return n;
}

/* --- burn: the baseline for the others ------------------------------------------- */

static void burn(void)
{
	volatile int i;

	for (i = 0; i < 10000; i++)
		;
}

/* --- posts: queues of long WRITEs that are always full; UC, which nothing paces ---- */

#define POST_QPS	4
#define POST_REQUESTS	512
#define POST_AT_ONCE	16
#define POST_BYTES	(1U << 20)

static struct {
	struct ibv_cq *cq;
	struct ibv_qp *qps[POST_QPS];
	struct piece piece;
} posts;

static void begin_posts(void)
{
	struct ibv_mr *from = register_memory(&a, map_memory(POST_BYTES), POST_BYTES,
					      FULL_ACCESS);
	struct ibv_mr *to = register_memory(&b, map_memory(POST_BYTES), POST_BYTES, FULL_ACCESS);
	struct ibv_cq *cq = create_cq(&b, 16, NULL);
	struct ibv_qp *peer;
	int i;

	posts.piece = (struct piece){ from->addr, POST_BYTES, from->lkey, to->addr, to->rkey };
	posts.cq = create_cq(&a, 2 * POST_QPS * POST_REQUESTS, NULL);
	for (i = 0; i < POST_QPS; i++) {
		posts.qps[i] = create_qp(&a, IBV_QPT_UC, posts.cq, posts.cq, POST_REQUESTS);
		peer = create_qp(&b, IBV_QPT_UC, cq, cq, 16);
		connect_pair(posts.qps[i], &a, peer, &b);
	}
}

/* Not more than the CQ holds, as a queue may be processed as fast as it is filled */
static void step_posts(void)
{
	int i, j;

	for (i = 0; i < POST_QPS; i++)
		for (j = 0; j < POST_AT_ONCE && !ended; j++)
			if (post_rdma(posts.qps[i], IBV_WR_RDMA_WRITE, &posts.piece, 0)) {
				refused++;
				break;
			}
	reap(posts.cq);
}

/* --- rnr: full queues of SENDs to a peer without receives, which are repeated for ever ---- */

#define RNR_TIMER_10_US	1	/* the code of the shortest pause, IBTA 9.7.5.2.8 */

static void begin_rnr(void)
{
	struct ibv_mr *from = register_memory(&a, map_memory(POST_BYTES), POST_BYTES,
					      FULL_ACCESS);
	struct ibv_cq *cq = create_cq(&a, POST_QPS * POST_REQUESTS, NULL);
	struct ibv_cq *peer_cq = create_cq(&b, 16, NULL);
	struct ibv_qp_attr attr = { .min_rnr_timer = RNR_TIMER_10_US };
	struct piece piece = { from->addr, 1 << 16, from->lkey };
	struct ibv_qp *qp, *peers[POST_QPS];
	int i, j;

	for (i = 0; i < POST_QPS; i++) {
		qp = create_qp(&a, IBV_QPT_RC, cq, cq, POST_REQUESTS);
		peers[i] = create_qp(&b, IBV_QPT_RC, peer_cq, peer_cq, 16);
		connect_pair(qp, &a, peers[i], &b);
		for (j = 0; j < POST_REQUESTS; j++)
			if (post_rdma(qp, IBV_WR_SEND, &piece, 0))
				err(1, "post");
	}
	for (i = 0; i < POST_QPS; i++)
		if (ibv_modify_qp(peers[i], &attr, IBV_QP_MIN_RNR_TIMER))
			err(1, "no RNR timer");
}

/* --- polls: empty CQs that are armed and polled ----------------------------------- */

#define POLL_CQS	1024

static struct ibv_cq *poll_cqs[POLL_CQS];

/* The maximum number */
static void begin_polls(void)
{
	int i;

	for (i = 0; i < POLL_CQS; i++) {
		poll_cqs[i] = ibv_create_cq(a.context, 64, NULL, NULL, 0);
		if (!poll_cqs[i]) {
			refused++;
			break;
		}
	}
}

static void step_polls(void)
{
	int i;

	for (i = 0; i < POLL_CQS && poll_cqs[i]; i++) {
		ibv_req_notify_cq(poll_cqs[i], 0);
		drain(poll_cqs[i]);
	}
}

/* --- registers: regions and queues until RLIMIT_MEMLOCK refuses one ---------------- */

#define REGIONS		64
#define REGION_BYTES	(1U << 20)
#define REGISTER_CQS	16
#define REGISTER_ENTRIES 16384

static char *register_from;

static void begin_registers(void)
{
	register_from = map_memory(REGION_BYTES);
	memset(register_from, 1, REGION_BYTES);
}

static void step_regions(void)
{
	struct ibv_mr *mrs[REGIONS];
	int i;

	for (i = 0; i < REGIONS; i++) {
		mrs[i] = ibv_reg_mr(a.pd, register_from, REGION_BYTES, FULL_ACCESS);
		if (!mrs[i]) {
			refused++;
			break;
		}
	}
	while (i-- > 0)
		ibv_dereg_mr(mrs[i]);
}

static void step_queues(void)
{
	struct ibv_cq *cqs[REGISTER_CQS];
	int i;

	for (i = 0; i < REGISTER_CQS; i++) {
		cqs[i] = ibv_create_cq(a.context, REGISTER_ENTRIES, NULL, NULL, 0);
		if (!cqs[i]) {
			refused++;
			break;
		}
	}
	while (i-- > 0)
		ibv_destroy_cq(cqs[i]);
}

static void step_registers(void)
{
	step_regions();
	step_queues();
}

/* --- invalidates: windows, and pages that are revoked under traffic ------------------ */

#define INVALIDATE_BYTES	(64U << 10)
#define INVALIDATE_REQUESTS	64
#define REQUESTS_OF_A_STEP	3

static struct {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	struct piece piece;
	char *pages;
} invalidates;

static void begin_invalidates(void)
{
	struct ibv_mr *to = register_memory(&b, map_memory(INVALIDATE_BYTES), INVALIDATE_BYTES,
					    FULL_ACCESS);
	struct ibv_cq *cq = create_cq(&b, 16, NULL);
	struct ibv_mr *from;

	invalidates.pages = map_memory(INVALIDATE_BYTES);
	from = register_memory(&a, invalidates.pages, INVALIDATE_BYTES,
			       FULL_ACCESS | IBV_ACCESS_ON_DEMAND);
	invalidates.mr = register_memory(&a, map_memory(PAGE), PAGE,
					 FULL_ACCESS | IBV_ACCESS_MW_BIND);
	invalidates.piece = (struct piece){ from->addr, INVALIDATE_BYTES, from->lkey,
					    to->addr, to->rkey };
	invalidates.mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
	if (!invalidates.mw)
		err(1, "no MW");
	invalidates.cq = create_cq(&a, 256, NULL);
	invalidates.qp = create_qp(&a, IBV_QPT_RC, invalidates.cq, invalidates.cq,
				   INVALIDATE_REQUESTS);
	connect_pair(invalidates.qp, &a, create_qp(&b, IBV_QPT_RC, cq, cq, 16), &b);
}

static void bind_and_invalidate(void)
{
	struct ibv_send_wr *bad, invalidate = {
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = ibv_inc_rkey(invalidates.mw->rkey),
	}, bind = {
		.next = &invalidate,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = invalidates.mw,
			.rkey = ibv_inc_rkey(invalidates.mw->rkey),
			.bind_info = { invalidates.mr, (uintptr_t)invalidates.mr->addr, PAGE,
				       IBV_ACCESS_REMOTE_WRITE },
		},
	};

	if (ibv_post_send(invalidates.qp, &bind, &bad))
		err(1, "bind and invalidate");
	invalidates.mw->rkey = bind.bind_mw.rkey;
}

static void step_invalidates(void)
{
	static int waiting;

	if (waiting + REQUESTS_OF_A_STEP > INVALIDATE_REQUESTS) {
		refused++;
	} else {
		if (post_rdma(invalidates.qp, IBV_WR_RDMA_WRITE, &invalidates.piece, 0))
			err(1, "WRITE");
		bind_and_invalidate();
		waiting += REQUESTS_OF_A_STEP;
	}
	madvise(invalidates.pages, INVALIDATE_BYTES, MADV_DONTNEED);
	waiting -= reap(invalidates.cq);
}

/* --- contexts: opened until the cgroup's hca_handle refuses one ---------------------- */

#define CONTEXTS	256

static void step_contexts(void)
{
	struct ibv_context *contexts[CONTEXTS];
	int i;

	for (i = 0; i < CONTEXTS; i++) {
		contexts[i] = open_device(device);
		if (!contexts[i]) {
			refused++;
			break;
		}
	}
	while (i-- > 0)
		ibv_close_device(contexts[i]);
}

/* --- faults: pages of both ends that are never present -------------------------------- */

#define FAULT_BYTES	(16U << 20)
#define FAULT_PIECE	(1U << 20)

static struct {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *from;
	struct ibv_mr *to;
} faults;

static void begin_faults(void)
{
	struct ibv_cq *cq = create_cq(&b, 16, NULL);

	faults.from = register_memory(&a, map_memory(FAULT_BYTES), FAULT_BYTES,
				      FULL_ACCESS | IBV_ACCESS_ON_DEMAND);
	faults.to = register_memory(&b, map_memory(FAULT_BYTES), FAULT_BYTES,
				    FULL_ACCESS | IBV_ACCESS_ON_DEMAND);
	faults.cq = create_cq(&a, 64, NULL);
	faults.qp = create_qp(&a, IBV_QPT_RC, faults.cq, faults.cq, 16);
	connect_pair(faults.qp, &a, create_qp(&b, IBV_QPT_RC, cq, cq, 16), &b);
}

static void step_faults(void)
{
	static uint32_t at;
	struct piece piece = { (char *)faults.from->addr + at, FAULT_PIECE, faults.from->lkey,
			       (char *)faults.to->addr + at, faults.to->rkey };

	if (post_rdma(faults.qp, at & FAULT_PIECE ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, &piece,
		      0))
		refused++;
	at = (at + FAULT_PIECE) % FAULT_BYTES;
	madvise((char *)faults.from->addr + at, FAULT_PIECE, MADV_DONTNEED);
	madvise((char *)faults.to->addr + at, FAULT_PIECE, MADV_DONTNEED);
	reap(faults.cq);
}

/* --- multicast: the maximum number of copies of each datagram -------------------------- */

#define MCAST_QPS	32
#define MCAST_GROUPS	32
#define MCAST_BYTES	1024
#define MCAST_GRH	40
#define MCAST_RECEIVES	16
#define MCAST_REQUESTS	128
#define MCAST_QPN	0xffffff
#define MCAST_QKEY	0x11111111

static struct {
	struct ibv_cq *cq;
	struct ibv_cq *received;
	struct ibv_qp *qp;
	struct ibv_qp *receivers[MCAST_QPS];
	struct ibv_ah *ah;
	struct ibv_mr *from;
	struct ibv_mr *to;
} mcast;

static union ibv_gid group_gid(uint8_t number)
{
	return (union ibv_gid){ .raw = { [10] = 0xff, 0xff, 239, 9, 2, number } };
}

static void ready_ud(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT,
				    .qkey = MCAST_QKEY };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_QKEY))
		err(1, "UD, INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		err(1, "UD, RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		err(1, "UD, RTS");
}

static void receive_datagram(int i)
{
	struct ibv_sge sge = { (uintptr_t)mcast.to->addr, MCAST_BYTES + MCAST_GRH,
			       mcast.to->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(mcast.receivers[i], &wr, &bad))
		refused++;
}

/* One group after the other, all QPs, until the limit of a user refuses one */
static void attach_all(void)
{
	union ibv_gid gid;
	int group, i;

	for (group = 0; group < MCAST_GROUPS; group++) {
		gid = group_gid(group);
		for (i = 0; i < MCAST_QPS; i++) {
			if (ibv_attach_mcast(mcast.receivers[i], &gid, 0)) {
				refused++;
				return;
			}
		}
	}
}

static void begin_multicast(void)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = PORT,
		.grh = { .dgid = group_gid(0), .sgid_index = a.gid_index, .hop_limit = 1 },
	};
	int i, j;

	mcast.from = register_memory(&a, map_memory(PAGE), PAGE, FULL_ACCESS);
	mcast.to = register_memory(&b, map_memory(PAGE), PAGE, FULL_ACCESS);
	mcast.cq = create_cq(&a, 2 * MCAST_REQUESTS, NULL);
	mcast.received = create_cq(&b, MCAST_QPS * (MCAST_RECEIVES + 1), NULL);
	mcast.qp = create_qp(&a, IBV_QPT_UD, mcast.cq, mcast.cq, MCAST_REQUESTS);
	ready_ud(mcast.qp);
	mcast.ah = ibv_create_ah(a.pd, &attr);
	if (!mcast.ah)
		err(1, "no AH of a group");
	for (i = 0; i < MCAST_QPS; i++) {
		mcast.receivers[i] = create_qp(&b, IBV_QPT_UD, mcast.received, mcast.received,
					       MCAST_RECEIVES);
		ready_ud(mcast.receivers[i]);
		for (j = 0; j < MCAST_RECEIVES; j++)
			receive_datagram(i);
	}
	attach_all();
}

static void step_multicast(void)
{
	struct ibv_sge sge = { (uintptr_t)mcast.from->addr, MCAST_BYTES, mcast.from->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { mcast.ah, MCAST_QPN, MCAST_QKEY },
	};
	struct ibv_wc wc;
	int i;

	for (i = 0; i < MCAST_REQUESTS && !ibv_post_send(mcast.qp, &wr, &bad); i++)
		;
	reap(mcast.cq);
	while (ibv_poll_cq(mcast.received, 1, &wc) > 0)
		receive_datagram(wc.wr_id);
}

/* --- cm: connections to an address without a listener ----------------------------------- */

#define CM_IDS		64
#define CM_CLOSED_PORT	17
#define CM_TIMEOUT_MS	1000
#define CM_ADDR_RESOLVED	0	/* enum rdma_cm_event_type */
#define CM_ROUTE_RESOLVED	2
#define CM_REJECTED		8

static int cm_fd;
static uint32_t cm_ids[CM_IDS];

static int cm_command(uint32_t command, void *body, size_t size, size_t answer)
{
	char buffer[1024];
	struct rdma_ucm_cmd_hdr header = { command, size, answer };

	memcpy(buffer, &header, sizeof(header));
	memcpy(buffer + sizeof(header), body, size);
	return write(cm_fd, buffer, sizeof(header) + size) < 0 ? -1 : 0;
}

static void cm_begin_id(unsigned int i)
{
	struct rdma_ucm_create_id_resp made;
	struct rdma_ucm_create_id create = { i, (uintptr_t)&made, RDMA_PS_TCP, IBV_QPT_RC, {} };
	struct rdma_ucm_resolve_ip resolve = { .timeout_ms = CM_TIMEOUT_MS };

	if (cm_command(RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof(create), sizeof(made)))
		err(1, "CM: no id");
	cm_ids[i] = made.id;
	resolve.id = made.id;
	memcpy(&resolve.dst_addr, &address, sizeof(address));
	((struct sockaddr_in *)&resolve.dst_addr)->sin_port = htons(CM_CLOSED_PORT);
	if (cm_command(RDMA_USER_CM_CMD_RESOLVE_IP, &resolve, sizeof(resolve), 0))
		err(1, "CM: address");
}

static void cm_end_id(unsigned int i)
{
	struct rdma_ucm_destroy_id_resp answer;
	struct rdma_ucm_destroy_id destroy = { (uintptr_t)&answer, cm_ids[i], 0 };

	cm_command(RDMA_USER_CM_CMD_DESTROY_ID, &destroy, sizeof(destroy), sizeof(answer));
}

static void begin_cm(void)
{
	unsigned int i;

	cm_fd = open("/dev/infiniband/rdma_cm", O_RDWR);
	if (cm_fd < 0)
		err(1, "rdma_cm");
	for (i = 0; i < CM_IDS; i++)
		cm_begin_id(i);
}

static int cm_resolve_route(uint32_t id)
{
	struct rdma_ucm_resolve_route resolve = { id, CM_TIMEOUT_MS };

	return cm_command(RDMA_USER_CM_CMD_RESOLVE_ROUTE, &resolve, sizeof(resolve), 0);
}

static int cm_connect(uint32_t id)
{
	struct rdma_ucm_connect connect = {
		.conn_param = { .qp_num = 77, .responder_resources = 1, .initiator_depth = 1,
				.retry_count = 7, .rnr_retry_count = 7, .valid = 1 },
		.id = id,
	};

	return cm_command(RDMA_USER_CM_CMD_CONNECT, &connect, sizeof(connect), 0);
}

static void step_cm(void)
{
	struct rdma_ucm_event_resp event = {};
	struct rdma_ucm_get_event get = { (uintptr_t)&event };
	int failed = 1;

	if (cm_command(RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof(get), sizeof(event)))
		return;		/* a signal has arrived */
	if (event.event == CM_ADDR_RESOLVED)
		failed = cm_resolve_route(event.id);
	else if (event.event == CM_ROUTE_RESOLVED)
		failed = cm_connect(event.id);
	if (!failed)
		return;
	refused += event.event == CM_REJECTED;
	cm_end_id(event.uid);
	cm_begin_id(event.uid);
}

/* --- errors: requests that fail, here and at the peer, and queues that are flushed ------- */

#define ERROR_REQUESTS	64

static struct {
	struct ibv_cq *cq;
	struct ibv_cq *peer_cq;
	struct ibv_qp *qp;
	struct ibv_qp *peer;
	struct ibv_mr *mr;
} errors;

static void begin_errors(void)
{
	errors.mr = register_memory(&a, map_memory(PAGE), PAGE, FULL_ACCESS);
	errors.cq = create_cq(&a, 4 * ERROR_REQUESTS, NULL);
	errors.peer_cq = create_cq(&b, 4 * ERROR_REQUESTS, NULL);
	errors.qp = create_qp(&a, IBV_QPT_RC, errors.cq, errors.cq, ERROR_REQUESTS);
	errors.peer = create_qp(&b, IBV_QPT_RC, errors.peer_cq, errors.peer_cq, ERROR_REQUESTS);
	fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK);
	fcntl(b.context->async_fd, F_SETFL, O_NONBLOCK);
}

static void reset(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		err(1, "RESET");
}

static void forget_events(struct end *end)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(end->context, &event))
		ibv_ack_async_event(&event);
}

static void step_errors(void)
{
	static unsigned int number;
	struct piece piece = { errors.mr->addr, PAGE, errors.mr->lkey, (void *)PAGE, 0 };
	struct ibv_wc wc;
	int i, posted = 0;

	connect_pair(errors.qp, &a, errors.peer, &b);
	if (number++ & 1)
		piece.lkey = ~piece.lkey;	/* fails here; otherwise at the peer */
	for (i = 0; i < ERROR_REQUESTS; i++)
		posted += !post_rdma(errors.qp, IBV_WR_RDMA_WRITE, &piece, 0);
	while (!ended && posted > 0)
		if (ibv_poll_cq(errors.cq, 1, &wc) > 0)
			posted--;
	refused++;
	reset(errors.qp);
	reset(errors.peer);
	drain(errors.peer_cq);
	forget_events(&a);
	forget_events(&b);
}

/* --- wire: packets of all kinds by a socket, which any user has -------------------------- */

#define WIRE_PACKETS	64
#define WIRE_BYTES	256

static int wire_fd;
static unsigned char wire_packets[WIRE_PACKETS][WIRE_BYTES];

static void begin_wire(void)
{
	int i, j;

	address.sin_port = htons(ROCE_UDP_PORT);
	wire_fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (wire_fd < 0 || connect(wire_fd, (struct sockaddr *)&address, sizeof(address)))
		err(1, "socket");
	for (i = 0; i < WIRE_PACKETS; i++)
		for (j = 0; j < WIRE_BYTES; j++)
			wire_packets[i][j] = random();
}

/* A BTH: any opcode, a QP that may exist, any PSN; the rest and the ICRC are random */
static void fill_headers(unsigned char *packet)
{
	uint32_t number = random();

	packet[0] = number >> 10;
	packet[1] = 0x40;
	packet[2] = packet[3] = 0xff;
	packet[4] = packet[5] = 0;
	packet[6] = (number >> 8) & 3;
	packet[7] = number;
}

static void step_wire(void)
{
	struct mmsghdr messages[WIRE_PACKETS] = {};
	struct iovec pieces[WIRE_PACKETS];
	int i;

	for (i = 0; i < WIRE_PACKETS; i++) {
		fill_headers(wire_packets[i]);
		pieces[i] = (struct iovec){ wire_packets[i],
					    32 + random() % (WIRE_BYTES - 32) };
		messages[i].msg_hdr.msg_iov = &pieces[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	if (sendmmsg(wire_fd, messages, WIRE_PACKETS, 0) < WIRE_PACKETS)
		refused++;
}

static const struct kind {
	const char *name;
	void (*begin)(void);
	void (*step)(void);
} kinds[] = {
	{ "burn",	 NULL,			burn },
	{ "posts",	 begin_posts,		step_posts },
	{ "rnr",	 begin_rnr,		burn },
	{ "polls",	 begin_polls,		step_polls },
	{ "registers",	 begin_registers,	step_registers },
	{ "invalidates", begin_invalidates,	step_invalidates },
	{ "contexts",	 NULL,			step_contexts },
	{ "faults",	 begin_faults,		step_faults },
	{ "multicast",	 begin_multicast,	step_multicast },
	{ "cm",		 begin_cm,		step_cm },
	{ "errors",	 begin_errors,		step_errors },
	{ "wire",	 begin_wire,		step_wire },
};

static const struct kind *find_kind(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	errx(2, "no kind %s", name);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	unsigned long steps = 0;
	const struct kind *kind;

	if (argc != 7)
		errx(2, "usage: KIND DEVICE_A GID_A DEVICE_B GID_B ADDRESS");
	kind = find_kind(argv[1]);
	device = argv[2];
	if (inet_pton(AF_INET, argv[6], &address.sin_addr) != 1)
		errx(2, "bad address");
	sigaction(SIGTERM, &action, NULL);
	open_end(&a, argv[2], argv[3]);
	open_end(&b, argv[4], argv[5]);
	if (kind->begin)
		kind->begin();
	printf("running\n");
	fflush(stdout);
	for (; !ended; steps++)
		kind->step();
	printf("%lu steps, %lu times refused\n", steps, refused);
	fflush(stdout);
	_exit(0);
}
