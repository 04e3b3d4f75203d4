// SPDX-License-Identifier: GPL-2.0
/*
 * Rings that user space maps, and their processes. The memory and its charge last until the object
 * has been destroyed and the last mapping is gone: a process may keep a mapping, move it, unmap a
 * part of it or pass it to a child.
 */
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>
#include <rhca/compat.h>

#include "sw/verbs/memory/charge.h"
#include "sw/verbs/queue/ring.h"

static struct ib_ucontext *ucontext_of(struct ib_udata *udata)
{
	return rdma_udata_to_uverbs_attr_bundle(udata)->context;
}

/* A ring that a process may map */
struct rhca_ring_mapping {
	struct rdma_user_mmap_entry entry;	/* in the ucontext's mmap table */
	struct kref refs;			/* one for @entry and one per mapping */
	void *shared;				/* the ring */
	struct rhca_charge charge;		/* charged memory */
};

static void free_mapping(struct kref *refs)
{
	struct rhca_ring_mapping *mapping =
		container_of(refs, struct rhca_ring_mapping, refs);

	vfree(mapping->shared);
	rhca_charge_give(&mapping->charge);
	kfree(mapping);
}

/* On success the ring is freed with the mapping; on error it remains the caller's */
static int offer_mapping(struct rhca_ring *ring, size_t bytes,
			 struct ib_udata *udata, struct mminfo *info)
{
	struct ib_ucontext *context = ucontext_of(udata);
	struct rhca_ring_mapping *mapping;
	int ret;

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return -ENOMEM;
	kref_init(&mapping->refs);
	mapping->shared = ring->shared;
	ret = rhca_charge_take(&mapping->charge, context->device, bytes);
	if (!ret)
		ret = rdma_user_mmap_entry_insert(context, &mapping->entry,
						  PAGE_ALIGN(bytes));
	if (ret) {
		rhca_charge_give(&mapping->charge);
		kfree(mapping);
		return ret;
	}
	ring->mapping = mapping;
	*info = (struct mminfo) {
		.offset	= rdma_user_mmap_get_offset(&mapping->entry),
		.size	= PAGE_ALIGN(bytes),
	};
	return 0;
}

/*
 * vmalloc_user() would not charge the memory cgroup. A kernel user's rings are better outside
 * vmalloc, in large page mappings: thousands of QPs have as many rings.
 */
static struct rxe_queue_buf *alloc_shared(size_t bytes, bool is_user)
{
	if (!is_user)
		return kvzalloc(bytes, GFP_KERNEL | __GFP_NOWARN);
	return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

static void explain_enomem(struct ib_udata *udata, size_t bytes)
{
	ibdev_warn_ratelimited(ucontext_of(udata)->device,
			       "%s[%d]: no memory for a queue of %zu bytes: its memory cgroup or the machine has no more\n",
			       current->comm, task_pid_nr(current), bytes);
}

/**
 * rhca_ring_alloc - Allocate a ring
 * @ring: filled in
 * @elements: how many it must hold, at least 1
 * @element_bytes: size of one
 * @udata: the verb's, or NULL for a kernel user
 * @info: where to map it, for the process; unused for a kernel user
 *
 * A process's ring is charged to its memory cgroup and its RLIMIT_MEMLOCK.
 *
 * Return: 0, -ENOMEM, or ib_core's error for the mmap entry.
 */
int rhca_ring_alloc(struct rhca_ring *ring, u32 elements, u32 element_bytes,
		    struct ib_udata *udata, struct mminfo *info)
{
	/* At least a cache line, so that the two sides never write to the same one */
	u32 stride = roundup_pow_of_two(max_t(u32, element_bytes,
					      L1_CACHE_BYTES));
	u32 slots = roundup_pow_of_two(elements + 1);
	size_t bytes = sizeof(*ring->shared) + (size_t)slots * stride;
	int ret;

	ring->mapping = NULL;
	ring->shared = alloc_shared(bytes, udata);
	if (!ring->shared) {
		if (udata)
			explain_enomem(udata, bytes);
		return -ENOMEM;
	}
	ring->index = 0;
	ring->mask = slots - 1;
	ring->stride_shift = ilog2(stride);
	ring->shared->log2_elem_size = ring->stride_shift;
	ring->shared->index_mask = ring->mask;

	if (udata) {
		ret = offer_mapping(ring, bytes, udata, info);
		if (ret) {
			vfree(ring->shared);
			ring->shared = NULL;
			return ret;
		}
	}
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_ring_alloc);

/**
 * rhca_ring_free - Free a ring; existing mappings keep its memory
 * @ring: from rhca_ring_alloc(), or zeroed memory
 */
void rhca_ring_free(struct rhca_ring *ring)
{
	if (ring->mapping)
		rdma_user_mmap_entry_remove(&ring->mapping->entry);
	else
		kvfree(ring->shared);
	ring->mapping = NULL;
	ring->shared = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_ring_free);

/**
 * rhca_ring_copy - Copy elements to a ring of another length
 * @to: the ring, with elements of the same size
 * @to_index: where the first one goes
 * @from: where they are
 * @from_index: the first one
 * @n: how many
 */
void rhca_ring_copy(const struct rhca_ring *to, u32 to_index,
		    const struct rhca_ring *from, u32 from_index, u32 n)
{
	while (n--)
		memcpy(rhca_ring_slot(to, to_index++), rhca_ring_slot(from, from_index++),
		       1U << to->stride_shift);
}

/* The last reference to the entry is gone: no mmap() can be in progress */
static void end_entry(struct rdma_user_mmap_entry *entry)
{
	kref_put(&container_of(entry, struct rhca_ring_mapping, entry)->refs,
		 free_mapping);
}

/* --- mappings ----------------------------------------------------------------- */

/*
 * Also called for copies by fork(), for moves by mremap(), and for splits. A mapping pins the
 * module, which has its close function, but nothing of the device.
 */
static void open_mapping(struct vm_area_struct *vma)
{
	struct rhca_ring_mapping *mapping = vma->vm_private_data;

	kref_get(&mapping->refs);
	__module_get(THIS_MODULE);
}

static void close_mapping(struct vm_area_struct *vma)
{
	struct rhca_ring_mapping *mapping = vma->vm_private_data;

	kref_put(&mapping->refs, free_mapping);
	module_put(THIS_MODULE);
}

static const struct vm_operations_struct ring_vm_ops = {
	.open	= open_mapping,
	.close	= close_mapping,
};

static int insert_pages(struct vm_area_struct *vma, void *shared)
{
	unsigned long addr;
	int ret = 0;

	for (addr = vma->vm_start; addr < vma->vm_end && !ret;
	     addr += PAGE_SIZE, shared += PAGE_SIZE)
		ret = vm_insert_page(vma, addr, vmalloc_to_page(shared));
	return ret;
}

static int mmap_ring(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct rhca_ring_mapping *mapping;
	int ret;

	/* Checks the size, and that it is shared */
	entry = rdma_user_mmap_entry_get(context, vma);
	if (!entry)
		return -EINVAL;
	mapping = container_of(entry, struct rhca_ring_mapping, entry);
	ret = insert_pages(vma, mapping->shared);
	if (!ret) {
		vma->vm_private_data = mapping;
		vma->vm_ops = &ring_vm_ops;
		open_mapping(vma);
	}
	rdma_user_mmap_entry_put(entry);
	return ret;
}

/* --- processes ---------------------------------------------------------------- */

/*
 * A process with the device open pins the module: ib_core does not do so for drivers that support
 * hot unplug, but unloading is not unplugging.
 */
static int alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	return try_module_get(THIS_MODULE) ? 0 : -ENODEV;
}

/* Also called when the device is unplugged under the process */
static void dealloc_ucontext(struct ib_ucontext *ibuc)
{
	module_put(THIS_MODULE);
}

/*
 * Mapped rings are plain memory kept by the mappings; the presence of this operation lets ib_core
 * remove the device without waiting for the process.
 */
static void disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

const struct ib_device_ops rhca_ucontext_verbs = {
	.alloc_ucontext		= alloc_ucontext,
	.dealloc_ucontext	= dealloc_ucontext,
	.disassociate_ucontext	= disassociate_ucontext,
	.mmap			= mmap_ring,
	.mmap_free		= end_entry,
	.size_ib_ucontext	= sizeof(struct ib_ucontext),
};
