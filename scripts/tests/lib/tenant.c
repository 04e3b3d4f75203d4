// SPDX-License-Identifier: GPL-2.0
/*
 * An honest tenant, for tenants-lib.sh: both ends of a connection. An operation is a WRITE of
 * 32 KiB and a READ of the same, with the bytes compared; one at a time, and the process
 * sleeps meanwhile. At the end it creates more of each kind of object, as its limits allow.
 *
 * usage: tenant DEVICE_A GID_A DEVICE_B GID_B SECONDS
 *
 * Prints "OPERATIONS MEDIAN P99 MAXIMUM", nanoseconds. Status 3: an operation has stalled;
 * 4: an object was refused.
 */
#include "rc-pair.h"

#define BYTES		(32U << 10)
#define MAX_SAMPLES	1000000
#define MORE		4
#define GROUPS		4

struct side {
	struct end end;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

static struct side a, b;

static void open_side(struct side *side, const char *name, const char *gid_index)
{
	open_end(&side->end, name, gid_index);
	side->mr = register_memory(&side->end, map_memory(2 * BYTES), 2 * BYTES, FULL_ACCESS);
	side->cq = create_cq(&side->end, 16, create_channel(&side->end));
	side->qp = create_qp(&side->end, IBV_QPT_RC, side->cq, side->cq, 4);
}

static void transfer(enum ibv_wr_opcode opcode, size_t at)
{
	struct piece piece = { (char *)a.mr->addr + at, BYTES, a.mr->lkey,
			       b.mr->addr, b.mr->rkey };

	if (post_rdma(a.qp, opcode, &piece, 0))
		err(1, "ibv_post_send");
	wait_for_completion(a.cq, opcode == IBV_WR_RDMA_READ ? "READ" : "WRITE");
}

static long long operation(unsigned int number)
{
	uint32_t *sent = a.mr->addr;
	long long start = now_ns();
	size_t i;

	for (i = 0; i < BYTES / sizeof(*sent); i++)
		sent[i] = number + i;
	transfer(IBV_WR_RDMA_WRITE, 0);
	transfer(IBV_WR_RDMA_READ, BYTES);
	if (memcmp(sent, (char *)sent + BYTES, BYTES))
		errx(1, "operation %u: other bytes", number);
	return now_ns() - start;
}

/* Groups not used by other tenants */
static void attach_groups(struct ibv_qp *qp)
{
	union ibv_gid group = { .raw = { 0xff, 0x15 } };
	int i;

	for (i = 0; i < GROUPS; i++) {
		memcpy(group.raw + 8, (uint32_t[]) { getpid(), i }, 8);
		if (ibv_attach_mcast(qp, &group, 0))
			err(4, "multicast group %d", i);
	}
}

static void ask_for_more(struct end *end)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = PORT };
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < MORE; i++) {
		cq = ibv_create_cq(end->context, 64, NULL, NULL, 0);
		if (!cq)
			err(4, "CQ %d", i);
		if (!ibv_reg_mr(end->pd, map_memory(BYTES), BYTES, FULL_ACCESS))
			err(4, "MR %d", i);
		qp = create_qp(end, IBV_QPT_UD, cq, cq, 16);
		if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_QKEY))
			err(4, "QP %d", i);
		if (i == 0)
			attach_groups(qp);
	}
}

int main(int argc, char **argv)
{
	static long long samples[MAX_SAMPLES];
	long long begin, limit;
	int i = 0;

	if (argc != 6)
		errx(2, "usage: DEVICE_A GID_A DEVICE_B GID_B SECONDS");
	limit = atoi(argv[5]) * SECOND_NS;
	open_side(&a, argv[1], argv[2]);
	open_side(&b, argv[3], argv[4]);
	connect_pair(a.qp, &a.end, b.qp, &b.end);
	operation(0);
	for (begin = now_ns(); i < MAX_SAMPLES && now_ns() - begin < limit; i++)
		samples[i] = operation(i);
	ask_for_more(&a.end);
	ask_for_more(&b.end);
	qsort(samples, i, sizeof(samples[0]), compare_samples);
	printf("%d %lld %lld %lld\n", i, samples[i / 2], samples[i * 99LL / 100], samples[i - 1]);
	return 0;
}
