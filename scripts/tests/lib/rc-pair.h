/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For small libibverbs programs with both ends of their connections: devices, RC and UC queue
 * pairs, and waiting for completions asleep.
 */
#ifndef RHCA_TESTS_RC_PAIR_H
#define RHCA_TESTS_RC_PAIR_H

#include <err.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PORT		1
#define SECOND_NS	1000000000LL
#define STALL_MS	60000
#define FULL_ACCESS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ)

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	int gid_index;
};

static inline long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* NULL also if a limit is exceeded */
static inline struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int i;

	for (i = 0; devices && devices[i]; i++)
		if (!strcmp(ibv_get_device_name(devices[i]), name))
			context = ibv_open_device(devices[i]);
	if (devices)
		ibv_free_device_list(devices);
	return context;
}

static inline void open_end(struct end *end, const char *name, const char *gid_index)
{
	end->gid_index = atoi(gid_index);
	end->context = open_device(name);
	if (!end->context)
		err(1, "%s: not opened", name);
	if (ibv_query_gid(end->context, PORT, end->gid_index, &end->gid))
		err(1, "%s: no GID %s", name, gid_index);
	end->pd = ibv_alloc_pd(end->context);
	if (!end->pd)
		err(1, "%s: no PD", name);
}

static inline struct ibv_cq *create_cq(struct end *end, int entries,
				       struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq = ibv_create_cq(end->context, entries, NULL, channel, 0);

	if (!cq)
		err(1, "no CQ");
	return cq;
}

static inline struct ibv_comp_channel *create_channel(struct end *end)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(end->context);

	if (!channel)
		err(1, "no completion channel");
	return channel;
}

static inline char *map_memory(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "no memory");
	return memory;
}

static inline struct ibv_mr *register_memory(struct end *end, void *memory, size_t size,
					     int access)
{
	struct ibv_mr *mr = ibv_reg_mr(end->pd, memory, size, access);

	if (!mr)
		err(1, "no MR of %zu bytes", size);
	return mr;
}

static inline struct ibv_qp *create_qp(struct end *end, enum ibv_qp_type type,
				       struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
				       uint32_t requests)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send_cq,
		.recv_cq = recv_cq,
		.qp_type = type,
		.cap = { requests, requests, 1, 1, 0 },
	};
	struct ibv_qp *qp = ibv_create_qp(end->pd, &init);

	if (!qp)
		err(1, "no QP");
	return qp;
}

static inline struct ibv_qp_attr path_to(const struct end *from, const struct end *to,
					 uint32_t dest)
{
	return (struct ibv_qp_attr) {
		.qp_state	= IBV_QPS_INIT,
		.port_num	= PORT,
		.qp_access_flags = FULL_ACCESS,
		.path_mtu	= IBV_MTU_4096,
		.dest_qp_num	= dest,
		.max_rd_atomic	= 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer	= 12,
		.timeout	= 18,
		.retry_cnt	= 7,
		.rnr_retry	= 7,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .dgid = to->gid, .sgid_index = from->gid_index,
				 .hop_limit = 64 },
		},
	};
}

/* From RESET to RTS, with the attributes of path_to(), possibly changed by the caller; RC or UC */
static inline void bring_up(struct ibv_qp *qp, struct ibv_qp_attr attr)
{
	bool rc = qp->qp_type == IBV_QPT_RC;

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		err(1, "INIT");
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0)))
		err(1, "RTR");
	attr.qp_state = IBV_QPS_RTS;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN |
			  (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC : 0)))
		err(1, "RTS");
}

static inline void connect_pair(struct ibv_qp *one, const struct end *a, struct ibv_qp *other,
				const struct end *b)
{
	bring_up(one, path_to(a, b, other->qp_num));
	bring_up(other, path_to(b, a, one->qp_num));
}

/* Local bytes of a request, and their remote place */
struct piece {
	void *memory;
	uint32_t bytes;
	uint32_t lkey;
	void *remote;
	uint32_t rkey;
};

#define MOST_IN_LIST	128

/*
 * A list of equal requests, signalled. Returns the result of ibv_post_send(): ENOMEM if the queue
 * is full
 */
static inline int post_rdma_list(struct ibv_qp *qp, enum ibv_wr_opcode opcode,
				 const struct piece *piece, uint64_t id, int num)
{
	struct ibv_sge sge = { (uintptr_t)piece->memory, piece->bytes, piece->lkey };
	struct ibv_send_wr *bad, wrs[MOST_IN_LIST];
	int i;

	for (i = 0; i < num; i++)
		wrs[i] = (struct ibv_send_wr){
			.wr_id = id,
			.next = i + 1 < num ? &wrs[i + 1] : NULL,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = opcode,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)piece->remote, piece->rkey },
		};
	return ibv_post_send(qp, wrs, &bad);
}

static inline int post_rdma(struct ibv_qp *qp, enum ibv_wr_opcode opcode,
			    const struct piece *piece, uint64_t id)
{
	return post_rdma_list(qp, opcode, piece, id, 1);
}

/* The next completion of a CQ that has its own channel; sleeps until there is one */
static inline struct ibv_wc wait_for_completion(struct ibv_cq *cq, const char *what)
{
	struct pollfd fd = { .fd = cq->channel->fd, .events = POLLIN };
	struct ibv_cq *from;
	struct ibv_wc wc;
	void *context;

	while (ibv_poll_cq(cq, 1, &wc) <= 0) {
		if (ibv_req_notify_cq(cq, 0))
			errx(1, "%s: CQ not armed", what);
		if (ibv_poll_cq(cq, 1, &wc) > 0)
			break;
		if (poll(&fd, 1, STALL_MS) <= 0)
			errx(3, "%s: stalled, and the CQ %s a completion", what,
			     ibv_poll_cq(cq, 1, &wc) > 0 ? "has" : "has not");
		if (ibv_get_cq_event(cq->channel, &from, &context))
			err(1, "ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	if (wc.status != IBV_WC_SUCCESS)
		errx(1, "%s: %s", what, ibv_wc_status_str(wc.status));
	return wc;
}

static inline int compare_samples(const void *x, const void *y)
{
	long long one = *(const long long *)x, two = *(const long long *)y;

	return (one > two) - (one < two);
}

#endif
