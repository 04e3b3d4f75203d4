// SPDX-License-Identifier: GPL-2.0
/* Commands: queue pairs and multicast groups. */
#include <stdlib.h>

#include "commands.h"
#include "device.h"
#include "qp.h"
#include "requester.h"
#include "responder.h"

/* Supported formats in roce_cap.qp_ts_format, and the one that a QP requests. */
enum { TIMESTAMPS_FREE_RUNNING = 0, TIMESTAMPS_REAL_TIME = 1 };
enum { TIMESTAMP_FREE_RUNNING = 0, TIMESTAMP_DEFAULT = 1, TIMESTAMP_REAL_TIME = 2 };

enum rq_type { RQ_OWN = 0, RQ_SHARED = 1, RQ_CONTROL = 2, RQ_NONE = 3 };

/* opt_param_mask of the modify commands. */
enum {
	OPT_ALT_PATH = 1 << 0, OPT_RRE = 1 << 1, OPT_RAE = 1 << 2, OPT_RWE = 1 << 3,
	OPT_PKEY_INDEX = 1 << 4, OPT_Q_KEY = 1 << 5, OPT_RNR_TIMEOUT = 1 << 6,
	OPT_PRIMARY_PATH = 1 << 7, OPT_SRA_MAX = 1 << 8, OPT_RRA_MAX = 1 << 9,
	OPT_PM_STATE = 1 << 10, OPT_RETRY_COUNT = 1 << 12, OPT_RNR_RETRY = 1 << 13,
	OPT_ACK_TIMEOUT = 1 << 14, OPT_LAG_AFFINITY = 1 << 15, OPT_PORT = 1 << 16,
	OPT_SRQN = 1 << 18, OPT_CQN_RCV = 1 << 19, OPT_COUNTER_SET = 1 << 25,
};

#define ATOMIC_MODE_VERBS	1u
#define ATOMIC_MODE_8_BYTES	3u
#define ECE_OPTIONS	0x30000003u	/* the model's own: two bits, and a version */
#define OPT_ACCESS	(OPT_RRE | OPT_RAE | OPT_RWE)

enum transition_bit {
	TO_INIT = 1 << 0, INIT_AGAIN = 1 << 1, TO_RTR = 1 << 2, TO_RTS = 1 << 3,
	RTS_AGAIN = 1 << 4, SQ_ERROR_TO_RTS = 1 << 5, SQ_DRAINED_TO_RTS = 1 << 6,
};

/* Their outputs lack the word with the connection's options. */
#define WITHOUT_ECE	(SQ_ERROR_TO_RTS | SQ_DRAINED_TO_RTS)

static const struct transition {
	u16 opcode;
	enum transition_bit bit;
	enum qp_state from;
	enum qp_state to;
	u32 optional;		/* bits of opt_param_mask that it may carry */
} transitions[] = {
	{ MLX5_CMD_OP_RST2INIT_QP, TO_INIT, QP_RESET, QP_INIT,
	  OPT_LAG_AFFINITY | OPT_COUNTER_SET | OPT_ACCESS | OPT_PKEY_INDEX | OPT_PORT | OPT_Q_KEY },
	{ MLX5_CMD_OP_INIT2INIT_QP, INIT_AGAIN, QP_INIT, QP_INIT,
	  OPT_ACCESS | OPT_PKEY_INDEX | OPT_PORT | OPT_Q_KEY | OPT_LAG_AFFINITY },
	{ MLX5_CMD_OP_INIT2RTR_QP, TO_RTR, QP_INIT, QP_RTR,
	  OPT_ALT_PATH | OPT_ACCESS | OPT_PKEY_INDEX | OPT_Q_KEY | OPT_LAG_AFFINITY },
	{ MLX5_CMD_OP_RTR2RTS_QP, TO_RTS, QP_RTR, QP_RTS,
	  OPT_ALT_PATH | OPT_ACCESS | OPT_PM_STATE | OPT_RNR_TIMEOUT | OPT_Q_KEY },
	{ MLX5_CMD_OP_RTS2RTS_QP, RTS_AGAIN, QP_RTS, QP_RTS,
	  OPT_ALT_PATH | OPT_ACCESS | OPT_PM_STATE | OPT_RNR_TIMEOUT | OPT_Q_KEY | OPT_SRQN |
	  OPT_CQN_RCV | OPT_COUNTER_SET | OPT_PRIMARY_PATH },
	{ MLX5_CMD_OP_SQERR2RTS_QP, SQ_ERROR_TO_RTS, QP_SQ_ERROR, QP_RTS,
	  OPT_ACCESS | OPT_RNR_TIMEOUT | OPT_Q_KEY },
	{ MLX5_CMD_OP_SQD_RTS_QP, SQ_DRAINED_TO_RTS, QP_SQ_DRAINED, QP_RTS,
	  OPT_ACCESS | OPT_RNR_TIMEOUT | OPT_Q_KEY },
};

/* Fields of the context that a transition must set, or may set with an option. */
static const struct attribute {
	u32 bit;
	u32 bits;
	u32 mandatory;
	u32 option;
} attributes[] = {
#define ATTRIBUTE(field, mandatory, option) \
	{ IFC_BIT(qpc, field), IFC_WIDTH(qpc, field), mandatory, option }
#define PATH(field, mandatory, option)	ATTRIBUTE(primary_address_path.field, mandatory, option)
#define ROUTE(field)	PATH(field, TO_RTR, OPT_PRIMARY_PATH)
	ATTRIBUTE(pm_state, TO_INIT, OPT_PM_STATE),
	ATTRIBUTE(lag_tx_port_affinity, TO_INIT, OPT_LAG_AFFINITY),
	ATTRIBUTE(counter_set_id, TO_INIT, OPT_COUNTER_SET),
	ATTRIBUTE(q_key, TO_INIT, OPT_Q_KEY),
	ATTRIBUTE(deth_sqpn, TO_INIT, 0),
	ATTRIBUTE(rre, TO_INIT, OPT_RRE),
	ATTRIBUTE(rwe, TO_INIT, OPT_RWE),
	ATTRIBUTE(rae, TO_INIT, OPT_RAE),
	ATTRIBUTE(atomic_mode, TO_INIT, OPT_RAE),
	PATH(pkey_index, TO_INIT, OPT_PKEY_INDEX),
	PATH(vhca_port_num, TO_INIT, OPT_PORT),
	ATTRIBUTE(mtu, TO_RTR, 0),
	ATTRIBUTE(log_msg_max, TO_RTR, 0),
	ATTRIBUTE(remote_qpn, TO_RTR, 0),
	ATTRIBUTE(next_rcv_psn, TO_RTR, 0),
	ATTRIBUTE(log_rra_max, TO_RTR, OPT_RRA_MAX),
	ATTRIBUTE(min_rnr_nak, TO_RTR, OPT_RNR_TIMEOUT),
	ROUTE(grh), ROUTE(src_addr_index), ROUTE(hop_limit), ROUTE(tclass), ROUTE(flow_label),
	ROUTE(dscp), ROUTE(udp_sport), ROUTE(eth_prio), ROUTE(sl), ROUTE(rmac_47_32),
	ROUTE(rmac_31_0),
	ATTRIBUTE(next_send_psn, TO_RTS, 0),
	ATTRIBUTE(log_sra_max, TO_RTS, OPT_SRA_MAX),
	ATTRIBUTE(retry_count, TO_RTS, OPT_RETRY_COUNT),
	ATTRIBUTE(rnr_retry, TO_RTS, OPT_RNR_RETRY),
	ATTRIBUTE(log_ack_req_freq, TO_RTS, 0),
	PATH(ack_timeout, TO_RTS, OPT_ACK_TIMEOUT),
#undef ROUTE
#undef PATH
#undef ATTRIBUTE
};

static bool service_known(u32 service)
{
	return service == SERVICE_RC || service == SERVICE_UC || service == SERVICE_UD ||
	       service == SERVICE_XRC || service == SERVICE_GSI || service == SERVICE_REG_UMR;
}

static enum command_status find_parts(struct command *cmd, struct qp *qp)
{
	struct resources *objects = &cmd->dev->objects;
	const u8 *c = qp->context;
	u32 type = GET(qpc, c, rq_type), xrcd = GET(qpc, c, xrcd);
	u32 srqn = GET(qpc, c, srqn_rmpn_xrqn);

	qp->pd_object = object_find(objects, OBJ_PD, qp->pd);
	if (!qp->pd_object && qp->pd != MKEY_ANY_PD)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_PD);
	qp->send_cq = cq_find(cmd->dev, GET(qpc, c, cqn_snd));
	qp->recv_cq = cq_find(cmd->dev, GET(qpc, c, cqn_rcv));
	if ((!qp->send_cq && !GET(qpc, c, no_sq)) ||
	    (!qp->recv_cq && (type == RQ_OWN || (type == RQ_SHARED && qp->service != SERVICE_XRC))))
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_CQ);
	qp->uar_object = GET(qpc, c, no_sq) ? NULL : object_find(objects, OBJ_UAR, qp->uar);
	if (!qp->uar_object && !GET(qpc, c, no_sq))
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_UAR);
	if (qp->service == SERVICE_XRC) {
		qp->xrcd = object_find(objects, OBJ_XRCD, xrcd);
		if (!qp->xrcd)
			return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_XRCD);
		if (type == RQ_SHARED && !srq_find(cmd->dev, OBJ_XRC_SRQ, srqn))
			return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_SRQ);
	} else if (type == RQ_SHARED) {
		qp->srq = srq_find(cmd->dev, OBJ_RMP, srqn);
		if (!qp->srq)
			qp->srq = srq_find(cmd->dev, OBJ_SRQ, srqn);
		if (!qp->srq)
			qp->srq = srq_find(cmd->dev, OBJ_XRC_SRQ, srqn);
		if (!qp->srq)
			return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_SRQ);
	}
	return STATUS_OK;
}

/* The receive queue is first in the buffer, followed by the send queue. */
static enum command_status set_up_queues(struct command *cmd, struct qp *qp)
{
	const u8 *c = qp->context;
	struct ring_layout layout = {
		.pas = AT(create_qp_in, cmd->in, pas),
		.pas_bytes = command_rest(cmd, IFC_BYTES(create_qp_in)),
		.log_page_size = GET(qpc, c, log_page_size),
		.page_offset = GET(qpc, c, page_offset),
	};
	u32 limit = CAP(cmd->dev, log_max_qp_sz);

	qp->has_rq = GET(qpc, c, rq_type) == RQ_OWN;
	qp->rq.log_count = GET(qpc, c, log_rq_size);
	qp->rq.stride = 16u << GET(qpc, c, log_rq_stride);
	qp->rq.doorbell = qp->doorbell;
	qp->rq.pd = qp->pd;
	qp->rq.reserved_lkey = qp->reserved_lkey;
	qp->sq.log_count = GET(qpc, c, log_sq_size);
	if (qp->rq.log_count > limit || qp->sq.log_count > limit)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QUEUE_SIZE);
	if (qp->doorbell % 8)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_DOORBELL);
	if (qp->has_rq)
		qp->sq.start = qp->rq.stride << qp->rq.log_count;
	layout.bytes = qp->sq.start +
		       (GET(qpc, c, no_sq) ? 0 : WQE_BASIC_BLOCK << qp->sq.log_count);
	if (layout.bytes && !ring_init(&qp->sq.ring, &layout))
		return command_fail(cmd, STATUS_BAD_INPUT_LEN, SYND_PAS);
	qp->rq.ring = qp->sq.ring;	/* shares the pages; freed once */
	return STATUS_OK;
}

static void use_parts(struct qp *qp)
{
	object_use(qp->pd_object);
	object_use(qp->uar_object);
	object_use(qp->xrcd);
	object_use(qp->send_cq ? &qp->send_cq->object : NULL);
	object_use(qp->recv_cq ? &qp->recv_cq->object : NULL);
	object_use(qp->srq ? &qp->srq->object : NULL);
}

static struct qp *new_qp(struct command *cmd)
{
	struct qp *qp = zalloc(sizeof(*qp));
	const u8 *c = qp->context;

	memcpy(qp->context, AT(create_qp_in, cmd->in, qpc), QPC_BYTES);
	qp->object.destroy = qp_destroy;
	qp->dev = cmd->dev;
	qp->service = GET(qpc, c, st);
	qp->pd = qp->service == SERVICE_REG_UMR ? MKEY_ANY_PD : GET(qpc, c, pd);
	qp->user_index = GET(qpc, c, user_index);
	qp->doorbell = GET(qpc, c, dbr_addr);
	qp->uar = GET(qpc, c, uar_page);
	qp->reserved_lkey = GET(qpc, c, rlky);
	qp->fast_registration = GET(qpc, c, fre);
	list_init(&qp->ready);
	list_init(&qp->erring);
	timer_init(&qp->flush, qp_flush_next);
	requester_init(qp);
	responder_init(qp);
	return qp;
}

static bool timestamps_known(const struct qp *qp)
{
	u32 cap = ifc_get_bits(qp->dev->caps.current[CAP_ROCE], IFC_BIT(roce_cap, qp_ts_format),
			       IFC_WIDTH(roce_cap, qp_ts_format));
	u32 format = GET(qpc, qp->context, ts_format);

	switch (cap) {
	case TIMESTAMPS_FREE_RUNNING:
		return format != TIMESTAMP_REAL_TIME;
	case TIMESTAMPS_REAL_TIME:
		return format != TIMESTAMP_FREE_RUNNING;
	default:
		return true;
	}
}

static bool room_known(u32 mode, u32 of_32, u32 of_64, const struct cq *cq)
{
	return mode == of_32 || (mode == of_64 && cq && cq->cqe_bytes > CQE_BYTES);
}

/* Data in completions: for services that support it, if it fits into the queue's entries. */
static bool completion_data_known(const struct qp *qp)
{
	u32 received = GET(qpc, qp->context, cs_res), read = GET(qpc, qp->context, cs_req);

	if (!received && !read)
		return true;
	if (!CAP(qp->dev, sctr_data_cqe) || (read && qp->service != SERVICE_RC) ||
	    (qp->service != SERVICE_RC && qp->service != SERVICE_UC))
		return false;
	return (!received || room_known(received, CQE_DATA_32_RECEIVED, CQE_DATA_64_RECEIVED,
					qp->recv_cq)) &&
	       (!read || room_known(read, CQE_DATA_32_READ, CQE_DATA_64_READ, qp->send_cq));
}

/*
 * Enhanced connection establishment: the supported ones of the requested options; all of them if
 * none is requested. Here they are bits without effect.
 */
static u32 ece_granted(u32 asked)
{
	return asked ? asked & ECE_OPTIONS : ECE_OPTIONS;
}

enum command_status command_create_qp(struct command *cmd)
{
	struct qp *qp = new_qp(cmd);
	enum command_status status = STATUS_OK;

	if (!service_known(qp->service))
		status = command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_TYPE);
	if (!status && !timestamps_known(qp))
		status = command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_ATTR);
	if (!status)
		status = find_parts(cmd, qp);
	if (!status && !completion_data_known(qp))
		status = command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_ATTR);
	if (!status)
		status = set_up_queues(cmd, qp);
	if (!status)
		status = command_add(cmd, OBJ_QP, &qp->object);
	if (status) {
		ring_free(&qp->sq.ring);
		free(qp);
		return status;
	}
	use_parts(qp);
	qp->ece = ece_granted(GET(create_qp_in, cmd->in, ece));
	SET(create_qp_out, cmd->out, ece, qp->ece);
	if (qp->service == SERVICE_GSI)
		cmd->dev->gsi_qpn = qp->object.id;
	command_note(cmd, " service %u sq 2^%u rq 2^%u of %u", qp->service, qp->sq.log_count,
		     qp->rq.log_count, qp->rq.stride);
	return STATUS_OK;
}

/* How much was posted, and how much of it is completed. */
static void set_counters(struct qp *qp, u8 *c)
{
	const u8 *records = dma_at(&qp->dev->dma, qp->doorbell, 8);

	SET(qpc, c, hw_sq_wqebb_counter, qp->sq.fetched - qp->sq.held);
	SET(qpc, c, sw_sq_wqebb_counter, qp->sq.fetched);
	if (!qp->has_rq || !records)
		return;
	SET(qpc, c, hw_rq_counter, qp->rq.consumed);
	SET(qpc, c, sw_rq_counter, be32_at(records) & 0xffff);
}

/* Why it failed, if the adapter reports that. Return: false if not. */
static bool set_failure(struct command *cmd, const struct qp *qp)
{
	u8 *extension = AT(query_qp_out, cmd->out, qp_pas_or_qpc_ext_and_pas);

	if (!GET(query_qp_in, cmd->in, qpc_ext))
		return true;
	if (!CAP(cmd->dev, qpc_extension) || cmd->out_bytes < IFC_BYTES(query_qp_out))
		return false;
	if (CAP(cmd->dev, qp_error_syndrome))
		SET(qp_context_extension, extension, error_syndrome.syndrome, qp->failure);
	return true;
}

enum command_status command_query_qp(struct command *cmd)
{
	struct qp *qp = qp_find(cmd->dev, GET(query_qp_in, cmd->in, qpn));
	u8 *c = AT(query_qp_out, cmd->out, qpc);

	if (!qp)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (!set_failure(cmd, qp))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_ATTR);
	memcpy(c, qp->context, QPC_BYTES);
	SET(query_qp_out, cmd->out, ece, qp->ece);
	SET(qpc, c, state, qp->state);
	SET(qpc, c, next_send_psn, qp->requester.next_psn);
	SET(qpc, c, last_acked_psn, qp->requester.oldest_psn);
	SET(qpc, c, next_rcv_psn, qp->responder.expected_psn);
	set_counters(qp, c);
	return STATUS_OK;
}

static void copy_attributes(struct qp *qp, const u8 *from, enum transition_bit bit, u32 options)
{
	const struct attribute *a;

	for (a = attributes; a < attributes + ARRAY_SIZE(attributes); a++)
		if ((a->mandatory & bit) || (a->option & options))
			ifc_set_bits(qp->context, a->bit, a->bits,
				     ifc_get_bits(from, a->bit, a->bits));
	if ((bit & TO_RTR) || (options & OPT_PRIMARY_PATH))
		memcpy(AT(qpc, qp->context, primary_address_path.rgid_rip),
		       AT(qpc, from, primary_address_path.rgid_rip), GID_BYTES);
}

/* Datagrams carry their addresses, and the registration QP sends nothing. */
static bool has_address(const struct qp *qp)
{
	return qp->service == SERVICE_RC || qp->service == SERVICE_UC || qp->service == SERVICE_XRC;
}

/* Set 0 exists for those that use no counter set. */
static bool counter_set_known(struct device *dev, u32 number)
{
	return !number || object_find(&dev->objects, OBJ_Q_COUNTER, number);
}

static enum command_status check_attributes(struct command *cmd, const struct qp *qp,
					    const u8 *c, enum transition_bit bit, u32 options)
{
	u32 mtu = GET(qpc, c, mtu);

	if ((bit == TO_RTR && (GET(qpc, c, log_msg_max) > CAP(cmd->dev, log_max_msg) ||
			       GET(qpc, c, log_rra_max) > CAP(cmd->dev, log_max_ra_req_qp))) ||
	    (bit == TO_RTS && GET(qpc, c, log_sra_max) > CAP(cmd->dev, log_max_ra_res_qp)))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_ATTR);
	if (((bit & TO_INIT) || (options & OPT_COUNTER_SET)) &&
	    !counter_set_known(cmd->dev, GET(qpc, c, counter_set_id)))
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (GET(qpc, c, lag_tx_port_affinity) > CAP(cmd->dev, num_lag_ports))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_LAG);
	if ((options & OPT_PRIMARY_PATH) && !has_address(qp))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_OPT_PARAM);
	if ((bit != TO_RTR && !(options & OPT_PRIMARY_PATH)) || !has_address(qp))
		return STATUS_OK;
	if ((bit == TO_RTR && (!mtu || mtu > 5)) ||
	    !qp_rate_known(qp, GET(qpc, c, primary_address_path.stat_rate)))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_ATTR);
	if (!vport_roce_address(&cmd->dev->vport,
				GET(qpc, c, primary_address_path.src_addr_index)))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_GID_INDEX);
	return STATUS_OK;
}

/* Options that are defined for a service. */
static u32 options_of(const struct qp *qp, enum transition_bit bit)
{
	switch (qp->service) {
	case SERVICE_UC:
		return ~(OPT_RRE | OPT_RAE | OPT_RNR_TIMEOUT | OPT_Q_KEY | OPT_SRQN | OPT_CQN_RCV);
	case SERVICE_UD:
	case SERVICE_GSI:
		return ~(OPT_ACCESS | OPT_RNR_TIMEOUT | OPT_ALT_PATH | OPT_PM_STATE);
	case SERVICE_XRC:
		return bit == SQ_DRAINED_TO_RTS ? 0 : ~(OPT_Q_KEY | OPT_SRQN | OPT_CQN_RCV);
	case SERVICE_REG_UMR:
		return 0;
	default:
		return ~(OPT_Q_KEY | OPT_SRQN | OPT_CQN_RCV);
	}
}

/* Atomics are those of verbs: extended ones have a mode for each size, and no other. */
static u32 atomic_mode(const struct device *dev)
{
	return GET(atomic_caps, dev->caps.current[CAP_ATOMIC], atomic_operations) &
	       ATOMICS_EXTENDED ? ATOMIC_MODE_8_BYTES : ATOMIC_MODE_VERBS;
}

static bool atomics_known(const struct device *dev, const u8 *c, enum transition_bit bit,
			  u32 options)
{
	if (!(bit & TO_INIT) && !(options & OPT_RAE))
		return true;
	return !GET(qpc, c, rae) ||
	       (CAP(dev, atomic) && GET(qpc, c, atomic_mode) == atomic_mode(dev));
}

static const struct transition *find_transition(u16 opcode)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(transitions); i++)
		if (transitions[i].opcode == opcode)
			return &transitions[i];
	return NULL;
}

static void enter(struct qp *qp, const struct transition *t)
{
	qp->state = t->to;
	qp->sq.draining = false;
	qp_load_context(qp);
	if (t->bit == TO_RTR)
		responder_start(qp);
	if (t->bit == TO_RTS)
		requester_start(qp);
	if (t->to == QP_RTS)
		qp_wake(qp);
}

enum command_status command_modify_qp(struct command *cmd)
{
	const u8 *c = AT(init2rtr_qp_in, cmd->in, qpc);
	u32 options = GET(init2rtr_qp_in, cmd->in, opt_param_mask);
	struct qp *qp = qp_find(cmd->dev, GET(init2rtr_qp_in, cmd->in, qpn));
	const struct transition *t = find_transition(cmd->opcode);
	enum command_status status;

	if (!qp)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	command_note(cmd, " QP %#x state %u -> %u opt %#x", qp->object.id, qp->state, t->to,
		     options);
	if (qp->state != t->from)
		return command_fail(cmd, STATUS_BAD_QP_STATE, SYND_QP_STATE);
	if (options & ~(t->optional & options_of(qp, t->bit)))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_OPT_PARAM);
	if (!atomics_known(cmd->dev, c, t->bit, options))
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_ATTR);
	status = check_attributes(cmd, qp, c, t->bit, options);
	if (status)
		return status;
	copy_attributes(qp, c, t->bit, options);
	enter(qp, t);
	if (t->bit & WITHOUT_ECE)
		return STATUS_OK;
	if (GET(init2rtr_qp_in, cmd->in, ece))
		qp->ece = ece_granted(GET(init2rtr_qp_in, cmd->in, ece));
	SET(init2rtr_qp_out, cmd->out, ece, qp->ece);
	return STATUS_OK;
}

enum command_status command_qp_to_error(struct command *cmd)
{
	struct qp *qp = qp_find(cmd->dev, GET(qp_2err_in, cmd->in, qpn));

	if (!qp)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	command_note(cmd, " QP %#x", qp->object.id);
	if (qp->state == QP_RESET)
		return command_fail(cmd, STATUS_BAD_QP_STATE, SYND_QP_STATE);
	qp_enter_error(qp);
	return STATUS_OK;
}

enum command_status command_qp_to_reset(struct command *cmd)
{
	struct qp *qp = qp_find(cmd->dev, GET(qp_2rst_in, cmd->in, qpn));

	if (!qp)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	command_note(cmd, " QP %#x", qp->object.id);
	qp_reset(qp);
	return STATUS_OK;
}

enum command_status command_attach_to_mcg(struct command *cmd)
{
	struct qp *qp = qp_find(cmd->dev, GET(attach_to_mcg_in, cmd->in, qpn));

	if (!qp)
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	if (qp->service != SERVICE_UD)
		return command_fail(cmd, STATUS_BAD_PARAM, SYND_QP_TYPE);
	if (!vport_attach(&cmd->dev->vport, AT(attach_to_mcg_in, cmd->in, multicast_gid),
			  qp->object.id))
		return command_fail(cmd, STATUS_LIMIT, SYND_LIMIT);
	return STATUS_OK;
}

enum command_status command_detach_from_mcg(struct command *cmd)
{
	if (!vport_detach(&cmd->dev->vport, AT(detach_from_mcg_in, cmd->in, multicast_gid),
			  GET(detach_from_mcg_in, cmd->in, qpn)))
		return command_fail(cmd, STATUS_BAD_RESOURCE, SYND_NOT_FOUND);
	return STATUS_OK;
}
