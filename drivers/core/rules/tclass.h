/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rules that force the traffic class of connections by their addresses: the administrator's text,
 * and which rule applies.
 */
#ifndef RHCA_CORE_RULES_TCLASS_H
#define RHCA_CORE_RULES_TCLASS_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

#define RHCA_MAX_TCLASS_RULES	40	/* as in the vendor's driver */
#define RHCA_TCLASS_OFF		(-1)

/* The class of matching connections; of all if by neither source nor destination */
struct rhca_tclass_rule {
	s16		tclass;		/* 0 to 255, or RHCA_TCLASS_OFF to remove the rule */
	bool		by_source;	/* match @source */
	bool		by_dest;	/* match the first @dest_bits of @dest */
	u8		dest_bits;	/* of 128 */
	union ib_gid	source;		/* an IPv4 address is mapped: ::ffff:a.b.c.d */
	union ib_gid	dest;		/* likewise; bits beyond @dest_bits are 0 */
};

/* The rules of a port */
struct rhca_tclass_table {
	int			global;		/* class of all connections, or RHCA_TCLASS_OFF */
	u32			num_rules;
	/* The first match applies, so more specific ones precede */
	struct rhca_tclass_rule	rules[RHCA_MAX_TCLASS_RULES];
};

int rhca_tclass_parse(const char *text, struct rhca_tclass_rule *rule);
int rhca_tclass_apply(struct rhca_tclass_table *table,
		      const struct rhca_tclass_rule *rule);
int rhca_tclass_find(const struct rhca_tclass_table *table,
		     const union ib_gid *source, const union ib_gid *dest);
ssize_t rhca_tclass_emit(const struct rhca_tclass_table *table, char *buf);

#endif
