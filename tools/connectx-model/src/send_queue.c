// SPDX-License-Identifier: GPL-2.0
#include "send_queue.h"

#include <stdlib.h>

#include "device.h"
#include "trace.h"
#include "trace_request.h"

#define CONTROL_BYTES		16u
#define REMOTE_BYTES		16u
#define ATOMIC_BYTES		16u
#define XRC_BYTES		16u
#define AV_BYTES		48u
#define SEGMENT_BYTES		16u
#define INLINE			0x80000000u
#define INLINE_MASK		0x3ffu
#define AV_EXTENDED		0x80000000u
#define WQE_CQ_UPDATE		0x08u
#define WQE_SOLICITED		0x02u
#define DS_MASK			0x3fu

bool send_op_is_read(const struct send_op *op)
{
	return op->opcode == WQE_READ;
}

bool send_op_is_atomic(const struct send_op *op)
{
	return op->opcode == WQE_COMPARE_SWAP || op->opcode == WQE_FETCH_ADD;
}

bool send_op_is_local(const struct send_op *op)
{
	return op->opcode == WQE_NOP || op->opcode == WQE_UMR || op->opcode == WQE_LOCAL_INV ||
	       op->opcode == WQE_SET_PSV;
}

static void parse_control(struct send_op *op)
{
	u8 flags = op->wqe[11];

	op->opcode = be32_at(op->wqe) & 0xff;
	op->signalled = flags & WQE_CQ_UPDATE;
	op->solicited = flags & WQE_SOLICITED;
	op->fence = flags >> 5;
	op->immediate = be32_at(op->wqe + 12);
}

/*
 * struct mlx5_av, in its long form. RoCE always has a GID, and the bit that says so is reserved:
 * libmlx5 leaves it 0, drivers of the kernel set it.
 */
static bool parse_av(const u8 *av, struct address_vector *out)
{
	u32 grh = be32_at(av + 28);

	if (!(be32_at(av + 8) & AV_EXTENDED))
		return false;
	out->qkey = be32_at(av);
	out->dest_qpn = be32_at(av + 8) & PSN_MASK;
	out->static_rate = av[12] >> 4;
	out->service_level = av[12] & 0xf;
	out->udp_source_port = be16_at(av + 14);
	memcpy(out->dest_mac, av + 20, MAC_BYTES);
	out->traffic_class = av[26];
	out->hop_limit = av[27];
	out->source_gid_index = grh >> 20 & 0xff;
	out->flow_label = grh & 0xfffff;
	memcpy(out->dest_gid, av + 32, GID_BYTES);
	return true;
}

static bool parse_data(struct send_op *op, u32 at)
{
	struct segment *segment;
	u32 word, bytes;

	for (; at + SEGMENT_BYTES <= op->wqe_bytes; at += (bytes + 15) & ~15u) {
		if (op->segments == WQE_MAX_SEGMENTS)
			return false;
		segment = &op->segment[op->segments];
		word = be32_at(op->wqe + at);
		bytes = SEGMENT_BYTES;
		if (word & INLINE) {
			if (send_op_is_read(op) || send_op_is_atomic(op))
				return false;
			segment->bytes = word & INLINE_MASK;
			segment->inline_data = op->wqe + at + 4;
			bytes = segment->bytes + 4;
			if (at + bytes > op->wqe_bytes)
				return false;
		} else {
			segment->bytes = word ? word : SEGMENT_WITHOUT_LENGTH;
			segment->key = be32_at(op->wqe + at + 4);
			segment->address = be64_at(op->wqe + at + 8);
			segment->inline_data = NULL;
		}
		if (segment->bytes > UINT32_MAX - op->bytes)
			return false;
		op->bytes += segment->bytes;
		op->segments += !!segment->bytes;
	}
	return true;
}

bool send_op_parse(struct send_op *op, enum qp_service service)
{
	u32 at = CONTROL_BYTES;

	if (op->wqe_bytes < CONTROL_BYTES)
		return false;
	parse_control(op);
	if (send_op_is_local(op))
		return true;
	if (service == SERVICE_XRC) {
		if (op->wqe_bytes < at + XRC_BYTES)
			return false;
		op->xrc_srqn = be32_at(op->wqe + at) & PSN_MASK;
		at += XRC_BYTES;
	}
	if (service == SERVICE_UD || service == SERVICE_GSI) {
		if (op->wqe_bytes < at + AV_BYTES || !parse_av(op->wqe + at, &op->av))
			return false;
		at += AV_BYTES;
	}
	switch (op->opcode) {
	case WQE_COMPARE_SWAP:
	case WQE_FETCH_ADD:
		if (op->wqe_bytes < at + REMOTE_BYTES + ATOMIC_BYTES + SEGMENT_BYTES)
			return false;
		op->swap_add = be64_at(op->wqe + at + REMOTE_BYTES);
		op->compare = be64_at(op->wqe + at + REMOTE_BYTES + 8);
		op->remote_address = be64_at(op->wqe + at);
		op->rkey = be32_at(op->wqe + at + 8);
		at += REMOTE_BYTES + ATOMIC_BYTES;
		break;
	case WQE_WRITE:
	case WQE_WRITE_IMM:
	case WQE_READ:
		if (op->wqe_bytes < at + REMOTE_BYTES)
			return false;
		if (send_op_is_read(op) && op->wqe_bytes > WQE_MAX_READ_BYTES)
			return false;
		op->remote_address = be64_at(op->wqe + at);
		op->rkey = be32_at(op->wqe + at + 8);
		at += REMOTE_BYTES;
		break;
	case WQE_SEND:
	case WQE_SEND_IMM:
	case WQE_SEND_INV:
		break;
	default:
		return false;
	}
	if (!parse_data(op, at))
		return false;
	return !send_op_is_atomic(op) || op->bytes == sizeof(u64);
}

/* Copy the basic blocks of one WQE; the queue wraps around between blocks. */
static bool copy_blocks(struct qp *qp, struct send_op *op)
{
	struct send_queue *sq = &qp->sq;
	u32 mask = (1u << sq->log_count) - 1;
	u32 i;

	for (i = 0; i < op->blocks; i++)
		if (!ring_read(&qp->dev->dma, &sq->ring,
			       sq->start + ((op->index + i) & mask) * WQE_BASIC_BLOCK,
			       op->wqe + i * WQE_BASIC_BLOCK, WQE_BASIC_BLOCK))
			return false;
	return true;
}

static void trace_op(const struct qp *qp, const struct send_op *op)
{
	trace(TRACE_WQE, "dev%u QP %#x[%u] opcode %#x %u bytes in %u segments%s%s raddr %#llx rkey %#x",
	      qp->dev->index, qp->object.id, op->index, op->opcode, op->bytes, op->segments,
	      op->signalled ? " signalled" : "", op->fence ? " fence" : "",
	      (unsigned long long)op->remote_address, op->rkey);
}

static bool fetch_one(struct qp *qp, u16 posted)
{
	struct send_queue *sq = &qp->sq;
	struct send_op *op = zalloc(sizeof(*op));
	u32 stated, units;

	op->index = sq->fetched;
	op->blocks = 1;
	if (!copy_blocks(qp, op))
		goto bad;
	units = be32_at(op->wqe + 4) & DS_MASK;
	op->wqe_bytes = units * 16;
	op->blocks = (op->wqe_bytes + WQE_BASIC_BLOCK - 1) / WQE_BASIC_BLOCK;
	stated = be32_at(op->wqe) >> 8 & 0xffff;
	if (!op->blocks || op->blocks > (u16)(posted - sq->fetched) || !copy_blocks(qp, op))
		goto bad;
	if (be32_at(op->wqe + 4) >> 8 != qp->object.id || stated != op->index) {
		violation("dev%u: QP %#x: WQE %u says QP %#x, index %u", qp->dev->index,
			  qp->object.id, op->index, be32_at(op->wqe + 4) >> 8, stated);
		goto bad;
	}
	if (sq->held + op->blocks > 1u << sq->log_count) {
		violation("dev%u: QP %#x: WQE %u overwrites one that is not completed",
			  qp->dev->index, qp->object.id, op->index);
		goto bad;
	}
	sq->held += op->blocks;
	sq->fetched += op->blocks;
	list_append(&sq->ops, &op->link);
	if (!send_op_parse(op, qp->service)) {
		violation("dev%u: QP %#x: WQE %u (opcode %#x, %u bytes) is malformed",
			  qp->dev->index, qp->object.id, op->index, op->opcode, op->wqe_bytes);
		op->opcode = 0xff;
	}
	trace_op(qp, op);
	trace_request(qp, op);
	qp->dev->counters.work.requests++;
	if (!sq->current)
		sq->current = op;
	return true;
bad:
	free(op);
	return false;
}

bool send_queue_fetch(struct qp *qp)
{
	const u8 *record = dma_at(&qp->dev->dma, qp->doorbell + 4, 4);
	u16 posted, ahead;

	if (!record)
		return false;
	posted = be32_at(record);
	ahead = posted - qp->sq.fetched;
	if (ahead > 1u << qp->sq.log_count) {
		violation("dev%u: QP %#x: send doorbell record is %u ahead of a queue of %u",
			  qp->dev->index, qp->object.id, ahead, 1u << qp->sq.log_count);
		return false;
	}
	while (qp->sq.fetched != posted)
		if (!fetch_one(qp, posted))
			return false;
	return true;
}

/* Visit the parts of an op's memory that [offset, offset + bytes) covers. */
static enum mkey_fault visit(struct qp *qp, const struct send_op *op, u32 offset, u8 *data,
			     u32 bytes, bool gather)
{
	struct mkey_access who = { .pd = qp->pd, .qpn = qp->object.id,
				   .rights = gather ? RIGHT_LOCAL_READ : RIGHT_LOCAL_WRITE,
				   .reserved_lkey = qp->reserved_lkey };
	const struct segment *segment = op->segment;
	enum mkey_fault fault;
	u32 i, part;

	for (i = 0; i < op->segments && bytes; i++, segment++) {
		if (offset >= segment->bytes) {
			offset -= segment->bytes;
			continue;
		}
		part = MIN(bytes, segment->bytes - offset);
		who.key = segment->key;
		fault = MKEY_OK;
		if (segment->inline_data)
			memcpy(data, segment->inline_data + offset, part);
		else if (gather)
			fault = mkey_read(qp->dev, &who, segment->address + offset, data, part);
		else
			fault = mkey_write(qp->dev, &who, segment->address + offset, data, part);
		if (fault)
			return fault;
		data += part;
		bytes -= part;
		offset = 0;
	}
	return bytes ? MKEY_OUT_OF_BOUNDS : MKEY_OK;
}

enum mkey_fault send_op_gather(struct qp *qp, const struct send_op *op, u32 offset, u8 *to,
			       u32 bytes)
{
	return visit(qp, op, offset, to, bytes, true);
}

bool send_op_in_completion(const struct qp *qp, const struct send_op *op)
{
	return (send_op_is_read(op) || send_op_is_atomic(op)) && op->signalled && op->bytes &&
	       op->bytes <= qp_cqe_room(qp, true);
}

enum mkey_fault send_op_scatter(struct qp *qp, struct send_op *op, u32 offset,
				const u8 *from, u32 bytes)
{
	if (send_op_in_completion(qp, op)) {
		memcpy(op->cqe_data + offset, from, bytes);
		return MKEY_OK;
	}
	return visit(qp, op, offset, (u8 *)from, bytes, false);
}
