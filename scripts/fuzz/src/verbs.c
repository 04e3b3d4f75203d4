// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs.h"

/* A command as written: the header, the kernel's struct, the driver's */
#define COMMAND(type) struct { struct ib_uverbs_cmd_hdr hdr; struct type body; }
#define RESPONSE(type, driver) struct { struct type body; struct driver drv; }

static int command(int fd, uint32_t number, void *cmd, size_t bytes, void *resp, size_t resp_bytes)
{
	struct ib_uverbs_cmd_hdr *hdr = cmd;
	uint64_t response = (uintptr_t)resp;

	hdr->command = number;
	hdr->in_words = bytes / 4;
	hdr->out_words = resp_bytes / 4;
	/* If there is a response, its address is the first field. */
	if (resp)
		memcpy(hdr + 1, &response, sizeof(response));
	return write(fd, cmd, bytes) == (ssize_t)bytes ? 0 : -errno;
}

#define RUN(dev, number, cmd, resp) \
	command((dev)->fd, IB_USER_VERBS_CMD_##number, &(cmd), sizeof(cmd), &(resp), sizeof(resp))
#define RUN_SILENT(dev, number, cmd) \
	command((dev)->fd, IB_USER_VERBS_CMD_##number, &(cmd), sizeof(cmd), NULL, 0)

/* --- devices ------------------------------------------------------------------ */

static bool is_named(const char *uverbs, const char *name)
{
	char path[300], found[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/ibdev", uverbs);
	file = fopen(path, "r");
	if (!file)
		return false;
	if (fscanf(file, "%63s", found) != 1)
		found[0] = 0;
	fclose(file);
	return !strcmp(found, name);
}

static int open_node(const char *name)
{
	DIR *dir = opendir("/sys/class/infiniband_verbs");
	struct dirent *entry;
	char path[300];
	int fd = -ENODEV;

	while (dir && fd < 0 && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "uverbs", 6) || !is_named(entry->d_name, name))
			continue;
		snprintf(path, sizeof(path), "/dev/infiniband/%s", entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
	}
	if (dir)
		closedir(dir);
	return fd;
}

int device_open(struct device *dev, const char *name)
{
	COMMAND(ib_uverbs_get_context) context = {};
	COMMAND(ib_uverbs_alloc_pd) pd = {};
	struct ib_uverbs_get_context_resp context_resp = {};
	struct ib_uverbs_alloc_pd_resp pd_resp = {};
	int ret;

	dev->fd = open_node(name);
	if (dev->fd < 0)
		return dev->fd;
	ret = RUN(dev, GET_CONTEXT, context, context_resp);
	if (!ret)
		ret = RUN(dev, ALLOC_PD, pd, pd_resp);
	if (ret) {
		close(dev->fd);
		return ret;
	}
	dev->async_fd = context_resp.async_fd;
	dev->pd = pd_resp.pd_handle;
	return 0;
}

void device_close(struct device *dev)
{
	close(dev->async_fd);
	close(dev->fd);
}

/* --- rings -------------------------------------------------------------------- */

void ring_unmap(struct ring *ring)
{
	if (ring->buf)
		munmap(ring->buf, ring->bytes);
	memset(ring, 0, sizeof(*ring));
}

/* Are the elements described by the copies in @ring inside the mapping? */
static bool ring_fits(const struct ring *ring)
{
	uint64_t slots = (uint64_t)ring->mask + 1;

	return !(slots & ring->mask) && ring->shift < 32 &&
	       slots << ring->shift <= ring->bytes - sizeof(*ring->buf);
}

/*
 * Threads are not coordinated, so one may destroy what another one has just created. Its offset is
 * given to the next object, and may have that object's ring by now, with an index mask or a size
 * that was scribbled over.
 */
int ring_map(struct device *dev, struct ring *ring, uint64_t offset, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, dev->fd, offset);

	if (at == MAP_FAILED)
		return -errno;
	ring->buf = at;
	ring->offset = offset;
	ring->bytes = bytes;
	ring->mask = ring->buf->index_mask;
	ring->shift = ring->buf->log2_elem_size;
	if (ring_fits(ring))
		return 0;
	ring_unmap(ring);
	return -EIO;
}

static int ring_map_new(struct device *dev, struct ring *ring, const struct mminfo *info)
{
	return ring_map(dev, ring, info->offset, info->size);
}

uint32_t ring_room(const struct ring *ring)
{
	uint32_t taken = __atomic_load_n(&ring->buf->consumer_index, __ATOMIC_ACQUIRE);

	return (taken - ring->buf->producer_index - 1) & ring->mask;
}

void *ring_slot(const struct ring *ring, uint32_t index)
{
	return ring->buf->data + ((size_t)(index & ring->mask) << ring->shift);
}

void ring_publish(const struct ring *ring, uint32_t n)
{
	__atomic_store_n(&ring->buf->producer_index, (ring->buf->producer_index + n) & ring->mask,
			 __ATOMIC_RELEASE);
}

void *ring_first(const struct ring *ring)
{
	uint32_t filled = __atomic_load_n(&ring->buf->producer_index, __ATOMIC_ACQUIRE);

	return filled == ring->buf->consumer_index ? NULL : ring_slot(ring, ring->buf->consumer_index);
}

void ring_consume(const struct ring *ring)
{
	__atomic_store_n(&ring->buf->consumer_index, (ring->buf->consumer_index + 1) & ring->mask,
			 __ATOMIC_RELEASE);
}

/* --- memory ------------------------------------------------------------------- */

int mr_register(struct device *dev, struct mr *mr, void *start, size_t bytes, uint32_t access)
{
	COMMAND(ib_uverbs_reg_mr) cmd = { .body = {
		.start = (uintptr_t)start, .length = bytes, .hca_va = (uintptr_t)start,
		.pd_handle = dev->pd, .access_flags = access,
	} };
	struct ib_uverbs_reg_mr_resp resp = {};
	int ret = RUN(dev, REG_MR, cmd, resp);

	*mr = (struct mr){ resp.mr_handle, resp.lkey, resp.rkey, start, bytes };
	return ret;
}

int mr_reregister(struct device *dev, struct mr *mr, uint32_t flags, uint32_t access)
{
	COMMAND(ib_uverbs_rereg_mr) cmd = { .body = {
		.mr_handle = mr->handle, .flags = flags, .start = (uintptr_t)mr->start,
		.length = mr->bytes, .hca_va = (uintptr_t)mr->start, .pd_handle = dev->pd,
		.access_flags = access,
	} };
	struct ib_uverbs_rereg_mr_resp resp = {};
	int ret = RUN(dev, REREG_MR, cmd, resp);

	if (!ret) {
		mr->lkey = resp.lkey;
		mr->rkey = resp.rkey;
	}
	return ret;
}

int mr_deregister(struct device *dev, uint32_t handle)
{
	COMMAND(ib_uverbs_dereg_mr) cmd = { .body.mr_handle = handle };

	return RUN_SILENT(dev, DEREG_MR, cmd);
}

int mw_alloc(struct device *dev, uint8_t type, uint32_t *handle, uint32_t *rkey)
{
	COMMAND(ib_uverbs_alloc_mw) cmd = { .body = { .pd_handle = dev->pd, .mw_type = type } };
	struct ib_uverbs_alloc_mw_resp resp = {};
	int ret = RUN(dev, ALLOC_MW, cmd, resp);

	*handle = resp.mw_handle;
	*rkey = resp.rkey;
	return ret;
}

int mw_dealloc(struct device *dev, uint32_t handle)
{
	COMMAND(ib_uverbs_dealloc_mw) cmd = { .body.mw_handle = handle };

	return RUN_SILENT(dev, DEALLOC_MW, cmd);
}

int ah_create(struct device *dev, const struct qp_path *path, uint32_t *handle, uint32_t *number)
{
	COMMAND(ib_uverbs_create_ah) cmd = { .body = { .pd_handle = dev->pd, .attr = {
		.grh = { .sgid_index = path->sgid_index, .hop_limit = 64 },
		.is_global = 1, .port_num = 1,
	} } };
	RESPONSE(ib_uverbs_create_ah_resp, rxe_create_ah_resp) resp = {};
	int ret;

	memcpy(cmd.body.attr.grh.dgid, path->dgid, sizeof(path->dgid));
	ret = RUN(dev, CREATE_AH, cmd, resp);
	*handle = resp.body.ah_handle;
	*number = resp.drv.ah_num;
	return ret;
}

int ah_destroy(struct device *dev, uint32_t handle)
{
	COMMAND(ib_uverbs_destroy_ah) cmd = { .body.ah_handle = handle };

	return RUN_SILENT(dev, DESTROY_AH, cmd);
}

/* --- queues ------------------------------------------------------------------- */

int cq_create(struct device *dev, struct cq *cq, uint32_t entries)
{
	COMMAND(ib_uverbs_create_cq) cmd = { .body = { .cqe = entries, .comp_channel = -1 } };
	RESPONSE(ib_uverbs_create_cq_resp, rxe_create_cq_resp) resp = {};
	int ret = RUN(dev, CREATE_CQ, cmd, resp);

	memset(cq, 0, sizeof(*cq));
	if (ret)
		return ret;
	cq->handle = resp.body.cq_handle;
	return ring_map_new(dev, &cq->ring, &resp.drv.mi);
}

/* The old ring stays mapped, as its users may still be writing to it */
int cq_resize(struct device *dev, struct cq *cq, uint32_t entries)
{
	COMMAND(ib_uverbs_resize_cq) cmd = { .body = { .cq_handle = cq->handle, .cqe = entries } };
	RESPONSE(ib_uverbs_resize_cq_resp, rxe_resize_cq_resp) resp = {};
	int ret = RUN(dev, RESIZE_CQ, cmd, resp);

	return ret ?: ring_map_new(dev, &cq->ring, &resp.drv.mi);
}

int cq_arm(struct device *dev, uint32_t handle, bool solicited)
{
	COMMAND(ib_uverbs_req_notify_cq) cmd = { .body = { handle, solicited } };

	return RUN_SILENT(dev, REQ_NOTIFY_CQ, cmd);
}

int cq_destroy(struct device *dev, uint32_t handle)
{
	COMMAND(ib_uverbs_destroy_cq) cmd = { .body.cq_handle = handle };
	struct ib_uverbs_destroy_cq_resp resp;

	return RUN(dev, DESTROY_CQ, cmd, resp);
}

int srq_create(struct device *dev, struct srq *srq, uint32_t wr, uint32_t sge)
{
	COMMAND(ib_uverbs_create_srq) cmd = { .body = {
		.pd_handle = dev->pd, .max_wr = wr, .max_sge = sge,
	} };
	RESPONSE(ib_uverbs_create_srq_resp, rxe_create_srq_resp) resp = {};
	int ret = RUN(dev, CREATE_SRQ, cmd, resp);

	memset(srq, 0, sizeof(*srq));
	if (ret)
		return ret;
	srq->handle = resp.body.srq_handle;
	return ring_map_new(dev, &srq->ring, &resp.drv.mi);
}

int srq_resize(struct device *dev, struct srq *srq, uint32_t wr)
{
	struct mminfo info = {};
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_modify_srq body;
		struct rxe_modify_srq_cmd drv;
	} cmd = {
		.body = { .srq_handle = srq->handle, .attr_mask = 1, .max_wr = wr },
		.drv.mmap_info_addr = (uintptr_t)&info,
	};
	int ret = RUN_SILENT(dev, MODIFY_SRQ, cmd);

	return ret ?: ring_map_new(dev, &srq->ring, &info);
}

int srq_destroy(struct device *dev, uint32_t handle)
{
	COMMAND(ib_uverbs_destroy_srq) cmd = { .body.srq_handle = handle };
	struct ib_uverbs_destroy_srq_resp resp;

	return RUN(dev, DESTROY_SRQ, cmd, resp);
}

/* --- queue pairs -------------------------------------------------------------- */

int qp_create(struct device *dev, struct qp *qp, enum qp_type type, uint32_t send_cq,
	      uint32_t recv_cq, const struct srq *srq, uint32_t wr, uint32_t sge)
{
	COMMAND(ib_uverbs_create_qp) cmd = { .body = {
		.pd_handle = dev->pd, .send_cq_handle = send_cq, .recv_cq_handle = recv_cq,
		.srq_handle = srq ? srq->handle : 0, .is_srq = !!srq, .qp_type = type,
		.max_send_wr = wr, .max_recv_wr = srq ? 0 : wr, .max_send_sge = sge,
		.max_recv_sge = srq ? 0 : sge, .max_inline_data = 64,
	} };
	RESPONSE(ib_uverbs_create_qp_resp, rxe_create_qp_resp) resp = {};
	int ret = RUN(dev, CREATE_QP, cmd, resp);

	memset(qp, 0, sizeof(*qp));
	if (ret)
		return ret;
	qp->handle = resp.body.qp_handle;
	qp->number = resp.body.qpn;
	qp->type = type;
	ret = ring_map_new(dev, &qp->send, &resp.drv.sq_mi);
	if (!ret && !srq)
		ret = ring_map_new(dev, &qp->recv, &resp.drv.rq_mi);
	return ret;
}

/* enum ib_qp_attr_mask */
#define MASK_STATE	(1 << 0)
#define MASK_ACCESS	(1 << 3)
#define MASK_PKEY_INDEX	(1 << 4)
#define MASK_PORT	(1 << 5)
#define MASK_QKEY	(1 << 6)
#define MASK_AV		(1 << 7)
#define MASK_PATH_MTU	(1 << 8)
#define MASK_TIMEOUT	(1 << 9)
#define MASK_RETRY	(1 << 10)
#define MASK_RNR_RETRY	(1 << 11)
#define MASK_RQ_PSN	(1 << 12)
#define MASK_MAX_RD	(1 << 13)
#define MASK_MIN_RNR	(1 << 15)
#define MASK_SQ_PSN	(1 << 16)
#define MASK_MAX_DEST_RD (1 << 17)
#define MASK_DEST_QPN	(1 << 20)

int qp_modify(struct device *dev, const struct ib_uverbs_modify_qp *attr)
{
	COMMAND(ib_uverbs_modify_qp) cmd = { .body = *attr };

	return RUN_SILENT(dev, MODIFY_QP, cmd);
}

int qp_set_state(struct device *dev, uint32_t handle, enum qp_state state)
{
	struct ib_uverbs_modify_qp attr = {
		.qp_handle = handle, .attr_mask = MASK_STATE, .qp_state = state,
	};

	return qp_modify(dev, &attr);
}

/* The attributes that each transition needs, IBTA vol. 1, table 91 */
static const uint32_t transition_masks[3][5] = {
	{ [QPT_RC] = MASK_PKEY_INDEX | MASK_PORT | MASK_ACCESS,
	  [QPT_UC] = MASK_PKEY_INDEX | MASK_PORT | MASK_ACCESS,
	  [QPT_UD] = MASK_PKEY_INDEX | MASK_PORT | MASK_QKEY },
	{ [QPT_RC] = MASK_AV | MASK_PATH_MTU | MASK_DEST_QPN | MASK_RQ_PSN | MASK_MAX_DEST_RD |
		     MASK_MIN_RNR,
	  [QPT_UC] = MASK_AV | MASK_PATH_MTU | MASK_DEST_QPN | MASK_RQ_PSN },
	{ [QPT_RC] = MASK_SQ_PSN | MASK_TIMEOUT | MASK_RETRY | MASK_RNR_RETRY | MASK_MAX_RD,
	  [QPT_UC] = MASK_SQ_PSN,
	  [QPT_UD] = MASK_SQ_PSN },
};

int qp_connect(struct device *dev, const struct qp *qp, const struct qp_path *path)
{
	struct ib_uverbs_modify_qp attr = {
		.dest = { .sgid_index = path->sgid_index, .hop_limit = 64, .is_global = 1,
			  .port_num = 1 },
		.qp_handle = qp->handle, .qkey = QKEY, .rq_psn = path->rq_psn,
		.sq_psn = path->sq_psn, .dest_qp_num = path->dest_qpn,
		.qp_access_flags = qp->type == QPT_UC ? 3 : ACCESS_ALL,
		.path_mtu = path->mtu, .max_rd_atomic = 16, .max_dest_rd_atomic = 16,
		.min_rnr_timer = 1, .port_num = 1, .timeout = path->timeout,
		.retry_cnt = path->retries, .rnr_retry = path->rnr_retries,
	};
	int step, ret = qp_set_state(dev, qp->handle, QPS_RESET);

	memcpy(attr.dest.dgid, path->dgid, sizeof(path->dgid));
	for (step = 0; !ret && step < 3; step++) {
		attr.qp_state = QPS_INIT + step;
		attr.attr_mask = MASK_STATE | transition_masks[step][qp->type];
		ret = qp_modify(dev, &attr);
	}
	return ret;
}

int qp_state_of(struct device *dev, uint32_t handle)
{
	COMMAND(ib_uverbs_query_qp) cmd = { .body = { .qp_handle = handle, .attr_mask = MASK_STATE } };
	struct ib_uverbs_query_qp_resp resp = {};
	int ret = RUN(dev, QUERY_QP, cmd, resp);

	return ret ?: resp.qp_state;
}

/* ibv_post_send() or ibv_post_recv() without a request: make the kernel look at the ring */
int qp_kick(struct device *dev, uint32_t handle, uint32_t number)
{
	/* Newer kernels check the size of a request even if there is none. */
	COMMAND(ib_uverbs_post_send) cmd = { .body = {
		.qp_handle = handle, .wqe_size = sizeof(struct ib_uverbs_send_wr),
	} };
	struct ib_uverbs_post_send_resp resp;

	return command(dev->fd, number, &cmd, sizeof(cmd), &resp, sizeof(resp));
}

int qp_destroy(struct device *dev, uint32_t handle)
{
	COMMAND(ib_uverbs_destroy_qp) cmd = { .body.qp_handle = handle };
	struct ib_uverbs_destroy_qp_resp resp;

	return RUN(dev, DESTROY_QP, cmd, resp);
}

/* --- requests ----------------------------------------------------------------- */

static void dma_fill(struct rxe_dma_info *dma, void *at, uint32_t bytes, uint32_t lkey)
{
	memset(dma, 0, sizeof(*dma));
	dma->length = dma->resid = bytes;
	dma->num_sge = bytes ? 1 : 0;
	dma->sge[0] = (struct rxe_sge){ (uintptr_t)at, bytes, lkey };
}

void recv_wqe_fill(struct rxe_recv_wqe *wqe, uint64_t wr_id, void *to, uint32_t bytes, uint32_t lkey)
{
	wqe->wr_id = wr_id;
	dma_fill(&wqe->dma, to, bytes, lkey);
}

void send_wqe_fill(struct rxe_send_wqe *wqe, uint64_t wr_id, enum wr_opcode opcode,
		   void *from, uint32_t bytes, uint32_t lkey, uint64_t remote, uint32_t rkey)
{
	memset(wqe, 0, sizeof(*wqe));
	wqe->wr.wr_id = wr_id;
	wqe->wr.opcode = opcode;
	wqe->wr.send_flags = SEND_SIGNALED;
	/* READs, WRITEs and atomics have the same offset, the key is at two */
	wqe->wr.wr.rdma.remote_addr = remote;
	if (opcode == WR_CAS || opcode == WR_FADD) {
		wqe->wr.wr.atomic.compare_add = 1;
		wqe->wr.wr.atomic.rkey = rkey;
	} else {
		wqe->wr.wr.rdma.rkey = rkey;
	}
	wqe->iova = remote;
	dma_fill(&wqe->dma, from, bytes, lkey);
}

bool post_recv(const struct ring *ring, uint64_t wr_id, void *to, uint32_t bytes, uint32_t lkey)
{
	if (!ring->buf || !ring_room(ring))
		return false;
	recv_wqe_fill(ring_slot(ring, ring->buf->producer_index), wr_id, to, bytes, lkey);
	ring_publish(ring, 1);
	return true;
}

/* --- counters ----------------------------------------------------------------- */

static uint64_t read_number(const char *path)
{
	unsigned long long value = 0;
	FILE *file = fopen(path, "r");

	if (file && fscanf(file, "%llu", &value) != 1)
		value = 0;
	if (file)
		fclose(file);
	return value;
}

uint64_t counter_read(const char *device, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters/%s", device, name);
	return read_number(path);
}

uint64_t counter_sum_of_drops(const char *device)
{
	/* CNPs are no packets of a QP: they have counters of their own. */
	uint64_t sum = counter_read(device, "rx_icrc_encapsulated") +
		       counter_read(device, "rp_cnp_handled") + counter_read(device, "rp_cnp_ignored");
	struct dirent *entry;
	char path[300];
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/hw_counters", device);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "rx_dropped_", 11))
			sum += counter_read(device, entry->d_name);
	if (dir)
		closedir(dir);
	return sum;
}
