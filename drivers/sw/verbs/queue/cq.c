// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues, IBTA vol. 1, 10.8.1 and 11.2.8.
 *
 * Vectors: vector 0 raises the event on the CPU that did the work; vector n > 0 on the n-th CPU.
 * Events of processes only wake a reader and are always raised on this CPU.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <rdma/rdma_user_rxe.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "sw/verbs/queue/cq.h"
#include "core/qp/ah.h"
#include "sw/verbs/device.h"
#include "sw/verbs/section.h"

static u8 user_sl(const struct ib_wc *wc)
{
	if (!(wc->wc_flags & IB_WC_WITH_NETWORK_HDR_TYPE))
		return wc->sl;
	switch (wc->network_hdr_type) {
	case RDMA_NETWORK_IPV4:
		return RHCA_WC_SL_ROCE_V2_IPV4;
	case RDMA_NETWORK_IPV6:
		return RHCA_WC_SL_ROCE_V2_IPV6;
	default:
		return RHCA_WC_SL_ROCE_V1;
	}
}

/* IBV_WC_WITH_INV; IB_WC_WITH_INVALIDATE is IBV_WC_IP_CSUM_OK there */
#define USER_WC_WITH_INV	BIT(3)

static void fill_user_wc(struct ib_uverbs_wc *out, const struct ib_wc *wc)
{
	*out = (struct ib_uverbs_wc) {
		.wr_id		= wc->wr_id,
		.status		= wc->status,
		.opcode		= wc->opcode,
		.vendor_err	= wc->vendor_err,
		.byte_len	= wc->byte_len,
		.ex.imm_data	= wc->ex.imm_data,	/* or the invalidated key */
		.qp_num		= wc->qp->qp_num,
		.src_qp		= wc->src_qp,
		.wc_flags	= wc->wc_flags & (IB_WC_GRH | IB_WC_WITH_IMM |
						  IB_WC_WITH_INVALIDATE),
		.pkey_index	= wc->pkey_index,
		.slid		= wc->slid,
		.sl		= user_sl(wc),
		.port_num	= wc->port_num,
	};
	/* Programs written for rdma_rxe expect the kernel's value, so they get both */
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		out->wc_flags |= USER_WC_WITH_INV;
}

static bool add_to_ring(struct rhca_cq *cq, const struct ib_wc *wc)
{
	if (!rhca_ring_room(&cq->ring))
		return false;
	fill_user_wc(rhca_ring_slot(&cq->ring, cq->ring.index), wc);
	rhca_ring_advance(&cq->ring);
	return true;
}

static bool add_to_array(struct rhca_cq *cq, const struct ib_wc *wc)
{
	if (cq->producer - cq->consumer > cq->mask)
		return false;
	cq->wcs[cq->producer++ & cq->mask] = *wc;
	return true;
}

/* Disarm if this completion raises the event, 11.4.2.2 */
static bool take_arming(struct rhca_cq *cq, bool counts_as_solicited)
{
	if (!cq->armed ||
	    ((cq->armed & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED &&
	     !counts_as_solicited))
		return false;
	cq->armed = 0;
	return true;
}

/*
 * A CQ in error accepts no more completions. But a kernel user that drains its QPs waits for
 * flushed requests without a timeout, so it gets those while there is room.
 */
static bool add(struct rhca_cq *cq, const struct ib_wc *wc)
{
	if (cq->overrun && (cq->user || wc->status != IB_WC_WR_FLUSH_ERR))
		return false;
	return cq->user ? add_to_ring(cq, wc) : add_to_array(cq, wc);
}

/**
 * rhca_cq_claim - Reserve an entry for the completion of a flushed request
 * @cq: the queue
 * @anyway: even if flushes have filled their share
 *
 * Kernel users size a CQ for the completions that they ask for, but errors complete all requests,
 * and QPs of several users share the CQs of ib_core's pool. So flushes fill up to half of one, and
 * go on when it is polled; the rest is for the completions of other QPs.
 *
 * Context: any.
 * Return: true if the request must be completed now, with IB_WC_WR_FLUSH_ERR.
 */
bool rhca_cq_claim(struct rhca_cq *cq, bool anyway)
{
	unsigned long flags;
	bool claimed;

	spin_lock_irqsave(&cq->lock, flags);
	claimed = anyway || cq->producer - cq->consumer + cq->claimed <= cq->mask / 2;
	cq->claimed += claimed;
	spin_unlock_irqrestore(&cq->lock, flags);
	return claimed;
}

static void note_error(struct rhca_cq *cq, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		cq->claimed--;
	else
		trace_rhca_wc_error(cq->ibcq.device->name, wc->qp->qp_num,
				    wc->wr_id, ib_wc_status_msg(wc->status),
				    wc->opcode);
}

static void post(struct rhca_cq *cq, const struct ib_wc *wc, bool solicited)
{
	bool lost = !add(cq, wc);

	lockdep_assert_held(&cq->lock);
	if (wc->status != IB_WC_SUCCESS)
		note_error(cq, wc);
	if (lost && !cq->overrun) {
		set_bit(RHCA_CQ_OVERRUN, &cq->due);
		trace_rhca_cq_overrun(cq->ibcq.device->name, cq->ibcq.cqe);
		WRITE_ONCE(cq->overrun, true);
	}
	if (take_arming(cq, solicited || wc->status != IB_WC_SUCCESS))
		set_bit(RHCA_CQ_COMPLETION, &cq->due);
}

/**
 * rhca_cq_post - Add completions
 * @cq: the queue
 * @wc: the completions; copied
 * @num: how many, at most RHCA_WC_LIST_MAX
 * @solicited: BIT() of those whose sender asked for an event
 *
 * Without room they are lost, and the CQ is in error from then on.
 *
 * Context: any; QP locks may be held, so the caller raises the event.
 * Return: true if the caller must call rhca_cq_raise() once it holds no lock.
 */
bool rhca_cq_post(struct rhca_cq *cq, const struct ib_wc *wc, u32 num, u32 solicited)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < num; i++)
		post(cq, &wc[i], solicited & BIT(i));
	if (cq->user)
		rhca_ring_publish(&cq->ring);
	spin_unlock_irqrestore(&cq->lock, flags);
	return READ_ONCE(cq->due);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_cq_post);

/**
 * rhca_cq_purge - Remove the completions of a QP
 * @cq: the queue; a process's is left unchanged: it has QP numbers, not pointers, and its library
 *	polls it independently
 * @qp: a QP that completes nothing any more
 *
 * Kernel completions point to their QP, and other users of the queue might follow that pointer
 * after the QP has been freed.
 *
 * Context: any.
 */
void rhca_cq_purge(struct rhca_cq *cq, const struct ib_qp *qp)
{
	const struct ib_wc *wc;
	unsigned long flags;
	u32 from, to;

	if (cq->user)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	to = cq->consumer;
	for (from = cq->consumer; from != cq->producer; from++) {
		wc = &cq->wcs[from & cq->mask];
		if (wc->qp != qp)
			cq->wcs[to++ & cq->mask] = *wc;
	}
	cq->producer = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

static void call_handler(struct rhca_cq *cq)
{
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/* A new event may arrive once the handler runs: clear the mark first */
static void raise_here(void *data)
{
	struct rhca_cq *cq = data;

	clear_bit(0, &cq->remote_pending);
	smp_mb__after_atomic();	/* completions that still see the mark are seen by the handler */
	call_handler(cq);
	smp_mb__before_atomic();	/* after the handler */
	atomic_dec(&cq->remote_calls);
}

/* The n-th online CPU, or this one if there are fewer now */
static int cpu_of_vector(int vector)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (!vector--)
			return cpu;
	return raw_smp_processor_id();
}

/*
 * Send the event to another CPU? It would arrive in a hard interrupt, where on PREEMPT_RT a
 * handler's locks sleep: then raise it here.
 */
static bool raise_remotely(struct rhca_cq *cq)
{
	int cpu;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || cq->user ||
	    cq->ibcq.comp_vector <= 0)
		return false;
	cpu = cpu_of_vector(cq->ibcq.comp_vector);
	if (cpu == smp_processor_id())
		return false;
	if (test_and_set_bit(0, &cq->remote_pending))
		return true;
	atomic_inc(&cq->remote_calls);
	if (!smp_call_function_single_async(cpu, &cq->remote_call))
		return true;
	/* The CPU is offline, or the previous call has not quite returned */
	atomic_dec(&cq->remote_calls);
	clear_bit(0, &cq->remote_pending);
	return false;
}

/*
 * Notify the user; the QPs follow in the background, see qp_state.c. Delayed, since a process can
 * overrun its CQs at will but must not keep a CPU busy searching for their QPs.
 */
#define LOOK_DELAY	msecs_to_jiffies(10)

static void report_error(struct rhca_cq *cq)
{
	struct ib_event event = {
		.device		= cq->ibcq.device,
		.element.cq	= &cq->ibcq,
		.event		= IB_EVENT_CQ_ERR,
	};

	ibdev_dbg(cq->ibcq.device, "completion queue of %d entries overrun\n",
		  cq->ibcq.cqe);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
	schedule_delayed_work(&to_verbs_dev(cq->ibcq.device)->cq_errors,
			      LOOK_DELAY);
}

/**
 * rhca_cq_raise - Raise pending events
 * @cq: the queue
 *
 * Context: bottom halves off, no QP or CQ lock held.
 */
void rhca_cq_raise(struct rhca_cq *cq)
{
	if (test_and_clear_bit(RHCA_CQ_OVERRUN, &cq->due))
		report_error(cq);
	if (test_and_clear_bit(RHCA_CQ_COMPLETION, &cq->due) &&
	    !raise_remotely(cq))
		call_handler(cq);
}

static void drain_remote_calls(struct rhca_cq *cq)
{
	while (atomic_read_acquire(&cq->remote_calls))
		usleep_range(10, 50);	/* duration of an IPI */
}

/* Handlers must end before ib_core stops the work they schedule */
static int __maybe_unused pre_destroy_cq(struct ib_cq *ibcq)
{
	drain_remote_calls(to_rhca_cq(ibcq));
	return 0;
}

/* Polling state of a CPU */
struct polled {
	/*
	 * CQ whose last poll found something; NULL: it is empty now. Only compared, may have been
	 * destroyed
	 */
	const struct rhca_cq *found;
	u32 passed;		/* polls of empty queues since softirqs last ran here */
};

static DEFINE_PER_CPU(struct polled, polled_here);

/* Both verbs share the response */
static_assert(sizeof(struct rxe_create_cq_resp) == sizeof(struct rxe_resize_cq_resp));

/* Create the ring of a process's CQ, for create_cq or resize_cq, and return where to map it */
int rhca_cq_ring_alloc(struct rhca_ring *ring, u32 entries, struct ib_udata *udata)
{
	struct rxe_create_cq_resp resp = {};
	int ret;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	ret = rhca_ring_alloc(ring, entries, sizeof(struct ib_uverbs_wc), udata, &resp.mi);
	if (ret)
		return ret;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		rhca_ring_free(ring);
	return ret;
}

static int create_user(struct rhca_cq *cq, u32 entries, struct ib_udata *udata)
{
	int ret = rhca_cq_ring_alloc(&cq->ring, entries, udata);

	if (!ret)
		cq->ibcq.cqe = rhca_ring_capacity(&cq->ring);
	return ret;
}

static int create_kernel(struct rhca_cq *cq, u32 entries)
{
	u32 slots = roundup_pow_of_two(entries);

	cq->wcs = kvmalloc_array(slots, sizeof(*cq->wcs), GFP_KERNEL);
	if (!cq->wcs)
		return -ENOMEM;
	cq->mask = slots - 1;
	cq->ibcq.cqe = slots;
	return 0;
}

static int create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		     rhca_create_cq_arg *arg)
{
	struct rhca_verbs_dev *dev = to_verbs_dev(ibcq->device);
	struct ib_udata *udata = rhca_create_cq_udata(arg);
	struct rhca_cq *cq = to_rhca_cq(ibcq);
	int ret;

	if (attr->flags || rhca_brings_cq(udata))
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > RHCA_MAX_CQE)
		return -EINVAL;
	if (attr->comp_vector >= ibcq->device->num_comp_vectors)
		return -EINVAL;
	if (!rhca_limit_take(dev, RHCA_LIMIT_CQ, RHCA_MAX_CQ))
		return -ENOMEM;

	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_lock);
	INIT_CSD(&cq->remote_call, raise_here, cq);
	cq->user = udata;
	ibcq->comp_vector = attr->comp_vector;
	ret = udata ? create_user(cq, attr->cqe, udata) :
		      create_kernel(cq, attr->cqe);
	if (ret)
		rhca_limit_give(dev, RHCA_LIMIT_CQ);
	return ret;
}

static int destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct rhca_cq *cq = to_rhca_cq(ibcq);

	drain_remote_calls(cq);
	if (cq->user)
		rhca_ring_free(&cq->ring);
	kvfree(cq->wcs);
	rhca_limit_give(to_verbs_dev(ibcq->device), RHCA_LIMIT_CQ);
	return 0;
}

/* The last poll on this CPU has emptied its queue */
DEFINE_PER_CPU(bool, rhca_cq_emptied);

/* Limit the delay of a doorbell by queues that others fill */
#define MAX_PASSED	8

/*
 * A user that polls several queues in turn and finds one empty is only waiting if the others are
 * empty too: until then a delayed doorbell may wait for more requests.
 */
static bool waits_for(const struct rhca_cq *cq)
{
	const struct rhca_cq *found = raw_cpu_read(polled_here.found);
	u32 passed = raw_cpu_read(polled_here.passed) + 1;

	raw_cpu_write(polled_here.found, NULL);
	if (!found || found == cq || passed > MAX_PASSED)
		passed = 0;
	raw_cpu_write(polled_here.passed, passed);
	return !passed;
}

static void note_found(const struct rhca_cq *cq, bool emptied)
{
	raw_cpu_write(polled_here.found, cq);
	if (emptied)
		raw_cpu_write(rhca_cq_emptied, true);
}

static int poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct rhca_cq *cq = to_rhca_cq(ibcq);
	unsigned long flags;
	int polled = 0;

	if (cq->user)
		return -EINVAL;	/* processes poll their rings */
	spin_lock_irqsave(&cq->lock, flags);
	while (polled < num && cq->consumer != cq->producer)
		wc[polled++] = cq->wcs[cq->consumer++ & cq->mask];
	spin_unlock_irqrestore(&cq->lock, flags);
	/* A busy poller keeps softirqs from running that complete requests or ring doorbells */
	if (polled)
		note_found(cq, polled < num);
	else if (waits_for(cq) && !in_interrupt() && !irqs_disabled())
		rhca_section_lend();
	return polled;
}

static int req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct rhca_cq *cq = to_rhca_cq(ibcq);
	unsigned long irq_flags;
	int missed;

	spin_lock_irqsave(&cq->lock, irq_flags);
	/* "Next" is the stronger condition and stays, 11.4.2.2 */
	if (!(cq->armed & IB_CQ_NEXT_COMP))
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	/* Only kernel users ask */
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS && cq->producer != cq->consumer;
	spin_unlock_irqrestore(&cq->lock, irq_flags);
	return missed;
}

const struct ib_device_ops rhca_cq_verbs = {
	.create_cq	= create_cq,
	RHCA_CREATE_USER_CQ(create_cq)
	.destroy_cq	= destroy_cq,
	.poll_cq	= poll_cq,
	RHCA_PRE_DESTROY_CQ(pre_destroy_cq)
	.req_notify_cq	= req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, rhca_cq, ibcq),
};
