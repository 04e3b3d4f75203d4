// SPDX-License-Identifier: GPL-2.0
/* Commands: the three kinds of shared receive queue. */
#include <stdlib.h>

#include "commands.h"
#include "cq.h"
#include "device.h"
#include "eq.h"
#include "recv_queue.h"
#include "responder.h"

#define SRQ_GOOD		0
#define WQ_LINKED_LIST		0
#define RMP_READY		1
#define MAX_STRIDE_LOG		9

/* An XRC queue belongs to no QP: one may be in the middle of a message for it. */
static void forget(struct srq *srq)
{
	struct object *object;
	u32 i;

	each_object(&srq->dev->objects, SPACE_QUEUE, i, object)
		if (object->kind == OBJ_QP)
			responder_forget_srq(container_of(object, struct qp, object), srq);
}

static void srq_destroy(struct object *object)
{
	struct srq *srq = container_of(object, struct srq, object);

	forget(srq);
	object_unuse(srq->pd);
	object_unuse(srq->xrcd);
	object_unuse(srq->cq ? &srq->cq->object : NULL);
	ring_free(&srq->queue.ring);
	free(srq);
}

static struct srq *new_srq(struct command *cmd)
{
	struct srq *srq = zalloc(sizeof(*srq));

	srq->object.destroy = srq_destroy;
	srq->dev = cmd->dev;
	srq->queue.linked = true;
	return srq;
}

/* Give a prepared queue its buffer and number, or free it. */
static enum command_status finish(struct command *cmd, struct srq *srq, enum object_kind kind,
				  struct ring_layout *layout)
{
	enum command_status status = STATUS_OK;

	layout->bytes = (u64)srq->queue.stride << srq->queue.log_count;
	srq->pd = object_find(&cmd->dev->objects, OBJ_PD, srq->queue.pd);
	if (!srq->pd)
		status = command_fail(cmd, STATUS_BAD_RESOURCE, SYND_PD);
	else if (srq->queue.log_count > CAP(cmd->dev, log_max_srq_sz) ||
		 srq->queue.stride > 1u << MAX_STRIDE_LOG)
		status = command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	else if (srq->queue.doorbell % 4)
		status = command_fail(cmd, STATUS_BAD_PARAM, SYND_DOORBELL);
	else if (!ring_init(&srq->queue.ring, layout))
		status = command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_PAS);
	else
		status = command_add(cmd, kind, &srq->object);
	if (status) {
		ring_free(&srq->queue.ring);
		free(srq);
		return status;
	}
	object_use(srq->pd);
	object_use(srq->xrcd);
	object_use(srq->cq ? &srq->cq->object : NULL);
	command_note(cmd, " 2^%u entries of %u", srq->queue.log_count, srq->queue.stride);
	return STATUS_OK;
}

static enum command_status set_limit(struct command *cmd, enum object_kind kind, u32 number,
				     u16 limit)
{
	struct srq *srq = srq_find(cmd->dev, kind, number);

	if (!srq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	srq->queue.limit = limit;
	command_note(cmd, " %#x limit %u", number, limit);
	srq_check_limit(srq);
	return STATUS_OK;
}

enum command_status command_create_srq(struct command *cmd)
{
	const u8 *c = AT(create_srq_in, cmd->in, srq_context_entry);
	struct ring_layout layout = {
		.pas = AT(create_srq_in, cmd->in, pas),
		.pas_bytes = command_rest(cmd, IFC_BYTES(create_srq_in)),
		.log_page_size = GET(srqc, c, log_page_size),
		.page_offset = GET(srqc, c, page_offset),
	};
	struct srq *srq;

	if (cmd->dev->issi)
		return command_fail(cmd, STATUS_BAD_OP, SYND_ISSI);
	srq = new_srq(cmd);
	srq->queue.log_count = GET(srqc, c, log_srq_size);
	srq->queue.stride = 16u << GET(srqc, c, log_rq_stride);
	srq->queue.doorbell = GET(srqc, c, dbr_addr);
	srq->queue.pd = GET(srqc, c, pd);
	srq->queue.reserved_lkey = GET(srqc, c, rlky);
	return finish(cmd, srq, OBJ_SRQ, &layout);
}

enum command_status command_query_srq(struct command *cmd)
{
	struct srq *srq = srq_find(cmd->dev, OBJ_SRQ, GET(query_srq_in, cmd->in, srqn));
	u8 *c = AT(query_srq_out, cmd->out, srq_context_entry);

	if (!srq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	SET(srqc, c, log_srq_size, srq->queue.log_count);
	SET(srqc, c, pd, srq->queue.pd);
	SET(srqc, c, lwm, srq->queue.limit);
	return STATUS_OK;
}

enum command_status command_arm_srq(struct command *cmd)
{
	return set_limit(cmd, OBJ_SRQ, GET(arm_rq_in, cmd->in, srq_number),
			 GET(arm_rq_in, cmd->in, lwm));
}

enum command_status command_create_xrc_srq(struct command *cmd)
{
	const u8 *c = AT(create_xrc_srq_in, cmd->in, xrc_srq_context_entry);
	struct ring_layout layout = {
		.pas = AT(create_xrc_srq_in, cmd->in, pas),
		.pas_bytes = command_rest(cmd, IFC_BYTES(create_xrc_srq_in)),
		.log_page_size = GET(xrc_srqc, c, log_page_size),
		.page_offset = GET(xrc_srqc, c, page_offset),
	};
	struct object *xrcd = object_find(&cmd->dev->objects, OBJ_XRCD, GET(xrc_srqc, c, xrcd));
	struct cq *cq = cq_find(cmd->dev, GET(xrc_srqc, c, cqn));
	struct srq *srq;

	if (!xrcd)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_XRCD);
	if (!cq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_CQ);
	srq = new_srq(cmd);
	srq->xrcd = xrcd;
	srq->cq = cq;
	srq->queue.log_count = GET(xrc_srqc, c, log_xrc_srq_size);
	srq->queue.stride = 16u << GET(xrc_srqc, c, log_rq_stride);
	srq->queue.doorbell = GET(xrc_srqc, c, db_record_addr_h) << 32 |
			      GET(xrc_srqc, c, db_record_addr_l) << 2;
	srq->queue.pd = GET(xrc_srqc, c, pd);
	srq->queue.reserved_lkey = GET(xrc_srqc, c, rlky);
	srq->user_index = GET(xrc_srqc, c, user_index);
	return finish(cmd, srq, OBJ_XRC_SRQ, &layout);
}

enum command_status command_query_xrc_srq(struct command *cmd)
{
	struct srq *srq = srq_find(cmd->dev, OBJ_XRC_SRQ,
				   GET(query_xrc_srq_in, cmd->in, xrc_srqn));
	u8 *c = AT(query_xrc_srq_out, cmd->out, xrc_srq_context_entry);

	if (!srq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	SET(xrc_srqc, c, state, SRQ_GOOD);
	SET(xrc_srqc, c, log_xrc_srq_size, srq->queue.log_count);
	SET(xrc_srqc, c, pd, srq->queue.pd);
	SET(xrc_srqc, c, lwm, srq->queue.limit);
	return STATUS_OK;
}

enum command_status command_arm_xrc_srq(struct command *cmd)
{
	return set_limit(cmd, OBJ_XRC_SRQ, GET(arm_xrc_srq_in, cmd->in, xrc_srqn),
			 GET(arm_xrc_srq_in, cmd->in, lwm));
}

enum command_status command_create_rmp(struct command *cmd)
{
	const u8 *c = AT(create_rmp_in, cmd->in, ctx), *wq = AT(rmpc, c, wq);
	struct ring_layout layout = {
		.pas = AT(wq, wq, pas),
		.pas_bytes = command_rest(cmd, IFC_BYTES(create_rmp_in)),
		.log_page_size = GET(wq, wq, log_wq_pg_sz),
		.page_offset = GET(wq, wq, page_offset),
	};
	struct srq *srq = new_srq(cmd);

	srq->queue.linked = GET(wq, wq, wq_type) == WQ_LINKED_LIST;
	srq->queue.log_count = GET(wq, wq, log_wq_sz);
	srq->queue.stride = 1u << GET(wq, wq, log_wq_stride);
	srq->queue.doorbell = GET(wq, wq, dbr_addr);
	srq->queue.pd = GET(wq, wq, pd);
	memcpy(srq->context, c, MIN(sizeof(srq->context), IFC_BYTES(rmpc)));
	return finish(cmd, srq, OBJ_RMP, &layout);
}

enum command_status command_modify_rmp(struct command *cmd)
{
	const u8 *c = AT(modify_rmp_in, cmd->in, ctx);

	if (GET(modify_rmp_in, cmd->in, rmp_state) != RMP_READY ||
	    GET(rmpc, c, state) != RMP_READY)
		return command_fail(cmd, STATUS_BAD_RES_STATE, SYND_STATE);
	if (!GET(modify_rmp_in, cmd->in, bitmask.lwm))
		return STATUS_OK;
	return set_limit(cmd, OBJ_RMP, GET(modify_rmp_in, cmd->in, rmpn),
			 GET(wq, AT(rmpc, c, wq), lwm));
}

enum command_status command_query_rmp(struct command *cmd)
{
	struct srq *srq = srq_find(cmd->dev, OBJ_RMP, GET(query_rmp_in, cmd->in, rmpn));
	u8 *c = AT(query_rmp_out, cmd->out, rmp_context);

	if (!srq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	memcpy(c, srq->context, MIN(sizeof(srq->context), IFC_BYTES(rmpc)));
	SET(rmpc, c, state, RMP_READY);
	SET(wq, AT(rmpc, c, wq), lwm, srq->queue.limit);
	return STATUS_OK;
}
