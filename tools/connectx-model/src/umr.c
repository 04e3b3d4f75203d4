// SPDX-License-Identifier: GPL-2.0
#include "umr.h"

#include <stdlib.h>

#include "device.h"
#include "trace.h"
#include "trace_request.h"

/* Offsets in the WQE: control, UMR control, memory key context, translations. */
enum {
	UMR_MKEY = 12, UMR_FLAGS = 16, UMR_OCTWORDS = 20, UMR_OFFSET = 22, UMR_MASK = 24,
	UMR_OFFSET_HIGH = 32, UMR_CONTEXT = 64, UMR_DATA = 128,
};

#define FLAG_INLINE		0x80u
#define FLAG_FAIL_IF_FREE	0x40u
#define FLAG_FAIL_IF_NOT_FREE	0x20u
#define FLAG_OFFSET		0x10u
#define MASK_PAGE_SIZE		(1ull << 1)
#define MASK_PD			(1ull << 7)
#define MASK_KEY		(1ull << 13)	/* its low byte */
#define MASK_ATOMIC		(1ull << 21)
#define MASK_RELAXED_WRITE	(1ull << 25)
#define MASK_RELAXED_READ	(1ull << 47)
#define MASK_UPDATABLE		0x0000840022fe71c3ull
#define GROUP_OCTWORDS		4u	/* page addresses come in 64 bytes */
#define LIST_ALIGN		2048u	/* of a list that is not inside the request */
#define DIGEST_BEGIN		0xcbf29ce484222325ull	/* FNV-1a */
#define DIGEST_FACTOR		0x100000001b3ull

#define FIELD(mask_bit, field) \
	{ mask_bit, #field, IFC_BIT(mkc, field), IFC_WIDTH(mkc, field) }

const struct umr_field umr_fields[] = {
	FIELD(0, len), FIELD(0, length64), FIELD(1, log_page_size), FIELD(6, start_addr),
	FIELD(7, pd), FIELD(8, en_rinval), FIELD(13, mkey_7_0), FIELD(14, qpn), FIELD(17, lr),
	FIELD(18, lw), FIELD(19, rr), FIELD(20, rw), FIELD(21, a),
	FIELD(23, small_fence_on_rdma_read_response), FIELD(25, relaxed_ordering_write),
	FIELD(29, free), FIELD(47, relaxed_ordering_read), { 0 }
};

/* Bits without a field are hints. */
static void update(struct device *dev, struct mkey *mkey, const u8 *context, u64 mask)
{
	const struct umr_field *field;

	for (field = umr_fields; field->name; field++)
		if (mask >> field->mask_bit & 1)
			ifc_set_bits(mkey->context, field->bit, field->bits,
				     ifc_get_bits(context, field->bit, field->bits));
	mkey_load_context(mkey);
	if (!(mask & MASK_PD))
		return;
	object_unuse(mkey->pd);
	mkey->pd = object_find(&dev->objects, OBJ_PD, mkey->pd_number);
	object_use(mkey->pd);
}

/* Fields that a request may change on this adapter. */
static u64 updatable(const struct device *dev)
{
	u64 mask = MASK_UPDATABLE;

	if (CAP(dev, umr_modify_entity_size_disabled))
		mask &= ~MASK_PAGE_SIZE;
	if (CAP(dev, umr_modify_atomic_disabled) || !CAP(dev, atomic))
		mask &= ~MASK_ATOMIC;
	if (!CAP(dev, relaxed_ordering_write_umr))
		mask &= ~MASK_RELAXED_WRITE;
	if (!CAP(dev, relaxed_ordering_read_umr))
		mask &= ~MASK_RELAXED_READ;
	return mask;
}

/* Is the new context one that CREATE_MKEY would also accept? */
static bool context_good(struct device *dev, const struct mkey *mkey, const u8 *context,
			 u64 mask)
{
	u32 shift = GET(mkc, context, log_page_size);

	if ((mask & MASK_PD) && !object_find(&dev->objects, OBJ_PD, GET(mkc, context, pd)))
		return false;
	return !(mask & MASK_PAGE_SIZE) || mkey->mode != MKEY_PAGES ||
	       (shift >= MKEY_MIN_PAGE_SHIFT && shift <= MKEY_MAX_PAGE_SHIFT);
}

static bool precondition(const struct mkey *mkey, u8 flags)
{
	if ((flags & FLAG_FAIL_IF_FREE) && mkey->free)
		return false;
	return !(flags & FLAG_FAIL_IF_NOT_FREE) || mkey->free;
}

static u64 offset_of(const u8 *wqe)
{
	if (!(wqe[UMR_FLAGS] & FLAG_OFFSET))
		return 0;
	return be16_at(wqe + UMR_OFFSET) | (u64)be32_at(wqe + UMR_OFFSET_HIGH) << 16;
}

/* Source of the new translations: the WQE itself, or memory that it names. */
static bool fetch_translations(struct device *dev, u32 pd, bool reserved_lkey, const u8 *wqe,
			       u32 wqe_bytes, u8 *to, u32 bytes)
{
	struct mkey_access who = { .pd = pd, .qpn = MKEY_ANY_QPN, .rights = RIGHT_LOCAL_READ,
				   .reserved_lkey = reserved_lkey };

	if (wqe[UMR_FLAGS] & FLAG_INLINE) {
		if (wqe_bytes < UMR_DATA + bytes)
			return false;
		memcpy(to, wqe + UMR_DATA, bytes);
		return true;
	}
	if (wqe_bytes < UMR_DATA + 16)
		return false;
	who.key = be32_at(wqe + UMR_DATA + 4);
	if (be32_at(wqe + UMR_DATA) < bytes || be64_at(wqe + UMR_DATA + 8) % LIST_ALIGN) {
		violation("dev%u: UMR: list of %u bytes at %#llx, %u are needed", dev->index,
			  be32_at(wqe + UMR_DATA),
			  (unsigned long long)be64_at(wqe + UMR_DATA + 8), bytes);
		return false;
	}
	return !mkey_read(dev, &who, be64_at(wqe + UMR_DATA + 8), to, bytes);
}

/* Does this part of the table exist, and can a request name it? */
static bool part_good(const struct device *dev, const struct mkey *mkey, u32 octwords, u64 offset)
{
	if (offset > UINT16_MAX && !CAP(dev, umr_extended_translation_offset))
		return false;
	if (mkey->mode == MKEY_PAGES && (octwords % GROUP_OCTWORDS || offset % GROUP_OCTWORDS))
		return false;
	return offset <= mkey->octwords && octwords <= mkey->octwords - offset;
}

/*
 * Bits below the smallest page size are the page's rights and nothing else. A list in the request
 * itself is padded with old contents, of which no page is used.
 */
static bool entries_good(const struct mkey *mkey, const u8 *wqe, const u8 *list, u32 octwords)
{
	u32 i;

	if (mkey->mode != MKEY_PAGES || (wqe[UMR_FLAGS] & FLAG_INLINE))
		return true;
	for (i = 0; i < octwords * 2; i++)
		if (be64_at(list + 8 * i) & ((1u << MKEY_MIN_PAGE_SHIFT) - 1) & ~MKEY_PAGE_RIGHTS)
			return false;
	return true;
}

static enum cqe_syndrome load_translations(struct device *dev, struct mkey *mkey, u32 pd,
					   bool reserved_lkey, const u8 *wqe, u32 wqe_bytes)
{
	u32 octwords = be16_at(wqe + UMR_OCTWORDS);
	u64 offset = offset_of(wqe);
	enum cqe_syndrome result = CQE_OK;
	u8 *list;

	if (!octwords)
		return CQE_OK;
	if (!part_good(dev, mkey, octwords, offset)) {
		violation("dev%u: UMR of key %#x: %u octwords at %llu, room for %u", dev->index,
			  mkey->object.id, octwords, (unsigned long long)offset, mkey->octwords);
		return CQE_LOCAL_QP_OP;
	}
	list = zalloc(octwords * MKEY_OCTWORD);
	if (fetch_translations(dev, pd, reserved_lkey, wqe, wqe_bytes, list,
			       octwords * MKEY_OCTWORD) && entries_good(mkey, wqe, list, octwords))
		memcpy(mkey->table + offset * MKEY_OCTWORD, list, octwords * MKEY_OCTWORD);
	else
		result = CQE_LOCAL_PROTECTION;
	if (mkey->mode == MKEY_PAGES && (trace_topics & TRACE_WQE) && (trace_topics & TRACE_FIELD))
		command_trace_pages(list, octwords * 2);
	free(list);
	mkey->pages_have_rights = true;
	return result;
}

enum cqe_syndrome umr_apply(struct device *dev, u32 pd, bool reserved_lkey, const u8 *wqe,
			    u32 bytes)
{
	const u8 *context = wqe + UMR_CONTEXT;
	u32 key = be32_at(wqe + UMR_MKEY);
	enum cqe_syndrome result;
	struct mkey *mkey;
	u64 mask;

	if (bytes < UMR_DATA)
		return CQE_LOCAL_QP_OP;
	mkey = find_object(struct mkey, dev, OBJ_MKEY, key >> 8);
	if (!mkey || !mkey->umr_enabled || !precondition(mkey, wqe[UMR_FLAGS]))
		return CQE_MW_BIND;
	mask = be64_at(wqe + UMR_MASK);
	if (!(mask & MASK_KEY) && (key & 0xff) != mkey->variant) {
		violation("dev%u: UMR of key %#x, which is named %#x", dev->index,
			  mkey->object.id << 8 | mkey->variant, key);
		return CQE_MW_BIND;
	}
	if ((mask & ~updatable(dev)) || !context_good(dev, mkey, context, mask)) {
		violation("dev%u: UMR of key %#x, mask %#llx: a field that cannot be changed so",
			  dev->index, mkey->object.id, (unsigned long long)mask);
		return CQE_LOCAL_QP_OP;
	}
	result = load_translations(dev, mkey, pd, reserved_lkey, wqe, bytes);
	if (!result)
		update(dev, mkey, context, mask);
	return result;
}

static enum cqe_syndrome local_invalidate(struct qp *qp, const struct send_op *op)
{
	struct mkey *mkey = mkey_find(qp->dev, op->immediate);

	if (!mkey || (qp->pd != MKEY_ANY_PD && mkey->pd_number != qp->pd))
		return CQE_MW_BIND;
	mkey_invalidate(mkey);
	return CQE_OK;
}

static void trace_umr(const struct qp *qp, const struct send_op *op)
{
	const struct key_request request = {
		.flags = op->wqe[UMR_FLAGS] & ~FLAG_OFFSET,
		.octwords = be16_at(op->wqe + UMR_OCTWORDS),
		.offset = offset_of(op->wqe),
		.mask = be64_at(op->wqe + UMR_MASK),
		.context = op->wqe + UMR_CONTEXT,
	};

	if (op->wqe_bytes >= UMR_DATA)
		trace_key_request(qp, op, &request);
}

enum cqe_syndrome umr_execute(struct qp *qp, const struct send_op *op)
{
	switch (op->opcode) {
	case WQE_UMR:
		trace_umr(qp, op);
		if (!(op->wqe[UMR_FLAGS] & FLAG_INLINE) && !qp->fast_registration) {
			violation("dev%u: QP %#x registers memory without fre", qp->dev->index,
				  qp->object.id);
			return CQE_LOCAL_QP_OP;
		}
		return umr_apply(qp->dev, qp->pd, qp->reserved_lkey, op->wqe, op->wqe_bytes);
	case WQE_LOCAL_INV:
		return local_invalidate(qp, op);
	case WQE_NOP:
	case WQE_SET_PSV:
		return CQE_OK;
	}
	return CQE_LOCAL_QP_OP;
}

u64 umr_list_digest(const struct qp *qp, const struct send_op *op)
{
	u32 bytes = be16_at(op->wqe + UMR_OCTWORDS) * MKEY_OCTWORD, i;
	u64 digest = 0;
	u8 *list;

	if (op->wqe_bytes < UMR_DATA || (op->wqe[UMR_FLAGS] & FLAG_INLINE) || !bytes)
		return 0;
	list = zalloc(bytes);
	if (fetch_translations(qp->dev, qp->pd, qp->reserved_lkey, op->wqe, op->wqe_bytes, list,
			       bytes))
		for (i = 0, digest = DIGEST_BEGIN; i < bytes; i++)
			digest = (digest ^ list[i]) * DIGEST_FACTOR;
	free(list);
	return digest;
}
