// SPDX-License-Identifier: GPL-2.0
/*
 * How fast one RDMA device is beside another, in one process: short rounds by turns, so
 * that what else the host does falls on both alike. Of each pair of rounds the times are
 * divided; the median of these is what is told, and between which two values it lies for
 * 95 of 100 such measurements. Rounds go on until these two are close together.
 *
 * usage: speed ORACLE GID-INDEX OTHER GID-INDEX KIND [once N]
 *	KIND	write, read, send (64 KiB, sixteen at a time) or latency (8 bytes)
 *	once N	no comparison: N rounds of OTHER alone, for who counts what they take
 *
 * Printed: KIND, the ratio of the times, oracle's by the other's (more than 1: the other is
 * faster), its lower and upper bound, how many pairs, both medians in microseconds.
 */
#include <infiniband/verbs.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MESSAGE_BYTES	65536
#define DEPTH		16	/* requests of a bandwidth round, all posted at once */
#define LATENCY_ROUND	32	/* requests of a latency round, one after the other */
#define WARM_UP		8	/* rounds that are not counted */
#define LEAST_PAIRS	100
#define MOST_PAIRS	2000
#define CLOSE		0.01	/* of the bounds to the median */
#define MOST_S		40	/* then the bounds reached are printed */

static const char *const kinds[] = { "write", "read", "send", "latency" };
enum kind { WRITE, READ, SEND, LATENCY };

struct side {
	struct ibv_context *context;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	double us[MOST_PAIRS];
};

static char *memory;	/* read by requests, then written; shared by both sides */

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; list && list[i] && !context; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (!context)
		fail(name);
	ibv_free_device_list(list);
	return context;
}

/* The queue pair, connected to itself */
static void connect_side(struct side *side, int gid_index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.dest_qp_num = side->qp->qp_num, .max_dest_rd_atomic = 16, .max_rd_atomic = 16,
		.min_rnr_timer = 12, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .sgid_index = gid_index, .hop_limit = 64 } },
	};
	struct ibv_port_attr port;

	if (ibv_query_gid(side->context, 1, gid_index, &attr.ah_attr.grh.dgid) ||
	    ibv_query_port(side->context, 1, &port))
		fail("port");
	attr.path_mtu = port.active_mtu;
	if (ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		fail("INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			  IBV_QP_MIN_RNR_TIMER))
		fail("RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		fail("RTS");
}

static void prepare(struct side *side, const char *name, int gid_index)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = 64 },
	};
	struct ibv_pd *pd;

	side->context = open_device(name);
	pd = ibv_alloc_pd(side->context);
	if (!pd)
		fail("PD");
	side->mr = ibv_reg_mr(pd, memory, 2 * MESSAGE_BYTES, IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	side->cq = ibv_create_cq(side->context, 4 * DEPTH, NULL, NULL, 0);
	if (!side->mr || !side->cq)
		fail("memory region or completion queue");
	init.send_cq = init.recv_cq = side->cq;
	side->qp = ibv_create_qp(pd, &init);
	if (!side->qp)
		fail("queue pair");
	connect_side(side, gid_index);
}

static void post_receives(struct side *side)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory + MESSAGE_BYTES, .length = MESSAGE_BYTES,
		.lkey = side->mr->lkey,
	};
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int i;

	for (i = 0; i < DEPTH; i++)
		if (ibv_post_recv(side->qp, &wr, &bad))
			fail("receive");
}

static void post(struct side *side, enum kind kind)
{
	static const enum ibv_wr_opcode opcodes[] = {
		[WRITE] = IBV_WR_RDMA_WRITE, [READ] = IBV_WR_RDMA_READ,
		[SEND] = IBV_WR_SEND, [LATENCY] = IBV_WR_RDMA_WRITE,
	};
	struct ibv_sge sge = {
		.addr = (uintptr_t)memory, .lkey = side->mr->lkey,
		.length = kind == LATENCY ? 8 : MESSAGE_BYTES,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcodes[kind],
		.send_flags = IBV_SEND_SIGNALED | (kind == LATENCY ? IBV_SEND_INLINE : 0),
		.wr.rdma = { .remote_addr = (uintptr_t)memory + MESSAGE_BYTES,
			     .rkey = side->mr->rkey },
	}, *bad;

	if (ibv_post_send(side->qp, &wr, &bad))
		fail("send");
}

static void complete(struct side *side, int count)
{
	struct ibv_wc wc;
	int got;

	while (count) {
		got = ibv_poll_cq(side->cq, 1, &wc);
		if (got < 0 || (got && wc.status)) {
			fprintf(stderr, "completion: %s\n",
				got < 0 ? "none" : ibv_wc_status_str(wc.status));
			exit(1);
		}
		count -= got;
	}
}

static double now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static double round_us(struct side *side, enum kind kind)
{
	double begin;
	int i;

	if (kind == SEND)
		post_receives(side);
	begin = now_us();
	if (kind == LATENCY) {
		for (i = 0; i < LATENCY_ROUND; i++) {
			post(side, kind);
			complete(side, 1);
		}
	} else {
		for (i = 0; i < DEPTH; i++)
			post(side, kind);
		complete(side, kind == SEND ? 2 * DEPTH : DEPTH);
	}
	return now_us() - begin;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct result {
	double median;
	double low;
	double high;
};

/* The bounds of a median by the order of the values, whatever their distribution */
static struct result median_of(const double *values, int count)
{
	static double sorted[MOST_PAIRS];
	int half = count / 2, reach = (int)ceil(0.98 * sqrt(count));

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), compare);
	return (struct result){ sorted[half], sorted[half - reach], sorted[half + reach] };
}

/* Which one starts alternates from pair to pair. */
static int measure(struct side *side, enum kind kind, struct result *ratio)
{
	static double ratios[MOST_PAIRS];
	double begin = now_us();
	int n = 0, first;

	do {
		first = n & 1;
		side[first].us[n] = round_us(&side[first], kind);
		side[!first].us[n] = round_us(&side[!first], kind);
		ratios[n] = side[0].us[n] / side[1].us[n];
		n++;
		if (n < LEAST_PAIRS || n % 20)
			continue;
		*ratio = median_of(ratios, n);
		if (ratio->high - ratio->low < 2 * CLOSE || now_us() - begin > MOST_S * 1e6)
			break;
	} while (n < MOST_PAIRS);
	return n;
}

int main(int argc, char **argv)
{
	static struct side side[2];
	struct result ratio = { 0 };
	enum kind kind = WRITE;
	int i, pairs;

	if (argc != 6 && argc != 8)
		return 2;
	while (kind < LATENCY && strcmp(argv[5], kinds[kind]))
		kind++;
	memory = aligned_alloc(4096, 2 * MESSAGE_BYTES);
	if (!memory)
		fail("memory");
	memset(memory, 1, 2 * MESSAGE_BYTES);
	prepare(&side[1], argv[3], atoi(argv[4]));
	if (argc == 8) {
		for (i = 0; i < atoi(argv[7]); i++)
			round_us(&side[1], kind);
		return 0;
	}
	prepare(&side[0], argv[1], atoi(argv[2]));
	for (i = 0; i < 2 * WARM_UP; i++)
		round_us(&side[i & 1], kind);
	pairs = measure(side, kind, &ratio);
	printf("%s %.4f %.4f %.4f %d %.0f %.0f\n", kinds[kind], ratio.median, ratio.low,
	       ratio.high, pairs, median_of(side[0].us, pairs).median,
	       median_of(side[1].us, pairs).median);
	return 0;
}
