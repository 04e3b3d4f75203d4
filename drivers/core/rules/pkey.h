/* SPDX-License-Identifier: GPL-2.0 */
/* Partitions, IBTA vol. 1, 10.9: P_Key tables, and which keys match. */
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

/* P_Keys of a port. Immutable once published */
struct rhca_pkey_table {
	u16 num;			/* entries from here on are invalid */
	u16 key[RHCA_NUM_PKEYS];	/* 0: the entry is not used */
};

/* Details of a violation, as in trap 257 */
struct rhca_pkey_violation {
	u16 pkey;		/* of the packet */
	u32 qpn;		/* its destination QP */
	union ib_gid sgid;	/* its source */
	union ib_gid dgid;	/* its destination */
};

/* Partitions of a port */
struct rhca_pkeys {
	struct mutex lock;			/* protects: */
	/*
	 * Number of tasks that have copied the table, or are checking it, to replace the port; no
	 * writes meanwhile
	 */
	unsigned int frozen;
	struct rhca_pkey_table __rcu *table;	/* for writers; readers use RCU */

	struct delayed_work report;		/* reports @violation */
	/* Bit 0: @report owns @violation; else the packet that sets the bit does */
	unsigned long reporting;
	unsigned long reported;			/* time of the last report, in jiffies */
	struct rhca_pkey_violation violation;	/* the first since then */
};

static inline bool rhca_pkey_valid(u16 pkey)
{
	return pkey & RHCA_PKEY_BASE;
}

/* 10.9.3: same partition, and not both limited members */
static inline bool rhca_pkeys_match(u16 a, u16 b)
{
	return rhca_pkey_valid(a) && !((a ^ b) & RHCA_PKEY_BASE) &&
	       ((a | b) & RHCA_PKEY_FULL);
}

/* RCU read side. Returns 0, which matches nothing, beyond the table */
static inline u16 rhca_pkey_at(const struct rhca_pkeys *pkeys, u16 index)
{
	const struct rhca_pkey_table *table = rcu_dereference(pkeys->table);

	return index < RHCA_NUM_PKEYS ? table->key[index] : 0;
}

bool rhca_pkeys_has_partitions(const struct rhca_pkey_table *table);
int rhca_pkey_find(const struct rhca_pkeys *pkeys, u16 pkey);
int rhca_pkey_table_edit(struct rhca_pkey_table *table, const char *text);

#endif
