// SPDX-License-Identifier: GPL-2.0
/*
 * Stand-ins. An adapter's device may go while its netdev stays: its driver is
 * unbound, its firmware restarts. On netdevs that the user has named, a device
 * of ours is there meanwhile. It leaves when the other returns.
 *
 * News comes in contexts that must not make or remove devices, so it only queues
 * work, on an ordered queue: nothing here runs twice at a time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <linux/workqueue.h>
#include <rhca/trace.h>

#include "core/device.h"
#include "core/registry.h"
#include "lifecycle/slot.h"
#include "core/rules/netdev_walk.h"
#include "lifecycle/standin.h"

/*
 * A driver that is bound again, or a firmware that restarts, brings its device
 * back within that time: wait, rather than give a program two devices in a row.
 */
#define DEBOUNCE	msecs_to_jiffies(1000)

static void stand_in(struct work_struct *work);
static void give_way(struct work_struct *work);

static const struct rhca_standin_ops *ops;
static struct workqueue_struct *queue;
static bool running;			/* under queue_lock */
static DEFINE_SPINLOCK(queue_lock);	/* queueing against the end */
static DECLARE_DELAYED_WORK(stand_in_work, stand_in);
static DECLARE_WORK(give_way_work, give_way);

/* Of ports of a bond an adapter makes one device, whose netdev is the bond */
static bool is_candidate(const struct net_device *ndev)
{
	return netif_running(ndev) && netif_device_present(ndev) &&
	       ops->wanted(ndev) && !netif_is_lag_port(ndev);
}

static void stand_in_on(struct net_device *ndev)
{
	int ret;

	if (rhca_netdev_served(ndev))
		return;
	ret = ops->rival(ndev);
	if (ret == -EAGAIN)
		rhca_standin_needed();
	if (ret)
		return;
	ret = ops->create(ndev);
	trace_rhca_netdev(ndev->name, "stand-in", ret);
	if (ret)
		pr_warn("no stand-in on %s: error %d\n", netdev_name(ndev), ret);
	else
		pr_info("%s has lost its RDMA device, or has none: a software device stands in\n",
			netdev_name(ndev));
}

static void stand_in(struct work_struct *work)
{
	rhca_netdev_walk(is_candidate, stand_in_on);
}

/*
 * Its QPs are flushed before it is unregistered, see rhca_dev_unplugged(). The next one
 * has its settings.
 */
static void give_way_on(struct net_device *ndev)
{
	struct rhca_dev *dev;

	if (ops->rival(ndev) <= 0)
		return;
	dev = rhca_dev_find(ndev);
	if (!dev)
		return;
	if (rhca_slot_save(dev))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	trace_rhca_netdev(ndev->name, "stand-in gives way", 0);
	if (rhca_dev_remove_and_put(dev))
		pr_info("%s has an RDMA device of another driver: the stand-in is removed\n",
			netdev_name(ndev));
}

static void give_way(struct work_struct *work)
{
	/* One that is down has its stand-in still */
	rhca_netdev_walk(ops->wanted, give_way_on);
}

/**
 * rhca_standin_needed - A netdev may have lost its device, or has come up
 *
 * Context: any. What was asked for is done when nothing of the kind was heard
 * for a second.
 */
void rhca_standin_needed(void)
{
	unsigned long flags;

	spin_lock_irqsave(&queue_lock, flags);
	if (running)
		mod_delayed_work(queue, &stand_in_work, DEBOUNCE);
	spin_unlock_irqrestore(&queue_lock, flags);
}

/**
 * rhca_standin_is_pending - Has something been asked for that is not done yet?
 *
 * Context: any.
 */
bool rhca_standin_is_pending(void)
{
	return delayed_work_pending(&stand_in_work);
}

/**
 * rhca_standin_rival_came - Another driver has registered a device
 *
 * Context: any.
 */
void rhca_standin_rival_came(void)
{
	unsigned long flags;

	spin_lock_irqsave(&queue_lock, flags);
	if (running)
		queue_work(queue, &give_way_work);
	spin_unlock_irqrestore(&queue_lock, flags);
}

/* A netdev is absent while its adapter is suspended, and nobody tells that it is back */
static int hear_of_resume(struct notifier_block *nb, unsigned long event,
			  void *data)
{
	switch (event) {
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
		rhca_standin_needed();
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block resume_nb = { .notifier_call = hear_of_resume };

/**
 * rhca_standin_init - Begin to listen
 * @standin_ops: a constant
 * @wq: an ordered queue that outlives rhca_standin_exit()
 */
void rhca_standin_init(const struct rhca_standin_ops *standin_ops,
		       struct workqueue_struct *wq)
{
	ops = standin_ops;
	queue = wq;
	spin_lock_irq(&queue_lock);
	running = true;
	spin_unlock_irq(&queue_lock);
	/* Never fails */
	register_pm_notifier(&resume_nb);
}

/**
 * rhca_standin_exit - No stand-in is made or removed any more
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_standin_exit(void)
{
	unregister_pm_notifier(&resume_nb);
	spin_lock_irq(&queue_lock);
	running = false;
	spin_unlock_irq(&queue_lock);
	cancel_delayed_work_sync(&stand_in_work);
	cancel_work_sync(&give_way_work);
}
