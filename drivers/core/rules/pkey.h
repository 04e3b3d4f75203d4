/* SPDX-License-Identifier: GPL-2.0 */
/* Partitions, IBTA vol. 1, 10.9: P_Key tables, and who may talk to whom. */
#ifndef RHCA_CORE_RULES_PKEY_H
#define RHCA_CORE_RULES_PKEY_H

#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>

#define RHCA_NUM_PKEYS	128	/* as ConnectX has; one for each GID */

#define RHCA_PKEY_FULL	BIT(15)		/* full membership, else limited */
#define RHCA_PKEY_BASE	GENMASK(14, 0)	/* the partition; 0 is invalid */

/**
 * struct rhca_pkey_table - P_Keys of a port. Immutable once published
 * @num: all entries from here on are invalid
 * @key: 0 is an entry that is not used
 */
struct rhca_pkey_table {
	u16 num;
	u16 key[RHCA_NUM_PKEYS];
};

/**
 * struct rhca_pkey_violation - What is told of a packet, as trap 257 would
 * @pkey: of the packet
 * @qpn: that it was for
 * @sgid: where it came from
 * @dgid: where it went
 */
struct rhca_pkey_violation {
	u16 pkey;
	u32 qpn;
	union ib_gid sgid;
	union ib_gid dgid;
};

/**
 * struct rhca_pkeys - Partitions of a port
 * @lock: serialises writers of @table
 * @frozen: how many look at the table, or have copied it, for a port that is to take
 *	this one's place: nothing is written meanwhile
 * @table: read under RCU
 * @report: tells of @violation
 * @reporting: bit 0: @violation is being told of, and @report owns it; else the
 *	packet that sets the bit does
 * @reported: when the last report was made, in jiffies
 * @violation: the first since then
 */
struct rhca_pkeys {
	struct mutex lock;		/* protects: */
	unsigned int frozen;
	struct rhca_pkey_table __rcu *table;	/* writes */

	struct delayed_work report;
	unsigned long reporting;
	unsigned long reported;
	struct rhca_pkey_violation violation;
};

static inline bool rhca_pkey_valid(u16 pkey)
{
	return pkey & RHCA_PKEY_BASE;
}

/* 10.9.3: one partition, and not two limited members of it */
static inline bool rhca_pkeys_match(u16 a, u16 b)
{
	return rhca_pkey_valid(a) && !((a ^ b) & RHCA_PKEY_BASE) &&
	       ((a | b) & RHCA_PKEY_FULL);
}

/* RCU read side; 0, which matches nothing, for what is not in the table */
static inline u16 rhca_pkey_at(const struct rhca_pkeys *pkeys, u16 index)
{
	const struct rhca_pkey_table *table = rcu_dereference(pkeys->table);

	return index < RHCA_NUM_PKEYS ? table->key[index] : 0;
}

bool rhca_pkeys_part_tenants(const struct rhca_pkey_table *table);
int rhca_pkey_find(const struct rhca_pkeys *pkeys, u16 pkey);
int rhca_pkey_table_edit(struct rhca_pkey_table *table, const char *text);

#endif
