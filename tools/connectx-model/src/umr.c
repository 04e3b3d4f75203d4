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
#define MASK_ATOMIC		(1ull << 21)
#define MASK_RELAXED_WRITE	(1ull << 25)
#define MASK_RELAXED_READ	(1ull << 47)
#define MASK_UPDATABLE		0x0000840022fe71c3ull
#define GROUP_OCTWORDS		4u	/* page addresses come in 64 bytes */
#define LIST_ALIGN		2048u	/* of a list that is not in the request itself */
#define DIGEST_BEGIN		0xcbf29ce484222325ull	/* FNV-1a */
#define DIGEST_FACTOR		0x100000001b3ull

struct update {
	struct device *dev;
	struct mkey *mkey;
	const u8 *context;	/* mkc, as in CREATE_MKEY */
};

static void set_length(struct update *u)
{
	u->mkey->bytes = GET(mkc, u->context, len);
	u->mkey->unbounded = GET(mkc, u->context, length64);
}

static void set_page_size(struct update *u)
{
	u->mkey->page_shift = GET(mkc, u->context, log_page_size);
}

static void set_start(struct update *u)
{
	u->mkey->start = GET(mkc, u->context, start_addr);
}

static void set_pd(struct update *u)
{
	struct object *pd = object_find(&u->dev->objects, OBJ_PD, GET(mkc, u->context, pd));

	object_unuse(u->mkey->pd);
	u->mkey->pd = pd;
	u->mkey->pd_number = GET(mkc, u->context, pd);
	object_use(pd);
}

static void set_remote_invalidate(struct update *u)
{
	u->mkey->remote_invalidate = GET(mkc, u->context, en_rinval);
}

static void set_key(struct update *u)
{
	u->mkey->variant = GET(mkc, u->context, mkey_7_0);
}

static void set_qpn(struct update *u)
{
	u->mkey->qpn = GET(mkc, u->context, qpn);
}

static void set_right(struct update *u, u8 right, bool value)
{
	u->mkey->rights = value ? u->mkey->rights | right : u->mkey->rights & ~right;
}

static void set_local_read(struct update *u)
{
	set_right(u, RIGHT_LOCAL_READ, GET(mkc, u->context, lr));
}

static void set_local_write(struct update *u)
{
	set_right(u, RIGHT_LOCAL_WRITE, GET(mkc, u->context, lw));
}

static void set_remote_read(struct update *u)
{
	set_right(u, RIGHT_REMOTE_READ, GET(mkc, u->context, rr));
}

static void set_remote_write(struct update *u)
{
	set_right(u, RIGHT_REMOTE_WRITE, GET(mkc, u->context, rw));
}

static void set_atomic(struct update *u)
{
	set_right(u, RIGHT_REMOTE_ATOMIC, GET(mkc, u->context, a));
}

static void set_relaxed_write(struct update *u)
{
	u->mkey->relaxed_write = GET(mkc, u->context, relaxed_ordering_write);
}

static void set_relaxed_read(struct update *u)
{
	u->mkey->relaxed_read = GET(mkc, u->context, relaxed_ordering_read);
}

static void set_free(struct update *u)
{
	u->mkey->free = GET(mkc, u->context, free);
}

/* The bits of the mask that change something here; the others are hints. */
static const struct {
	u32 bit;
	void (*set)(struct update *u);
} updates[] = {
	{ 0, set_length }, { 1, set_page_size }, { 6, set_start }, { 7, set_pd },
	{ 8, set_remote_invalidate }, { 13, set_key }, { 14, set_qpn }, { 17, set_local_read },
	{ 18, set_local_write }, { 19, set_remote_read }, { 20, set_remote_write },
	{ 21, set_atomic }, { 25, set_relaxed_write }, { 29, set_free },
	{ 47, set_relaxed_read },
};

/* What a request may change on this adapter. */
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

/* Is the new context one that CREATE_MKEY would take as well? */
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

/* Where the new translations come from: the WQE itself, or memory it names. */
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

/* Does the part of the table exist, and is it one that a request can name? */
static bool part_good(const struct device *dev, const struct mkey *mkey, u32 octwords, u64 offset)
{
	if (offset > UINT16_MAX && !CAP(dev, umr_extended_translation_offset))
		return false;
	if (mkey->mode == MKEY_PAGES && (octwords % GROUP_OCTWORDS || offset % GROUP_OCTWORDS))
		return false;
	return offset <= mkey->octwords && octwords <= mkey->octwords - offset;
}

/*
 * Below the smallest page size there are rights of the page and nothing else. A list in
 * the request itself ends in what was there before, of which no page is used.
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
	struct update u = { .dev = dev };
	enum cqe_syndrome result;
	u64 mask;
	u32 i;

	if (bytes < UMR_DATA)
		return CQE_LOCAL_QP_OP;
	/* The key's low byte may be about to change, so it is not compared. */
	u.mkey = find_object(struct mkey, dev, OBJ_MKEY, be32_at(wqe + UMR_MKEY) >> 8);
	if (!u.mkey || !u.mkey->umr_enabled || !precondition(u.mkey, wqe[UMR_FLAGS]))
		return CQE_MW_BIND;
	mask = be64_at(wqe + UMR_MASK);
	u.context = wqe + UMR_CONTEXT;
	if ((mask & ~updatable(dev)) || !context_good(dev, u.mkey, u.context, mask)) {
		violation("dev%u: UMR of key %#x, mask %#llx: a field that cannot be changed so",
			  dev->index, u.mkey->object.id, (unsigned long long)mask);
		return CQE_LOCAL_QP_OP;
	}
	result = load_translations(dev, u.mkey, pd, reserved_lkey, wqe, bytes);
	if (result)
		return result;
	for (i = 0; i < ARRAY_SIZE(updates); i++)
		if (mask >> updates[i].bit & 1)
			updates[i].set(&u);
	return CQE_OK;
}

static enum cqe_syndrome local_invalidate(struct qp *qp, const struct send_op *op)
{
	struct mkey *mkey = mkey_find(qp->dev, op->immediate);

	if (!mkey || (qp->pd != MKEY_ANY_PD && mkey->pd_number != qp->pd))
		return CQE_MW_BIND;
	mkey->free = true;
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
