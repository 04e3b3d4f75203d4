/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue in memory that a process may map: the ring of rdma/rdma_user_rxe.h. The other side may
 * write anything at any time, so the kernel keeps its own index, size and stride, masks what it
 * reads, and copies an element before it looks at it.
 */
#ifndef RHCA_SW_VERBS_QUEUE_RING_H
#define RHCA_SW_VERBS_QUEUE_RING_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_user_rxe.h>

struct rhca_ring_mapping;

/* A power of two of elements; one slot always stays empty */
struct rhca_ring {
	struct rxe_queue_buf *shared;	/* header and elements; vmalloc where it is mapped */
	struct rhca_ring_mapping *mapping;	/* of a process, to map @shared; or NULL */
	u32 index;		/* our side's: consumer of work queues, producer of CQs */
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

/* How many there are; to look at them takes rhca_ring_filled() */
static inline u32 rhca_ring_count(const struct rhca_ring *ring)
{
	return (READ_ONCE(ring->shared->producer_index) - ring->index) &
	       ring->mask;
}

/* How many elements the other side has put in that we have not taken */
static inline u32 rhca_ring_filled(const struct rhca_ring *ring)
{
	/* The index before the elements that it announces */
	u32 producer = smp_load_acquire(&ring->shared->producer_index);

	return (producer - ring->index) & ring->mask;
}

/* Give the slots that we took back to the other side */
static inline void rhca_ring_give_back(struct rhca_ring *ring)
{
	/* Our reads of the slots before they may be written again */
	smp_store_release(&ring->shared->consumer_index, ring->index);
}

/* Take @n slots and give them back at once */
static inline void rhca_ring_release(struct rhca_ring *ring, u32 n)
{
	ring->index = (ring->index + n) & ring->mask;
	rhca_ring_give_back(ring);
}

/* How many slots the other side has left us, for rings that we fill */
static inline u32 rhca_ring_room(const struct rhca_ring *ring)
{
	/* Their reads of a slot before we write it again */
	u32 consumer = smp_load_acquire(&ring->shared->consumer_index);

	return (consumer - ring->index - 1) & ring->mask;
}

/* The next slot has been filled or emptied; the other side is told later */
static inline void rhca_ring_advance(struct rhca_ring *ring)
{
	ring->index = (ring->index + 1) & ring->mask;
}

/* Show the other side the slots that have been filled */
static inline void rhca_ring_publish(struct rhca_ring *ring)
{
	/* The elements before the index that announces them */
	smp_store_release(&ring->shared->producer_index, ring->index);
}

#endif
