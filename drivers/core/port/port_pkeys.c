// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions. QPs name an index of the port's table and read it there for each packet, so a change
 * takes effect at once.
 *
 * RoCE has no subnet manager: the administrator writes the table and gets a uevent for violations.
 * IBTA reports those in a trap to the subnet manager, 10.9.4, and not to the owner of the QP. The
 * nearest event of verbs, an access violation, means that the QP is lost: a peer must not be able
 * to raise it with a foreign P_Key.
 */
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <rdma/ib_mad.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/port/offer.h"
#include "core/port/device_types.h"
#include "core/port/port.h"
#include "core/port/port_pkeys.h"
#include "core/rules/pkey.h"

#define REPORT_PAUSE	(1 * HZ)	/* minimum between two reports of a port */

static const struct rhca_pkey_table default_table = {
	.num = 1,
	.key = { IB_DEFAULT_PKEY_FULL },
};

static void report_violation(struct work_struct *work);

/*
 * Give a port a copy of @initial; NULL: full membership in the default partition. Returns 0 or
 * -ENOMEM.
 */
int rhca_pkeys_init(struct rhca_port *port,
		    const struct rhca_pkey_table *initial)
{
	struct rhca_pkeys *pkeys = &port->pkeys;
	struct rhca_pkey_table *table;

	table = kmemdup(initial ?: &default_table, sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	mutex_init(&pkeys->lock);
	INIT_DELAYED_WORK(&pkeys->report, report_violation);
	pkeys->reported = jiffies - REPORT_PAUSE;
	RCU_INIT_POINTER(pkeys->table, table);
	return 0;
}

/* Undo rhca_pkeys_init() after the last packet */
void rhca_pkeys_exit(struct rhca_port *port)
{
	cancel_delayed_work_sync(&port->pkeys.report);
	kfree(rcu_dereference_protected(port->pkeys.table, true));
}

/**
 * rhca_pkeys_freeze - Forbid or allow writes to the tables of a device's ports
 * @dev: the device
 * @frozen: true: forbid; false: undo one such call
 *
 * Calls nest, since several tasks may be checking whether to replace the device.
 *
 * Context: may sleep; RTNL may be held.
 */
void rhca_pkeys_freeze(struct rhca_dev *dev, bool frozen)
{
	struct rhca_pkeys *pkeys;
	u32 i;

	for (i = 0; i < dev->num_ports; i++) {
		pkeys = &dev->ports[i].pkeys;
		mutex_lock(&pkeys->lock);
		pkeys->frozen += frozen ? 1 : -1;
		mutex_unlock(&pkeys->lock);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pkeys_freeze);

/**
 * rhca_pkeys_copy - Copy the table of a port, for a port that replaces it
 * @port: the port
 * @to: filled in
 */
void rhca_pkeys_copy(struct rhca_port *port, struct rhca_pkey_table *to)
{
	rcu_read_lock();
	*to = *rcu_dereference(port->pkeys.table);
	rcu_read_unlock();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pkeys_copy);

/* --- the file ------------------------------------------------------------------ */

static int edit(struct rhca_port *port, struct rhca_pkey_table *table, const char *text)
{
	const struct rhca_backend_ops *backend = port->dev->backend;
	int ret;

	lockdep_assert_held(&port->pkeys.lock);
	if (port->pkeys.frozen)
		return -EBUSY;
	ret = rhca_pkey_table_edit(table, text);
	if (!ret && backend->pkeys_check)
		ret = backend->pkeys_check(port, table);
	return ret;
}

/**
 * rhca_pkeys_store - Write partitions/N/pkeys
 * @port: the port
 * @text: lines
 *
 * When it returns, every packet is sent and checked with the new table; ib_core and its
 * users get an event later.
 *
 * Context: may sleep.
 * Return: as rhca_pkey_table_edit(), -EBUSY while another device is replacing it,
 * -EOPNOTSUPP where the backend has no such partitions, or -ENOMEM.
 */
int rhca_pkeys_store(struct rhca_port *port, const char *text)
{
	struct rhca_pkeys *pkeys = &port->pkeys;
	struct rhca_pkey_table *table, *old;
	bool recheck = false;
	int ret;

	table = kmalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	mutex_lock(&pkeys->lock);
	old = rcu_dereference_protected(pkeys->table,
					lockdep_is_held(&pkeys->lock));
	*table = *old;
	ret = edit(port, table, text);
	if (!ret) {
		/* Readers see the old table or the new one, never a partial write */
		rcu_assign_pointer(pkeys->table, table);
		/* Hardware may serve a port that is back to the default partition */
		recheck = rhca_pkeys_has_partitions(old) && !rhca_pkeys_has_partitions(table);
	}
	mutex_unlock(&pkeys->lock);
	if (ret) {
		kfree(table);
		return ret;
	}
	synchronize_rcu();
	kfree(old);
	rhca_port_event(port, IB_EVENT_PKEY_CHANGE);
	if (recheck)
		rhca_offers_recheck();
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pkeys_store);

ssize_t rhca_pkeys_show(struct rhca_port *port, char *buf)
{
	const struct rhca_pkey_table *table;
	ssize_t len = 0;
	int i;

	rcu_read_lock();
	table = rcu_dereference(port->pkeys.table);
	for (i = 0; i < table->num; i++)
		if (table->key[i])
			len += sysfs_emit_at(buf, len, "%d 0x%04x\n", i,
					     table->key[i]);
	rcu_read_unlock();
	return len;
}

/* --- violations ---------------------------------------------------------------- */

static void send_uevent(struct rhca_port *port,
			const struct rhca_pkey_violation *violation)
{
	char text[6][48], *env[ARRAY_SIZE(text) + 1] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(text); i++)
		env[i] = text[i];
	snprintf(text[0], sizeof(text[0]), "EVENT=PKEY_VIOLATION");
	snprintf(text[1], sizeof(text[1]), "PORT=%u", port->num);
	snprintf(text[2], sizeof(text[2]), "PKEY=0x%04x", violation->pkey);
	snprintf(text[3], sizeof(text[3]), "QPN=0x%06x", violation->qpn);
	snprintf(text[4], sizeof(text[4]), "SGID=%pI6", violation->sgid.raw);
	snprintf(text[5], sizeof(text[5]), "DGID=%pI6", violation->dgid.raw);
	kobject_uevent_env(&port->dev->ibdev.dev.kobj, KOBJ_CHANGE, env);
}

static void report_violation(struct work_struct *work)
{
	struct rhca_port *port = container_of(to_delayed_work(work),
					      struct rhca_port, pkeys.report);

	send_uevent(port, &port->pkeys.violation);
	port->pkeys.reported = jiffies;
	clear_bit_unlock(0, &port->pkeys.reporting);
}

/**
 * rhca_pkey_violated - A packet was dropped for its P_Key
 * @port: that received it
 * @violation: its details
 *
 * Counts it for the port's attributes. Sends a uevent for the first one, and at most one a
 * second while more arrive.
 *
 * Context: receive softirq.
 */
void rhca_pkey_violated(struct rhca_port *port,
			const struct rhca_pkey_violation *violation)
{
	struct rhca_pkeys *pkeys = &port->pkeys;
	unsigned long due;

	atomic_add_unless(&port->pkey_violations, 1, U16_MAX);
	if (test_bit(0, &pkeys->reporting) ||
	    test_and_set_bit_lock(0, &pkeys->reporting))
		return;
	pkeys->violation = *violation;
	due = pkeys->reported + REPORT_PAUSE;
	schedule_delayed_work(&pkeys->report, time_in_range(jiffies, pkeys->reported, due) ?
			      due - jiffies : 0);
}
