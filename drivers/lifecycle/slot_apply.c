// SPDX-License-Identifier: GPL-2.0
/*
 * Apply the decisions of slot_wants.c. Events arrive in contexts that must not create or remove
 * devices, so they only kick: one work item then looks at the netdevs that may be affected, one
 * after the other, and acts on the rows that is_acted_on() lists.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/rtnetlink.h>
#include <linux/suspend.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/device.h"
#include "core/port/offer.h"
#include "core/registry.h"
#include "lifecycle/lag.h"
#include "lifecycle/netdev_check.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_act.h"
#include "lifecycle/slot_apply.h"
#include "lifecycle/slot_facts.h"

static void act(struct work_struct *work);

static struct workqueue_struct *slots_wq;
static DECLARE_DELAYED_WORK(act_work, act);
static bool running;
static atomic_t all_kicked;		/* an event of no particular netdev */

/*
 * Create the device of a rule. If the table says no, the reason is logged and the rule forgotten.
 * If a device is in the way, it may be moving to another RDMA namespace or ending: the rule is kept
 * as missed. Returns whether the rule was handled.
 */
static bool apply_rule(struct net_device *ndev, const struct rhca_slot_facts *f,
		       const struct rhca_slot_decision *d)
{
	const struct rhca_netdevs_rule *rule = rhca_slot_new_rule(ndev);
	bool is_led = f->lag == RHCA_SLOT_LAG_MEMBER ||
		      f->leader == RHCA_LEADER_LAG;
	bool is_taken = f->has != RHCA_HAS_NONE || f->leader != RHCA_LEADER_NONE;
	bool is_made = d->want == RHCA_WANT_SOFTWARE ||
		       d->want == RHCA_WANT_HARDWARE;

	if (!rule || (f->returns && is_led))
		return false;
	if (is_taken || is_led || (!d->error && !(is_made && f->ports_there))) {
		rhca_slot_set(ndev, RHCA_SLOT_RULE_MISSED, true);
		return false;
	}
	rhca_slot_create_by_rule(ndev, rule);
	return true;
}

/* --- when it is due --------------------------------------------------------------- */

static unsigned long next_look;		/* jiffies until then; only used in act() */

static void look_later(const struct net_device *ndev, unsigned long delay)
{
	rhca_slot_set(ndev, RHCA_SLOT_LATER, true);
	next_look = min(next_look, delay);
}

/* Has the decision been the same for as long as the table says? */
static bool has_settled(const struct net_device *ndev,
			const struct rhca_slot_facts *f,
			const struct rhca_slot_decision *d)
{
	unsigned long due = rhca_slot_decided(ndev, f, d->row) +
			    msecs_to_jiffies(d->settle_ms);
	unsigned long now = jiffies;	/* read once: @due - now must not wrap */

	if (time_after_eq(now, due))
		return true;
	look_later(ndev, due - now);
	return false;
}

/* The other rows are acted on elsewhere */
static bool is_acted_on(const struct rhca_slot_facts *f,
			const struct rhca_slot_decision *d)
{
	switch (d->row) {
	case RHCA_ROW_LED:
	case RHCA_ROW_LAG_ENDED:
	case RHCA_ROW_OTHER_DISPLACES:
	case RHCA_ROW_LAG:
	case RHCA_ROW_HARDWARE:
	case RHCA_ROW_STANDS_IN:
		return true;
	case RHCA_ROW_WANTED:	/* replaces a device that left or failed, or retries */
		return f->was_hardware || f->standin_rule || f->returns ||
		       f->offer == RHCA_OFFER_FREE;
	default:
		return false;
	}
}

/* Is another device ending, or another driver's device changing? */
static bool is_undecided(const struct net_device *ndev,
			 const struct rhca_slot_decision *d)
{
	if (d->again_ms)
		look_later(ndev, msecs_to_jiffies(d->again_ms));
	return d->again_ms || d->error == -EALREADY;
}

static void make_lag(struct net_device *ndev)
{
	if (rhca_slot_make_lag(ndev))
		rhca_slot_kick(NULL);
}

static void take_over(struct net_device *ndev)
{
	if (rhca_slot_make_room(ndev, false))
		pr_info("%s: hardware takes over\n", netdev_name(ndev));
}

static void replace(struct net_device *ndev, const struct rhca_slot_facts *f,
		    const struct rhca_slot_decision *d)
{
	if (d->row == RHCA_ROW_LED)
		rhca_slot_make_room(ndev, true);
	else if (d->row == RHCA_ROW_LAG_ENDED)
		rhca_slot_remove(ndev, "is no LAG any more: its members have their own devices");
	else if (d->want == RHCA_WANT_NOTHING)
		rhca_slot_remove(ndev,
				 "has an RDMA device of another driver: the stand-in is removed");
	else if (d->want == RHCA_WANT_LAG)
		make_lag(ndev);
	else if (d->want == RHCA_WANT_HARDWARE && f->has == RHCA_HAS_SOFTWARE)
		take_over(ndev);
	else if (f->has != RHCA_HAS_NONE)
		return;
	else if (f->returns && d->want == RHCA_WANT_SOFTWARE)
		rhca_slot_bring_back(ndev);
	else if (f->offer == RHCA_OFFER_FREE)
		rhca_slot_create_by_offer(ndev);
	else
		rhca_slot_stand_in(ndev);
}

/* Would hardware serve but for the partitions? */
static bool is_kept_by_partitions(const struct rhca_slot_facts *f)
{
	struct rhca_slot_facts others = *f;
	struct rhca_slot_decision d;

	others.tenants = false;
	rhca_slot_wants(&others, &d);
	return f->tenants && d.want == RHCA_WANT_HARDWARE;
}

static bool is_kept_by_other(const struct rhca_slot_facts *f,
			     const struct rhca_slot_decision *d)
{
	return d->row == RHCA_ROW_BESIDE_OTHER && f->has == RHCA_HAS_NONE &&
	       f->offer == RHCA_OFFER_FREE;
}

/* Returns whether another driver's device is still there */
static bool log_other(struct net_device *ndev)
{
	int ret = rhca_netdev_check(ndev);	/* names it */

	if (ret)
		rhca_slot_log_offer(ndev, ret);
	return ret;
}

/* Log once why hardware that offers to serve a netdev does not */
static void explain(struct net_device *ndev, const struct rhca_slot_facts *f,
		    const struct rhca_slot_decision *d)
{
	bool logged = is_kept_by_partitions(f);

	if (rhca_slot_is_set(ndev, RHCA_SLOT_LOGGED))
		return;
	if (logged)
		pr_info("%s stays with software: hardware has no partitions but the default one\n",
			netdev_name(ndev));
	else if (is_kept_by_other(f, d))
		logged = log_other(ndev);
	if (logged)
		rhca_slot_set(ndev, RHCA_SLOT_LOGGED, true);
}

static void decide(struct net_device *ndev, enum rhca_wish asked,
		   struct rhca_slot_facts *f, struct rhca_slot_decision *d)
{
	rhca_slot_look_at(ndev, asked, f);
	rhca_slot_wants(f, d);
	trace_rhca_slot_decide(ndev->name, f, d);
}

static bool orphan_dropped;	/* since the last pass; only used in act() */

/* Then its netdevs are free for what they should have, also by rules that it was in the way of */
static void drop_orphan(struct net_device *ndev)
{
	if (!rhca_slot_drop_orphan(ndev))
		return;
	orphan_dropped = true;
	rhca_slot_kick(NULL);
}

static void apply(struct net_device *ndev)
{
	bool rule_due = rhca_slot_is_set(ndev, RHCA_SLOT_RULE_DUE);
	struct rhca_slot_decision d;
	struct rhca_slot_facts f;

	decide(ndev, rule_due ? RHCA_WISH_RULE : RHCA_WISH_NONE, &f, &d);
	if (d.row == RHCA_ROW_NETDEV_GONE) {
		drop_orphan(ndev);
		return;
	}
	/* A rule stays due until then: the end of what blocks it is an event */
	if (!has_settled(ndev, &f, &d) || is_undecided(ndev, &d) ||
	    (rule_due && (f.has == RHCA_HAS_LEAVING ||
			  !rhca_slot_take(ndev, RHCA_SLOT_RULE_DUE))))
		return;
	if (f.pair == RHCA_PAIR_WAITS && f.has != RHCA_HAS_LEAVING) {
		rhca_slot_give_up_pair(ndev);
		rhca_slot_kick(ndev);
	}
	explain(ndev, &f, &d);
	if (rule_due && apply_rule(ndev, &f, &d))
		return;
	if (is_acted_on(&f, &d) && !rhca_slot_is_met(d.want, f.has))
		replace(ndev, &f, &d);
}

static bool has_orphan(const struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);
	bool has = dev && !rhca_dev_netdevs_stay(dev);

	if (dev)
		ib_device_put(&dev->ibdev);
	return has;
}

static bool is_concerned(const struct net_device *ndev)
{
	return rhca_slot_is_set(ndev, RHCA_SLOT_RULE_DUE | RHCA_SLOT_RETURNS |
				RHCA_SLOT_KICKED) || has_orphan(ndev) ||
	       rhca_slot_may_stand_in(ndev) ||
	       (rhca_offers_exist() && rhca_offer_look(ndev, NULL) != RHCA_OFFER_NONE);
}

/* A bond is kicked through the devices of it and its members: users may make many without any */
static void note_kick(struct net_device *ndev)
{
	struct net_device *bond = rhca_lag_bond_concerned(ndev);

	if (is_concerned(ndev))
		rhca_slot_set(ndev, RHCA_SLOT_KICKED, true);
	if (bond)
		rhca_slot_set(bond, RHCA_SLOT_KICKED, true);
}

static void note_kicks(void)
{
	struct net_device *ndev;
	struct net *net;

	rtnl_lock();
	down_read(&net_rwsem);
	for_each_net(net)
		for_each_netdev(net, ndev)
			note_kick(ndev);
	up_read(&net_rwsem);
	rtnl_unlock();
}

static void act(struct work_struct *work)
{
	struct net_device *ndev;

	next_look = MAX_JIFFY_OFFSET;
	if (atomic_xchg(&all_kicked, 0))
		note_kicks();
	rhca_slot_begin_pass(orphan_dropped);
	orphan_dropped = false;
	while (READ_ONCE(running) && (ndev = rhca_slot_take_next())) {
		apply(ndev);
		dev_put(ndev);
	}
	/* A kick meanwhile has queued it already, without delay */
	if (READ_ONCE(running) && next_look != MAX_JIFFY_OFFSET)
		queue_delayed_work(slots_wq, &act_work, next_look);
}

/*
 * Queue a look at a netdev after an event that may affect its device. The caller holds a reference
 * or RTNL. NULL: any netdev may be affected; this does not sleep, otherwise may sleep. RTNL and
 * locks of ib_core may be held.
 */
void rhca_slot_kick(const struct net_device *ndev)
{
	if (!READ_ONCE(running) || (ndev && !is_concerned(ndev)))
		return;
	if (ndev)
		rhca_slot_set(ndev, RHCA_SLOT_KICKED, true);
	else
		atomic_set(&all_kicked, 1);
	mod_delayed_work(slots_wq, &act_work, 0);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_kick);

/* Log why a request is refused */
static int refuse(struct net_device *ndev, const struct rhca_slot_decision *d)
{
	if (!rhca_netdev_check(ndev) && d->error == -EBUSY)
		pr_warn("%s can have no RDMA device of its own now (row %u in lifecycle.rst)\n",
			netdev_name(ndev), d->row);
	return d->error;
}

/*
 * "rdma link add". Decide and act here rather than in the work item, which may be busy with other
 * netdevs for long. The caller holds a reference to the netdev. May sleep, RTNL not held. Returns
 * 0, the table's error, or as rhca_slot_create().
 */
int rhca_slot_request(const char *name, struct net_device *ndev)
{
	struct rhca_dev_spec spec = {
		.name = name, .netdevs = { ndev }, .net = dev_net(ndev), .num_ports = 1,
	};
	struct rhca_slot_decision d;
	struct rhca_slot_facts f;
	int ret;

	decide(ndev, RHCA_WISH_LINK, &f, &d);
	ret = d.error ? refuse(ndev, &d) : rhca_slot_create(&spec);
	trace_rhca_netdev(ndev->name, "asked for", ret);
	if (!ret)
		rhca_slot_set_wish(ndev, RHCA_WISH_LINK, NULL);
	rhca_slot_kick(ndev);
	return ret;
}

/* Wait until all netdevs kicked so far are handled. May sleep, RTNL not held. */
void rhca_slot_flush(void)
{
	flush_delayed_work(&act_work);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_flush);

/* A netdev is absent while its adapter is suspended; its return raises no event */
static int resumed(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event != PM_POST_SUSPEND && event != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	rhca_slot_kick(NULL);
	return NOTIFY_OK;
}

static struct notifier_block resume_nb = { .notifier_call = resumed };

/* Prepare for rhca_slot_apply_start(). Returns 0 or -ENOMEM. */
int rhca_slot_apply_init(void)
{
	slots_wq = alloc_ordered_workqueue("roce_hca_slots", 0);
	if (!slots_wq)
		return -ENOMEM;
	/* Never fails */
	register_pm_notifier(&resume_nb);
	return 0;
}

/*
 * Start acting, also on earlier events. Call after the netdev notifier is registered, which alone
 * frees the slots of unregistered netdevs. Any context.
 */
void rhca_slot_apply_start(void)
{
	WRITE_ONCE(running, true);
	rhca_slot_kick(NULL);
}

/*
 * Stop creating and removing devices. May sleep, RTNL not held. No offer is left, since the modules
 * that make offers depend on this one.
 */
void rhca_slot_apply_stop(void)
{
	WRITE_ONCE(running, false);
	cancel_delayed_work_sync(&act_work);
}

/* Undo rhca_slot_apply_init(), after the last kick. May sleep, RTNL not held. */
void rhca_slot_apply_exit(void)
{
	unregister_pm_notifier(&resume_nb);
	rhca_slot_apply_stop();
	destroy_workqueue(slots_wq);
}
