/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Send queue: the kernel's own copy of each work request. Requests of a process are copied out of
 * its writable ring, checked, and then used; those of kernel users are written here directly.
 */
#ifndef RHCA_SW_VERBS_QP_SQ_H
#define RHCA_SW_VERBS_QP_SQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "sw/verbs/memory/mw.h"
#include "sw/verbs/queue/ring.h"

/* RDMA FLUSH and ATOMIC WRITE as in uverbs; older kernels have no name for them */
#define RHCA_WR_FLUSH		14
#define RHCA_WC_FLUSH		8
#define RHCA_WR_ATOMIC_WRITE	15
#define RHCA_WC_ATOMIC_WRITE	9

struct rhca_path;
struct rhca_verbs_qp;

struct rhca_send_wqe {
	u64 wr_id;		/* the user's cookie */
	u32 opcode;		/* enum ib_wr_opcode */
	u32 send_flags;		/* enum ib_send_flags */
	enum ib_wc_status status;	/* of its completion; set if it fails before it is sent */
	u32 num_sge;		/* entries of @sge */
	u32 length;		/* bytes of the message */
	union {
		__be32 imm_data;	/* immediate data, or */
		u32 invalidate_rkey;	/* key to invalidate at the peer or here */
	};
	union {
		struct {		/* RDMA, atomics, FLUSH */
			u64 remote_addr;
			u32 rkey;
			union {
				struct {	/* atomics */
					u64 compare_add;
					u64 swap;
				};
				struct {	/* FLUSH */
					u32 flush_bytes;	/* of the range */
					u8 placement;		/* RHCA_PLACE_* */
					u8 selectivity;		/* enum rhca_selectivity */
				};
			};
		};
		struct {		/* datagrams */
			struct rhca_path *path;	/* a reference, dropped on completion */
			u32 dest_qpn;
			u32 qkey;
			u16 pkey_index;	/* for QP1; others use the QP's */
		};
		struct {		/* fast registration */
			struct ib_mr *mr;	/* the region */
			u32 key;		/* its new key */
			int access;
		};
		struct rhca_bind bind;	/* memory window */
	};
	u8 chunk;		/* READ: responses per request packet, once @numbered */
	bool numbered;		/* PSNs have been assigned */
	bool done;		/* finished, completes in order */
	bool invalidated;	/* its key is invalid, but packets still use the memory */
	u32 first_psn;		/* of the first packet */
	u32 last_psn;		/* of the last packet; of READs, of the last response */
	u32 ssn;		/* send sequence number, for end-to-end credits */
	union {			/* scatter/gather list, or inline data */
		DECLARE_FLEX_ARRAY(struct ib_sge, sge);
		DECLARE_FLEX_ARRAY(u8, inline_data);
	};
};

struct rhca_sq {
	void *slots;		/* the requests; index i is in slot (i - @base) & @mask */
	u32 stride;		/* bytes of a slot of @slots */
	u32 mask;		/* number of slots minus one */
	u32 base;		/* index of the first slot; 0 for a process */
	u32 tail;		/* index after the newest request */
	u32 head;		/* oldest incomplete request; under the backend's lock */
	spinlock_t post_lock;	/* for posting kernel users: writes to @tail, @base, @freed */
	u32 freed;		/* @head last seen by producers */
	u32 max_sge;		/* maximum entries of a request */
	u32 max_wr;		/* requests that fit */
	u32 max_inline;		/* maximum inline bytes of a request */
	/*
	 * of a process, with at least @max_wr slots; its requests are copied from there in order
	 * and keep their slots until they complete
	 */
	struct rhca_ring ring;
};

static inline struct rhca_send_wqe *rhca_sq_wqe(const struct rhca_sq *sq,
						u32 index)
{
	u32 slot = (index - READ_ONCE(sq->base)) & sq->mask;

	return sq->slots + (size_t)slot * sq->stride;
}

/* Reset the state of a reused slot */
static inline void rhca_wqe_begin(struct rhca_send_wqe *wqe)
{
	wqe->status = IB_WC_SUCCESS;
	wqe->numbered = false;
	wqe->done = false;
	wqe->invalidated = false;
}

int rhca_sq_init(struct rhca_sq *sq, struct ib_qp_cap *cap,
		 struct ib_udata *udata, struct mminfo *info);
void rhca_sq_exit(struct rhca_sq *sq);
int rhca_sq_post(struct rhca_verbs_qp *qp, const struct ib_send_wr *wr,
		 const struct ib_send_wr **bad_wr);
bool rhca_sq_fetch(struct rhca_verbs_qp *qp);
void rhca_sq_complete(struct rhca_verbs_qp *qp, u32 num);
void rhca_sq_reset(struct rhca_verbs_qp *qp);

#endif
