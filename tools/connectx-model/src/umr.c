// SPDX-License-Identifier: GPL-2.0
#include "umr.h"

#include <stdlib.h>

#include "device.h"
#include "trace.h"

/* Offsets in the WQE: control, UMR control, memory key context, translations. */
enum {
	UMR_MKEY = 12, UMR_FLAGS = 16, UMR_OCTWORDS = 20, UMR_OFFSET = 22, UMR_MASK = 24,
	UMR_OFFSET_HIGH = 32, UMR_CONTEXT = 64, UMR_DATA = 128,
};

#define FLAG_INLINE		0x80u
#define FLAG_FAIL_IF_FREE	0x40u
#define FLAG_FAIL_IF_NOT_FREE	0x20u
#define FLAG_OFFSET		0x10u
#define MASK_FREE		(1ull << 29)
#define MASK_UPDATABLE		0x0000840022fe71c3ull

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
	{ 21, set_atomic }, { 29, set_free },
};

static bool precondition(const struct mkey *mkey, u8 flags)
{
	if ((flags & FLAG_FAIL_IF_FREE) && mkey->free)
		return false;
	return !(flags & FLAG_FAIL_IF_NOT_FREE) || mkey->free;
}

/* Where the new translations come from: the WQE itself, or memory it names. */
static bool fetch_translations(struct device *dev, u32 pd, bool reserved_lkey, const u8 *wqe,
			       u32 wqe_bytes, u8 *to, u32 bytes)
{
	struct mkey_access who = { .pd = pd, .qpn = MKEY_ANY_QPN, .rights = 0,
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
	bytes = MIN(bytes, be32_at(wqe + UMR_DATA));
	return !mkey_read(dev, &who, be64_at(wqe + UMR_DATA + 8), to, bytes);
}

static enum cqe_syndrome load_translations(struct device *dev, struct mkey *mkey, u32 pd,
					   bool reserved_lkey, const u8 *wqe, u32 wqe_bytes)
{
	u32 octwords = be16_at(wqe + UMR_OCTWORDS), offset = 0;
	enum cqe_syndrome result = CQE_OK;
	u8 *list;

	if (wqe[UMR_FLAGS] & FLAG_OFFSET)
		offset = be16_at(wqe + UMR_OFFSET) | be32_at(wqe + UMR_OFFSET_HIGH) << 16;
	if (!octwords)
		return CQE_OK;
	if (offset > mkey->octwords || octwords > mkey->octwords - offset) {
		violation("dev%u: UMR of key %#x: %u octwords at %u, room for %u", dev->index,
			  mkey->object.id, octwords, offset, mkey->octwords);
		return CQE_LOCAL_QP_OP;
	}
	list = zalloc(octwords * MKEY_OCTWORD);
	if (fetch_translations(dev, pd, reserved_lkey, wqe, wqe_bytes, list,
			       octwords * MKEY_OCTWORD))
		memcpy(mkey->table + offset * MKEY_OCTWORD, list, octwords * MKEY_OCTWORD);
	else
		result = CQE_LOCAL_PROTECTION;
	free(list);
	return result;
}

enum cqe_syndrome umr_apply(struct device *dev, u32 pd, bool reserved_lkey, const u8 *wqe,
			    u32 bytes)
{
	struct update u = { .dev = dev };
	struct object *object;
	enum cqe_syndrome result;
	u64 mask;
	u32 i;

	if (bytes < UMR_DATA)
		return CQE_LOCAL_QP_OP;
	/* The key's low byte may be about to change, so it is not compared. */
	object = object_find(&dev->objects, OBJ_MKEY, be32_at(wqe + UMR_MKEY) >> 8);
	u.mkey = object ? container_of(object, struct mkey, object) : NULL;
	if (!u.mkey || !u.mkey->umr_enabled || !precondition(u.mkey, wqe[UMR_FLAGS]))
		return CQE_MW_BIND;
	mask = be64_at(wqe + UMR_MASK);
	if (mask & ~MASK_UPDATABLE) {
		violation("dev%u: UMR mask %#llx has bits that are not modelled", dev->index,
			  (unsigned long long)mask);
		return CQE_LOCAL_QP_OP;
	}
	result = load_translations(dev, u.mkey, pd, reserved_lkey, wqe, bytes);
	if (result)
		return result;
	u.context = wqe + UMR_CONTEXT;
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

enum cqe_syndrome umr_execute(struct qp *qp, const struct send_op *op)
{
	switch (op->opcode) {
	case WQE_UMR:
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
