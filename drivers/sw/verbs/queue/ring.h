/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue in memory that a process may map: the ring of rdma/rdma_user_rxe.h. The other side may
 * write anything at any time, so the kernel keeps its own index, size and stride, masks what it
 * reads, and copies an element before it checks it.
 */
#ifndef RHCA_SW_VERBS_QUEUE_RING_H
#define RHCA_SW_VERBS_QUEUE_RING_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_rxe.h>

struct rhca_ring_mapping;

/* A power of two of slots, one of which stays empty */
struct rhca_ring {
	struct rxe_queue_buf *shared;	/* header and elements; vmalloc memory if mapped */
	struct rhca_ring_mapping *mapping;	/* of a process, to map @shared; or NULL */
	u32 index;		/* our index: consumer of work queues, producer of CQs */
	u32 mask;		/* number of slots minus one */
	u32 stride_shift;	/* log2 of the bytes of a slot */
};

int rhca_ring_alloc(struct rhca_ring *ring, u32 elements, u32 element_bytes,
		    struct ib_udata *udata, struct mminfo *info);
void rhca_ring_free(struct rhca_ring *ring);
void rhca_ring_copy(const struct rhca_ring *to, u32 to_index,
		    const struct rhca_ring *from, u32 from_index, u32 n);

extern const struct ib_device_ops rhca_ucontext_verbs;

/* Elements that fit */
static inline u32 rhca_ring_capacity(const struct rhca_ring *ring)
{
	return ring->mask;
}

static inline void *rhca_ring_slot(const struct rhca_ring *ring, u32 index)
{
	return ring->shared->data +
	       ((size_t)(index & ring->mask) << ring->stride_shift);
}

/* Number of elements; reading them requires rhca_ring_filled() */
static inline u32 rhca_ring_count(const struct rhca_ring *ring)
{
	return (READ_ONCE(ring->shared->producer_index) - ring->index) &
	       ring->mask;
}

/* Number of elements that the other side has added and we have not taken */
static inline u32 rhca_ring_filled(const struct rhca_ring *ring)
{
	/* Read the index before the elements */
	u32 producer = smp_load_acquire(&ring->shared->producer_index);

	return (producer - ring->index) & ring->mask;
}

/* Return taken slots to the other side */
static inline void rhca_ring_give_back(struct rhca_ring *ring)
{
	/* Order our reads of the slots before their reuse */
	smp_store_release(&ring->shared->consumer_index, ring->index);
}

/* Take @n slots and return them at once */
static inline void rhca_ring_release(struct rhca_ring *ring, u32 n)
{
	ring->index = (ring->index + n) & ring->mask;
	rhca_ring_give_back(ring);
}

/* Number of free slots in a ring that we fill */
static inline u32 rhca_ring_room(const struct rhca_ring *ring)
{
	/* Order their reads of a slot before its reuse */
	u32 consumer = smp_load_acquire(&ring->shared->consumer_index);

	return (consumer - ring->index - 1) & ring->mask;
}

/* Move past a slot that was filled or emptied, without publishing that */
static inline void rhca_ring_advance(struct rhca_ring *ring)
{
	ring->index = (ring->index + 1) & ring->mask;
}

/* Publish filled slots to the other side */
static inline void rhca_ring_publish(struct rhca_ring *ring)
{
	/* Order the elements before the index */
	smp_store_release(&ring->shared->producer_index, ring->index);
}

#endif
