// SPDX-License-Identifier: GPL-2.0
/*
 * Why queue pairs failed of which no completion tells: the adapter knows, and the log is to
 * know it, too. Events come in the interrupt, and asking sleeps.
 */
#include <linux/mlx5/driver.h>
#include <rdma/ib_verbs.h>
#include <rhca/compat.h>

#include "command.h"
#include "cqe_error.h"
#include "device.h"
#include "qp_error.h"

#define HAS_FAILED	XA_MARK_0

static void mark(struct rhca_mlx5 *hca, u32 number, bool failed)
{
	unsigned long flags;

	xa_lock_irqsave(&hca->qps, flags);
	if (failed)
		__xa_set_mark(&hca->qps, number, HAS_FAILED);
	else
		__xa_clear_mark(&hca->qps, number, HAS_FAILED);
	xa_unlock_irqrestore(&hca->qps, flags);
}

static void tell(struct rhca_mlx5 *hca, u32 number)
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

static void tell_all(struct work_struct *work)
{
	struct rhca_mlx5 *hca = container_of(work, struct rhca_mlx5,
					     qp_error_work);
	unsigned long number;
	void *object;

	xa_for_each_marked(&hca->qps, number, object, HAS_FAILED) {
		mark(hca, number, false);
		tell(hca, number);
	}
}

void rhca_mlx5_qp_error_init(struct rhca_mlx5 *hca)
{
	INIT_WORK(&hca->qp_error_work, tell_all);
}

/* No event comes any more */
void rhca_mlx5_qp_error_exit(struct rhca_mlx5 *hca)
{
	cancel_work_sync(&hca->qp_error_work);
}

/*
 * An event says that a queue pair has failed. @number: the queue pair; not in the log if it is
 * destroyed before the adapter is asked. Any context.
 */
void rhca_mlx5_qp_error_note(struct rhca_mlx5 *hca, u32 number)
{
	if (!rhca_mlx5_tells_qp_error(hca->mdev))
		return;
	mark(hca, number, true);
	schedule_work(&hca->qp_error_work);
}
