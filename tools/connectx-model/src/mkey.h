/* SPDX-License-Identifier: GPL-2.0 */
/* Memory keys: which guest memory a work request or a peer may touch. */
#ifndef CONNECTX_MKEY_H
#define CONNECTX_MKEY_H

#include "ifc.h"
#include "resource.h"

struct device;

/* The access bits of a memory key, in the order of mkc's a, rw, rr, lw, lr. */
enum {
	RIGHT_LOCAL_READ	= 0x01,
	RIGHT_LOCAL_WRITE	= 0x02,
	RIGHT_REMOTE_READ	= 0x04,
	RIGHT_REMOTE_WRITE	= 0x08,
	RIGHT_REMOTE_ATOMIC	= 0x10,
};

enum mkey_mode { MKEY_PHYSICAL = 0, MKEY_PAGES = 1, MKEY_LIST = 2, MKEY_FIXED_LIST = 3 };

/* Keys that exist without being created. */
#define MKEY_RESERVED_LKEY	0x700u
#define MKEY_DUMP_FILL		0x500u
#define MKEY_NULL		0x600u
#define MKEY_ANY_QPN		0xffffffu
#define MKEY_ANY_PD		0xffffffffu	/* the driver's own registration queue */
#define MKEY_OCTWORD		16u
#define MKEY_MIN_PAGE_SHIFT	12u
#define MKEY_MAX_PAGE_SHIFT	31u
#define MKEY_PAGE_RIGHTS	3u	/* in an entry: read, write */

struct mkey {
	struct object object;
	struct object *pd;
	u8 context[IFC_BYTES(mkc)];	/* mkey_load_context() reads the fields below from it */
	u32 pd_number;
	u8 variant;		/* low byte of the key */
	enum mkey_mode mode;
	bool free;
	bool umr_enabled;
	bool remote_invalidate;
	bool unbounded;		/* length64: the whole memory */
	bool pages_have_rights;	/* an entry without any is not present */
	bool relaxed_write;
	bool relaxed_read;
	u8 rights;
	u32 qpn;
	u64 start;
	u64 bytes;
	u32 page_shift;
	u32 octwords;		/* size of the translation table */
	u8 *table;		/* big-endian, as written by the driver */
};

/* The requester, and the access that it requests. */
struct mkey_access {
	u32 key;
	u32 pd;
	u32 qpn;
	u8 rights;
	bool reserved_lkey;	/* the queue may use MKEY_RESERVED_LKEY */
};

enum mkey_fault {
	MKEY_OK, MKEY_UNKNOWN, MKEY_FREE, MKEY_WRONG_PD, MKEY_WRONG_QP, MKEY_NO_RIGHT,
	MKEY_OUT_OF_BOUNDS, MKEY_NO_TRANSLATION,
};

struct mkey *mkey_find(struct device *dev, u32 key);
void mkey_load_context(struct mkey *mkey);

/* It may not be used until a request enables it. */
void mkey_invalidate(struct mkey *mkey);
enum mkey_fault mkey_check(struct device *dev, const struct mkey_access *who, u64 va, u64 bytes);

/* Copy between the model and guest memory, through a key, after checks. */
enum mkey_fault mkey_read(struct device *dev, const struct mkey_access *who, u64 va,
			  void *to, u32 bytes);
enum mkey_fault mkey_write(struct device *dev, const struct mkey_access *who, u64 va,
			   const void *from, u32 bytes);

/* Host address of 8 bytes for an atomic operation, or NULL with the fault. */
u64 *mkey_atomic_target(struct device *dev, const struct mkey_access *who, u64 va,
			enum mkey_fault *fault);
const char *mkey_fault_name(enum mkey_fault fault);
void mkey_destroy(struct object *object);

#endif
