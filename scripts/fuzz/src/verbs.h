/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Verbs without a provider library: commands of rdma/ib_user_verbs.h written to the uverbs device,
 * and rings of rdma/rdma_user_rxe.h mapped by hand. A library trusts the rings that it shares with
 * the kernel, so it would crash first on what these programs write there.
 *
 * Calls return 0 or a negative errno. An object that could not be created has handle 0 and no ring;
 * destroying it anyway only causes an error of the kernel.
 */
#ifndef RHCA_FUZZ_VERBS_H
#define RHCA_FUZZ_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_rxe.h>

#define QKEY		0x11111111
#define PSN_MASK	0xffffff

enum qp_type { QPT_RC = 2, QPT_UC = 3, QPT_UD = 4 };
enum qp_state { QPS_RESET, QPS_INIT, QPS_RTR, QPS_RTS, QPS_SQD, QPS_SQE, QPS_ERR };

enum wr_opcode {
	WR_WRITE = 0, WR_WRITE_IMM, WR_SEND, WR_SEND_IMM, WR_READ, WR_CAS, WR_FADD,
	WR_LOCAL_INV, WR_BIND_MW, WR_SEND_INV, WR_NUMBER = 16,
};

#define SEND_SIGNALED	2
#define SEND_INLINE	8

#define ACCESS_ALL	0xf	/* local and remote write, remote read, remote atomic */
#define ACCESS_MW_BIND	0x10
#define REREG_ACCESS	4	/* IB_MR_REREG_ACCESS */

struct device {
	int fd;
	int async_fd;
	uint32_t pd;
};

/*
 * @bytes of @buf are mapped from @offset of the device. @mask and @shift are copies, as those in
 * @buf may have been overwritten.
 */
struct ring {
	struct rxe_queue_buf *buf;
	uint64_t offset;
	size_t bytes;
	uint32_t mask;
	uint32_t shift;
};

struct mr {
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
	uint8_t *start;
	size_t bytes;
};

struct cq {
	uint32_t handle;
	struct ring ring;
};

struct srq {
	uint32_t handle;
	struct ring ring;
};

struct qp {
	uint32_t handle;
	uint32_t number;
	enum qp_type type;
	struct ring send;
	struct ring recv;
};

/* Attributes to bring a QP to RTS */
struct qp_path {
	uint8_t dgid[16];
	uint8_t sgid_index;
	uint32_t dest_qpn;
	uint32_t sq_psn;
	uint32_t rq_psn;
	uint8_t mtu;		/* 1 is 256 bytes .. 5 is 4096 */
	uint8_t timeout;
	uint8_t retries;
	uint8_t rnr_retries;
};

int device_open(struct device *dev, const char *name);
void device_close(struct device *dev);

int mr_register(struct device *dev, struct mr *mr, void *start, size_t bytes, uint32_t access);
int mr_reregister(struct device *dev, struct mr *mr, uint32_t flags, uint32_t access);
int mr_deregister(struct device *dev, uint32_t handle);
int mw_alloc(struct device *dev, uint8_t type, uint32_t *handle, uint32_t *rkey);
int mw_dealloc(struct device *dev, uint32_t handle);
int ah_create(struct device *dev, const struct qp_path *path, uint32_t *handle, uint32_t *number);
int ah_destroy(struct device *dev, uint32_t handle);

int cq_create(struct device *dev, struct cq *cq, uint32_t entries);
int cq_resize(struct device *dev, struct cq *cq, uint32_t entries);
int cq_arm(struct device *dev, uint32_t handle, bool solicited);
int cq_destroy(struct device *dev, uint32_t handle);
int srq_create(struct device *dev, struct srq *srq, uint32_t wr, uint32_t sge);
int srq_resize(struct device *dev, struct srq *srq, uint32_t wr);
int srq_destroy(struct device *dev, uint32_t handle);

int qp_create(struct device *dev, struct qp *qp, enum qp_type type, uint32_t send_cq,
	      uint32_t recv_cq, const struct srq *srq, uint32_t wr, uint32_t sge);
int qp_modify(struct device *dev, const struct ib_uverbs_modify_qp *cmd);
int qp_set_state(struct device *dev, uint32_t handle, enum qp_state state);
int qp_connect(struct device *dev, const struct qp *qp, const struct qp_path *path);
int qp_state_of(struct device *dev, uint32_t handle);
int qp_kick(struct device *dev, uint32_t handle, uint32_t command);
int qp_destroy(struct device *dev, uint32_t handle);

/* The process's side of a ring, for users that keep its rules */
uint32_t ring_room(const struct ring *ring);
void *ring_slot(const struct ring *ring, uint32_t index);
void ring_publish(const struct ring *ring, uint32_t n);
void *ring_first(const struct ring *ring);
void ring_consume(const struct ring *ring);
int ring_map(struct device *dev, struct ring *ring, uint64_t offset, size_t bytes);
void ring_unmap(struct ring *ring);

void recv_wqe_fill(struct rxe_recv_wqe *wqe, uint64_t wr_id, void *to, uint32_t bytes, uint32_t lkey);
void send_wqe_fill(struct rxe_send_wqe *wqe, uint64_t wr_id, enum wr_opcode opcode,
		   void *from, uint32_t bytes, uint32_t lkey, uint64_t remote, uint32_t rkey);
bool post_recv(const struct ring *ring, uint64_t wr_id, void *to, uint32_t bytes, uint32_t lkey);

uint64_t counter_read(const char *device, const char *name);
uint64_t counter_sum_of_drops(const char *device);

#endif
