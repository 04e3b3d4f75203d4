// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events of queue pairs and shared receive queues. mlx5_core calls in the interrupt of
 * its event queue; users' handlers accept any context. Events of completion queues use mlx5_core's
 * own table (cq.c).
 *
 * The adapter knows why a queue pair failed even if no completion says so. A work item queries
 * that, as commands sleep, and logs it.
 */
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "command.h"
#include "cq.h"
#include "device.h"
#include "events.h"
#include "number.h"
#include "qp_types.h"
#include "srq.h"

#define NUMBER_MASK	GENMASK(23, 0)
#define HAS_FAILED	XA_MARK_0

/* Have a queue pair found by a mark, as long as it has its number. Any context. */
void rhca_mlx5_mark_qp(struct rhca_mlx5 *hca, u32 number, xa_mark_t mark)
{
	unsigned long flags;

	xa_lock_irqsave(&hca->qps, flags);
	__xa_set_mark(&hca->qps, number, mark);
	xa_unlock_irqrestore(&hca->qps, flags);
}

/*
 * Call a function for each queue pair of a kind. @which: RHCA_MLX5_ANY_QP or RHCA_MLX5_KERNEL_QP:
 * processes may have thousands. @fn: runs in the caller's context; the queue pair is not destroyed
 * meanwhile. @data: for @fn. Any context.
 */
void rhca_mlx5_for_each_qp(struct rhca_mlx5 *hca, xa_mark_t which,
			   void (*fn)(struct rhca_mlx5_qp *qp, void *data),
			   void *data)
{
	struct rhca_mlx5_numbered *object;
	unsigned long number;

	xa_for_each_marked(&hca->qps, number, object, which) {
		object = rhca_mlx5_number_get(&hca->qps, number);
		if (!object)
			continue;
		fn(container_of(object, struct rhca_mlx5_qp, numbered), data);
		rhca_mlx5_number_put(object);
	}
}

/* 0 (IB_EVENT_CQ_ERR) for others */
static const u8 qp_events[] = {
	[MLX5_EVENT_TYPE_PATH_MIG]		= IB_EVENT_PATH_MIG,
	[MLX5_EVENT_TYPE_PATH_MIG_FAILED]	= IB_EVENT_PATH_MIG_ERR,
	[MLX5_EVENT_TYPE_COMM_EST]		= IB_EVENT_COMM_EST,
	[MLX5_EVENT_TYPE_SQ_DRAINED]		= IB_EVENT_SQ_DRAINED,
	[MLX5_EVENT_TYPE_SRQ_LAST_WQE]		= IB_EVENT_QP_LAST_WQE_REACHED,
	[MLX5_EVENT_TYPE_WQ_CATAS_ERROR]	= IB_EVENT_QP_FATAL,
	[MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR]	= IB_EVENT_QP_REQ_ERR,
	[MLX5_EVENT_TYPE_WQ_ACCESS_ERROR]	= IB_EVENT_QP_ACCESS_ERR,
};

static void log_failed_qp(struct rhca_mlx5 *hca, u32 number)
{
	struct rhca_mlx5_qp_error error;

	if (rhca_mlx5_query_qp_error(hca->mdev, number, &error))
		return;
	ibdev_warn_ratelimited(hca->ibdev,
			       "QP %#x failed: %s (%#x, vendor's %#x, hardware's %#x of type %#x)\n",
			       number,
			       ib_wc_status_msg(rhca_mlx5_status_of(error.syndrome)),
			       error.syndrome, error.vendor, error.hardware,
			       error.hardware_type);
}

static void log_failed_qps(struct work_struct *work)
{
	struct rhca_mlx5 *hca = container_of(work, struct rhca_mlx5,
					     qp_error_work);
	unsigned long number;
	void *object;

	xa_for_each_marked(&hca->qps, number, object, HAS_FAILED) {
		xa_lock_irq(&hca->qps);
		__xa_clear_mark(&hca->qps, number, HAS_FAILED);
		xa_unlock_irq(&hca->qps);
		log_failed_qp(hca, number);
	}
}

static void handle_qp_event(struct rhca_mlx5 *hca, u32 number, int event)
{
	struct rhca_mlx5_numbered *object;

	if ((event == IB_EVENT_QP_FATAL || event == IB_EVENT_QP_ACCESS_ERR) &&
	    rhca_mlx5_reports_qp_error(hca->mdev)) {
		rhca_mlx5_mark_qp(hca, number, HAS_FAILED);
		schedule_work(&hca->qp_error_work);
	}
	object = rhca_mlx5_number_get(&hca->qps, number);
	if (!object)
		return;
	rhca_qp_event(&container_of(object, struct rhca_mlx5_qp,
				    numbered)->base, event);
	rhca_mlx5_number_put(object);
}

static void raise_srq_event(struct rhca_mlx5 *hca, u32 number, int type)
{
	struct rhca_mlx5_numbered *object = rhca_mlx5_number_get(&hca->srqs, number);
	struct ib_event event = { .event = type };
	struct ib_srq *ibsrq;

	if (!object)
		return;
	ibsrq = &container_of(object, struct rhca_mlx5_srq, numbered)->ibsrq;
	event.device = ibsrq->device;
	event.element.srq = ibsrq;
	if (ibsrq->event_handler)
		ibsrq->event_handler(&event, ibsrq->srq_context);
	rhca_mlx5_number_put(object);
}

static int handle_event(struct notifier_block *nb, unsigned long type, void *data)
{
	struct rhca_mlx5 *hca = container_of(nb, struct rhca_mlx5, queue_nb.nb);
	struct mlx5_eqe *eqe = data;
	u32 number = be32_to_cpu(eqe->data.qp_srq.qp_srq_n) & NUMBER_MASK;
	bool is_qp = eqe->data.qp_srq.type == MLX5_EVENT_QUEUE_TYPE_QP;

	/* Queues of the netdev may have the same numbers as queue pairs */
	if (is_qp && type < ARRAY_SIZE(qp_events) && qp_events[type])
		handle_qp_event(hca, number, qp_events[type]);
	else if (type == MLX5_EVENT_TYPE_SRQ_RQ_LIMIT)
		raise_srq_event(hca, number, IB_EVENT_SRQ_LIMIT_REACHED);
	else if (type == MLX5_EVENT_TYPE_SRQ_CATAS_ERROR)
		raise_srq_event(hca, number, IB_EVENT_SRQ_ERR);
	else
		return NOTIFY_DONE;
	return NOTIFY_OK;
}

int rhca_mlx5_events_init(struct rhca_mlx5 *hca)
{
	xa_init_flags(&hca->qps, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&hca->srqs, XA_FLAGS_LOCK_IRQ);
	INIT_WORK(&hca->qp_error_work, log_failed_qps);
	MLX5_NB_INIT(&hca->queue_nb, handle_event, NOTIFY_ANY);
	return mlx5_eq_notifier_register(hca->mdev, &hca->queue_nb);
}

void rhca_mlx5_events_exit(struct rhca_mlx5 *hca)
{
	mlx5_eq_notifier_unregister(hca->mdev, &hca->queue_nb);
	cancel_work_sync(&hca->qp_error_work);
	xa_destroy(&hca->srqs);
	xa_destroy(&hca->qps);
}
