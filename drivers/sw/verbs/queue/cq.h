/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues, of processes (a ring they map) and of the kernel. */
#ifndef RHCA_SW_VERBS_QUEUE_CQ_H
#define RHCA_SW_VERBS_QUEUE_CQ_H

#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "sw/verbs/queue/ring.h"

/* Bits of @due */
#define RHCA_CQ_COMPLETION	0
#define RHCA_CQ_OVERRUN		1

struct rhca_cq {
	struct ib_cq ibcq;		/* ib_core's part */
	bool user;			/* entries: ib_uverbs_wc in @ring; else ib_wc in @wcs */
	call_single_data_t remote_call;	/* raises the event on the vector's CPU */
	unsigned long remote_pending;	/* @remote_call has been sent */
	atomic_t remote_calls;		/* sent or running */
	unsigned long due;		/* events: RHCA_CQ_COMPLETION and RHCA_CQ_OVERRUN */
	struct mutex resize_lock;	/* one resize at a time; it copies @ring without @lock */

	spinlock_t lock;		/* protects: */
	struct rhca_ring ring;		/* of a process */
	struct ib_wc *wcs;		/* of the kernel, @mask + 1 entries */
	u32 mask;			/* number of @wcs minus one */
	u32 producer;			/* next entry of @wcs to write */
	u32 consumer;			/* next entry of @wcs to poll */
	enum ib_cq_notify_flags armed;	/* which completions raise an event; 0: none */
	u32 claimed;			/* entries promised by rhca_cq_claim() */
	bool overrun;			/* an entry was lost: the CQ is in error */
};

#define RHCA_WC_LIST_MAX	8	/* on the stack */

/* Completions that are added together */
struct rhca_wc_list {
	u32 num;
	u32 solicited;		/* BIT() of those whose sender asked for an event */
	struct ib_wc wc[RHCA_WC_LIST_MAX];
};

static inline struct rhca_cq *to_rhca_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rhca_cq, ibcq);
}

static inline bool rhca_cq_is_overrun(const struct rhca_cq *cq)
{
	return READ_ONCE(cq->overrun);
}

/* Nothing is missing of a kernel CQ whose QPs are all gone; ib_core's pool uses it again */
static inline void rhca_cq_recover(struct rhca_cq *cq)
{
	if (!cq->user && !atomic_read(&cq->ibcq.usecnt))
		WRITE_ONCE(cq->overrun, false);
}

DECLARE_PER_CPU(bool, rhca_cq_emptied);

int rhca_cq_ring_alloc(struct rhca_ring *ring, u32 entries, struct ib_udata *udata);
bool rhca_cq_claim(struct rhca_cq *cq, bool anyway);
bool rhca_cq_post(struct rhca_cq *cq, const struct ib_wc *wc, u32 num, u32 solicited);
void rhca_cq_purge(struct rhca_cq *cq, const struct ib_qp *qp);
void rhca_cq_raise(struct rhca_cq *cq);

extern const struct ib_device_ops rhca_cq_verbs;
extern const struct ib_device_ops rhca_cq_resize_verbs;	/* cq_resize.c */

#endif
