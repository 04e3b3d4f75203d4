// SPDX-License-Identifier: GPL-2.0
/* Commands: Ethernet queues, and the TIS, TIR and RQT that lead to them. */
#include <stdlib.h>

#include "commands.h"
#include "device.h"
#include "ethernet.h"

#define WQ_CYCLIC		1
#define MEMORY_INLINE		0
#define SQ_STRIDE_LOG		6

static enum command_status wq_check(struct command *cmd, const u8 *wq)
{
	if (GET(wq, wq, wq_type) != WQ_CYCLIC)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	if (GET(wq, wq, log_wq_sz) > CAP(cmd->dev, log_max_wq_sz))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	if (GET(wq, wq, dbr_addr) % 4)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_DOORBELL);
	return STATUS_OK;
}

static bool wq_ring(struct ring *ring, const u8 *wq, u32 pas_bytes, u64 bytes)
{
	struct ring_layout layout = {
		.pas = AT(wq, wq, pas), .pas_bytes = pas_bytes, .bytes = bytes,
		.log_page_size = GET(wq, wq, log_wq_pg_sz),
		.page_offset = GET(wq, wq, page_offset),
	};

	return ring_init(ring, &layout);
}

/* A MODIFY must name the current state of the queue. */
static enum command_status change_state(struct command *cmd, u8 *state, u8 from, u8 to)
{
	if (from != *state)
		return command_fail(cmd, STATUS_BAD_RES_STATE, SYND_STATE);
	if (to != ETHERNET_RESET && to != ETHERNET_READY && to != ETHERNET_ERROR)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_STATE);
	*state = to;
	return STATUS_OK;
}

static enum command_status add_sq(struct command *cmd, struct sq *sq)
{
	const u8 *wq = AT(sqc, sq->context, wq);
	enum command_status status = wq_check(cmd, AT(sqc, AT(create_sq_in, cmd->in, ctx), wq));
	u32 tises = GET(sqc, sq->context, tis_lst_sz);

	if (status)
		return status;
	if (GET(wq, wq, log_wq_stride) != SQ_STRIDE_LOG)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	if (!sq->cq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_CQ);
	if (!sq->pd_object)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_PD);
	if (!sq->uar)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_UAR);
	if (tises) {
		sq->tis = find_object(struct tis, cmd->dev, OBJ_TIS,
				      GET(sqc, sq->context, tis_num_0));
		if (!sq->tis)
			return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_TIS);
	}
	if (!wq_ring(&sq->ring, AT(sqc, AT(create_sq_in, cmd->in, ctx), wq),
		     command_rest(cmd, IFC_BYTES(create_sq_in)),
		     (u64)1 << (SQ_STRIDE_LOG + sq->log_count)))
		return command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_PAS);
	return command_add(cmd, OBJ_SQ, &sq->object);
}

enum command_status command_create_sq(struct command *cmd)
{
	const u8 *c = AT(create_sq_in, cmd->in, ctx), *wq = AT(sqc, c, wq);
	struct sq *sq = zalloc(sizeof(*sq));
	enum command_status status;

	memcpy(sq->context, c, sizeof(sq->context));
	sq->object.destroy = sq_destroy;
	sq->dev = cmd->dev;
	sq->log_count = GET(wq, wq, log_wq_sz);
	sq->doorbell = GET(wq, wq, dbr_addr);
	sq->pd = GET(wq, wq, pd);
	sq->pd_object = object_find(&cmd->dev->objects, OBJ_PD, sq->pd);
	sq->uar = object_find(&cmd->dev->objects, OBJ_UAR, GET(wq, wq, uar_page));
	sq->cq = cq_find(cmd->dev, GET(sqc, c, cqn));
	sq->user_index = GET(sqc, c, user_index);
	sq->reserved_lkey = GET(sqc, c, rlky);
	status = add_sq(cmd, sq);
	if (status) {
		ring_free(&sq->ring);
		free(sq);
		return status;
	}
	object_use(sq->pd_object);
	object_use(sq->uar);
	object_use(sq->tis ? &sq->tis->object : NULL);
	object_use(&sq->cq->object);
	return STATUS_OK;
}

enum command_status command_modify_sq(struct command *cmd)
{
	struct sq *sq = sq_find(cmd->dev, GET(modify_sq_in, cmd->in, sqn));

	if (!sq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	return change_state(cmd, &sq->state, GET(modify_sq_in, cmd->in, sq_state),
			    GET(sqc, AT(modify_sq_in, cmd->in, ctx), state));
}

enum command_status command_query_sq(struct command *cmd)
{
	struct sq *sq = sq_find(cmd->dev, GET(query_sq_in, cmd->in, sqn));
	u8 *c = AT(query_sq_out, cmd->out, sq_context);

	if (!sq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	memcpy(c, sq->context, sizeof(sq->context));
	SET(sqc, c, state, sq->state);
	return STATUS_OK;
}

static enum command_status add_rq(struct command *cmd, struct rq *rq)
{
	const u8 *wq = AT(rqc, AT(create_rq_in, cmd->in, ctx), wq);
	enum command_status status = wq_check(cmd, wq);

	if (status)
		return status;
	if (GET(rqc, rq->context, mem_rq_type) != MEMORY_INLINE)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_RQ);
	if (rq->queue.stride > 1u << CAP(cmd->dev, log_max_stride_sz_rq))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	if (!rq->cq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_CQ);
	/* A queue that only drops has no memory, and thus no domain. */
	if (rq->queue.pd && !rq->pd_object)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_PD);
	if (!wq_ring(&rq->queue.ring, wq, command_rest(cmd, IFC_BYTES(create_rq_in)),
		     (u64)rq->queue.stride << rq->queue.log_count))
		return command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_PAS);
	return command_add(cmd, OBJ_RQ, &rq->object);
}

enum command_status command_create_rq(struct command *cmd)
{
	const u8 *c = AT(create_rq_in, cmd->in, ctx), *wq = AT(rqc, c, wq);
	struct rq *rq = zalloc(sizeof(*rq));
	enum command_status status;

	memcpy(rq->context, c, sizeof(rq->context));
	rq->object.destroy = rq_destroy;
	rq->dev = cmd->dev;
	rq->queue.log_count = GET(wq, wq, log_wq_sz);
	rq->queue.stride = 1u << GET(wq, wq, log_wq_stride);
	rq->queue.doorbell = GET(wq, wq, dbr_addr);
	rq->queue.pd = GET(wq, wq, pd);
	rq->queue.reserved_lkey = GET(rqc, c, rlky);
	rq->pd_object = object_find(&cmd->dev->objects, OBJ_PD, rq->queue.pd);
	rq->cq = cq_find(cmd->dev, GET(rqc, c, cqn));
	rq->user_index = GET(rqc, c, user_index);
	rq->keep_vlan = GET(rqc, c, vsd);
	rq->counter_set = GET(rqc, c, counter_set_id);
	status = add_rq(cmd, rq);
	if (status) {
		ring_free(&rq->queue.ring);
		free(rq);
		return status;
	}
	object_use(rq->pd_object);
	object_use(&rq->cq->object);
	command_note(cmd, " 2^%u entries of %u", rq->queue.log_count, rq->queue.stride);
	return STATUS_OK;
}

#define RQ_SELECT_VSD		(1u << 1)
#define RQ_SELECT_COUNTER	(1u << 3)

enum command_status command_modify_rq(struct command *cmd)
{
	const u8 *c = AT(modify_rq_in, cmd->in, ctx);
	struct rq *rq = rq_find(cmd->dev, GET(modify_rq_in, cmd->in, rqn));
	u64 select = GET(modify_rq_in, cmd->in, modify_bitmask);

	if (!rq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (select & RQ_SELECT_VSD)
		rq->keep_vlan = GET(rqc, c, vsd);
	if (select & RQ_SELECT_COUNTER)
		rq->counter_set = GET(rqc, c, counter_set_id);
	return change_state(cmd, &rq->state, GET(modify_rq_in, cmd->in, rq_state),
			    GET(rqc, c, state));
}

enum command_status command_query_rq(struct command *cmd)
{
	struct rq *rq = rq_find(cmd->dev, GET(query_rq_in, cmd->in, rqn));
	u8 *c = AT(query_rq_out, cmd->out, rq_context);

	if (!rq)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	memcpy(c, rq->context, sizeof(rq->context));
	SET(rqc, c, state, rq->state);
	return STATUS_OK;
}

/* Only an adapter with two ports has a choice, or one in a LAG created by another function. */
static enum command_status set_affinity(struct command *cmd, struct tis *tis, const u8 *c)
{
	u32 affinity = GET(tisc, c, lag_tx_port_affinity);

	if (affinity > CAP(cmd->dev, num_lag_ports))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LAG);
	tis->affinity = affinity;
	return STATUS_OK;
}

static struct object *find_td(struct command *cmd, u32 number)
{
	return object_find(&cmd->dev->objects, OBJ_TRANSPORT_DOMAIN, number);
}

enum command_status command_create_tis(struct command *cmd)
{
	const u8 *c = AT(create_tis_in, cmd->in, ctx);
	struct object *td = find_td(cmd, GET(tisc, c, transport_domain));
	struct tis *tis;
	enum command_status status;

	if (!td)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_TD);
	tis = zalloc(sizeof(*tis));
	tis->object.destroy = tis_destroy;
	tis->td = td;
	status = set_affinity(cmd, tis, c);
	if (!status)
		status = command_add(cmd, OBJ_TIS, &tis->object);
	if (status)
		free(tis);
	else
		object_use(td);
	return status;
}

enum command_status command_modify_tis(struct command *cmd)
{
	struct tis *tis = find_object(struct tis, cmd->dev, OBJ_TIS,
				      GET(modify_tis_in, cmd->in, tisn));

	if (!tis)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (!GET(modify_tis_in, cmd->in, bitmask.lag_tx_port_affinity))
		return STATUS_OK;
	return set_affinity(cmd, tis, AT(modify_tis_in, cmd->in, ctx));
}

static enum command_status check_tir(struct command *cmd, const u8 *c)
{
	if (!GET(tirc, c, disp_type)) {
		if (!rq_find(cmd->dev, GET(tirc, c, inline_rqn)))
			return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_RQ);
	} else if (!object_find(&cmd->dev->objects, OBJ_RQT, GET(tirc, c, indirect_table))) {
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_RQ);
	}
	return STATUS_OK;
}

enum command_status command_create_tir(struct command *cmd)
{
	const u8 *c = AT(create_tir_in, cmd->in, ctx);
	struct object *td = find_td(cmd, GET(tirc, c, transport_domain));
	enum command_status status = check_tir(cmd, c);
	struct tir *tir;

	if (status)
		return status;
	if (!td)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_TD);
	tir = zalloc(sizeof(*tir));
	tir->object.destroy = tir_destroy;
	tir->td = td;
	memcpy(tir->context, c, sizeof(tir->context));
	if (!object_add(&cmd->dev->objects, OBJ_TIR, &tir->object)) {
		free(tir);
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	}
	object_use(td);
	SET(create_tir_out, cmd->out, tirn, tir->object.id);
	command_note(cmd, " -> TIR %#x", tir->object.id);
	return STATUS_OK;
}

/* The hash may change; the queues only through the RQT. */
enum command_status command_modify_tir(struct command *cmd)
{
	const u8 *c = AT(modify_tir_in, cmd->in, ctx);
	struct tir *tir = find_object(struct tir, cmd->dev, OBJ_TIR,
				      GET(modify_tir_in, cmd->in, tirn));

	if (!tir)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (GET(modify_tir_in, cmd->in, bitmask.hash)) {
		memcpy(AT(tirc, tir->context, rx_hash_toeplitz_key),
		       AT(tirc, c, rx_hash_toeplitz_key), IFC_WIDTH(tirc, rx_hash_toeplitz_key) / 8);
		SET(tirc, tir->context, rx_hash_fn, GET(tirc, c, rx_hash_fn));
		SET(tirc, tir->context, rx_hash_field_selector_outer.selected_fields,
		    GET(tirc, c, rx_hash_field_selector_outer.selected_fields));
	}
	return STATUS_OK;
}

static enum command_status fill_rqt(struct command *cmd, struct rqt *rqt, const u8 *c)
{
	u32 count = GET(rqtc, c, rqt_actual_size), i;
	const u8 *list = c + IFC_BYTES(rqtc);

	if (count > RQT_MAX || command_rest(cmd, list - cmd->in) < count * 4)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	for (i = 0; i < count; i++)
		if (!rq_find(cmd->dev, be32_at(list + 4 * i) & 0xffffff))
			return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_RQ);
	for (i = 0; i < count; i++)
		rqt->rqn[i] = be32_at(list + 4 * i) & 0xffffff;
	rqt->count = count;
	return STATUS_OK;
}

enum command_status command_create_rqt(struct command *cmd)
{
	struct rqt *rqt = zalloc(sizeof(*rqt));
	enum command_status status = fill_rqt(cmd, rqt, AT(create_rqt_in, cmd->in, rqt_context));

	if (!status)
		status = command_add(cmd, OBJ_RQT, &rqt->object);
	if (status)
		free(rqt);
	return status;
}

enum command_status command_modify_rqt(struct command *cmd)
{
	struct rqt *rqt = find_object(struct rqt, cmd->dev, OBJ_RQT,
				      GET(modify_rqt_in, cmd->in, rqtn));

	if (!rqt)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	return fill_rqt(cmd, rqt, AT(modify_rqt_in, cmd->in, ctx));
}
