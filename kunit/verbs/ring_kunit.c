// SPDX-License-Identifier: GPL-2.0
/* Rings that the other side scribbles on: whatever it writes, the kernel stays inside. */
#include "sw/verbs/queue/ring.h"
#include "lib/hostile.h"
#include "lib/packet.h"

#define ELEMENT_BYTES	100

static const struct size_case {
	const char *desc;
	u32 elements;
	u32 capacity;
} size_cases[] = {
	{ "one",		1,	1 },
	{ "two",		2,	3 },
	{ "one below a power",	3,	3 },
	{ "a power",		4,	7 },
	{ "one above a power",	5,	7 },
	{ "many",		1000,	1023 },
};
KUNIT_ARRAY_PARAM_DESC(size, size_cases, desc);

static void make_ring(struct kunit *test, struct rhca_ring *ring, u32 elements)
{
	KUNIT_ASSERT_EQ(test, 0, rhca_ring_alloc(ring, elements, ELEMENT_BYTES, NULL, NULL));
}

static void ring_holds_what_was_asked_for(struct kunit *test)
{
	const struct size_case *c = test->param_value;
	struct rhca_ring ring;

	make_ring(test, &ring, c->elements);
	KUNIT_EXPECT_EQ(test, rhca_ring_capacity(&ring), c->capacity);
	KUNIT_EXPECT_EQ(test, ring.shared->index_mask, c->capacity);
	KUNIT_EXPECT_EQ(test, 1U << ring.shared->log2_elem_size, 128);
	KUNIT_EXPECT_EQ(test, rhca_ring_filled(&ring), 0);
	KUNIT_EXPECT_EQ(test, rhca_ring_room(&ring), c->capacity);
	rhca_ring_free(&ring);
}

static void ring_slots_do_not_overlap(struct kunit *test)
{
	struct rhca_ring ring;
	u32 i;

	make_ring(test, &ring, 7);
	for (i = 0; i < 8; i++)
		memset(rhca_ring_slot(&ring, i), i, ELEMENT_BYTES);
	for (i = 0; i < 8; i++) {
		u8 *slot = rhca_ring_slot(&ring, i);

		KUNIT_EXPECT_EQ(test, slot[0], i);
		KUNIT_EXPECT_EQ(test, slot[ELEMENT_BYTES - 1], i);
	}
	rhca_ring_free(&ring);
}

static void ring_is_full_with_one_slot_empty(struct kunit *test)
{
	struct rhca_ring ring;
	u32 i;

	make_ring(test, &ring, 3);
	for (i = 3; i; i--) {
		KUNIT_EXPECT_EQ(test, rhca_ring_room(&ring), i);
		rhca_ring_advance(&ring);
		rhca_ring_publish(&ring);
	}
	KUNIT_EXPECT_EQ(test, rhca_ring_room(&ring), 0);
	KUNIT_EXPECT_EQ(test, ring.shared->producer_index, 3);
	ring.shared->consumer_index = 2;
	KUNIT_EXPECT_EQ(test, rhca_ring_room(&ring), 2);
	rhca_ring_advance(&ring);
	rhca_ring_publish(&ring);
	KUNIT_EXPECT_EQ(test, ring.shared->producer_index, 0);
	rhca_ring_free(&ring);
}

KUNIT_ARRAY_PARAM(hostile, hostile_values, hostile_desc);

/* Bytes of the ring's memory: 8 slots of 128 */
#define DATA_BYTES	(8 * 128)

static void ring_masks_any_index(struct kunit *test)
{
	u32 value = *(const u32 *)test->param_value;
	struct rhca_ring ring;
	size_t at;
	u32 i;

	make_ring(test, &ring, 7);
	for (i = 0; i < 8; i++) {
		ring.index = i;
		ring.shared->producer_index = value;
		ring.shared->consumer_index = value;
		ring.shared->index_mask = value;
		ring.shared->log2_elem_size = value;
		KUNIT_EXPECT_LE(test, rhca_ring_filled(&ring), 7);
		KUNIT_EXPECT_LE(test, rhca_ring_room(&ring), 7);
		at = (u8 *)rhca_ring_slot(&ring, value) - ring.shared->data;
		KUNIT_EXPECT_LE(test, at + 128, DATA_BYTES);
		rhca_ring_release(&ring, value);
		KUNIT_EXPECT_LE(test, ring.index, 7);
		KUNIT_EXPECT_EQ(test, ring.shared->consumer_index, ring.index);
		rhca_ring_advance(&ring);
		rhca_ring_publish(&ring);
		KUNIT_EXPECT_LE(test, ring.index, 7);
	}
	rhca_ring_free(&ring);
}

TEST_SUITE(rhca_ring,
	   KUNIT_CASE_PARAM(ring_holds_what_was_asked_for, size_gen_params),
	   KUNIT_CASE(ring_slots_do_not_overlap),
	   KUNIT_CASE(ring_is_full_with_one_slot_empty),
	   KUNIT_CASE_PARAM(ring_masks_any_index, hostile_gen_params));
