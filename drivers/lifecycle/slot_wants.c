// SPDX-License-Identifier: GPL-2.0
/*
 * Which RDMA device a netdev should have, as a table. Documentation/lifecycle.rst explains the
 * order of its rows.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <rhca/compat.h>

#include "lifecycle/slot_wants.h"

/*
 * When a driver is rebound or a firmware restarts, its device is back within this time: wait, so
 * that a program does not get two devices in a row.
 */
#define SETTLE_MS	1000
/* ib_core binds a device to its netdev before clients see it: look again after this time */
#define CHANGING_MS	1000
/* The exit of rdma_rxe unregisters devices one by one: look again after this time */
#define UNLOADING_MS	200

static bool gives_way(const struct rhca_slot_facts *f)
{
	return f->standin_rule || f->was_hardware;
}

static bool stands_for_others(const struct rhca_slot_facts *f)
{
	return f->lag == RHCA_SLOT_LAG_HERE || f->pair == RHCA_PAIR_USABLE;
}

/* --- conditions, in the order of the table ---------------------------------------- */

static bool netdev_gone(const struct rhca_slot_facts *f)
{
	return f->netdev == RHCA_NETDEV_GONE || f->has == RHCA_HAS_ORPHAN;
}

static bool cannot_roce(const struct rhca_slot_facts *f)
{
	return !f->can_roce;
}

static bool asked_for_twice(const struct rhca_slot_facts *f)
{
	return f->request && (f->has != RHCA_HAS_NONE ||
			      f->leader == RHCA_LEADER_DEVICE);
}

static bool user_removed(const struct rhca_slot_facts *f)
{
	return f->wish == RHCA_WISH_REMOVED && f->lag != RHCA_SLOT_LAG_HERE;
}

static bool is_led(const struct rhca_slot_facts *f)
{
	return f->lag == RHCA_SLOT_LAG_MEMBER || f->leader != RHCA_LEADER_NONE;
}

static bool lag_has_ended(const struct rhca_slot_facts *f)
{
	return f->has == RHCA_HAS_LAG && !stands_for_others(f);
}

static bool other_changes(const struct rhca_slot_facts *f)
{
	return f->other == RHCA_OTHER_CHANGING;
}

static bool other_displaces(const struct rhca_slot_facts *f)
{
	return f->other == RHCA_OTHER_SERVES && gives_way(f);
}

static bool beside_other(const struct rhca_slot_facts *f)
{
	return f->other == RHCA_OTHER_SERVES;
}

static bool rxe_leaves(const struct rhca_slot_facts *f)
{
	return f->rxe_leaving;
}

static bool hardware_serves(const struct rhca_slot_facts *f)
{
	return f->has == RHCA_HAS_HARDWARE && f->offer != RHCA_OFFER_NONE;
}

static bool hardware_can(const struct rhca_slot_facts *f)
{
	return f->offer == RHCA_OFFER_FREE && f->one_port && !f->tenants;
}

static bool hardware_ends(const struct rhca_slot_facts *f)
{
	return f->offer == RHCA_OFFER_BUSY && f->one_port && !f->tenants;
}

static bool is_wanted(const struct rhca_slot_facts *f)
{
	return f->wish == RHCA_WISH_LINK ||
	       (f->wish == RHCA_WISH_RULE && f->ports_there) ||
	       f->returns || f->offer == RHCA_OFFER_FAILED ||
	       (f->offer == RHCA_OFFER_FREE && f->tenants);
}

static bool stands_in(const struct rhca_slot_facts *f)
{
	return gives_way(f) && f->netdev == RHCA_NETDEV_UP && !f->under_bond;
}

static bool otherwise(const struct rhca_slot_facts *f)
{
	return true;
}

/* --- the table -------------------------------------------------------------------- */

struct row {
	bool (*matches)(const struct rhca_slot_facts *f);
	enum rhca_want want;
	int error;
	unsigned int settle_ms;
	unsigned int again_ms;
};

/* The first row that matches counts. Columns: condition, decision, result of a request, delays */
static const struct row table[] = {
	[RHCA_ROW_NETDEV_GONE]		= { netdev_gone, RHCA_WANT_NOTHING, -ENODEV },
	[RHCA_ROW_NO_ROCE]		= { cannot_roce, RHCA_WANT_NOTHING, -EINVAL },
	[RHCA_ROW_ASKED_TWICE]		= { asked_for_twice, RHCA_WANT_KEEP, -EEXIST },
	[RHCA_ROW_USER_REMOVED]		= { user_removed, RHCA_WANT_NOTHING },
	[RHCA_ROW_LED]			= { is_led, RHCA_WANT_NOTHING, -EBUSY },
	[RHCA_ROW_LAG_ENDED]		= { lag_has_ended, RHCA_WANT_NOTHING },
	[RHCA_ROW_OTHER_CHANGES]	= { other_changes, RHCA_WANT_KEEP, -EBUSY, 0, CHANGING_MS },
	[RHCA_ROW_OTHER_DISPLACES]	= { other_displaces, RHCA_WANT_NOTHING, -EBUSY },
	[RHCA_ROW_BESIDE_OTHER]		= { beside_other, RHCA_WANT_KEEP, -EBUSY },
	[RHCA_ROW_RXE_LEAVES]		= { rxe_leaves, RHCA_WANT_KEEP, -EBUSY, 0, UNLOADING_MS },
	[RHCA_ROW_LAG]			= { stands_for_others, RHCA_WANT_LAG },
	[RHCA_ROW_HARDWARE_SERVES]	= { hardware_serves, RHCA_WANT_KEEP },
	[RHCA_ROW_HARDWARE]		= { hardware_can, RHCA_WANT_HARDWARE },
	[RHCA_ROW_HARDWARE_ENDS]	= { hardware_ends, RHCA_WANT_KEEP, -EALREADY },
	[RHCA_ROW_WANTED]		= { is_wanted, RHCA_WANT_SOFTWARE },
	[RHCA_ROW_STANDS_IN]		= { stands_in, RHCA_WANT_SOFTWARE, 0, SETTLE_MS },
	[RHCA_ROW_MAY_STAND_IN]		= { gives_way, RHCA_WANT_KEEP },
	[RHCA_ROW_OTHERWISE]		= { otherwise, RHCA_WANT_KEEP },
};

/* Decide on a netdev's device. Any context; no side effects. */
void rhca_slot_wants(const struct rhca_slot_facts *f,
		     struct rhca_slot_decision *d)
{
	const struct row *row = &table[RHCA_ROW_NETDEV_GONE];

	while (!row->matches(f))
		row++;
	d->want = row->want;
	d->row = row - table;
	d->error = row->error;
	d->settle_ms = row->settle_ms;
	/* Let hardware return before software replaces it; a request does not wait */
	if (d->want == RHCA_WANT_SOFTWARE && gives_way(f) && !f->request)
		d->settle_ms = SETTLE_MS;
	d->again_ms = row->again_ms;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_wants);

/* Does a netdev have what it should? Yes while a device ends, as that end is an event. */
bool rhca_slot_is_met(enum rhca_want want, enum rhca_slot_has has)
{
	static const enum rhca_slot_has wanted[] = {
		[RHCA_WANT_NOTHING]	= RHCA_HAS_NONE,
		[RHCA_WANT_SOFTWARE]	= RHCA_HAS_SOFTWARE,
		[RHCA_WANT_HARDWARE]	= RHCA_HAS_HARDWARE,
		[RHCA_WANT_LAG]		= RHCA_HAS_LAG,
	};

	return want == RHCA_WANT_KEEP || has == RHCA_HAS_LEAVING ||
	       has == wanted[want];
}
EXPORT_SYMBOL_IF_KUNIT(rhca_slot_is_met);
