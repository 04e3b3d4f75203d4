/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues: entries, arming, moderation, resize, overrun. */
#ifndef CONNECTX_CQ_H
#define CONNECTX_CQ_H

#include "eq.h"
#include "timer.h"

#define CQE_BYTES	64
#define CQE_HALF	32

/* In the last byte of an entry: data is in it, or before it. */
#define CQE_HAS_DATA_32	0x04
#define CQE_HAS_DATA_64	0x08

enum cqe_opcode {
	CQE_REQUEST = 0, CQE_WRITE_IMM = 1, CQE_SEND = 2, CQE_SEND_IMM = 3, CQE_SEND_INV = 4,
	CQE_RESIZE = 5, CQE_REQUEST_ERROR = 13, CQE_RESPONSE_ERROR = 14,
};

/* Completion error syndromes, which the driver translates to ib_wc_status. */
enum cqe_syndrome {
	CQE_OK			= 0x00,
	CQE_LOCAL_LENGTH	= 0x01,
	CQE_LOCAL_QP_OP		= 0x02,
	CQE_LOCAL_PROTECTION	= 0x04,
	CQE_FLUSHED		= 0x05,
	CQE_MW_BIND		= 0x06,
	CQE_BAD_RESPONSE	= 0x10,
	CQE_LOCAL_ACCESS	= 0x11,
	CQE_REMOTE_INVALID	= 0x12,
	CQE_REMOTE_ACCESS	= 0x13,
	CQE_REMOTE_OP		= 0x14,
	CQE_RETRY_EXCEEDED	= 0x15,
	CQE_RNR_EXCEEDED	= 0x16,
	CQE_REMOTE_ABORTED	= 0x22,
};

/* Offsets in a 64-byte completion. */
enum {
	CQE_RSS_HASH = 12, CQE_RSS_TYPE = 16, CQE_ML_PATH = 17, CQE_CHECKSUM = 20,
	CQE_SLID = 22, CQE_FLAGS_RQPN = 24, CQE_HDS = 28, CQE_HDR_TYPE = 29,
	CQE_VLAN = 30, CQE_SRQN = 32, CQE_IMM = 36, CQE_BYTE_COUNT = 44, CQE_TIMESTAMP = 48,
	CQE_QPN = 56, CQE_WQE_COUNTER = 60, CQE_OP_OWN = 63,
	CQE_ERR_VENDOR = 54, CQE_ERR_SYNDROME = 55,
};

enum cq_arm { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED_ANY };

struct cq {
	struct object object;
	struct device *dev;
	struct ring ring;
	u32 log_size;
	u32 cqe_bytes;
	struct eq *eq;
	u64 doorbell;
	u32 uar;
	struct object *uar_object;
	bool overrun_ignored;
	bool failed;
	u32 produced;
	u32 last_solicited;		/* produced counter after the last solicited entry */
	enum cq_arm arm;
	u32 events;			/* raised so far; an arm has their number, modulo 4 */
	u32 period_us;
	u32 max_count;
	u32 since_event;
	struct timer moderation;
};

struct cq *cq_find(struct device *dev, u32 cqn);

/**
 * cq_post - Add an entry
 * @cqe: complete but for the owner bit; the opcode is in the high half of its last byte
 * @solicited: the sender requested an event, or this is an error
 */
void cq_post(struct cq *cq, const u8 cqe[CQE_BYTES], bool solicited);

/*
 * Likewise for an entry with a message's data: in its own first half, or up to 64 bytes in the
 * preceding half of an entry of 128 bytes.
 */
void cq_post_with_data(struct cq *cq, const u8 cqe[CQE_BYTES], bool solicited, const u8 *data,
		       u32 bytes);
void cq_doorbell(struct device *dev, u32 uar, u32 word, u32 cqn);

/* Mark the end of the old buffer for the driver and continue in @ring. */
void cq_resize(struct cq *cq, struct ring *ring, u32 log_size);

/* Entries that the driver has not polled yet. */
u32 cq_outstanding(struct cq *cq);
void cq_destroy(struct object *object);
void cq_moderation_expired(struct timer *timer);

#endif
