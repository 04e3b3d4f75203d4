// SPDX-License-Identifier: GPL-2.0
/* Module-wide settings and the words for them. */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <rhca/compat.h>

#include "core/rules/policy.h"

struct rhca_policy rhca_policy = {
	.roce_mode	= RHCA_ROCE_BOTH,
	.ud_gid_type	= RHCA_UD_GID_AUTO,
};
EXPORT_SYMBOL_IF_KUNIT(rhca_policy);

struct word {
	const char *text;
	int value;
};

static const struct word roce_modes[] = {
	{ "0", RHCA_ROCE_V1_ONLY },	{ "v1", RHCA_ROCE_V1_ONLY },
	{ "2", RHCA_ROCE_V2_ONLY },	{ "v2", RHCA_ROCE_V2_ONLY },
	{ "4", RHCA_ROCE_BOTH },	{ "both", RHCA_ROCE_BOTH },
};

static const struct word ud_gid_types[] = {
	{ "0", RHCA_UD_GID_V1 },	{ "v1", RHCA_UD_GID_V1 },
	{ "2", RHCA_UD_GID_V2 },	{ "v2", RHCA_UD_GID_V2 },
	{ "auto", RHCA_UD_GID_AUTO },
};

/* Ignores a trailing newline */
static int find_word(const struct word *words, size_t num, const char *text)
{
	size_t i;

	for (i = 0; i < num; i++)
		if (sysfs_streq(words[i].text, text))
			return words[i].value;
	return -EINVAL;
}

/**
 * rhca_roce_mode_parse - Parse a value of the parameter roce_mode
 * @text: 0, 2, 4, v1, v2 or both; a trailing newline is ignored
 *
 * Return: an enum rhca_roce_mode, or -EINVAL for any other text.
 */
int rhca_roce_mode_parse(const char *text)
{
	return find_word(roce_modes, ARRAY_SIZE(roce_modes), text);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_roce_mode_parse);

/**
 * rhca_ud_gid_type_parse - Parse a value of the parameter ud_gid_type
 * @text: 0, 2, v1, v2 or auto; a trailing newline is ignored
 *
 * Return: an enum rhca_ud_gid_type, or -EINVAL for any other text.
 */
int rhca_ud_gid_type_parse(const char *text)
{
	return find_word(ud_gid_types, ARRAY_SIZE(ud_gid_types), text);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_ud_gid_type_parse);

const char *rhca_roce_mode_name(enum rhca_roce_mode mode)
{
	static const char *const names[] = {
		[RHCA_ROCE_V1_ONLY]	= "RoCE v1",
		[RHCA_ROCE_V2_ONLY]	= "RoCE v2",
		[RHCA_ROCE_BOTH]	= "RoCE v1 and v2",
	};

	return names[mode];
}
EXPORT_SYMBOL_IF_KUNIT(rhca_roce_mode_name);

/**
 * rhca_gid_types_enabled - The GID types that roce_mode enables
 *
 * Return: a bit for each enum ib_gid_type.
 */
unsigned long rhca_gid_types_enabled(void)
{
	unsigned long types = 0;

	if (rhca_policy.roce_mode != RHCA_ROCE_V2_ONLY)
		types |= BIT(IB_GID_TYPE_ROCE);
	if (rhca_policy.roce_mode != RHCA_ROCE_V1_ONLY)
		types |= BIT(IB_GID_TYPE_ROCE_UDP_ENCAP);
	return types;
}

/**
 * rhca_gid_type_enabled - Does roce_mode enable GIDs of this type?
 * @type: RoCE v1 or v2
 */
bool rhca_gid_type_enabled(enum ib_gid_type type)
{
	return rhca_gid_types_enabled() & BIT(type);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_gid_type_enabled);
