// SPDX-License-Identifier: GPL-2.0
/*
 * The table of decisions (slot_wants.c) beside the code that acts: after each event all
 * netdevs are looked at, and tracepoint rhca_slot_decide has what the table says. On
 * kernels that tests run on, a netdev that has something else when things have settled is
 * a fault in the log: either the table or the code is wrong.
 *
 * On others nothing is looked at unless the tracepoint is on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/kconfig.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <rhca/compat.h>
#include <rhca/trace.h>

#include "core/rules/netdev_walk.h"
#include "lifecycle/slot.h"
#include "lifecycle/slot_facts.h"
#include "lifecycle/slot_look.h"

#define INTERVAL	msecs_to_jiffies(300)	/* between two looks */
/* Looks in a row with the same facts, no event between and no work that waits */
#define SETTLED		6

static void look(struct work_struct *work);

static struct workqueue_struct *look_wq;
static DECLARE_DELAYED_WORK(look_work, look);
static atomic_t events = ATOMIC_INIT(0);
static bool comparing = IS_ENABLED(CONFIG_UML);
static bool running;

static bool (*code_is_busy)(void);
static unsigned int seen_events;	/* of this look; only look() uses both */
static bool again;

static bool of_interest(const struct rhca_slot_facts *f)
{
	return f->wish || f->has || f->leader || f->offer || f->lag ||
	       f->pair || f->standin_rule || f->was_hardware || f->returns;
}

static void trace(const struct net_device *ndev,
		  const struct rhca_slot_facts *f,
		  const struct rhca_slot_decision *d)
{
	const u8 facts[] = {
		f->has, f->netdev, f->wish, f->leader, f->offer, f->other,
		f->lag, f->pair,
	};

	trace_rhca_slot_decide(ndev->name, d->row, d->want, facts,
			       f->can_roce | f->standin_rule << 1 |
			       f->was_hardware << 2 | f->under_bond << 3 |
			       f->tenants << 4 | f->one_port << 5 |
			       f->ports_there << 6 | f->rxe_leaving << 7 |
			       f->returns << 8);
}

static void report(const struct net_device *ndev,
		   const struct rhca_slot_facts *f,
		   const struct rhca_slot_decision *d)
{
	pr_warn("WARNING: %s should have %d by row %u and has %d: netdev %d wish %d leader %d offer %d other %d lag %d pair %d can_roce %d standin_rule %d was_hardware %d under_bond %d tenants %d one_port %d ports_there %d rxe_leaving %d returns %d possible %d\n",
		netdev_name(ndev), d->want, d->row, f->has, f->netdev, f->wish,
		f->leader, f->offer, f->other, f->lag, f->pair, f->can_roce,
		f->standin_rule, f->was_hardware, f->under_bond, f->tenants,
		f->one_port, f->ports_there, f->rxe_leaving, f->returns,
		rhca_slot_facts_possible(f));
}

/* Once for each difference, when it has settled */
static void compare(const struct net_device *ndev,
		    const struct rhca_slot_facts *f,
		    const struct rhca_slot_decision *d)
{
	struct rhca_slot_seen seen = { .facts = *f, .events = seen_events };
	unsigned int times = rhca_slot_note_look(ndev, &seen);

	again |= times < SETTLED;
	if (times == SETTLED)
		report(ndev, f, d);
}

static bool is_right(const struct net_device *ndev,
		     const struct rhca_slot_facts *f,
		     const struct rhca_slot_decision *d)
{
	if (rhca_slot_is_met(d->want, f->has) && rhca_slot_facts_possible(f))
		return true;
	return rhca_slot_is_set(ndev, RHCA_SLOT_FAILED);
}

static void look_at(struct net_device *ndev)
{
	struct rhca_slot_decision d;
	struct rhca_slot_facts f;

	rhca_slot_look_at(ndev, RHCA_WISH_NONE, &f);
	rhca_slot_wants(&f, &d);
	if (of_interest(&f))
		trace(ndev, &f, &d);
	if (READ_ONCE(comparing) && !is_right(ndev, &f, &d))
		compare(ndev, &f, &d);
}

static bool any(const struct net_device *ndev)
{
	return true;
}

/* What was seen while work waits counts as another event */
static void look(struct work_struct *work)
{
	if (!READ_ONCE(running))
		return;
	if (code_is_busy())
		atomic_inc(&events);
	seen_events = atomic_read(&events);
	again = false;
	rhca_netdev_walk(any, look_at);
	if (again)
		queue_delayed_work(look_wq, &look_work, INTERVAL);
}

/**
 * rhca_slot_look_soon - Something has happened that may decide on a netdev's device
 *
 * Context: any.
 */
void rhca_slot_look_soon(void)
{
	if (!READ_ONCE(running) ||
	    !(READ_ONCE(comparing) || trace_rhca_slot_decide_enabled()))
		return;
	atomic_inc(&events);
	queue_delayed_work(look_wq, &look_work, INTERVAL);
}

/**
 * rhca_slot_compare - Shall a difference be a fault?
 * @compare: KUnit makes devices that nobody has asked for, so it is not there
 */
void rhca_slot_compare(bool compare)
{
	WRITE_ONCE(comparing, compare && IS_ENABLED(CONFIG_UML));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_compare);

/**
 * rhca_slot_look_init - Begin to look
 * @wq: the queue on which netdevs get their devices; outlives rhca_slot_look_stop()
 * @busy: is there work left to do for who acts? Finishes what is ready
 */
void rhca_slot_look_init(struct workqueue_struct *wq, bool (*busy)(void))
{
	code_is_busy = busy;
	look_wq = wq;
	WRITE_ONCE(running, true);
}

/**
 * rhca_slot_look_stop - Look no more
 *
 * Context: may sleep, RTNL not held.
 */
void rhca_slot_look_stop(void)
{
	WRITE_ONCE(running, false);
	cancel_delayed_work_sync(&look_work);
}
