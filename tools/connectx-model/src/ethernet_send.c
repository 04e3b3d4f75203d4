// SPDX-License-Identifier: GPL-2.0
/* Ethernet send queues: frames, checksums, segmentation, VLAN insertion. */
#include <stdlib.h>

#include "device.h"
#include "ethernet.h"
#include "qp.h"
#include "roce.h"
#include "trace.h"
#include "umr.h"

#define MAX_FRAME_BYTES		(64u * 1024 + 256)
#define MAX_INLINE_HEADER	512u
#define ETHERNET_BYTES		14u
#define CONTROL_BYTES		16u

/* Offsets in the Ethernet segment, from the start of the WQE. */
enum { ETH_CS_FLAGS = 20, ETH_MSS = 22, ETH_INLINE_SIZE = 28, ETH_INLINE = 30, ETH_DATA = 32 };

#define CS_L3			0x40u
#define CS_L4			0x80u
#define INSERT_VLAN		0x8000u
#define INLINE			0x80000000u
#define WQE_CQ_UPDATE		0x08u
#define PROTOCOL_TCP		6u
#define PROTOCOL_UDP		17u
#define TCP_FIN_PSH		0x09u
#define TCP_CWR			0x80u

struct outgoing {
	u8 data[MAX_FRAME_BYTES];
	u32 bytes;
	u32 header;		/* bytes provided inline */
};

/* Offsets of the headers of a frame. */
struct headers {
	u32 l3;
	u32 l4;
	u8 version;
	u8 protocol;
};

struct sq *sq_find(struct device *dev, u32 number)
{
	return find_object(struct sq, dev, OBJ_SQ, number);
}

void sq_destroy(struct object *object)
{
	struct sq *sq = container_of(object, struct sq, object);

	object_unuse(sq->pd_object);
	object_unuse(sq->uar);
	object_unuse(sq->tis ? &sq->tis->object : NULL);
	object_unuse(&sq->cq->object);
	ring_free(&sq->ring);
	free(sq);
}

static void transmit(struct sq *sq, const u8 *frame, u32 bytes)
{
	struct frame_source source = { .td = sq->tis->td->id, .affinity = sq->tis->affinity };

	port_send_ethernet(sq->dev, frame, bytes, &source);
}

static bool find_headers(const u8 *frame, u32 bytes, struct headers *h)
{
	u32 at = 12;
	u16 type = bytes >= ETHERNET_BYTES + 4 ? be16_at(frame + at) : 0;

	if (type == 0x8100) {
		at += 4;
		type = be16_at(frame + at);
	}
	h->l3 = at + 2;
	if (type == 0x0800 && bytes >= h->l3 + 20) {
		h->version = 4;
		h->protocol = frame[h->l3 + 9];
		h->l4 = h->l3 + (frame[h->l3] & 0xf) * 4;
		return h->l4 + 8 <= bytes && h->l4 >= h->l3 + 20;
	}
	if (type == 0x86dd && bytes >= h->l3 + 48) {
		h->version = 6;
		h->protocol = frame[h->l3 + 6];
		h->l4 = h->l3 + 40;
		return true;
	}
	return false;
}

/* Sum of the pseudo header, not folded. */
static u32 pseudo_sum(const u8 *frame, const struct headers *h, u32 l4_bytes)
{
	u32 addresses = h->version == 4 ? 8 : 32, sum = h->protocol + l4_bytes, i;
	const u8 *at = frame + h->l3 + (h->version == 4 ? 12 : 8);

	for (i = 0; i < addresses; i += 2)
		sum += be16_at(at + i);
	return sum;
}

static void fill_checksums(u8 *frame, u32 bytes, u8 flags)
{
	struct headers h;
	u32 field;
	u16 sum;

	if (!find_headers(frame, bytes, &h))
		return;
	if ((flags & CS_L3) && h.version == 4) {
		put_be16(frame + h.l3 + 10, 0);
		put_be16(frame + h.l3 + 10,
			 internet_checksum(frame + h.l3, h.l4 - h.l3, 0));
	}
	if (!(flags & CS_L4) || (h.protocol != PROTOCOL_TCP && h.protocol != PROTOCOL_UDP))
		return;
	field = h.l4 + (h.protocol == PROTOCOL_TCP ? 16 : 6);
	if (field + 2 > bytes)
		return;
	put_be16(frame + field, 0);
	sum = internet_checksum(frame + h.l4, bytes - h.l4,
				pseudo_sum(frame, &h, bytes - h.l4));
	put_be16(frame + field, sum || h.protocol == PROTOCOL_TCP ? sum : 0xffff);
}

static void insert_vlan(struct outgoing *out, u16 tag)
{
	memmove(out->data + 16, out->data + 12, out->bytes - 12);
	put_be16(out->data + 12, 0x8100);
	put_be16(out->data + 14, tag);
	out->bytes += 4;
}

/* One segment of a large TCP send: the adapted headers, and a part of the data. */
static void send_segment(struct sq *sq, const struct outgoing *out, const struct headers *h,
			 u32 offset, u32 part, bool last)
{
	u8 frame[MAX_INLINE_HEADER + 65536];
	u32 bytes = out->header + part, done = offset - out->header;
	u32 sequence = be32_at(out->data + h->l4 + 4);

	memcpy(frame, out->data, out->header);
	memcpy(frame + out->header, out->data + offset, part);
	if (h->version == 4) {
		put_be16(frame + h->l3 + 2, bytes - h->l3);
		put_be16(frame + h->l3 + 4, be16_at(frame + h->l3 + 4) + (done ? done / part : 0));
	} else {
		put_be16(frame + h->l3 + 4, bytes - h->l4);
	}
	if (h->protocol == PROTOCOL_TCP) {
		put_be32(frame + h->l4 + 4, sequence + done);
		if (!last)
			frame[h->l4 + 13] &= ~TCP_FIN_PSH;
		if (done)
			frame[h->l4 + 13] &= ~TCP_CWR;
	} else {
		put_be16(frame + h->l4 + 4, bytes - h->l4);
	}
	fill_checksums(frame, bytes, CS_L3 | CS_L4);
	transmit(sq, frame, bytes);
}

static void send_segments(struct sq *sq, const struct outgoing *out, u16 mss)
{
	struct headers h;
	u32 offset, part;

	if (!mss || !find_headers(out->data, out->bytes, &h) || out->header < h.l4 + 8 ||
	    out->header > MAX_INLINE_HEADER) {
		violation("dev%u: SQ %#x: large send without headers or segment size",
			  sq->dev->index, sq->object.id);
		return;
	}
	for (offset = out->header; offset < out->bytes; offset += part) {
		part = MIN(mss, out->bytes - offset);
		send_segment(sq, out, &h, offset, part, offset + part == out->bytes);
	}
}

static bool gather_data(struct sq *sq, const u8 *wqe, u32 wqe_bytes, u32 at,
			struct outgoing *out)
{
	struct mkey_access who = { .pd = sq->pd, .qpn = sq->object.id,
				   .rights = RIGHT_LOCAL_READ,
				   .reserved_lkey = sq->reserved_lkey };
	u32 bytes;

	for (; at + 16 <= wqe_bytes; at += 16) {
		bytes = be32_at(wqe + at);
		if (bytes & INLINE || bytes > sizeof(out->data) - out->bytes)
			return false;
		who.key = be32_at(wqe + at + 4);
		if (mkey_read(sq->dev, &who, be64_at(wqe + at + 8), out->data + out->bytes, bytes))
			return false;
		out->bytes += bytes;
	}
	return true;
}

static bool send_frame(struct sq *sq, const u8 *wqe, u32 wqe_bytes, u8 opcode)
{
	static struct outgoing out;
	u16 size = be16_at(wqe + ETH_INLINE_SIZE);
	u32 at = ETH_DATA;

	out.bytes = 0;
	out.header = 0;
	if (!(size & INSERT_VLAN) && size) {
		if ((u32)ETH_INLINE + size > wqe_bytes || size > MAX_INLINE_HEADER)
			return false;
		memcpy(out.data, wqe + ETH_INLINE, size);
		out.bytes = out.header = size;
		if (size > 2)
			at += (size - 2 + 15) & ~15u;
	}
	if (!gather_data(sq, wqe, wqe_bytes, at, &out) || out.bytes < ETHERNET_BYTES)
		return false;
	if (size & INSERT_VLAN && out.bytes + 4 <= sizeof(out.data))
		insert_vlan(&out, be16_at(wqe + ETH_INLINE));
	if (opcode == WQE_LSO) {
		send_segments(sq, &out, be16_at(wqe + ETH_MSS));
		return true;
	}
	fill_checksums(out.data, out.bytes, wqe[ETH_CS_FLAGS]);
	transmit(sq, out.data, out.bytes);
	return true;
}

static void complete(struct sq *sq, const u8 *wqe, u16 index, enum cqe_syndrome syndrome)
{
	u8 cqe[CQE_BYTES] = { 0 };

	if (!(wqe[11] & WQE_CQ_UPDATE) && !syndrome)
		return;
	put_be32(cqe + CQE_SRQN, sq->user_index);
	put_be32(cqe + CQE_QPN, (be32_at(wqe) & 0xff) << 24 | sq->object.id);
	put_be16(cqe + CQE_WQE_COUNTER, index);
	cqe[CQE_OP_OWN] = (syndrome ? CQE_REQUEST_ERROR : CQE_REQUEST) << 4;
	if (syndrome)
		cqe[CQE_ERR_SYNDROME] = syndrome;
	cq_post(sq->cq, cqe, syndrome);
}

static enum cqe_syndrome execute(struct sq *sq, const u8 *wqe, u32 bytes)
{
	u8 opcode = be32_at(wqe) & 0xff;

	switch (opcode) {
	case WQE_NOP:
		return CQE_OK;
	case WQE_SEND:
	case WQE_LSO:
		/* A queue without a TIS is for frames that stay inside. */
		if (bytes < ETH_DATA || !sq->tis)
			return CQE_LOCAL_QP_OP;
		return send_frame(sq, wqe, bytes, opcode) ? CQE_OK : CQE_LOCAL_PROTECTION;
	case WQE_UMR:
		return umr_apply(sq->dev, sq->pd, sq->reserved_lkey, wqe, bytes);
	}
	violation("dev%u: SQ %#x: opcode %#x is not modelled", sq->dev->index, sq->object.id,
		  opcode);
	return CQE_LOCAL_QP_OP;
}

/* Return: false if the queue cannot continue. */
static bool take_one(struct sq *sq, u16 posted)
{
	u32 mask = (1u << sq->log_count) - 1, i, bytes, blocks;
	u8 wqe[WQE_MAX_BYTES] = { 0 };
	enum cqe_syndrome syndrome;

	if (!ring_read(&sq->dev->dma, &sq->ring, (sq->consumed & mask) * WQE_BASIC_BLOCK, wqe,
		       WQE_BASIC_BLOCK))
		return false;
	bytes = (be32_at(wqe + 4) & 0x3f) * 16;
	blocks = MAX((bytes + WQE_BASIC_BLOCK - 1) / WQE_BASIC_BLOCK, 1u);
	if (bytes < CONTROL_BYTES || blocks > (u16)(posted - sq->consumed))
		return false;
	for (i = 1; i < blocks; i++)
		if (!ring_read(&sq->dev->dma, &sq->ring,
			       ((sq->consumed + i) & mask) * WQE_BASIC_BLOCK,
			       wqe + i * WQE_BASIC_BLOCK, WQE_BASIC_BLOCK))
			return false;
	trace(TRACE_WQE, "dev%u SQ %#x[%u] opcode %#x, %u bytes", sq->dev->index, sq->object.id,
	      sq->consumed, be32_at(wqe) & 0xff, bytes);
	syndrome = execute(sq, wqe, bytes);
	complete(sq, wqe, sq->consumed, syndrome);
	sq->consumed += blocks;
	return !syndrome;
}

void sq_doorbell(struct sq *sq)
{
	const u8 *record = dma_at(&sq->dev->dma, sq->doorbell + 4, 4);
	u16 posted;

	if (sq->state != ETHERNET_READY || !record)
		return;
	posted = be32_at(record);
	if ((u16)(posted - sq->consumed) > 1u << sq->log_count) {
		violation("dev%u: SQ %#x: doorbell record is %u ahead of a queue of %u",
			  sq->dev->index, sq->object.id, (u16)(posted - sq->consumed),
			  1u << sq->log_count);
		sq->state = ETHERNET_ERROR;
		return;
	}
	while (sq->consumed != posted) {
		if (!take_one(sq, posted)) {
			violation("dev%u: SQ %#x fails at WQE %u", sq->dev->index,
				  sq->object.id, sq->consumed);
			sq->state = ETHERNET_ERROR;
			return;
		}
	}
}
