// SPDX-License-Identifier: GPL-2.0
/* P_Key tables: parsing of writes, and lookup for packets. */
#include <linux/ctype.h>
#include <linux/string.h>
#include <rdma/ib_mad.h>
#include <rhca/compat.h>

#include "core/rules/pkey.h"

#define LINE_CHARS	32		/* "127 0xffff" with room for blanks */

/**
 * rhca_pkeys_has_partitions - Are there partitions other than the default one?
 * @table: of a port
 *
 * Return: whether it differs from the initial table of every port.
 */
bool rhca_pkeys_has_partitions(const struct rhca_pkey_table *table)
{
	return table->num != 1 || table->key[0] != IB_DEFAULT_PKEY_FULL;
}
RHCA_EXPORT(rhca_pkeys_has_partitions);

/**
 * rhca_pkey_find - Find the entry that admits a packet to QP1
 * @pkeys: of the port
 * @pkey: of the packet
 *
 * If the port is both full and limited member of a partition, the full entry is returned, as
 * ib_core's own lookup does: the response is sent with it.
 *
 * Context: RCU read side.
 * Return: the index, or -ENOENT.
 */
int rhca_pkey_find(const struct rhca_pkeys *pkeys, u16 pkey)
{
	const struct rhca_pkey_table *table = rcu_dereference(pkeys->table);
	int limited = -ENOENT;
	int i;

	for (i = 0; i < table->num; i++) {
		if (!rhca_pkeys_match(table->key[i], pkey))
			continue;
		if (table->key[i] & RHCA_PKEY_FULL)
			return i;
		limited = i;
	}
	return limited;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pkey_find);

/* P_Keys are hexadecimal and need 0x: 8001 alone would be ambiguous */
static int parse_pkey(const char *text, u16 *pkey)
{
	if (strcmp(text, "0") && strncasecmp(text, "0x", 2))
		return -EINVAL;
	if (kstrtou16(text, 0, pkey))
		return -EINVAL;
	return *pkey && !rhca_pkey_valid(*pkey) ? -EINVAL : 0;
}

/* "INDEX PKEY"; ignores blank lines */
static int edit_line(struct rhca_pkey_table *table, char *line)
{
	char *index_text = strim(line);
	char *pkey_text = index_text + strcspn(index_text, " \t");
	u16 index, pkey;

	if (!*index_text)
		return 0;
	if (!*pkey_text)
		return -EINVAL;
	*pkey_text++ = 0;
	if (kstrtou16(index_text, 10, &index) || index >= RHCA_NUM_PKEYS ||
	    parse_pkey(skip_spaces(pkey_text), &pkey))
		return -EINVAL;
	table->key[index] = pkey;
	return 0;
}

/* Clearing one entry must be enough to leave a partition */
static int check_unique(const struct rhca_pkey_table *table)
{
	int i, k;

	for (i = 1; i < table->num; i++)
		for (k = 0; k < i; k++)
			if (table->key[i] && table->key[i] == table->key[k])
				return -EEXIST;
	return 0;
}

/*
 * Apply text written to the file to a copy of the table, which is invalid after an error. @text:
 * lines; a comma separates as well, since a shell's printf may write line by line. The same key at
 * two indices is refused; full and limited membership of a partition are two keys, 10.9.2. Returns
 * 0; -EINVAL for a malformed line, an index beyond the table or a key without a partition; -EEXIST
 * for a duplicate key.
 */
int rhca_pkey_table_edit(struct rhca_pkey_table *table, const char *text)
{
	char line[LINE_CHARS];
	size_t chars;
	int ret;

	while (*text) {
		chars = strcspn(text, "\n,");
		if (chars >= sizeof(line))
			return -EINVAL;
		memcpy(line, text, chars);
		line[chars] = 0;
		ret = edit_line(table, line);
		if (ret)
			return ret;
		text += chars + !!text[chars];
	}
	table->num = RHCA_NUM_PKEYS;
	while (table->num && !table->key[table->num - 1])
		table->num--;
	return check_unique(table);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pkey_table_edit);
