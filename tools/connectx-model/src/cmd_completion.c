// SPDX-License-Identifier: GPL-2.0
/* Commands: event queues and completion queues. */
#include <stdlib.h>

#include "commands.h"
#include "cq.h"
#include "device.h"
#include "eq.h"

#define STATUS_ARMED		0x9
#define STATUS_FIRED		0xa
#define RESIZE			1	/* op_mod of MODIFY_CQ */
#define SELECT_PERIOD		(1u << 0)
#define SELECT_COUNT		(1u << 1)
#define SELECT_OVERRUN		(1u << 2)
/* Fields for a resize: size, page offset, page size */
#define SELECT_ENTRIES		(1u << 0 | 1u << 1 | 1u << 2)

static void eq_destroy(struct object *object)
{
	struct eq *eq = container_of(object, struct eq, object);

	object_unuse(eq->uar_object);
	ring_free(&eq->ring);
	free(eq);
}

static enum command_status add_eq(struct command *cmd, struct eq *eq)
{
	struct object *uar = object_find(&cmd->dev->objects, OBJ_UAR, eq->uar);
	const u8 *c = AT(create_eq_in, cmd->in, eq_context_entry);
	struct ring_layout layout = {
		.pas = AT(create_eq_in, cmd->in, pas),
		.pas_bytes = command_rest(cmd, IFC_BYTES(create_eq_in)),
		.log_page_size = GET(eqc, c, log_page_size),
		.page_offset = GET(eqc, c, page_offset),
		.bytes = (u64)EQE_BYTES << eq->log_size,
	};

	if (eq->log_size > CAP(cmd->dev, log_max_eq_sz))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	if (eq->vector >= VFIO_USER_VECTORS)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_EQ);
	if (!uar)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_UAR);
	if (!ring_init(&eq->ring, &layout))
		return command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_PAS);
	if (!object_add(&cmd->dev->objects, OBJ_EQ, &eq->object))
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	eq->uar_object = uar;
	object_use(uar);
	return STATUS_OK;
}

enum command_status command_create_eq(struct command *cmd)
{
	const u8 *c = AT(create_eq_in, cmd->in, eq_context_entry);
	struct eq *eq = zalloc(sizeof(*eq));
	enum command_status status;
	u32 i;

	eq->object.destroy = eq_destroy;
	eq->log_size = GET(eqc, c, log_eq_size);
	eq->uar = GET(eqc, c, uar_page);
	eq->vector = GET(eqc, c, intr);
	for (i = 0; i < ARRAY_SIZE(eq->events); i++)
		eq->events[i] = be64_at(AT(create_eq_in, cmd->in, event_bitmask) + 8 * i);
	status = add_eq(cmd, eq);
	if (status) {
		eq_destroy(&eq->object);
		return status;
	}
	SET(create_eq_out, cmd->out, eq_number, eq->object.id);
	command_note(cmd, " -> EQ %u, 2^%u entries, vector %u, events %#llx", eq->object.id,
		     eq->log_size, eq->vector, (unsigned long long)eq->events[0]);
	return STATUS_OK;
}

enum command_status command_query_eq(struct command *cmd)
{
	const struct eq *eq = find_object(struct eq, cmd->dev, OBJ_EQ,
					  GET(query_eq_in, cmd->in, eq_number));
	u8 *c = AT(query_eq_out, cmd->out, eq_context_entry);

	if (!eq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	SET(eqc, c, st, eq->armed ? STATUS_ARMED : STATUS_FIRED);
	SET(eqc, c, log_eq_size, eq->log_size);
	SET(eqc, c, intr, eq->vector);
	SET(eqc, c, consumer_counter, eq->consumed);
	SET(eqc, c, producer_counter, eq->produced);
	return STATUS_OK;
}

static void cq_layout(struct command *cmd, const u8 *c, struct ring_layout *layout)
{
	*layout = (struct ring_layout){
		.pas = AT(create_cq_in, cmd->in, pas),
		.pas_bytes = command_rest(cmd, IFC_BYTES(create_cq_in)),
		.log_page_size = GET(cqc, c, log_page_size),
		.page_offset = GET(cqc, c, page_offset),
		.bytes = (GET(cqc, c, cqe_sz) ? 128ull : 64ull) << GET(cqc, c, log_cq_size),
	};
}

static enum command_status set_up_entries(struct command *cmd, const struct cq *cq,
					  struct ring *ring, const struct ring_layout *layout)
{
	if (!ring_init(ring, layout))
		return command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_PAS);
	if (!(ring->offset % cq->cqe_bytes))
		return STATUS_OK;
	ring_free(ring);
	return command_fail(cmd, STATUS_BAD_PARAM, SYND_CQ_OFFSET);
}

static enum command_status add_cq(struct command *cmd, struct cq *cq)
{
	const u8 *c = AT(create_cq_in, cmd->in, cq_context);
	enum command_status status;
	struct ring_layout layout;

	cq_layout(cmd, c, &layout);
	cq->eq = find_object(struct eq, cmd->dev, OBJ_EQ, GET(cqc, c, c_eqn_or_apu_element));
	if (!cq->eq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_EQ);
	if (cq->log_size > CAP(cmd->dev, log_max_cq_sz) || GET(cqc, c, cqe_sz) > 1)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	cq->uar_object = object_find(&cmd->dev->objects, OBJ_UAR, cq->uar);
	if (!cq->uar_object)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_UAR);
	if (cq->doorbell % 8)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_DOORBELL);
	status = set_up_entries(cmd, cq, &cq->ring, &layout);
	return status ? status : command_add(cmd, OBJ_CQ, &cq->object);
}

enum command_status command_create_cq(struct command *cmd)
{
	const u8 *c = AT(create_cq_in, cmd->in, cq_context);
	struct cq *cq = zalloc(sizeof(*cq));
	enum command_status status;

	cq->object.destroy = cq_destroy;
	cq->dev = cmd->dev;
	cq->log_size = GET(cqc, c, log_cq_size);
	cq->cqe_bytes = GET(cqc, c, cqe_sz) ? 128 : 64;
	cq->doorbell = GET(cqc, c, dbr_addr);
	cq->uar = GET(cqc, c, uar_page);
	cq->overrun_ignored = GET(cqc, c, oi);
	cq->period_us = GET(cqc, c, cq_period);
	cq->max_count = GET(cqc, c, cq_max_count);
	timer_init(&cq->moderation, cq_moderation_expired);
	status = add_cq(cmd, cq);
	if (status) {
		ring_free(&cq->ring);
		free(cq);
		return status;
	}
	object_use(&cq->eq->object);
	object_use(cq->uar_object);
	command_note(cmd, " 2^%u entries of %u, EQ %u", cq->log_size, cq->cqe_bytes,
		     cq->eq->object.id);
	return STATUS_OK;
}

enum command_status command_query_cq(struct command *cmd)
{
	struct cq *cq = cq_find(cmd->dev, GET(query_cq_in, cmd->in, cqn));
	u8 *c = AT(query_cq_out, cmd->out, cq_context);

	if (!cq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	SET(cqc, c, status, cq->failed ? STATUS_FIRED : 0);
	SET(cqc, c, cqe_sz, cq->cqe_bytes == 128);
	SET(cqc, c, oi, cq->overrun_ignored);
	SET(cqc, c, log_cq_size, cq->log_size);
	SET(cqc, c, cq_period, cq->period_us);
	SET(cqc, c, cq_max_count, cq->max_count);
	SET(cqc, c, c_eqn_or_apu_element, cq->eq->object.id);
	SET(cqc, c, producer_counter, cq->produced);
	SET(cqc, c, dbr_addr, cq->doorbell);
	return STATUS_OK;
}

static enum command_status resize(struct command *cmd, struct cq *cq, u32 select)
{
	const u8 *c = AT(modify_cq_in, cmd->in, cq_context);
	enum command_status status;
	struct ring_layout layout;
	struct ring ring;

	if (select != SELECT_ENTRIES || GET(cqc, c, cqe_sz) != (cq->cqe_bytes == 128))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	cq_layout(cmd, c, &layout);
	layout.bytes = (u64)cq->cqe_bytes << GET(cqc, c, log_cq_size);
	if (GET(cqc, c, log_cq_size) > CAP(cmd->dev, log_max_cq_sz))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	if (cq_outstanding(cq) >> GET(cqc, c, log_cq_size))
		return command_fail(cmd, STATUS_BAD_SIZE, SYND_CQ_ENTRIES);
	status = set_up_entries(cmd, cq, &ring, &layout);
	if (!status)
		cq_resize(cq, &ring, GET(cqc, c, log_cq_size));
	return status;
}

enum command_status command_modify_cq(struct command *cmd)
{
	const u8 *c = AT(modify_cq_in, cmd->in, cq_context);
	struct cq *cq = cq_find(cmd->dev, GET(modify_cq_in, cmd->in, cqn));
	u32 select = be32_at(AT(modify_cq_in, cmd->in, modify_field_select_resize_field_select));

	if (!cq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (cmd->op_mod == RESIZE)
		return resize(cmd, cq, select);
	if (select & SELECT_PERIOD)
		cq->period_us = GET(cqc, c, cq_period);
	if (select & SELECT_COUNT)
		cq->max_count = GET(cqc, c, cq_max_count);
	if (select & SELECT_OVERRUN)
		cq->overrun_ignored = GET(cqc, c, oi);
	command_note(cmd, " CQ %#x: event after %u or %u us", cq->object.id, cq->max_count,
		     cq->period_us);
	return STATUS_OK;
}
