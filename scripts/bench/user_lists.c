// SPDX-License-Identifier: GPL-2.0
/*
 * A process that posts lists of requests: like rhca_bench.ko, but through user verbs.
 * Both ends are in one process, so it waits for nothing but the driver.
 *
 * usage: user_lists DEVICE_A GID_A DEVICE_B GID_B KIND SIZE DEPTH MTU ROUNDS PER_ROUND LIST
 *
 * KIND: write, read or send. LIST requests are posted by one ibv_post_send(), DEPTH
 * are outstanding. Prints "MINIMUM MEDIAN", nanoseconds for one operation, over ROUNDS
 * rounds of PER_ROUND operations. Fails if the data has not arrived.
 */
#include "../tests/lib/rc-pair.h"

#define MAX_LIST	64
#define MAX_ROUNDS	10000
#define STALL_NS	(20 * SECOND_NS)

enum kind { WRITE, READ, SEND };

static const char *const kind_names[] = { "write", "read", "send" };
static const enum ibv_wr_opcode opcodes[] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND
};

struct side {
	struct end end;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

static struct side a, b;
static enum kind kind;
static unsigned int size, depth, mtu, rounds, per_round, list;
static unsigned int completed, posted;

static void open_side(struct side *side, const char *name, const char *gid_index)
{
	struct end *end = &side->end;
	char *memory = map_memory(size);

	open_end(end, name, gid_index);
	memset(memory, 1, size);
	side->mr = register_memory(end, memory, size, FULL_ACCESS);
	side->cq = create_cq(end, 2 * (depth + list), NULL);
	side->qp = create_qp(end, IBV_QPT_RC, side->cq, side->cq, depth + list);
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
	struct ibv_qp_attr attr = path_to(&side->end, &peer->end, peer->qp->qp_num);

	attr.path_mtu = mtu_code();
	attr.timeout = 14;
	bring_up(side->qp, attr);
}

static void post_receives(unsigned int num)
{
	struct ibv_sge sge = { (uintptr_t)b.mr->addr, size, b.mr->lkey };
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
	struct ibv_sge sge = { (uintptr_t)a.mr->addr, size, a.mr->lkey };
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
		wrs[i].wr.rdma.remote_addr = (uintptr_t)b.mr->addr;
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
	memset(kind == READ ? b.mr->addr : a.mr->addr, 2, size);
	connect_side(&a, &b);
	connect_side(&b, &a);
	run_round();			/* warm up */
	for (i = 0; i < rounds; i++) {
		start = now_ns();
		run_round();
		samples[i] = now_ns() - start;
	}
	if (memcmp(a.mr->addr, b.mr->addr, size))
		errx(1, "the data has not arrived");
	qsort(samples, rounds, sizeof(samples[0]), compare_samples);
	printf("%.1f %.1f\n", (double)samples[0] / per_round,
	       (double)samples[rounds / 2] / per_round);
	return 0;
}
