// SPDX-License-Identifier: GPL-2.0
/*
 * Netdevs get the devices that they should have (slot_wants.c). Events come in contexts
 * that must not make or remove devices, so they only kick: one work item then looks at
 * the netdevs that may be concerned, one after the other, and acts.
 *
 * The rows of the table that is_acted_on() lists are acted on here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/notifier.h>
#include <linux/suspend.h>
#include <linux/workqueue.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/device.h"
#include "core/offer.h"
#include "core/port/port_pkeys.h"
#include "core/registry.h"
#include "core/rules/netdev_walk.h"
#include "lifecycle/choice.h"
#include "lifecycle/lag.h"
#include "lifecycle/netdev_check.h"
#include "lifecycle/netdevs.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_apply.h"
#include "lifecycle/slot_facts.h"
#include "lifecycle/slot_look.h"

static void act(struct work_struct *work);

static const struct rhca_backend_ops *software;
static struct workqueue_struct *slots_wq;
static DECLARE_DELAYED_WORK(act_work, act);
static bool running;
/* Bits of happened: what has, to no netdev in particular */
enum {
	ALL_KICKED,
	DEVICE_LOST,	/* which may have been in the way of rules */
};

static unsigned long happened;

/* --- devices are made and removed ------------------------------------------------- */

/**
 * rhca_slot_create - Make a device on netdevs that may have one
 * @spec: what it should be; its backend is chosen here
 *
 * Context: may sleep, RTNL not held.
 * Return: as rhca_netdev_check() and rhca_choice_create().
 */
int rhca_slot_create(struct rhca_dev_spec *spec)
{
	u32 i;
	int ret;

	spec->backend = software;
	for (i = 0; i < spec->num_ports; i++) {
		ret = rhca_netdev_check(spec->netdevs[i]);
		if (ret)
			return ret;
	}
	return rhca_choice_create(spec);
}

static void stand_in(struct net_device *ndev)
{
	struct rhca_dev_spec spec = { .netdevs = { ndev }, .num_ports = 1 };
	int ret = rhca_slot_create(&spec);

	trace_rhca_netdev(ndev->name, "stand-in", ret);
	if (!ret) {
		pr_info("%s has lost its RDMA device, or has none: a software device stands in\n",
			netdev_name(ndev));
		return;
	}
	pr_warn("no stand-in on %s: error %d\n", netdev_name(ndev), ret);
	rhca_slot_set(ndev, RHCA_SLOT_FAILED, true);
}

/* All ports of a device must be there; the last one to come makes it */
static void create_by_rule(struct net_device *ndev,
			   const struct rhca_netdevs_rule *rule)
{
	struct rhca_dev_spec spec = {};
	u32 i;
	int ret;

	spec.num_ports = rhca_netdevs_find_ports(rule, ndev, spec.netdevs);
	if (spec.num_ports == rule->num_ports) {
		ret = rhca_slot_create(&spec);
		trace_rhca_netdev(ndev->name, "rule of netdevs=", ret);
		if (ret)
			pr_warn("no RDMA device on %s: error %d\n",
				netdev_name(ndev), ret);
		else
			rhca_slot_set_wish(spec.netdevs[0], RHCA_WISH_RULE,
					   rule);
	}
	for (i = 0; i < spec.num_ports; i++)
		dev_put(spec.netdevs[i]);
}

/*
 * A rule names the netdev. What the table refuses is refused in words, and forgotten.
 * What is in the way may be on its way to another RDMA namespace, or to its end. Returns
 * whether it was the rule's turn.
 */
static bool apply_rule(struct net_device *ndev, const struct rhca_slot_facts *f,
		       const struct rhca_slot_decision *d)
{
	const struct rhca_netdevs_rule *rule = rhca_slot_new_rule(ndev);
	bool is_taken = f->has != RHCA_HAS_NONE || f->leader != RHCA_LEADER_NONE;
	bool is_made = d->want == RHCA_WANT_SOFTWARE ||
		       d->want == RHCA_WANT_HARDWARE;

	if (!rule || f->lag == RHCA_SLOT_LAG_MEMBER ||
	    f->leader == RHCA_LEADER_LAG)
		return false;
	if (is_taken || (!d->error && !(is_made && f->ports_there))) {
		rhca_slot_set(ndev, RHCA_SLOT_RULE_MISSED, true);
		return false;
	}
	create_by_rule(ndev, rule);
	return true;
}

/*
 * Its QPs are flushed before it is unregistered, see rhca_dev_unplugged(). The next one
 * has its settings.
 */
static void give_way(struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (!dev)
		return;
	if (rhca_slot_save(dev))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	trace_rhca_netdev(ndev->name, "stand-in gives way", 0);
	if (rhca_dev_remove_and_put(dev))
		pr_info("%s has an RDMA device of another driver: the stand-in is removed\n",
			netdev_name(ndev));
}

static void create_by_offer(struct net_device *ndev)
{
	struct rhca_dev_spec spec = { .netdevs = { ndev }, .num_ports = 1 };
	int ret = rhca_slot_create(&spec);

	trace_rhca_netdev(ndev->name, "hardware offers to serve", ret);
	if (ret && ret != -EEXIST && ret != -EALREADY)
		pr_warn("no RDMA device on %s, which hardware offers to serve: error %d\n",
			netdev_name(ndev), ret);
}

/* Looked at again when its partitions cannot change any more */
static bool may_give_up(struct rhca_dev *dev)
{
	struct rhca_pkey_table pkeys;

	if (rhca_slot_save(dev))
		return false;
	rhca_pkeys_copy(&dev->ports[0], &pkeys);
	if (!rhca_pkeys_part_tenants(&pkeys))
		return true;
	rhca_pkeys_freeze_all(dev, false);
	return false;
}

/* Who removes the device while it gives way wants none */
static void take_over(struct net_device *ndev)
{
	struct rhca_dev *dev = rhca_dev_find(ndev);

	if (!dev)
		return;
	if (!may_give_up(dev)) {
		ib_device_put(&dev->ibdev);
		return;
	}
	trace_rhca_netdev(ndev->name, "hardware takes over", 0);
	rhca_dev_remove_and_put(dev);
	pr_info("%s: hardware takes over\n", netdev_name(ndev));
	if (!rhca_slot_is_unwanted(ndev))
		create_by_offer(ndev);
}

static void withdraw_from(struct rhca_dev *dev)
{
	struct net_device *ndev = rhca_port_get_netdev(&dev->ports[0]);

	if (!ndev)
		return;
	/* Without memory it begins anew */
	if (rhca_slot_save(dev) ||
	    rhca_slot_set(ndev, RHCA_SLOT_WAS_HARDWARE, true))
		pr_warn("%s: its settings are lost\n", netdev_name(ndev));
	dev_put(ndev);
}

static void offer_withdrawn(struct rhca_offer *offer)
{
	rhca_dev_remove_offer(offer, withdraw_from);
	rhca_slot_kick(NULL);
}

/* --- when it is due --------------------------------------------------------------- */

static unsigned long next_look;		/* jiffies until then; only act() uses it */

static void look_later(const struct net_device *ndev, unsigned long delay)
{
	rhca_slot_set(ndev, RHCA_SLOT_LATER, true);
	next_look = min(next_look, delay);
}

/* Has the same followed from the facts for as long as the table says? */
static bool has_settled(const struct net_device *ndev,
			const struct rhca_slot_facts *f,
			const struct rhca_slot_decision *d)
{
	unsigned long due = rhca_slot_decided(ndev, f, d->row) +
			    msecs_to_jiffies(d->settle_ms);

	if (time_after_eq(jiffies, due))
		return true;
	look_later(ndev, due - jiffies);
	return false;
}

/* What the other rows say is done elsewhere */
static bool is_acted_on(const struct rhca_slot_facts *f,
			const struct rhca_slot_decision *d)
{
	switch (d->row) {
	case 8:		/* another driver's device displaces ours */
	case 13:	/* hardware serves */
	case 16:	/* ours stands in */
		return true;
	case 15:	/* software: hardware served, or cannot */
		return f->was_hardware || f->offer == RHCA_OFFER_FREE;
	default:
		return false;
	}
}

/* What is in the way comes to an end, or another driver's device does change */
static bool is_undecided(const struct net_device *ndev,
			 const struct rhca_slot_decision *d)
{
	if (d->again_ms)
		look_later(ndev, msecs_to_jiffies(d->again_ms));
	return d->again_ms || d->error == -EALREADY;
}

static void replace(struct net_device *ndev, const struct rhca_slot_facts *f,
		    const struct rhca_slot_decision *d)
{
	if (d->want == RHCA_WANT_NOTHING)
		give_way(ndev);
	else if (d->want == RHCA_WANT_HARDWARE && f->has == RHCA_HAS_SOFTWARE)
		take_over(ndev);
	else if (f->has != RHCA_HAS_NONE)
		return;
	else if (f->offer == RHCA_OFFER_FREE)
		create_by_offer(ndev);
	else
		stand_in(ndev);
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

/* Why hardware that offers to serve a netdev does not, once */
static void explain(struct net_device *ndev, const struct rhca_slot_facts *f,
		    const struct rhca_slot_decision *d)
{
	bool by_partitions = is_kept_by_partitions(f);
	bool by_other = d->row == 9 && f->has == RHCA_HAS_NONE &&
			f->offer == RHCA_OFFER_FREE;

	if (!(by_partitions || by_other) ||
	    rhca_slot_is_set(ndev, RHCA_SLOT_TOLD))
		return;
	rhca_slot_set(ndev, RHCA_SLOT_TOLD, true);
	if (by_partitions)
		pr_info("%s stays with software: hardware has no partitions but the default one\n",
			netdev_name(ndev));
	else
		create_by_offer(ndev);	/* is refused, in words */
}

static void apply(struct net_device *ndev)
{
	bool rule_due = rhca_slot_take(ndev, RHCA_SLOT_RULE_DUE);
	struct rhca_slot_decision d;
	struct rhca_slot_facts f;

	rhca_lag_apply(ndev);
	rhca_slot_look_at(ndev, rule_due, &f);
	rhca_slot_wants(&f, &d);
	if (!has_settled(ndev, &f, &d) || is_undecided(ndev, &d)) {
		if (rule_due)
			rhca_slot_set(ndev, RHCA_SLOT_RULE_DUE, true);
		return;
	}
	explain(ndev, &f, &d);
	if (rule_due && apply_rule(ndev, &f, &d))
		return;
	if (is_acted_on(&f, &d) && !rhca_slot_is_met(d.want, f.has))
		replace(ndev, &f, &d);
}

static bool is_concerned(const struct net_device *ndev)
{
	struct rhca_offer_state offer;

	return rhca_slot_is_set(ndev, RHCA_SLOT_DUE) ||
	       rhca_slot_may_stand_in(ndev) ||
	       (rhca_offers_exist() && rhca_offer_look(ndev, NULL, &offer));
}

static void note_kick(struct net_device *ndev)
{
	rhca_slot_set(ndev, RHCA_SLOT_KICKED, true);
}

static void act(struct work_struct *work)
{
	struct net_device *ndev;

	next_look = MAX_JIFFY_OFFSET;
	/* Here, where no rule is just being found to have missed */
	rhca_slot_look_anew(test_and_clear_bit(DEVICE_LOST, &happened));
	if (test_and_clear_bit(ALL_KICKED, &happened))
		rhca_netdev_walk(is_concerned, note_kick);
	while (READ_ONCE(running) && (ndev = rhca_slot_take_kicked())) {
		apply(ndev);
		dev_put(ndev);
	}
	/* Sooner if something has happened meanwhile */
	if (READ_ONCE(running) && next_look != MAX_JIFFY_OFFSET)
		queue_delayed_work(slots_wq, &act_work, next_look);
}

/**
 * rhca_slot_kick - Something has happened that may decide on a netdev's device
 * @ndev: the netdev; the caller has a reference or RTNL. NULL: it may be any
 *
 * Context: may sleep, unless @ndev is NULL; RTNL and locks of ib_core may be held.
 */
void rhca_slot_kick(const struct net_device *ndev)
{
	rhca_slot_look_soon();
	if (!READ_ONCE(running) || (ndev && !is_concerned(ndev)))
		return;
	if (ndev)
		rhca_slot_set(ndev, RHCA_SLOT_KICKED, true);
	else
		set_bit(ALL_KICKED, &happened);
	mod_delayed_work(slots_wq, &act_work, 0);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_kick);

/**
 * rhca_slot_device_lost - A device leaves, since a netdev of it went unnoticed
 *
 * Context: any.
 */
void rhca_slot_device_lost(void)
{
	set_bit(DEVICE_LOST, &happened);
	rhca_slot_kick(NULL);
}

/**
 * rhca_slot_apply_is_pending - Is there something that is not done yet?
 *
 * Context: any.
 */
bool rhca_slot_apply_is_pending(void)
{
	return delayed_work_pending(&act_work);
}

/**
 * rhca_slot_flush - Wait until what was kicked so far has been looked at
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_slot_flush(void)
{
	flush_delayed_work(&act_work);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_flush);

/* A netdev is absent while its adapter is suspended; that it is back is no event */
static int hear_of_resume(struct notifier_block *nb, unsigned long event,
			  void *data)
{
	if (event != PM_POST_SUSPEND && event != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	rhca_slot_kick(NULL);
	return NOTIFY_OK;
}

static void offers_changed(void)
{
	rhca_slot_kick(NULL);
}

static const struct rhca_offer_listener offer_listener = {
	.changed	= offers_changed,
	.withdrawn	= offer_withdrawn,
};

static struct notifier_block resume_nb = { .notifier_call = hear_of_resume };

/**
 * rhca_slot_apply_init - Begin to act
 * @backend: who serves what hardware does not
 * @busy: is there work left to do for who acts elsewhere? Finishes what is ready
 *
 * Return: 0 or -ENOMEM.
 */
int rhca_slot_apply_init(const struct rhca_backend_ops *backend,
			 bool (*busy)(void))
{
	software = backend;
	rhca_lag_init(backend, rhca_slot_kick);
	slots_wq = alloc_ordered_workqueue("roce_hca_slots", 0);
	if (!slots_wq)
		return -ENOMEM;
	rhca_slot_look_init(slots_wq, busy);
	WRITE_ONCE(running, true);
	/* Never fails */
	register_pm_notifier(&resume_nb);
	rhca_offers_listen(&offer_listener);
	return 0;
}

/**
 * rhca_slot_apply_stop - No device is made or removed any more
 *
 * Context: may sleep, RTNL not held. No offer is left, since those who made them need
 * this module.
 */
void rhca_slot_apply_stop(void)
{
	rhca_offers_listen(NULL);
	WRITE_ONCE(running, false);
	cancel_delayed_work_sync(&act_work);
	rhca_slot_look_stop();
}

/**
 * rhca_slot_apply_exit - Undo rhca_slot_apply_init(), when nothing kicks any more
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_slot_apply_exit(void)
{
	unregister_pm_notifier(&resume_nb);
	rhca_slot_apply_stop();
	destroy_workqueue(slots_wq);
}
