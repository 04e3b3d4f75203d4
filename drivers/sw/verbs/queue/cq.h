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

/**
 * struct rhca_cq - Completion queue
 * @ibcq: ib_core's part
 * @user: entries are struct ib_uverbs_wc in @ring; else struct ib_wc in @wcs
 * @remote_call: raises the completion event on the vector's CPU
 * @remote_pending: @remote_call is on its way there
 * @remote_calls: on their way or running
 * @due: events to raise, RHCA_CQ_COMPLETION and RHCA_CQ_OVERRUN
 * @resize_lock: serialises resizing, during which @ring is copied without @lock
 * @lock: protects what follows
 * @ring: of a process
 * @wcs: of the kernel, @mask + 1 entries
 * @mask: number of @wcs minus one
 * @producer: next entry of @wcs to write
 * @consumer: next entry of @wcs to poll
 * @armed: which completions raise an event, 0 when none does
 * @overrun: an entry was lost: the CQ is in error for good
 */
struct rhca_cq {
	struct ib_cq ibcq;
	bool user;
	call_single_data_t remote_call;
	unsigned long remote_pending;
	atomic_t remote_calls;
	unsigned long due;
	struct mutex resize_lock;	/* serialises resize_cq */

	spinlock_t lock;		/* protects: */
	struct rhca_ring ring;
	struct ib_wc *wcs;
	u32 mask;
	u32 producer;
	u32 consumer;
	enum ib_cq_notify_flags armed;
	bool overrun;
};

#define RHCA_WC_LIST_MOST	8	/* it lies on the stack */

/**
 * struct rhca_wc_list - Completions that are added together
 * @num: how many
 * @solicited: BIT() of those whose sender asked for an event
 * @wc: they
 */
struct rhca_wc_list {
	u32 num;
	u32 solicited;
	struct ib_wc wc[RHCA_WC_LIST_MOST];
};

static inline struct rhca_cq *to_rhca_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct rhca_cq, ibcq);
}

static inline bool rhca_cq_is_overrun(const struct rhca_cq *cq)
{
	return READ_ONCE(cq->overrun);
}

DECLARE_PER_CPU(bool, rhca_cq_emptied);

int rhca_cq_ring_alloc(struct rhca_ring *ring, u32 entries, struct ib_udata *udata);
bool rhca_cq_post_list(struct rhca_cq *cq, const struct rhca_wc_list *list);
bool rhca_cq_post(struct rhca_cq *cq, const struct ib_wc *wc, bool solicited);
void rhca_cq_purge(struct rhca_cq *cq, const struct ib_qp *qp);
void rhca_cq_raise(struct rhca_cq *cq);

extern const struct ib_device_ops rhca_cq_verbs;
extern const struct ib_device_ops rhca_cq_resize_verbs;	/* cq_resize.c */

#endif
