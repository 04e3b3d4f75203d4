// SPDX-License-Identifier: GPL-2.0
#include "trace_request.h"

#include <stdio.h>

#include "device.h"
#include "send_queue.h"
#include "trace.h"
#include "umr.h"

#define REMOTE_AT	16u
#define AV_AT		16u
#define XRC_BYTES	16u

static const char *service_name(enum qp_service service)
{
	switch (service) {
	case SERVICE_RC: return "RC";
	case SERVICE_UC: return "UC";
	case SERVICE_UD: return "UD";
	case SERVICE_XRC: return "XRC";
	case SERVICE_GSI: return "GSI";
	case SERVICE_REG_UMR: return "KEYS";
	}
	return "NONE";
}

static const char *opcode_name(u8 opcode)
{
	switch (opcode) {
	case WQE_NOP: return "NOP";
	case WQE_SEND_INV: return "SEND_INVAL";
	case WQE_WRITE: return "WRITE";
	case WQE_WRITE_IMM: return "WRITE_IMM";
	case WQE_SEND: return "SEND";
	case WQE_SEND_IMM: return "SEND_IMM";
	case WQE_READ: return "READ";
	case WQE_COMPARE_SWAP: return "COMPARE_SWAP";
	case WQE_FETCH_ADD: return "FETCH_ADD";
	case WQE_LOCAL_INV: return "LOCAL_INV";
	case WQE_SET_PSV: return "SET_PSV";
	case WQE_UMR: return "UMR";
	}
	return "UNKNOWN";
}

static void field(const char *name, u64 value)
{
	if (value)
		trace_line(TRACE_FIELD, "  in %s = %#llx", name, (unsigned long long)value);
}

static bool is_wanted(void)
{
	return (trace_topics & TRACE_WQE) && (trace_topics & TRACE_FIELD);
}

/* The first 16 bytes, except the numbers of the request and its queue. */
static void trace_control(const struct send_op *op)
{
	field("control.op_mod", op->wqe[0]);
	field("control.reserved", be32_at(op->wqe + 4) & 0xc0);
	field("control.signature", op->wqe[8]);
	field("control.stream", be16_at(op->wqe + 9));
	field("control.fence", op->wqe[11] >> 5);
	field("control.events", op->wqe[11] & 0x1f);
	field("control.immediate", op->immediate);
}

static void trace_av(const u8 *av)
{
	field("av.qkey", be32_at(av));
	field("av.reserved", be32_at(av + 4));
	field("av.dqp_dct", be32_at(av + 8) & 0xffffff);
	field("av.extended", av[8]);
	field("av.stat_rate", av[12] >> 4);
	field("av.sl", av[12] & 0xf);
	field("av.fl_mlid", av[13]);
	field("av.udp_sport", be16_at(av + 14));
	field("av.reserved0", be32_at(av + 16));
	field("av.rmac", (u64)be16_at(av + 20) << 32 | be32_at(av + 22));
	field("av.tclass", av[26]);
	field("av.hop_limit", av[27]);
	field("av.grh", be32_at(av + 28) >> 30);
	field("av.gid_index", be32_at(av + 28) >> 20 & 0x3ff);
	field("av.flow_label", be32_at(av + 28) & 0xfffff);
	field("av.rgid_high", be64_at(av + 32));
	field("av.rgid_low", be64_at(av + 40));
}

static void trace_remote(const struct qp *qp, const struct send_op *op)
{
	u32 at = REMOTE_AT + (qp->service == SERVICE_XRC ? XRC_BYTES : 0);

	field("remote.address", op->remote_address);
	field("remote.rkey", op->rkey);
	if (op->rkey)
		field("remote.reserved", be32_at(op->wqe + at + 12));
	if (!send_op_is_atomic(op))
		return;
	field("atomic.swap_add", op->swap_add);
	field("atomic.compare", op->compare);
}

static void trace_memory(const struct send_op *op)
{
	u32 i, inlined = 0;

	for (i = 0; i < op->segments; i++)
		inlined += !!op->segment[i].inline_data;
	field("memory.pieces", op->segments);
	field("memory.inline", inlined);
	field("memory.bytes", op->bytes);
	for (i = 0; i < op->segments; i++)
		if (!op->segment[i].inline_data)
			field("memory.lkey", op->segment[i].key);
}

static void trace_head(const struct qp *qp, const struct send_op *op, u32 op_mod, u32 bytes)
{
	trace_line(TRACE_WQE, "dev%u %s_%s op_mod=%#x in=%u out=0", qp->dev->index,
		   service_name(qp->service), opcode_name(op->opcode), op_mod, bytes);
}

void trace_request(const struct qp *qp, const struct send_op *op)
{
	if (!is_wanted() || op->opcode == WQE_UMR)
		return;
	trace_head(qp, op, 0, op->wqe_bytes);
	trace_control(op);
	if (qp->service == SERVICE_UD || qp->service == SERVICE_GSI)
		trace_av(op->wqe + AV_AT);
	field("xrc_srqn", op->xrc_srqn);
	trace_remote(qp, op);
	trace_memory(op);
}

/* Is it a field with a bit in the mask, and is that bit set? */
static bool counts(const char *name, u64 mask)
{
	const struct umr_field *f;

	for (f = umr_fields; f->name; f++)
		if (!strcmp(f->name, name))
			return mask >> f->mask_bit & 1;
	return true;
}

static void trace_context(const u8 *context, u64 mask)
{
	static const char entry[] = "memory_key_mkey_entry.";
	const struct ifc_field *f = command_in_fields(MLX5_CMD_OP_CREATE_MKEY);

	for (; f->name; f++) {
		if (strncmp(f->name, entry, sizeof(entry) - 1) ||
		    !counts(f->name + sizeof(entry) - 1, mask))
			continue;
		field(f->name, ifc_get_bits(context, f->bit - IFC_BIT(create_mkey_in,
								      memory_key_mkey_entry),
					    f->bits));
	}
}

void trace_key_request(const struct qp *qp, const struct send_op *op,
		       const struct key_request *request)
{
	if (!is_wanted())
		return;
	trace_head(qp, op, request->flags, request->octwords * MKEY_OCTWORD);
	trace_control(op);
	field("mkey_mask", request->mask);
	field("xlt_offset", request->offset);
	trace_context(request->context, request->mask);
}
