// SPDX-License-Identifier: GPL-2.0
/*
 * A user in the kernel whose completion queue ends, or whose adapter dies. Loading the module fails
 * if
 *  - a completion event, just before the adapter destroys the queue, schedules the queue's work,
 *    and that runs after ib_free_cq(). Nor may work that is still running arm the number that the
 *    queue had, which the model would tell;
 *  - with dead=1: the firmware dies, and a request that another processor posts while a completion
 *    is handled in softirq context is never completed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/irq_poll.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#define ENTRIES		4
#define DEATH_S		60	/* until mlx5_core has noticed that the firmware died */
#define NOTIFIED_MS	1000	/* enough to post, and for the driver to call the handler */
#define FLUSH_S		4	/* then it never is */

static char *device;
module_param(device, charp, 0);
MODULE_PARM_DESC(device, "name of the RDMA device");
static bool dead;
module_param(dead, bool, 0);
MODULE_PARM_DESC(dead, "post a receive, and wait until the firmware dies");

static int result = -ENODEV;

/* A completion queue that ends */
static struct ib_cq *ending;
static const struct task_struct *ends_it;
static int events, late;
static DECLARE_COMPLETION(ended);

/* Occupies the workqueue until the queue has been freed */
static void wait_for_end(struct work_struct *work)
{
	wait_for_completion(&ended);
}

static DECLARE_WORK(blocker, wait_for_end);

static void count_late(struct work_struct *work)
{
	late++;
}

/* As an interrupt of the adapter here would */
static int raise_event(struct kretprobe_instance *call, struct pt_regs *regs)
{
	if (current != ends_it || events++)
		return 1;
	ending->comp_handler(ending, ending->cq_context);
	return 0;
}

/* As the queue's work at its end */
static int arm(struct kretprobe_instance *call, struct pt_regs *regs)
{
	ib_req_notify_cq(ending, IB_CQ_NEXT_COMP);
	return 0;
}

static struct kretprobe destroying = {
	.kp.symbol_name	= "mlx5_core_destroy_cq",
	.entry_handler	= raise_event,
	.handler	= arm,
};

static int free_while_raised(struct workqueue_struct *queue)
{
	int ret = register_kretprobe(&destroying);

	if (!ret) {
		queue_work(queue, &blocker);
		INIT_WORK(&ending->work, count_late);
		ending->comp_wq = queue;
		ends_it = current;
	}
	ib_free_cq(ending);
	if (ret)
		return ret;
	unregister_kretprobe(&destroying);
	complete(&ended);
	flush_workqueue(queue);
	pr_info("%d events, %d late\n", events, late);
	return events == 1 && !late ? 0 : -EBUSY;
}

static int end_queue(struct ib_device *ibdev)
{
	struct workqueue_struct *queue;
	int ret;

	queue = alloc_ordered_workqueue("rhca_queues", 0);
	if (!queue)
		return -ENOMEM;
	ending = ib_alloc_cq(ibdev, NULL, ENTRIES, 0, IB_POLL_WORKQUEUE);
	ret = PTR_ERR_OR_ZERO(ending) ?: free_while_raised(queue);
	destroy_workqueue(queue);
	return ret;
}

/* A queue pair that only receives, and receives nothing */
static struct ib_qp *qp;
static DECLARE_COMPLETION(died);
static DECLARE_COMPLETION(last_flushed);

static int post(struct ib_cqe *cqe)
{
	const struct ib_recv_wr wr = { .wr_cqe = cqe };

	return ib_post_recv(qp, &wr, NULL);
}

static void first_done(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&died);
}

static void last_done(struct ib_cq *cq, struct ib_wc *wc)
{
	complete(&last_flushed);
}

static void post_last(struct work_struct *work)
{
	static struct ib_cqe last = { .done = last_done };

	post(&last);
}

static DECLARE_WORK(posting, post_last);

static void handle(struct ib_cq *cq, struct ib_wc *wc)
{
	schedule_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()), &posting);
	mdelay(NOTIFIED_MS);
}

/* No handler is called for the request itself, so that nothing is left to be called again */
static int handle_one(struct ib_cq *cq)
{
	static struct ib_cqe handled = { .done = handle };
	int ret;

	irq_poll_disable(&cq->iop);
	ret = post(&handled);
	msleep(NOTIFIED_MS);
	irq_poll_enable(&cq->iop);
	if (ret)
		return ret;
	local_bh_disable();
	cq->comp_handler(cq, cq->cq_context);
	local_bh_enable();
	ret = wait_for_completion_timeout(&last_flushed, FLUSH_S * HZ) ? 0 : -ETIMEDOUT;
	flush_work(&posting);
	return ret;
}

static int outlive_firmware(struct ib_cq *cq)
{
	static struct ib_cqe first = { .done = first_done };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT, .port_num = 1 };
	int ret = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
					  IB_QP_ACCESS_FLAGS) ?: post(&first);

	if (ret)
		return ret;
	pr_info("posted\n");
	return wait_for_completion_timeout(&died, DEATH_S * HZ) ? handle_one(cq) : -ETIME;
}

static int receive(struct ib_pd *pd, struct ib_cq *cq)
{
	struct ib_qp_init_attr attr = {
		.send_cq	= cq,
		.recv_cq	= cq,
		.cap		= { .max_send_wr = 1, .max_recv_wr = ENTRIES,
				    .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type	= IB_QPT_RC,
	};
	int ret;

	qp = ib_create_qp(pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	ret = outlive_firmware(cq);
	ib_destroy_qp(qp);
	return ret;
}

static int die(struct ib_device *ibdev)
{
	struct ib_pd *pd = ib_alloc_pd(ibdev, 0);
	struct ib_cq *cq;
	int ret;

	if (IS_ERR(pd))
		return PTR_ERR(pd);
	cq = ib_alloc_cq(ibdev, NULL, 2 * ENTRIES, 0, IB_POLL_SOFTIRQ);
	ret = PTR_ERR_OR_ZERO(cq) ?: receive(pd, cq);
	if (!IS_ERR(cq))
		ib_free_cq(cq);
	ib_dealloc_pd(pd);
	return ret;
}

/* The device is held while this runs */
static int add_device(struct ib_device *ibdev)
{
	if (strcmp(dev_name(&ibdev->dev), device))
		return -EOPNOTSUPP;
	result = dead ? die(ibdev) : end_queue(ibdev);
	pr_info("error %d\n", result);
	return -EOPNOTSUPP;
}

static struct ib_client client = {
	.name = "rhca_queues",
	.add = add_device,
};

static int __init queues_init(void)
{
	int ret = ib_register_client(&client);

	if (ret)
		return ret;
	ib_unregister_client(&client);
	return result;
}

static void __exit queues_exit(void)
{
}

module_init(queues_init);
module_exit(queues_exit);
MODULE_DESCRIPTION("Completion queues that end, and of an adapter that dies");
MODULE_LICENSE("GPL");
