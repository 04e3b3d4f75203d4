// SPDX-License-Identifier: GPL-2.0
/* Every variant of the CRC-32 that this CPU can run, against crc32_le(). */
#include <linux/crc32.h>
#include <linux/hash.h>
#include <linux/string.h>

#include "lib/packet.h"
#include "wire/crc32.h"
#include "wire/crc32_arch.h"

#define MOST_BYTES	9000
#define GUARD_BYTES	64
#define BUFFER_BYTES	(MOST_BYTES + 3 * GUARD_BYTES)

static const struct variant {
	const char *desc;
	bool (*runs_here)(void);	/* or NULL */
} variants[] = {
#ifdef CONFIG_X86_64
	{ "512", rhca_cpu_multiplies_512 }, { "256", rhca_cpu_multiplies_256 },
	{ "128", rhca_cpu_multiplies_128 },
#endif
	{ "kernel" },
};

KUNIT_ARRAY_PARAM_DESC(variant, variants, desc);

/* Restores the usual choice at the end */
static void choose_auto(void *unused)
{
	rhca_crc32_choose("auto");
}

static void choose(struct kunit *test)
{
	const struct variant *variant = test->param_value;

	if (variant->runs_here && !variant->runs_here())
		kunit_skip(test, "this CPU has no CRC-32 in %s bits", variant->desc);
	KUNIT_ASSERT_EQ(test, rhca_crc32_choose(variant->desc), 0);
	test_at_end(test, choose_auto, NULL);
	KUNIT_ASSERT_STREQ(test, rhca_crc32_name(), variant->desc);
}

static u8 *some_bytes(struct kunit *test)
{
	u8 *data = test_alloc(test, BUFFER_BYTES);
	unsigned int i;

	for (i = 0; i < BUFFER_BYTES; i++)
		data[i] = i * 31 + (i >> 7) * 5 + (i >> 11);
	return data;
}

/* Returns whether there are vectors */
static bool begin(void)
{
	local_bh_disable();
	return rhca_crc32_begin(RHCA_CRC32_MAX);
}

static void end(bool vectors)
{
	rhca_crc32_end(vectors);
	local_bh_enable();
}

static u32 run(u32 crc, const void *data, unsigned int bytes)
{
	bool vectors = begin();

	crc = rhca_crc32(vectors, crc, data, bytes);
	end(vectors);
	return crc;
}

static u32 run_copy(u32 crc, void *to, const void *from, unsigned int bytes)
{
	bool vectors = begin();

	crc = rhca_crc32_copy(vectors, crc, to, from, bytes);
	end(vectors);
	return crc;
}

/* Each length with each alignment of the longest vector, and some initial CRC */
static void crc32_of_any_range_is_the_kernels(struct kunit *test)
{
	u8 *data = some_bytes(test);
	unsigned int bytes, at;
	u32 wrong = 0;

	choose(test);
	for (bytes = 0; bytes <= MOST_BYTES; bytes++)
		for (at = bytes < 300 ? 0 : bytes % 8; at < GUARD_BYTES;
		     at += bytes < 300 ? 1 : 8)
			wrong += run(bytes * GOLDEN_RATIO_32, data + at, bytes) !=
				 crc32_le(bytes * GOLDEN_RATIO_32, data + at, bytes);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static bool copy_is_right(u8 *to, const u8 *from, unsigned int at, unsigned int bytes)
{
	u8 *begin = to + GUARD_BYTES + at;

	memset(to, 0xa5, BUFFER_BYTES);
	return run_copy(bytes, begin, from, bytes) ==
		crc32_le(bytes, from, bytes) &&
	       !memcmp(begin, from, bytes) &&
	       !memchr_inv(to, 0xa5, GUARD_BYTES + at) &&
	       !memchr_inv(begin + bytes, 0xa5, GUARD_BYTES - at);
}

static void crc32_copies_the_range_and_no_more(struct kunit *test)
{
	u8 *from = some_bytes(test), *to = test_alloc(test, BUFFER_BYTES);
	unsigned int bytes, wrong = 0;

	choose(test);
	for (bytes = 0; bytes <= MOST_BYTES; bytes += bytes < 600 ? 1 : 13)
		wrong += !copy_is_right(to, from + bytes * 7 % GUARD_BYTES,
					bytes % GUARD_BYTES, bytes);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* Set all bits of the registers that the variants use, if this CPU has registers of that width */
static void leave_bits_in_registers(void)
{
#ifdef CONFIG_X86_64
	if (rhca_cpu_multiplies_512())
		asm volatile(".irp n, 0,1,2,3,4,5,8,9,10,11\n\t"
			     "vpternlogd $0xff, %zmm\\n, %zmm\\n, %zmm\\n\n\t"
			     ".endr");
	else if (rhca_cpu_multiplies_256())
		asm volatile(".irp n, 0,1,2,3,4,5,8,9,10,11\n\t"
			     "vpcmpeqd %ymm\\n, %ymm\\n, %ymm\\n\n\t"
			     ".endr");
#endif
}

/* Using the registers saves a process's contents, but does not clear them */
static void crc32_works_with_any_register_contents(struct kunit *test)
{
	u8 *from = some_bytes(test), *to = test_alloc(test, BUFFER_BYTES);
	unsigned int bytes, wrong = 0;
	bool vectors;
	u32 crc, copy;

	choose(test);
	for (bytes = 16; bytes <= 1100; bytes++) {
		vectors = begin();
		if (vectors)
			leave_bits_in_registers();
		crc = rhca_crc32(vectors, bytes, from, bytes);
		if (vectors)
			leave_bits_in_registers();
		copy = rhca_crc32_copy(vectors, bytes, to, from, bytes);
		end(vectors);
		wrong += crc != crc32_le(bytes, from, bytes);
		wrong += copy != crc32_le(bytes, from, bytes);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* The fifth byte counts as ones, whatever it is */
static void crc32_masks_one_byte(struct kunit *test)
{
	u8 *data = some_bytes(test);
	unsigned int bytes, wrong = 0;
	u8 byte = data[4];
	bool vectors;
	u32 crc, want;

	choose(test);
	for (bytes = 8; bytes <= 1100; bytes += 4) {
		vectors = begin();
		if (vectors)
			leave_bits_in_registers();
		data[4] = bytes >> 2;
		crc = rhca_crc32_masked(vectors, bytes, data, bytes);
		end(vectors);
		data[4] = 0xff;
		want = crc32_le(bytes, data, bytes);
		wrong += crc != want;
	}
	data[4] = byte;
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void unknown_variant_is_refused(struct kunit *test)
{
	const char *before = rhca_crc32_name();

	KUNIT_EXPECT_EQ(test, rhca_crc32_choose("1024"), -EINVAL);
	KUNIT_EXPECT_EQ(test, rhca_crc32_choose(""), -EINVAL);
	KUNIT_EXPECT_STREQ(test, rhca_crc32_name(), before);
}

TEST_SUITE(rhca_crc32,
	   KUNIT_CASE_PARAM(crc32_of_any_range_is_the_kernels, variant_gen_params),
	   KUNIT_CASE_PARAM(crc32_copies_the_range_and_no_more, variant_gen_params),
	   KUNIT_CASE_PARAM(crc32_works_with_any_register_contents, variant_gen_params),
	   KUNIT_CASE_PARAM(crc32_masks_one_byte, variant_gen_params),
	   KUNIT_CASE(unknown_variant_is_refused));
