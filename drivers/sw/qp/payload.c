// SPDX-License-Identifier: GPL-2.0
/* Payload. Each byte is copied once: out while computing the ICRC, in to its destination. */
#include <linux/highmem.h>
#include <linux/libnvdimm.h>
#include <linux/skbuff.h>

#include "sw/qp/payload.h"
#include "sw/packet/packet.h"
#include "sw/qp/qp.h"
#include "sw/verbs/memory/odp.h"
#include "wire/crc32.h"

/* Otherwise a page that cannot be faulted in would be retried for ever */
static_assert(RHCA_PAGE_FAULT_MAX_NS <
	      (RHCA_ODP_FAILURE_LIFE - 1ULL) * NSEC_PER_SEC / HZ);

/* Called for each piece of memory; always a constant, so that it is inlined */
typedef void (*piece_fn)(void *with, void *at, unsigned int bytes);

static void append_piece(void *packet, void *at, unsigned int bytes)
{
	rhca_packet_copy(packet, at, bytes);
}

static void copy_checked(void *with, void *at, unsigned int bytes)
{
	struct rhca_check *check = with;

	check->crc = rhca_crc32_copy(check->vectors, check->crc, at, check->data, bytes);
	check->data += bytes;
}

/* Payload that is copied to memory */
struct source {
	const struct sk_buff *skb;	/* the packet, unless @data points to it */
	const u8 *data;			/* next byte; or NULL */
	unsigned int offset;		/* of the next byte in @skb */
};

static struct source source_of(const struct rhca_rx *rx)
{
	return (struct source){ rx->skb, rhca_rx_payload(rx), rx->payload_offset };
}

static void copy_piece(void *with, void *at, unsigned int bytes)
{
	struct source *source = with;

	if (source->data) {
		memcpy(at, source->data, bytes);
		source->data += bytes;
	} else {
		skb_copy_bits(source->skb, source->offset, at, bytes);
		source->offset += bytes;
	}
}

/* Only check that the memory is resident */
static void only_look(void *with, void *at, unsigned int bytes)
{
}

static void write_piece_back(void *with, void *at, unsigned int bytes)
{
	arch_wb_cache_pmem(at, bytes);
}

/* Call @fn page by page; @ahead: bytes needed from @addr on. Returns as rhca_mem_to_packet() */
static __always_inline int move(const struct rhca_mem *mem, u64 addr, u32 bytes,
				u32 ahead, piece_fn fn, void *with)
{
	unsigned int in_page, here;
	struct page *page;
	void *kaddr;

	while (bytes) {
		page = rhca_mem_page(mem, addr, &in_page, &here);
		if (unlikely(!page))
			return rhca_mem_fault(mem, addr, bytes, ahead);
		here = min(here, bytes);
		kaddr = kmap_local_page(page);
		fn(with, kaddr + in_page, here);
		kunmap_local(kaddr);
		addr += here;
		bytes -= here;
		ahead -= here;
	}
	return 0;
}

/**
 * rhca_mem_to_packet - Append memory to a packet
 * @mem: the memory; rhca_mem_allows() was true
 * @addr: first address
 * @bytes: how many
 * @ahead: how many the packets from this one on need
 * @packet: the packet, protected and not yet sealed
 *
 * Return: 0; -EFAULT for an invalid address; -EINPROGRESS while a page is being faulted in: retry
 * soon.
 */
int rhca_mem_to_packet(const struct rhca_mem *mem, u64 addr, u32 bytes,
		       u32 ahead, struct rhca_packet *packet)
{
	return move(mem, addr, bytes, ahead, append_piece, packet);
}

/* Is the memory resident? @mem: rhca_mem_allows() was true. Returns as rhca_mem_to_packet() */
int rhca_mem_ready(const struct rhca_mem *mem, u64 addr, u32 bytes, u32 ahead)
{
	return move(mem, addr, bytes, ahead, only_look, NULL);
}

/**
 * rhca_rx_to_mem - Copy the payload of a packet to memory
 * @mem: the memory; rhca_mem_allows() was true
 * @addr: first address
 * @ahead: bytes of the message from there on
 * @rx: the packet
 *
 * Return: as rhca_mem_to_packet().
 */
int rhca_rx_to_mem(const struct rhca_mem *mem, u64 addr, u32 ahead,
		   const struct rhca_rx *rx)
{
	struct source source = source_of(rx);

	return move(mem, addr, rx->payload_bytes, ahead, copy_piece, &source);
}

/**
 * rhca_checked_to_mem - Copy payload to memory and compute its CRC
 * @mem: the memory; rhca_mem_allows() was true
 * @addr: first address
 * @bytes: how many
 * @ahead: bytes of the message from there on
 * @check: the payload
 *
 * Context: between rhca_crc32_begin() and rhca_crc32_end().
 * Return: as rhca_mem_to_packet().
 */
int rhca_checked_to_mem(const struct rhca_mem *mem, u64 addr, u32 bytes,
			u32 ahead, struct rhca_check *check)
{
	return move(mem, addr, bytes, ahead, copy_checked, check);
}

/*
 * Write cache lines back to persistent memory; the caller needs pmem_wmb() next. Skips memory that
 * is gone. @mem: rhca_mem_allows() was true.
 */
void rhca_mem_write_back(const struct rhca_mem *mem, u64 addr, u32 bytes)
{
	move(mem, addr, bytes, bytes, write_piece_back, NULL);
}

/* Position in a scatter/gather list */
struct sge_walk {
	struct rhca_span span;	/* rest of the span */
	u64 addr;		/* address of the next piece */
	u32 bytes;		/* its size */
	u32 ahead;		/* bytes of its entry from @addr on */
	u32 lkey;		/* its key */
};

/* Advance to the next piece within one entry; false at the end */
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
		walk->ahead = span->sge->length - span->offset;
		walk->bytes = min(walk->ahead, span->bytes);
		walk->lkey = span->sge->lkey;
		span->offset += walk->bytes;
		span->bytes -= walk->bytes;
		return true;
	}
	return false;
}

/* Get the memory of a local key if the list may access the range */
static struct rhca_mem *get_local(struct rhca_verbs_qp *qp,
				  const struct sge_walk *walk, int access)
{
	const struct ib_pd *pd = walk->span.pd ?: qp->pd;
	struct rhca_mem *mem = rhca_mem_hold(walk->span.held, qp->dev,
					     walk->lkey);

	if (mem && READ_ONCE(mem->pd) == pd &&
	    mem->kind != RHCA_MEM_WINDOW_1 && mem->kind != RHCA_MEM_WINDOW_2 &&
	    rhca_mem_allows(mem, walk->addr, walk->bytes, access))
		return mem;
	return NULL;
}

/* Call @fn entry by entry, checking the key of each */
static __always_inline enum ib_wc_status
move_span(struct rhca_verbs_qp *qp, const struct rhca_span *span, int access,
	  piece_fn fn, void *with)
{
	struct sge_walk walk = { .span = *span };
	struct rhca_mem *mem;
	int ret;

	while (next_piece(&walk)) {
		mem = get_local(qp, &walk, access);
		if (!mem)
			return IB_WC_LOC_PROT_ERR;
		ret = move(mem, walk.addr, walk.bytes, walk.ahead, fn, with);
		if (ret)
			return ret == -EINPROGRESS ? RHCA_WC_PAGE_FAULT :
						     IB_WC_LOC_PROT_ERR;
	}
	return walk.span.bytes ? IB_WC_LOC_LEN_ERR : IB_WC_SUCCESS;
}

/**
 * rhca_gather - Append a span of a scatter/gather list to a packet
 * @qp: gives the protection domain, unless @span has one
 * @span: what to append
 * @packet: the packet, protected and not yet sealed
 *
 * Return: IB_WC_SUCCESS; IB_WC_LOC_PROT_ERR if a key or range is not allowed; RHCA_WC_PAGE_FAULT
 * while a page is being faulted in: retry soon.
 */
enum ib_wc_status rhca_gather(struct rhca_verbs_qp *qp, const struct rhca_span *span,
			      struct rhca_packet *packet)
{
	return move_span(qp, span, 0, append_piece, packet);
}

/**
 * rhca_scatter - Copy the payload of a packet to a span of a scatter/gather list
 * @qp: gives the protection domain, unless @span has one
 * @span: the destination
 * @rx: the packet
 *
 * Return: IB_WC_SUCCESS; IB_WC_LOC_LEN_ERR if the list is too short; IB_WC_LOC_PROT_ERR if a key or
 * range is not allowed; RHCA_WC_PAGE_FAULT while a page is being faulted in: retry soon.
 */
enum ib_wc_status rhca_scatter(struct rhca_verbs_qp *qp, const struct rhca_span *span,
			       const struct rhca_rx *rx)
{
	struct source source = source_of(rx);

	return move_span(qp, span, IB_ACCESS_LOCAL_WRITE, copy_piece, &source);
}

/**
 * rhca_scatter_ready - Is a span ready to receive payload?
 * @qp: gives the protection domain, unless @span has one
 * @span: the destination
 *
 * Return: as rhca_scatter().
 */
enum ib_wc_status rhca_scatter_ready(struct rhca_verbs_qp *qp,
				     const struct rhca_span *span)
{
	return move_span(qp, span, IB_ACCESS_LOCAL_WRITE, only_look, NULL);
}

/**
 * rhca_scatter_bytes - Copy bytes to a span of a scatter/gather list
 * @qp: gives the protection domain, unless @span has one
 * @span: the destination
 * @data: @span->bytes bytes
 *
 * Return: as rhca_scatter().
 */
enum ib_wc_status rhca_scatter_bytes(struct rhca_verbs_qp *qp,
				     const struct rhca_span *span,
				     const void *data)
{
	struct source source = { .data = data };

	return move_span(qp, span, IB_ACCESS_LOCAL_WRITE, copy_piece, &source);
}

/**
 * rhca_scatter_checked - Copy payload to a span and compute its CRC
 * @qp: gives the protection domain, unless @span has one
 * @span: the destination
 * @check: the payload
 *
 * Context: between rhca_crc32_begin() and rhca_crc32_end().
 * Return: as rhca_scatter().
 */
enum ib_wc_status rhca_scatter_checked(struct rhca_verbs_qp *qp,
				       const struct rhca_span *span,
				       struct rhca_check *check)
{
	return move_span(qp, span, IB_ACCESS_LOCAL_WRITE, copy_checked, check);
}
