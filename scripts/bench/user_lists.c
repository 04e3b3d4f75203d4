// SPDX-License-Identifier: GPL-2.0
/*
 * A process that posts lists of requests: what rhca_bench.ko does, through user
 * verbs. Both ends are in the one process, so nobody is waited for but the driver.
 *
 * usage: user_lists DEVICE_A GID_A DEVICE_B GID_B KIND SIZE DEPTH MTU ROUNDS PER_ROUND LIST
 *
 * KIND: write, read or send. LIST requests are posted by one ibv_post_send(), DEPTH
 * are outstanding. Prints "MINIMUM MEDIAN", nanoseconds for one operation, over ROUNDS
 * rounds of PER_ROUND operations.
 */
#include <err.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_LIST	64
#define MAX_ROUNDS	10000
#define PORT		1
#define STALL_NS	20000000000LL

enum kind { WRITE, READ, SEND };

static const char *const kind_names[] = { "write", "read", "send" };
static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *memory;
	union ibv_gid gid;
	int gid_index;
};

static struct side a, b;
static enum kind kind;
static unsigned int size, depth, mtu, rounds, per_round, list;
static unsigned int completed, posted;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	int i;

	for (i = 0; devices && devices[i]; i++)
		if (!strcmp(ibv_get_device_name(devices[i]), name))
			return ibv_open_device(devices[i]);
	return NULL;
}

static void open_side(struct side *side, const char *name, const char *gid_index)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { depth + list, depth + list, 1, 1, 0 },
	};

	side->gid_index = atoi(gid_index);
	side->context = open_device(name);
	if (!side->context || ibv_query_gid(side->context, PORT, side->gid_index, &side->gid))
		err(1, "%s", name);
	side->pd = ibv_alloc_pd(side->context);
	side->cq = ibv_create_cq(side->context, 2 * (depth + list), NULL, NULL, 0);
	if (!side->pd || !side->cq || posix_memalign((void **)&side->memory, 4096, size))
		err(1, "%s: PD, CQ, memory", name);
	memset(side->memory, 1, size);
	side->mr = ibv_reg_mr(side->pd, side->memory, size, IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	init.send_cq = init.recv_cq = side->cq;
	side->qp = side->mr ? ibv_create_qp(side->pd, &init) : NULL;
	if (!side->qp)
		err(1, "%s: MR, QP", name);
}

static enum ibv_mtu mtu_code(void)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (128U << code < mtu && code < IBV_MTU_4096)
		code++;
	return code;
}

static void connect_side(struct side *side, const struct side *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state	= IBV_QPS_INIT,
		.port_num	= PORT,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ,
		.path_mtu	= mtu_code(),
		.dest_qp_num	= peer->qp->qp_num,
		.max_rd_atomic	= 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer	= 12,
		.timeout	= 14,
		.retry_cnt	= 7,
		.rnr_retry	= 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .dgid = peer->gid, .sgid_index = side->gid_index,
				 .hop_limit = 64 },
		},
	};

	if (ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		err(1, "INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		err(1, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		err(1, "RTS");
}

static void post_receives(unsigned int num)
{
	struct ibv_sge sge = { (uintptr_t)b.memory, size, b.mr->lkey };
	struct ibv_recv_wr wrs[MAX_LIST], *bad;
	unsigned int i;

	for (i = 0; i < num; i++)
		wrs[i] = (struct ibv_recv_wr) {
			.next = i + 1 < num ? &wrs[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
		};
	if (ibv_post_recv(b.qp, wrs, &bad))
		err(1, "ibv_post_recv");
}

static void post_list(unsigned int num)
{
	struct ibv_sge sge = { (uintptr_t)a.memory, size, a.mr->lkey };
	struct ibv_send_wr wrs[MAX_LIST], *bad;
	unsigned int i;

	if (kind == SEND)
		post_receives(num);
	for (i = 0; i < num; i++) {
		wrs[i] = (struct ibv_send_wr) {
			.next = i + 1 < num ? &wrs[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcodes[kind],
			.send_flags = IBV_SEND_SIGNALED,
		};
		wrs[i].wr.rdma.remote_addr = (uintptr_t)b.memory;
		wrs[i].wr.rdma.rkey = b.mr->rkey;
	}
	if (ibv_post_send(a.qp, wrs, &bad))
		err(1, "ibv_post_send");
	posted += num;
}

static unsigned int poll_side(struct side *side)
{
	struct ibv_wc wcs[MAX_LIST];
	int i, num = ibv_poll_cq(side->cq, MAX_LIST, wcs);

	for (i = 0; i < num; i++)
		if (wcs[i].status != IBV_WC_SUCCESS)
			errx(1, "completion: %s", ibv_wc_status_str(wcs[i].status));
	return num > 0 ? num : 0;
}

static void run_round(void)
{
	unsigned int until = posted + per_round, num;
	long long start = now_ns();

	while (completed != until) {
		while (posted != until) {
			num = until - posted < list ? until - posted : list;
			if (posted + num - completed > depth)
				break;
			post_list(num);
		}
		completed += poll_side(&a);
		if (kind == SEND)
			poll_side(&b);
		if (now_ns() - start > STALL_NS)
			errx(1, "stalled");
	}
}

static int compare(const void *x, const void *y)
{
	long long one = *(const long long *)x, two = *(const long long *)y;

	return (one > two) - (one < two);
}

int main(int argc, char **argv)
{
	static long long samples[MAX_ROUNDS];
	long long start;
	unsigned int i;

	if (argc != 12)
		errx(2, "usage: DEVICE_A GID_A DEVICE_B GID_B KIND SIZE DEPTH MTU ROUNDS PER_ROUND LIST");
	while (kind < SEND && strcmp(argv[5], kind_names[kind]))
		kind++;
	size = atoi(argv[6]);
	depth = atoi(argv[7]);
	mtu = atoi(argv[8]);
	rounds = atoi(argv[9]);
	per_round = atoi(argv[10]);
	list = atoi(argv[11]);
	if (strcmp(argv[5], kind_names[kind]) || !size || !list || list > MAX_LIST ||
	    list > depth || !rounds || rounds > MAX_ROUNDS || !per_round)
		errx(2, "bad argument");
	open_side(&a, argv[1], argv[2]);
	open_side(&b, argv[3], argv[4]);
	connect_side(&a, &b);
	connect_side(&b, &a);
	run_round();			/* warms up */
	for (i = 0; i < rounds; i++) {
		start = now_ns();
		run_round();
		samples[i] = (now_ns() - start) / per_round;
	}
	qsort(samples, rounds, sizeof(samples[0]), compare);
	printf("%lld %lld\n", samples[0], samples[rounds / 2]);
	return 0;
}
