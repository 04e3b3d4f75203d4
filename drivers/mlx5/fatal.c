// SPDX-License-Identifier: GPL-2.0
/*
 * After the firmware has died the adapter completes nothing. mlx5_core removes its devices, but
 * only seconds later. Until then requests of kernel users are completed here, as flushed; processes
 * get the event.
 */
#include <linux/mlx5/driver.h>
#include <rdma/ib_verbs.h>

#include "cq.h"
#include "device.h"
#include "events.h"
#include "fatal.h"
#include "qp_types.h"

static void set_flushed(struct rhca_mlx5_qp *qp, u64 wr_id, struct ib_wc *wc)
{
	*wc = (struct ib_wc) {
		.wr_id		= wr_id,
		.status		= IB_WC_WR_FLUSH_ERR,
		.vendor_err	= MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
		.qp		= &qp->base.ibqp,
	};
}

/* The oldest send request, whether or not it is signaled */
static bool flush_send(struct rhca_mlx5_qp *qp, struct ib_wc *wc)
{
	const struct rhca_mlx5_request *request;
	struct rhca_mlx5_sq *sq = &qp->sq;
	bool found;

	spin_lock(&sq->lock);
	found = sq->completed != sq->posted;
	if (found) {
		request = &sq->request[sq->oldest & (sq->num_blocks - 1)];
		set_flushed(qp, request->wr_id, wc);
		wc->opcode = request->opcode;
		sq->oldest += request->blocks;
		WRITE_ONCE(sq->completed, request->number);
	}
	spin_unlock(&sq->lock);
	return found;
}

static bool flush_recv(struct rhca_mlx5_qp *qp, struct ib_wc *wc)
{
	struct rhca_mlx5_rq *rq = &qp->rq;
	bool found;

	spin_lock(&rq->lock);
	found = rq->completed != rq->posted;
	if (found) {
		set_flushed(qp, rq->wr_id[rq->completed &
					  (rq->num_entries - 1)], wc);
		wc->opcode = IB_WC_RECV;
		WRITE_ONCE(rq->completed, rq->completed + 1);
	}
	spin_unlock(&rq->lock);
	return found;
}

/* State of a poll of a completion queue */
struct flush {
	struct ib_cq *ibcq;
	struct ib_wc *wc;
	int num;
	int filled;
};

static void flush_qp(struct rhca_mlx5_qp *qp, void *data)
{
	struct flush *flush = data;

	if (qp->base.ibqp.send_cq == flush->ibcq)
		while (flush->filled < flush->num &&
		       flush_send(qp, flush->wc + flush->filled))
			flush->filled++;
	if (qp->base.ibqp.recv_cq == flush->ibcq)
		while (flush->filled < flush->num &&
		       flush_recv(qp, flush->wc + flush->filled))
			flush->filled++;
}

/*
 * Flush requests instead of a dead adapter, even those with an unread completion. Requests on a
 * shared receive queue belong to no queue pair, and are not flushed. Returns their number.
 */
int rhca_mlx5_flush(struct rhca_mlx5_cq *cq, int num, struct ib_wc *wc)
{
	struct flush flush = { .ibcq = &cq->ibcq, .wc = wc, .num = num };

	lockdep_assert_held(&cq->lock);
	rhca_mlx5_for_each_qp(rhca_mlx5_of(cq->ibcq.device), RHCA_MLX5_KERNEL_QP, flush_qp,
			      &flush);
	return flush.filled;
}

static void look_at_qp(struct rhca_mlx5_qp *qp, void *data)
{
	struct flush *flush = data;

	if (qp->base.ibqp.send_cq == flush->ibcq)
		flush->filled |= READ_ONCE(qp->sq.posted) != READ_ONCE(qp->sq.completed);
	if (qp->base.ibqp.recv_cq == flush->ibcq)
		flush->filled |= READ_ONCE(qp->rq.posted) != READ_ONCE(qp->rq.completed);
}

/*
 * Would rhca_mlx5_flush() find a request? Its user was not notified of those posted between its
 * last poll and the end of its handler, if that runs by irq_poll.
 */
bool rhca_mlx5_has_unflushed(struct rhca_mlx5_cq *cq)
{
	struct flush flush = { .ibcq = &cq->ibcq };

	/* The handler's end, seen by irq_poll_sched(), before the queues */
	smp_mb();
	rhca_mlx5_for_each_qp(rhca_mlx5_of(cq->ibcq.device), RHCA_MLX5_KERNEL_QP, look_at_qp,
			      &flush);
	return flush.filled;
}

/* The handler of a CQ with IB_POLL_DIRECT only warns that it was called */
static void raise_completion(struct ib_cq *cq)
{
	if (cq->comp_handler && cq->poll_ctx != IB_POLL_DIRECT)
		cq->comp_handler(cq, cq->cq_context);
}

/*
 * On a shared receive queue ib_drain_qp() waits for the last WQE (IBTA 10.3.1), which is an event
 * and no completion, for up to a minute.
 */
static void notify_qp(struct rhca_mlx5_qp *qp, void *unused)
{
	struct ib_cq *send_cq = qp->base.ibqp.send_cq;
	struct ib_cq *recv_cq = qp->base.ibqp.recv_cq;

	raise_completion(send_cq);
	if (recv_cq != send_cq)
		raise_completion(recv_cq);
	if (qp->base.ibqp.srq)
		rhca_qp_event(&qp->base, IB_EVENT_QP_LAST_WQE_REACHED);
}

/*
 * Events are delivered by work items, and ib_core waits only for those dispatched before the
 * device's last reference was put: so hold one.
 */
static void report_fatal(struct rhca_mlx5 *hca)
{
	struct ib_event event = {
		.device			= hca->ibdev,
		.element.port_num	= 1,
		.event			= IB_EVENT_DEVICE_FATAL,
	};

	if (!ib_device_try_get(hca->ibdev))
		return;
	/* Once unplugged, its users are being notified of its removal, and may be gone */
	if (!test_bit(RHCA_DEV_UNPLUGGED, &to_rhca_dev(hca->ibdev)->flags) &&
	    !test_and_set_bit(0, &hca->fatal_reported)) {
		ibdev_err(hca->ibdev,
			  "the firmware has died: the kernel's requests are flushed\n");
		ib_dispatch_event(&event);
	}
	ib_device_put(hca->ibdev);
}

/*
 * A tasklet: a work item may wait for memory for a worker, and whatever writes memory back to a
 * disk may wait for the flush of that disk's queues.
 */
static void handle_fatal(struct tasklet_struct *task)
{
	struct rhca_mlx5 *hca = container_of(task, struct rhca_mlx5, fatal_task);

	report_fatal(hca);
	rhca_mlx5_for_each_qp(hca, RHCA_MLX5_KERNEL_QP, notify_qp, NULL);
}

/* Called by mlx5_core in any context, when the adapter is already dead */
static int note_fatal(struct notifier_block *nb, unsigned long type, void *data)
{
	struct rhca_mlx5 *hca = container_of(nb, struct rhca_mlx5, fatal_nb);

	if (type != MLX5_DEV_EVENT_SYS_ERROR)
		return NOTIFY_DONE;
	tasklet_schedule(&hca->fatal_task);
	return NOTIFY_OK;
}

int rhca_mlx5_fatal_init(struct rhca_mlx5 *hca)
{
	int ret;

	hca->fatal_reported = 0;
	tasklet_setup(&hca->fatal_task, handle_fatal);
	hca->fatal_nb.notifier_call = note_fatal;
	ret = mlx5_notifier_register(hca->mdev, &hca->fatal_nb);
	if (!ret && rhca_mlx5_is_dead(hca)) {
		rhca_mlx5_fatal_exit(hca);
		ret = -EIO;
	}
	return ret;
}

void rhca_mlx5_fatal_exit(struct rhca_mlx5 *hca)
{
	mlx5_notifier_unregister(hca->mdev, &hca->fatal_nb);
	tasklet_kill(&hca->fatal_task);
}
