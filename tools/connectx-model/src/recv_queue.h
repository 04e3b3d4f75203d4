/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive queues: a QP's own, a shared one (a linked list of entries), or an Ethernet one. They
 * have no doorbell: the driver only writes how much it has posted to a record in its memory.
 */
#ifndef CONNECTX_RECV_QUEUE_H
#define CONNECTX_RECV_QUEUE_H

#include "mkey.h"
#include "resource.h"
#include "ring.h"

#define RECV_MAX_SEGMENTS	32

#define SEGMENT_WITHOUT_LENGTH	(1u << 31)	/* bytes of a segment with length 0 */

struct segment {
	u64 address;
	u32 key;
	u32 bytes;
	const u8 *inline_data;	/* instead of the key and the address */
};

struct recv_queue {
	struct ring ring;
	u32 start;		/* of the queue in the ring, bytes */
	u32 log_count;
	u32 stride;		/* bytes of an entry */
	u64 doorbell;
	bool linked;		/* each entry names the next one */
	u16 consumed;
	u16 next;		/* index of the next entry */
	u32 pd;
	bool reserved_lkey;
	u16 limit;		/* 0: not armed */
};

/* A posted receive, copied out of guest memory. */
struct recv_wqe {
	u16 index;
	u32 segments;
	u32 bytes;
	struct segment segment[RECV_MAX_SEGMENTS];
};

/* A receive queue shared by several QPs: SRQ, RMP or XRC SRQ. */
struct srq {
	struct object object;
	struct device *dev;
	struct recv_queue queue;
	struct object *pd;
	struct object *xrcd;
	struct cq *cq;			/* of an XRC SRQ */
	u32 user_index;
	u8 context[192];		/* as created, for queries */
};

u32 recv_queue_posted(struct device *dev, const struct recv_queue *queue);

/* Take the next posted entry. Return: false if there is none. */
bool recv_queue_take(struct device *dev, struct recv_queue *queue, struct recv_wqe *wqe);

struct srq *srq_find(struct device *dev, enum object_kind kind, u32 number);

/* Raise the limit event if fewer entries are left than the driver's limit. */
void srq_check_limit(struct srq *srq);

#endif
