// SPDX-License-Identifier: GPL-2.0
/*
 * Rules for the traffic class, one per line:
 *   [tclass=]N[,src_ip=A][,dst_ip=A[/BITS]]
 *   [tclass=]N[,src_ip6=A][,dst_ip6=A]
 * N is -1 to 255; a line without addresses sets the class of all connections.
 */
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <rhca/compat.h>

#include "core/rules/tclass.h"
#include "wire/encap.h"

#define LINE_CHARS	160	/* longest line that makes sense, with spare */
#define IPV4_BITS	32
#define GID_BITS	128
#define MAPPED_BITS	(GID_BITS - IPV4_BITS)	/* ::ffff:0:0/96 */

static struct in6_addr *in6(const union ib_gid *gid)
{
	return (struct in6_addr *)gid->raw;
}

/* --- parsing ------------------------------------------------------------------ */

static int parse_class(struct rhca_tclass_rule *rule, char *text, bool ipv6)
{
	int tclass;

	if (kstrtoint(text, 0, &tclass) || tclass < RHCA_TCLASS_OFF ||
	    tclass > U8_MAX)
		return -EINVAL;
	rule->tclass = tclass;
	return 0;
}

/* RoCE over IPv6 cannot have a mapped address */
static int parse_address(const char *text, bool ipv6, union ib_gid *gid)
{
	const char *end;
	__be32 addr;

	if (ipv6)
		return in6_pton(text, -1, gid->raw, -1, &end) && !*end &&
		       !rhca_gid_is_ipv4(gid) ? 0 : -EINVAL;
	if (!in4_pton(text, -1, (u8 *)&addr, -1, &end) || *end)
		return -EINVAL;
	ipv6_addr_set_v4mapped(addr, in6(gid));
	return 0;
}

static int parse_source(struct rhca_tclass_rule *rule, char *text, bool ipv6)
{
	rule->by_source = true;
	return parse_address(text, ipv6, &rule->source);
}

static int parse_dest(struct rhca_tclass_rule *rule, char *text, bool ipv6)
{
	char *address = ipv6 ? text : strsep(&text, "/");
	u8 bits = ipv6 ? GID_BITS : IPV4_BITS;
	union ib_gid dest;

	if (!ipv6 && text && (kstrtou8(text, 10, &bits) || bits > IPV4_BITS))
		return -EINVAL;
	if (parse_address(address, ipv6, &dest))
		return -EINVAL;
	rule->by_dest = true;
	rule->dest_bits = ipv6 ? bits : MAPPED_BITS + bits;
	ipv6_addr_prefix(in6(&rule->dest), in6(&dest), rule->dest_bits);
	return 0;
}

enum rule_key {
	KEY_CLASS,
	KEY_SOURCE_IPV4,
	KEY_DEST_IPV4,
	KEY_SOURCE_IPV6,
	KEY_DEST_IPV6,
	NUM_KEYS,
};

#define IPV4_KEYS	(BIT(KEY_SOURCE_IPV4) | BIT(KEY_DEST_IPV4))
#define IPV6_KEYS	(BIT(KEY_SOURCE_IPV6) | BIT(KEY_DEST_IPV6))

static const struct {
	const char *name;
	int (*parse)(struct rhca_tclass_rule *rule, char *text, bool ipv6);
	bool ipv6;
} keys[NUM_KEYS] = {
	[KEY_CLASS]		= { "tclass",	parse_class },
	[KEY_SOURCE_IPV4]	= { "src_ip",	parse_source },
	[KEY_DEST_IPV4]		= { "dst_ip",	parse_dest },
	[KEY_SOURCE_IPV6]	= { "src_ip6",	parse_source, true },
	[KEY_DEST_IPV6]		= { "dst_ip6",	parse_dest, true },
};

static int find_key(const char *name)
{
	int key;

	for (key = 0; key < NUM_KEYS; key++)
		if (!strcmp(keys[key].name, name))
			return key;
	return -EINVAL;
}

/* "key=value"; a value alone is the class */
static int parse_item(struct rhca_tclass_rule *rule, char *item, u32 *seen)
{
	char *name = strsep(&item, "=");
	int key = item ? find_key(name) : KEY_CLASS;

	if (key < 0 || (*seen & BIT(key)))
		return -EINVAL;
	*seen |= BIT(key);
	return keys[key].parse(rule, item ?: name, keys[key].ipv6);
}

/*
 * Parse a rule: one line, perhaps with a newline. Returns 0; -EINVAL if it is malformed, has a key
 * twice or mixes IPv4 and IPv6; @rule is invalid then.
 */
int rhca_tclass_parse(const char *text, struct rhca_tclass_rule *rule)
{
	char line[LINE_CHARS], *rest = line, *item;
	ssize_t len = strscpy(line, text, sizeof(line));
	u32 seen = 0;

	if (len < 0)
		return -EINVAL;
	if (len && line[len - 1] == '\n')
		line[len - 1] = 0;
	if (strchr(line, '\n'))
		return -EINVAL;
	memset(rule, 0, sizeof(*rule));
	while ((item = strsep(&rest, ",")))
		if (parse_item(rule, item, &seen))
			return -EINVAL;
	if (!(seen & BIT(KEY_CLASS)) ||
	    ((seen & IPV4_KEYS) && (seen & IPV6_KEYS)))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_tclass_parse);

/* --- the table ------------------------------------------------------------- */

static bool same_match(const struct rhca_tclass_rule *a,
		       const struct rhca_tclass_rule *b)
{
	return a->by_source == b->by_source && a->by_dest == b->by_dest &&
	       a->dest_bits == b->dest_bits &&
	       rhca_gid_equal(&a->source, &b->source) &&
	       rhca_gid_equal(&a->dest, &b->dest);
}

/* Rules with both addresses precede those with the destination only, then the source only */
static int rank(const struct rhca_tclass_rule *rule)
{
	if (rule->by_dest)
		return rule->by_source ? 0 : 1;
	return 2;
}

static bool goes_before(const struct rhca_tclass_rule *a,
			const struct rhca_tclass_rule *b)
{
	if (rank(a) != rank(b))
		return rank(a) < rank(b);
	return a->dest_bits > b->dest_bits;
}

static struct rhca_tclass_rule *find_same(struct rhca_tclass_table *table,
					  const struct rhca_tclass_rule *rule)
{
	u32 i;

	for (i = 0; i < table->num_rules; i++)
		if (same_match(&table->rules[i], rule))
			return &table->rules[i];
	return NULL;
}

static int remove_rule(struct rhca_tclass_table *table,
		       struct rhca_tclass_rule *rule)
{
	const struct rhca_tclass_rule *end = &table->rules[table->num_rules];

	if (!rule)
		return -ENOENT;
	memmove(rule, rule + 1, (end - (rule + 1)) * sizeof(*rule));
	table->num_rules--;
	return 0;
}

static int insert_rule(struct rhca_tclass_table *table,
		       const struct rhca_tclass_rule *rule)
{
	u32 at = 0;

	if (table->num_rules >= RHCA_MAX_TCLASS_RULES)
		return -ENOMEM;
	while (at < table->num_rules && !goes_before(rule, &table->rules[at]))
		at++;
	memmove(&table->rules[at + 1], &table->rules[at],
		(table->num_rules - at) * sizeof(*rule));
	table->rules[at] = *rule;
	table->num_rules++;
	return 0;
}

/*
 * Add, change or remove a rule. Returns 0; -ENOMEM if the table is full, -ENOENT if there is none
 * to remove: nothing is changed then.
 */
int rhca_tclass_apply(struct rhca_tclass_table *table,
		      const struct rhca_tclass_rule *rule)
{
	struct rhca_tclass_rule *same;

	if (!rule->by_source && !rule->by_dest) {
		table->global = rule->tclass;
		return 0;
	}
	same = find_same(table, rule);
	if (rule->tclass == RHCA_TCLASS_OFF)
		return remove_rule(table, same);
	if (!same)
		return insert_rule(table, rule);
	same->tclass = rule->tclass;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_tclass_apply);

static bool matches(const struct rhca_tclass_rule *rule,
		    const union ib_gid *source, const union ib_gid *dest)
{
	return (!rule->by_source || rhca_gid_equal(&rule->source, source)) &&
	       (!rule->by_dest ||
		ipv6_prefix_equal(in6(&rule->dest), in6(dest),
				  rule->dest_bits));
}

/*
 * Find the class forced on a connection. @table: the rules of its port. Returns 0 to 255, or
 * RHCA_TCLASS_OFF.
 */
int rhca_tclass_find(const struct rhca_tclass_table *table,
		     const union ib_gid *source, const union ib_gid *dest)
{
	u32 i;

	if (table->global != RHCA_TCLASS_OFF)
		return table->global;
	for (i = 0; i < table->num_rules; i++)
		if (matches(&table->rules[i], source, dest))
			return table->rules[i].tclass;
	return RHCA_TCLASS_OFF;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_tclass_find);

/* --- printing ----------------------------------------------------------------- */

static int emit_address(char *line, int len, const char *side,
			const union ib_gid *gid)
{
	if (rhca_gid_is_ipv4(gid))
		return scnprintf(line + len, LINE_CHARS - len, ",%s_ip=%pI4",
				 side, &in6(gid)->s6_addr32[3]);
	return scnprintf(line + len, LINE_CHARS - len, ",%s_ip6=%pI6c", side,
			 gid->raw);
}

static int emit_rule(char *line, const struct rhca_tclass_rule *rule)
{
	int len = scnprintf(line, LINE_CHARS, "tclass=%d", rule->tclass);

	if (rule->by_source)
		len += emit_address(line, len, "src", &rule->source);
	if (rule->by_dest)
		len += emit_address(line, len, "dst", &rule->dest);
	if (rule->by_dest && rule->dest_bits != GID_BITS)
		len += scnprintf(line + len, LINE_CHARS - len, "/%d",
				 rule->dest_bits - MAPPED_BITS);
	return len + scnprintf(line + len, LINE_CHARS - len, "\n");
}

/*
 * Print the rules in the syntax of writes, in order of precedence, to a page. 40 rules with long
 * IPv6 addresses do not fit: the last line is "..." then. Returns bytes.
 */
ssize_t rhca_tclass_emit(const struct rhca_tclass_table *table, char *buf)
{
	static const char more[] = "...\n";
	int len = sysfs_emit(buf, "Global tclass=%d\n", table->global);
	char line[LINE_CHARS];
	u32 i;

	for (i = 0; i < table->num_rules; i++) {
		if (len + emit_rule(line, &table->rules[i]) + sizeof(more) >
		    PAGE_SIZE)
			return len + sysfs_emit_at(buf, len, more);
		len += sysfs_emit_at(buf, len, "%s", line);
	}
	return len;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_tclass_emit);
