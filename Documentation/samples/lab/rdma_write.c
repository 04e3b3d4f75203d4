// SPDX-License-Identifier: GPL-2.0
/*
 * A small test of RDMA: two RC queue pairs of one device, one writes into the other's
 * memory.
 *
 *	gcc -o rdma_write rdma_write.c -libverbs
 *	roce-lab run -- ./rdma_write
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE	65536

struct side {
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	char memory[SIZE];
};

static struct side sides[2];
static int gid_index;
static union ibv_gid gid;

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void make_side(struct ibv_context *context, struct ibv_pd *pd, struct side *side)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	side->mr = ibv_reg_mr(pd, side->memory, SIZE,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	side->cq = ibv_create_cq(context, 1, NULL, NULL, 0);
	check(side->mr && side->cq, "memory region or completion queue");
	attr.send_cq = attr.recv_cq = side->cq;
	side->qp = ibv_create_qp(pd, &attr);
	check(side->qp != NULL, "queue pair");
}

static void connect_side(struct side *side, const struct side *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};

	check(!ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.sgid_index = gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	check(!ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	check(!ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

static void write_all(struct side *from, struct side *to)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)from->memory, .length = SIZE, .lkey = from->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1,
	}, *bad;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)to->memory;
	wr.wr.rdma.rkey = to->mr->rkey;
	check(!ibv_post_send(from->qp, &wr, &bad), "post");
	while (!ibv_poll_cq(from->cq, 1, &wc))
		;
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "RDMA WRITE: %s\n", ibv_wc_status_str(wc.status));
		exit(1);
	}
}

int main(void)
{
	const char *index = getenv("ROCE_LAB_GID_INDEX_V2");
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_pd *pd;

	check(list && list[0], "no RDMA device");
	context = ibv_open_device(list[0]);
	check(context != NULL, "the device does not open");
	gid_index = index ? atoi(index) : 0;
	check(!ibv_query_gid(context, 1, gid_index, &gid), "GID");
	pd = ibv_alloc_pd(context);
	make_side(context, pd, &sides[0]);
	make_side(context, pd, &sides[1]);
	connect_side(&sides[0], &sides[1]);
	connect_side(&sides[1], &sides[0]);
	memset(sides[0].memory, 'x', SIZE);
	write_all(&sides[0], &sides[1]);
	if (memcmp(sides[0].memory, sides[1].memory, SIZE)) {
		fprintf(stderr, "other bytes arrived\n");
		return 1;
	}
	printf("%d bytes over %s\n", SIZE, ibv_get_device_name(list[0]));
	ibv_free_device_list(list);
	return 0;
}
