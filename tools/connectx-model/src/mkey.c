// SPDX-License-Identifier: GPL-2.0
#include "mkey.h"

#include <stdlib.h>

#include "device.h"

#define MAX_DEPTH	4	/* of keys that list other keys */
#define MTT_ADDRESS	0x000ffffffffff000ull

static const char *const fault_names[] = {
	[MKEY_OK] = "ok", [MKEY_UNKNOWN] = "unknown key", [MKEY_FREE] = "key is free",
	[MKEY_WRONG_PD] = "other protection domain", [MKEY_WRONG_QP] = "other queue pair",
	[MKEY_NO_RIGHT] = "no right", [MKEY_OUT_OF_BOUNDS] = "out of bounds",
	[MKEY_NO_TRANSLATION] = "no translation",
};

const char *mkey_fault_name(enum mkey_fault fault)
{
	return fault_names[fault];
}

struct mkey *mkey_find(struct device *dev, u32 key)
{
	struct mkey *mkey = find_object(struct mkey, dev, OBJ_MKEY, key >> 8);

	return mkey && mkey->variant == (key & 0xff) ? mkey : NULL;
}

void mkey_load_context(struct mkey *mkey)
{
	const u8 *c = mkey->context;

	mkey->variant = GET(mkc, c, mkey_7_0);
	mkey->mode = GET(mkc, c, access_mode_4_2) << 2 | GET(mkc, c, access_mode_1_0);
	mkey->free = GET(mkc, c, free);
	mkey->umr_enabled = GET(mkc, c, umr_en);
	mkey->remote_invalidate = GET(mkc, c, en_rinval);
	mkey->unbounded = GET(mkc, c, length64);
	mkey->relaxed_write = GET(mkc, c, relaxed_ordering_write);
	mkey->relaxed_read = GET(mkc, c, relaxed_ordering_read);
	mkey->rights = GET(mkc, c, lr) * RIGHT_LOCAL_READ | GET(mkc, c, lw) * RIGHT_LOCAL_WRITE |
		       GET(mkc, c, rr) * RIGHT_REMOTE_READ |
		       GET(mkc, c, rw) * RIGHT_REMOTE_WRITE |
		       GET(mkc, c, a) * RIGHT_REMOTE_ATOMIC;
	mkey->qpn = GET(mkc, c, qpn);
	mkey->start = GET(mkc, c, start_addr);
	mkey->bytes = GET(mkc, c, len);
	mkey->page_shift = GET(mkc, c, log_page_size);
	mkey->pd_number = GET(mkc, c, pd);
	/* Translations are in blocks of 64 bytes; a physical key has none, whatever is given. */
	mkey->octwords = (GET(mkc, c, translations_octword_size) + 3) & ~3u;
	if (mkey->mode == MKEY_PHYSICAL)
		mkey->octwords = 0;
}

void mkey_invalidate(struct mkey *mkey)
{
	SET(mkc, mkey->context, free, 1);
	mkey->free = true;
}

void mkey_destroy(struct object *object)
{
	struct mkey *mkey = container_of(object, struct mkey, object);

	object_unuse(mkey->pd);
	free(mkey->table);
	free(mkey);
}

static enum mkey_fault check(const struct mkey *mkey, const struct mkey_access *who, u64 va,
			     u64 bytes)
{
	if (mkey->free)
		return MKEY_FREE;
	if (who->pd != MKEY_ANY_PD && mkey->pd_number != who->pd)
		return MKEY_WRONG_PD;
	if (mkey->qpn != MKEY_ANY_QPN && mkey->qpn != who->qpn)
		return MKEY_WRONG_QP;
	if ((mkey->rights & who->rights) != who->rights)
		return MKEY_NO_RIGHT;
	if (!mkey->unbounded &&
	    (va < mkey->start || bytes > mkey->bytes || va - mkey->start > mkey->bytes - bytes))
		return MKEY_OUT_OF_BOUNDS;
	return MKEY_OK;
}

/* A stretch of guest memory, found by following keys. */
struct stretch {
	u64 address;
	u32 bytes;
	bool null;
};

static enum mkey_fault translate(struct device *dev, const struct mkey *mkey, u64 va, u32 bytes,
				 u32 depth, struct stretch *out);

static enum mkey_fault through_pages(const struct mkey *mkey, u64 va, u32 bytes,
				     struct stretch *out)
{
	u64 page = 1ull << mkey->page_shift;
	u64 offset = va - mkey->start + (mkey->start & (page - 1));
	u64 index = offset >> mkey->page_shift;

	if (index >= mkey->octwords * 2ull)
		return MKEY_NO_TRANSLATION;
	if (mkey->pages_have_rights && !(mkey->table[8 * index + 7] & MKEY_PAGE_RIGHTS))
		return MKEY_NO_TRANSLATION;
	out->address = (be64_at(mkey->table + 8 * index) & MTT_ADDRESS & ~(page - 1)) +
		       (offset & (page - 1));
	out->bytes = MIN(bytes, page - (offset & (page - 1)));
	return MKEY_OK;
}

static enum mkey_fault through_entry(struct device *dev, const u8 *entry, u64 offset, u32 bytes,
				     u32 depth, struct stretch *out)
{
	u32 key = be32_at(entry + 4);
	struct mkey *inner;

	if (key == MKEY_NULL) {
		*out = (struct stretch){ .bytes = bytes, .null = true };
		return MKEY_OK;
	}
	inner = mkey_find(dev, key);
	if (!inner)
		return MKEY_UNKNOWN;
	if (inner->free)
		return MKEY_FREE;
	return translate(dev, inner, be64_at(entry + 8) + offset, bytes, depth + 1, out);
}

static enum mkey_fault through_list(struct device *dev, const struct mkey *mkey, u64 va,
				    u32 bytes, u32 depth, struct stretch *out)
{
	u64 offset = mkey->unbounded ? va : va - mkey->start;
	u64 size;
	u32 i;

	for (i = 0; i < mkey->octwords; i++) {
		size = be32_at(mkey->table + MKEY_OCTWORD * i);
		size = size ? size : 1ull << 31;
		if (offset < size)
			return through_entry(dev, mkey->table + MKEY_OCTWORD * i, offset,
					     MIN(bytes, size - offset), depth, out);
		offset -= size;
	}
	return MKEY_NO_TRANSLATION;
}

static enum mkey_fault through_fixed_list(struct device *dev, const struct mkey *mkey, u64 va,
					  u32 bytes, u32 depth, struct stretch *out)
{
	u64 size = 1ull << mkey->page_shift;
	u64 offset = va - mkey->start + (mkey->start & (size - 1));
	u64 index = offset >> mkey->page_shift;

	if (index >= mkey->octwords)
		return MKEY_NO_TRANSLATION;
	offset &= size - 1;
	return through_entry(dev, mkey->table + MKEY_OCTWORD * index, offset,
			     MIN(bytes, size - offset), depth, out);
}

static enum mkey_fault translate(struct device *dev, const struct mkey *mkey, u64 va, u32 bytes,
				 u32 depth, struct stretch *out)
{
	if (depth > MAX_DEPTH)
		return MKEY_NO_TRANSLATION;
	if (!mkey->unbounded && (va < mkey->start || va - mkey->start >= mkey->bytes))
		return MKEY_OUT_OF_BOUNDS;
	switch (mkey->mode) {
	case MKEY_PHYSICAL:
		*out = (struct stretch){ .address = va, .bytes = dma_page_rest(va, bytes) };
		return MKEY_OK;
	case MKEY_PAGES:
		return through_pages(mkey, va, bytes, out);
	case MKEY_LIST:
		return through_list(dev, mkey, va, bytes, depth, out);
	case MKEY_FIXED_LIST:
		return through_fixed_list(dev, mkey, va, bytes, depth, out);
	}
	return MKEY_NO_TRANSLATION;
}

/* Called for each stretch. Return: false to stop. */
typedef bool (*stretch_fn)(struct device *dev, const struct stretch *stretch, void *context);

static enum mkey_fault walk(struct device *dev, const struct mkey_access *who, u64 va, u32 bytes,
			    stretch_fn visit, void *context)
{
	struct stretch stretch = { 0 };
	enum mkey_fault fault;
	struct mkey *mkey = NULL;

	if (who->key == MKEY_RESERVED_LKEY && !who->reserved_lkey)
		return MKEY_UNKNOWN;
	if (who->key != MKEY_RESERVED_LKEY) {
		mkey = mkey_find(dev, who->key);
		fault = mkey ? check(mkey, who, va, bytes) : MKEY_UNKNOWN;
		if (fault)
			return fault;
	}
	for (; bytes; bytes -= stretch.bytes, va += stretch.bytes) {
		stretch = (struct stretch){ .address = va, .bytes = dma_page_rest(va, bytes) };
		fault = mkey ? translate(dev, mkey, va, bytes, 0, &stretch) : MKEY_OK;
		if (fault)
			return fault;
		if (!stretch.bytes || !visit(dev, &stretch, context))
			return MKEY_NO_TRANSLATION;
		dev->counters.work.stretches++;
	}
	return MKEY_OK;
}

static bool visit_nothing(struct device *dev, const struct stretch *stretch, void *context)
{
	(void)context;
	return stretch->null || dma_at(&dev->dma, stretch->address, stretch->bytes);
}

static bool visit_read(struct device *dev, const struct stretch *stretch, void *context)
{
	u8 **to = context;

	if (stretch->null)
		memset(*to, 0, stretch->bytes);
	else if (!dma_read(&dev->dma, stretch->address, *to, stretch->bytes))
		return false;
	*to += stretch->bytes;
	return true;
}

static bool visit_write(struct device *dev, const struct stretch *stretch, void *context)
{
	const u8 **from = context;

	if (!stretch->null &&
	    !dma_write(&dev->dma, stretch->address, *from, stretch->bytes))
		return false;
	*from += stretch->bytes;
	return true;
}

static bool visit_atomic(struct device *dev, const struct stretch *stretch, void *context)
{
	u64 **target = context;

	if (stretch->null || stretch->bytes != sizeof(u64) || stretch->address % sizeof(u64))
		return false;
	*target = dma_at(&dev->dma, stretch->address, sizeof(u64));
	return *target != NULL;
}

enum mkey_fault mkey_check(struct device *dev, const struct mkey_access *who, u64 va, u64 bytes)
{
	if (bytes > UINT32_MAX)
		return MKEY_OUT_OF_BOUNDS;
	return walk(dev, who, va, bytes, visit_nothing, NULL);
}

enum mkey_fault mkey_read(struct device *dev, const struct mkey_access *who, u64 va,
			  void *to, u32 bytes)
{
	return walk(dev, who, va, bytes, visit_read, &to);
}

enum mkey_fault mkey_write(struct device *dev, const struct mkey_access *who, u64 va,
			   const void *from, u32 bytes)
{
	return walk(dev, who, va, bytes, visit_write, &from);
}

u64 *mkey_atomic_target(struct device *dev, const struct mkey_access *who, u64 va,
			enum mkey_fault *fault)
{
	u64 *target = NULL;

	*fault = walk(dev, who, va, sizeof(u64), visit_atomic, &target);
	return *fault ? NULL : target;
}
