// SPDX-License-Identifier: GPL-2.0
/*
 * Selects a CRC-32: an implementation of our own if the CPU has vector multiplication, the kernel's
 * crc32_le() if not or while the vector registers are in use. Each variant is checked against
 * crc32_le() before use, because a wrong one would silently lose every packet.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/crc32.h>
#include <linux/jump_label.h>
#include <linux/kasan-checks.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <rhca/compat.h>

#include "wire/crc32.h"
#include "wire/crc32_arch.h"

#define VECTOR_BYTES	16	/* the smallest vector; shorter data uses none, except headers */
#define MASKED_BYTE	4	/* that rhca_crc32_masked() treats as ones */

/*
 * An implementation. @run: over at least VECTOR_BYTES. The lower half of @first is the CRC so far,
 * the upper half is XORed into the fifth to eighth byte, as in a register. @copy: the same while
 * copying whole 16 bytes; the caller has copied the rest.
 */
struct crc32_variant {
	const char *name;	/* name for users */
	bool (*usable)(void);	/* can this CPU run it? NULL: yes */
	bool (*avoid)(void);	/* is the next variant better on this CPU? NULL: no */
	/* NULL: crc32_le(), without vectors */
	u32 (*run)(u64 first, const void *from, unsigned long bytes);
	u32 (*copy)(u64 first, void *to, const void *from, unsigned long bytes);
};

static const struct crc32_variant variants[] = {
	RHCA_CRC32_VARIANTS
	{ "kernel" },
};

static DEFINE_STATIC_KEY_FALSE(have_vectors);
/* Only called with vectors, which are not enabled before these are set */
DEFINE_STATIC_CALL_NULL(rhca_crc32_run, *variants[0].run);
DEFINE_STATIC_CALL_NULL(rhca_crc32_run_copy, *variants[0].copy);

/* Written while the module is loaded, and by KUnit: */
static const struct crc32_variant *chosen = &variants[ARRAY_SIZE(variants) - 1];
static const struct crc32_variant *wanted;	/* NULL: the first that fits */
static bool initialised;

/* --- self-test ------------------------------------------------------------- */

#define TEST_BYTES	4160	/* a payload of 4096 from any alignment */

static bool test_range(const struct crc32_variant *variant, const u8 *from, u8 *to,
		       unsigned int bytes)
{
	unsigned int whole = round_down(bytes, VECTOR_BYTES);
	u32 want = crc32_le(bytes, from, bytes);
	u32 run, copy, masked;

	memset(to, 0, whole);
	memcpy(to + whole, from + whole, bytes - whole);
	if (!rhca_vectors_begin())
		return false;
	run = variant->run(bytes, from, bytes);
	copy = variant->copy(bytes, to, from, bytes);
	to[MASKED_BYTE] ^= 0xa5;
	masked = variant->run(0xa500000000ULL | bytes, to, bytes);
	to[MASKED_BYTE] ^= 0xa5;
	rhca_vectors_end();
	return run == want && copy == want && masked == want && !memcmp(to, from, bytes);
}

/* Covers each split of a length into vectors, all ends and some alignments */
static bool is_right(const struct crc32_variant *variant)
{
	unsigned int i, bytes;
	bool right = true;
	u8 *from, *to;

	if (!variant->run)
		return true;
	from = kmalloc(2 * TEST_BYTES, GFP_KERNEL);
	if (!from)
		return false;
	to = from + TEST_BYTES;
	for (i = 0; i < TEST_BYTES; i++)
		from[i] = i * 197 + (i >> 3);
	for (bytes = VECTOR_BYTES; right && bytes <= 4096; bytes += bytes < 600 ? 1 : 19)
		right = test_range(variant, from + bytes % 64, to + bytes % 64, bytes);
	kfree(from);
	if (!right)
		pr_err("CRC-32 in vectors of %s bits is wrong on this CPU and not used\n",
		       variant->name);
	return right;
}

/* --- choice --------------------------------------------------------------- */

static bool fits(const struct crc32_variant *variant)
{
	if (variant->usable && !variant->usable())
		return false;
	return wanted ? variant == wanted : !variant->avoid || !variant->avoid();
}

static void use(const struct crc32_variant *variant)
{
	chosen = variant;
	if (!variant->run) {
		static_branch_disable(&have_vectors);
		return;
	}
	static_call_update(rhca_crc32_run, variant->run);
	static_call_update(rhca_crc32_run_copy, variant->copy);
	static_branch_enable(&have_vectors);
}

static int choose(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(variants); i++) {
		if (!fits(&variants[i]) || !is_right(&variants[i]))
			continue;
		use(&variants[i]);
		return 0;
	}
	return -EOPNOTSUPP;
}

/**
 * rhca_crc32_choose - Select a variant for the user
 * @name: "auto", or that of a variant; stored until rhca_crc32_init(), at once afterwards (KUnit)
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for an unknown name; -EOPNOTSUPP for a variant that this CPU cannot run or
 * computes wrongly.
 */
int rhca_crc32_choose(const char *name)
{
	const struct crc32_variant *variant = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(variants); i++)
		if (sysfs_streq(name, variants[i].name))
			variant = &variants[i];
	if (!variant && !sysfs_streq(name, "auto"))
		return -EINVAL;
	wanted = variant;
	return initialised ? choose() : 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_crc32_choose);

/**
 * rhca_crc32_name - Name of the variant in use
 */
const char *rhca_crc32_name(void)
{
	return chosen->name;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_crc32_name);

/**
 * rhca_crc32_init - Select the initial variant
 *
 * Return: 0, or -EOPNOTSUPP if the configured variant is unavailable.
 */
int rhca_crc32_init(void)
{
	int ret = choose();

	initialised = !ret;
	if (ret)
		pr_err("crc32=%s: not on this CPU\n", wanted->name);
	return ret;
}

/* --- use ------------------------------------------------------------------ */

/**
 * rhca_crc32_begin - Begin a series of CRC computations
 * @bytes: their total, at most RHCA_CRC32_MAX
 *
 * Saves the vector registers once for all of them. Until rhca_crc32_end() the caller must not
 * sleep, fault, or use the registers itself.
 *
 * Context: any but hardirq; bottom halves off.
 * Return: whether vectors are used, for the functions below.
 */
bool rhca_crc32_begin(unsigned int bytes)
{
	return static_branch_likely(&have_vectors) &&
	       bytes >= RHCA_CRC32_WORTH && rhca_vectors_begin();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_crc32_begin);

/**
 * rhca_crc32_end - End the series
 * @vectors: from rhca_crc32_begin()
 */
void rhca_crc32_end(bool vectors)
{
	if (vectors)
		rhca_vectors_end();
}
EXPORT_SYMBOL_IF_KUNIT(rhca_crc32_end);

/**
 * rhca_crc32 - Update a CRC-32
 * @vectors: from rhca_crc32_begin()
 * @crc: value so far, ~0 at the start; not complemented
 * @data: bytes
 * @bytes: how many
 */
u32 rhca_crc32(bool vectors, u32 crc, const void *data, unsigned int bytes)
{
	if (!bytes)
		return crc;
	if (!vectors || bytes < VECTOR_BYTES)
		return crc32_le(crc, data, bytes);
	kasan_check_read(data, bytes);
	return static_call(rhca_crc32_run)(crc, data, bytes);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_crc32);

/* Like rhca_crc32(), but treats the fifth byte as 0xff. @bytes: a multiple of 4, at least 8 */
u32 rhca_crc32_masked(bool vectors, u32 crc, const void *data,
		      unsigned int bytes)
{
	unsigned int few = min(bytes, 12U), i;
	__le32 begin[VECTOR_BYTES / sizeof(__le32)] = {};
	__le32 *first = begin + (VECTOR_BYTES - few) / sizeof(__le32);
	const u8 *at = data;
	u64 mask;

	if (vectors && bytes >= VECTOR_BYTES) {
		kasan_check_read(data, bytes);
		mask = (u8)~READ_ONCE(at[MASKED_BYTE]);
		return static_call(rhca_crc32_run)(mask << 32 | crc, data,
						   bytes);
	}
	for (i = 0; i < few / sizeof(u32); i++)
		memcpy(&first[i], at + i * sizeof(u32), sizeof(u32));	/* inlined */
	((u8 *)first)[MASKED_BYTE] = 0xff;
	if (vectors) {
		/* With a CRC of 0 leading zeros change nothing */
		*first ^= cpu_to_le32(crc);
		return static_call(rhca_crc32_run)(0, begin, sizeof(begin));
	}
	crc = crc32_le(crc, (const u8 *)first, few);
	return crc32_le(crc, at + few, bytes - few);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_crc32_masked);

/**
 * rhca_crc32_copy - Copy, and update a CRC-32 of the copy
 * @vectors: from rhca_crc32_begin()
 * @crc: value so far
 * @to: destination; does not overlap @from
 * @from: source, which may change meanwhile: the CRC is that of @to
 * @bytes: how many
 */
u32 rhca_crc32_copy(bool vectors, u32 crc, void *to, const void *from,
		    unsigned int bytes)
{
	unsigned int whole = round_down(bytes, VECTOR_BYTES);

	if (!vectors || !whole) {
		memcpy(to, from, bytes);
		return crc32_le(crc, to, bytes);
	}
	kasan_check_read(from, bytes);
	kasan_check_write(to, bytes);
	if (whole != bytes)
		memcpy(to + whole, from + whole, bytes - whole);
	return static_call(rhca_crc32_run_copy)(crc, to, from, bytes);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_crc32_copy);
