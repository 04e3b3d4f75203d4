// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events of queue pairs and shared receive queues. mlx5_core calls
 * in the interrupt of its event queue; users' handlers cope with any context.
 * Those of completion queues go by mlx5_core's own table (cq.c).
 */
#include <linux/mlx5/driver.h>
#include <linux/mlx5/eq.h>
#include <rdma/ib_verbs.h>

#include "device.h"
#include "events.h"
#include "number.h"
#include "qp_error.h"
#include "qp_types.h"
#include "srq.h"

#define NUMBER_MASK	GENMASK(23, 0)
#define NO_EVENT	(-1)

/*
 * Do something to every queue pair. @fn: may sleep; the queue pair is not destroyed meanwhile.
 * @data: for @fn. May sleep.
 */
void rhca_mlx5_for_each_qp(struct rhca_mlx5 *hca,
			   void (*fn)(struct rhca_mlx5_qp *qp, void *data),
			   void *data)
{
	struct rhca_mlx5_numbered *object;
	unsigned long number;

	xa_for_each(&hca->qps, number, object) {
		object = rhca_mlx5_number_get(&hca->qps, number);
		if (!object)
			continue;
		fn(container_of(object, struct rhca_mlx5_qp, numbered), data);
		rhca_mlx5_number_put(object);
	}
}

static int qp_event_of(u8 type)
{
	switch (type) {
	case MLX5_EVENT_TYPE_PATH_MIG:
		return IB_EVENT_PATH_MIG;
	case MLX5_EVENT_TYPE_PATH_MIG_FAILED:
		return IB_EVENT_PATH_MIG_ERR;
	case MLX5_EVENT_TYPE_COMM_EST:
		return IB_EVENT_COMM_EST;
	case MLX5_EVENT_TYPE_SQ_DRAINED:
		return IB_EVENT_SQ_DRAINED;
	case MLX5_EVENT_TYPE_SRQ_LAST_WQE:
		return IB_EVENT_QP_LAST_WQE_REACHED;
	case MLX5_EVENT_TYPE_WQ_CATAS_ERROR:
		return IB_EVENT_QP_FATAL;
	case MLX5_EVENT_TYPE_WQ_INVAL_REQ_ERROR:
		return IB_EVENT_QP_REQ_ERR;
	case MLX5_EVENT_TYPE_WQ_ACCESS_ERROR:
		return IB_EVENT_QP_ACCESS_ERR;
	default:
		return NO_EVENT;
	}
}

static void raise_qp_event(struct rhca_mlx5 *hca, u32 number, int event)
{
	struct rhca_mlx5_numbered *object = rhca_mlx5_number_get(&hca->qps, number);

	if (!object)
		return;
	rhca_qp_event(&container_of(object, struct rhca_mlx5_qp,
				    numbered)->base, event);
	rhca_mlx5_number_put(object);
}

static void hear_of_qp(struct rhca_mlx5 *hca, u32 number, int event)
{
	if (event == IB_EVENT_QP_FATAL || event == IB_EVENT_QP_ACCESS_ERR)
		rhca_mlx5_qp_error_note(hca, number);
	raise_qp_event(hca, number, event);
}

static int srq_event_of(u8 type)
{
	switch (type) {
	case MLX5_EVENT_TYPE_SRQ_RQ_LIMIT:
		return IB_EVENT_SRQ_LIMIT_REACHED;
	case MLX5_EVENT_TYPE_SRQ_CATAS_ERROR:
		return IB_EVENT_SRQ_ERR;
	default:
		return NO_EVENT;
	}
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

static int hear_event(struct notifier_block *nb, unsigned long type, void *data)
{
	struct rhca_mlx5 *hca = container_of(nb, struct rhca_mlx5, queue_nb.nb);
	struct mlx5_eqe *eqe = data;
	u32 number = be32_to_cpu(eqe->data.qp_srq.qp_srq_n) & NUMBER_MASK;
	bool is_qp = eqe->data.qp_srq.type == MLX5_EVENT_QUEUE_TYPE_QP;

	/* Numbers of the netdev's queues may be those of queue pairs */
	if (qp_event_of(type) != NO_EVENT && is_qp)
		hear_of_qp(hca, number, qp_event_of(type));
	else if (srq_event_of(type) != NO_EVENT)
		raise_srq_event(hca, number, srq_event_of(type));
	else
		return NOTIFY_DONE;
	return NOTIFY_OK;
}

int rhca_mlx5_events_init(struct rhca_mlx5 *hca)
{
	xa_init_flags(&hca->qps, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&hca->srqs, XA_FLAGS_LOCK_IRQ);
	rhca_mlx5_qp_error_init(hca);
	MLX5_NB_INIT(&hca->queue_nb, hear_event, NOTIFY_ANY);
	return mlx5_eq_notifier_register(hca->mdev, &hca->queue_nb);
}

void rhca_mlx5_events_exit(struct rhca_mlx5 *hca)
{
	mlx5_eq_notifier_unregister(hca->mdev, &hca->queue_nb);
	rhca_mlx5_qp_error_exit(hca);
	xa_destroy(&hca->srqs);
	xa_destroy(&hca->qps);
}
