// SPDX-License-Identifier: GPL-2.0
/*
 * Payload. On the way out page fragments go into the packet, so that nothing is
 * copied; on the way in each byte is copied once, to where it belongs.
 */
#include <linux/highmem.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "sw/transport/payload.h"
#include "core/device.h"

/* One fragment is kept for padding and ICRC */
#define MAX_PAYLOAD_FRAGS	(MAX_SKB_FRAGS - 1)

static void copy_in(struct sk_buff *skb, struct page *page, unsigned int offset,
		    unsigned int bytes)
{
	void *kaddr = kmap_local_page(page);

	skb_put_data(skb, kaddr + offset, bytes);
	kunmap_local(kaddr);
}

/* Pages of the slab allocator have no reference count to take */
static int attach(struct sk_buff *skb, struct page *page, unsigned int offset,
		  unsigned int bytes)
{
	int frags = skb_shinfo(skb)->nr_frags;

	if (!sendpage_ok(page))
		return -EOPNOTSUPP;
	if (skb_can_coalesce(skb, frags, page, offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[frags - 1], bytes);
		skb->len += bytes;
		skb->data_len += bytes;
		skb->truesize += bytes;
		return 0;
	}
	if (frags >= MAX_PAYLOAD_FRAGS)
		return -EOPNOTSUPP;
	get_page(page);
	skb_add_rx_frag(skb, frags, page, offset, bytes, bytes);
	/* The owner may write to it: nobody may transform it in place */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return 0;
}

/**
 * rhca_mem_to_skb - Append memory to a packet
 * @mem: the memory; rhca_mem_allows() has said yes
 * @addr: first address
 * @bytes: how many
 * @skb: the packet
 * @copy: into the linear part, which has room; else as page fragments
 *
 * Return: 0; -EOPNOTSUPP when the pages cannot be fragments and must be copied
 * into another packet; -EFAULT for an address that is no memory.
 */
int rhca_mem_to_skb(const struct rhca_mem *mem, u64 addr, u32 bytes,
		    struct sk_buff *skb, bool copy)
{
	unsigned int offset, here;
	struct page *page;
	int ret;

	while (bytes) {
		page = rhca_mem_page(mem, addr, &offset, &here);
		if (!page)
			return -EFAULT;
		here = min(here, bytes);
		if (copy) {
			copy_in(skb, page, offset, here);
		} else {
			ret = attach(skb, page, offset, here);
			if (ret)
				return ret;
		}
		addr += here;
		bytes -= here;
	}
	return 0;
}

/**
 * rhca_skb_to_mem - Copy payload to memory
 * @mem: the memory; rhca_mem_allows() has said yes
 * @addr: first address
 * @bytes: how many
 * @skb: the packet
 * @offset: first byte of the payload, from skb->data
 *
 * Return: 0, or -EFAULT for an address that is no memory.
 */
int rhca_skb_to_mem(const struct rhca_mem *mem, u64 addr, u32 bytes,
		    const struct sk_buff *skb, unsigned int offset)
{
	unsigned int in_page, here;
	struct page *page;
	void *kaddr;

	while (bytes) {
		page = rhca_mem_page(mem, addr, &in_page, &here);
		if (!page)
			return -EFAULT;
		here = min(here, bytes);
		kaddr = kmap_local_page(page);
		skb_copy_bits(skb, offset, kaddr + in_page, here);
		kunmap_local(kaddr);
		addr += here;
		offset += here;
		bytes -= here;
	}
	return 0;
}

static int bytes_to_mem(const struct rhca_mem *mem, u64 addr, u32 bytes,
			const void *data)
{
	unsigned int in_page, here;
	struct page *page;

	while (bytes) {
		page = rhca_mem_page(mem, addr, &in_page, &here);
		if (!page)
			return -EFAULT;
		here = min(here, bytes);
		memcpy_to_page(page, in_page, data, here);
		addr += here;
		data += here;
		bytes -= here;
	}
	return 0;
}

/**
 * struct sge_walk - Position in a scatter/gather list
 * @span: what is left of the span
 * @addr: address of the next piece
 * @bytes: its size
 * @lkey: its key
 */
struct sge_walk {
	struct rhca_span span;
	u64 addr;
	u32 bytes;
	u32 lkey;
};

/* The next piece that lies in one entry; false at the end */
static bool next_piece(struct sge_walk *walk)
{
	struct rhca_span *span = &walk->span;

	while (span->bytes && span->num_sge) {
		if (span->offset >= span->sge->length) {
			span->offset -= span->sge->length;
			span->sge++;
			span->num_sge--;
			continue;
		}
		walk->addr = span->sge->addr + span->offset;
		walk->bytes = min(span->sge->length - span->offset,
				  span->bytes);
		walk->lkey = span->sge->lkey;
		span->offset += walk->bytes;
		span->bytes -= walk->bytes;
		return true;
	}
	return false;
}

/* The memory of a local key, if this QP may use the range in this way */
static struct rhca_mem *get_local(struct rhca_qp *qp,
				  const struct sge_walk *walk, int access)
{
	struct rhca_mem *mem = rhca_mem_get(qp->dev, walk->lkey);

	if (!mem)
		return NULL;
	if (READ_ONCE(mem->pd) == qp->ibqp.pd &&
	    mem->kind != RHCA_MEM_WINDOW_1 && mem->kind != RHCA_MEM_WINDOW_2 &&
	    rhca_mem_allows(mem, walk->addr, walk->bytes, access))
		return mem;
	rhca_mem_put(mem);
	return NULL;
}

/**
 * rhca_gather - Append a span of a scatter/gather list to a packet
 * @qp: whose protection domain counts
 * @span: what to append
 * @skb: the packet
 * @copy: see rhca_mem_to_skb()
 *
 * Return: IB_WC_SUCCESS; IB_WC_LOC_PROT_ERR when a key or range is not allowed;
 * IB_WC_GENERAL_ERR when the span must be copied.
 */
enum ib_wc_status rhca_gather(struct rhca_qp *qp, const struct rhca_span *span,
			      struct sk_buff *skb, bool copy)
{
	struct sge_walk walk = { .span = *span };
	struct rhca_mem *mem;
	int ret;

	while (next_piece(&walk)) {
		mem = get_local(qp, &walk, 0);
		if (!mem)
			return IB_WC_LOC_PROT_ERR;
		ret = rhca_mem_to_skb(mem, walk.addr, walk.bytes, skb, copy);
		rhca_mem_put(mem);
		if (ret)
			return ret == -EOPNOTSUPP ? IB_WC_GENERAL_ERR :
						    IB_WC_LOC_PROT_ERR;
	}
	return IB_WC_SUCCESS;
}

/**
 * rhca_scatter - Copy payload to a span of a scatter/gather list
 * @qp: whose protection domain counts
 * @span: where to
 * @skb: the packet
 * @offset: first byte of the payload, from skb->data
 *
 * Return: IB_WC_SUCCESS; IB_WC_LOC_LEN_ERR when the list is too short;
 * IB_WC_LOC_PROT_ERR when a key or range is not allowed.
 */
enum ib_wc_status rhca_scatter(struct rhca_qp *qp, const struct rhca_span *span,
			       const struct sk_buff *skb, unsigned int offset)
{
	struct sge_walk walk = { .span = *span };
	struct rhca_mem *mem;
	int ret;

	while (next_piece(&walk)) {
		mem = get_local(qp, &walk, IB_ACCESS_LOCAL_WRITE);
		if (!mem)
			return IB_WC_LOC_PROT_ERR;
		ret = rhca_skb_to_mem(mem, walk.addr, walk.bytes, skb, offset);
		rhca_mem_put(mem);
		if (ret)
			return IB_WC_LOC_PROT_ERR;
		offset += walk.bytes;
	}
	return walk.span.bytes ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}

/**
 * rhca_scatter_bytes - Copy bytes to a span of a scatter/gather list
 * @qp: whose protection domain counts
 * @span: where to
 * @data: @span->bytes bytes
 *
 * Return: as rhca_scatter().
 */
enum ib_wc_status rhca_scatter_bytes(struct rhca_qp *qp,
				     const struct rhca_span *span,
				     const void *data)
{
	struct sge_walk walk = { .span = *span };
	struct rhca_mem *mem;
	int ret;

	while (next_piece(&walk)) {
		mem = get_local(qp, &walk, IB_ACCESS_LOCAL_WRITE);
		if (!mem)
			return IB_WC_LOC_PROT_ERR;
		ret = bytes_to_mem(mem, walk.addr, walk.bytes, data);
		rhca_mem_put(mem);
		if (ret)
			return IB_WC_LOC_PROT_ERR;
		data += walk.bytes;
	}
	return walk.span.bytes ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}
