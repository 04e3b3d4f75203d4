// SPDX-License-Identifier: GPL-2.0
/*
 * Firmware commands for queue pairs. Each transition has its own command, with a common layout: the
 * queue pair's context, and a mask of its optional fields.
 */
#include <linux/etherdevice.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "address.h"
#include "buffer.h"
#include "command.h"
#include "core/port/address.h"

#define ACK_REQUEST_LOG		8	/* request an ACK every 256 packets */
#define DATAGRAM_BYTES_LOG	12
#define MAD_BYTES_LOG		8
#define ATOMIC_SIZES	GENMASK(8, 0)	/* of 1 to 256 bytes: there is no mode for larger ones */
#define ACCESS	(MLX5_QP_OPTPAR_RRE | MLX5_QP_OPTPAR_RAE | MLX5_QP_OPTPAR_RWE)
#define PARTITION	(MLX5_QP_OPTPAR_PKEY_INDEX | MLX5_QP_OPTPAR_PRI_PORT)
#define CONNECTED	(ACCESS | MLX5_QP_OPTPAR_RNR_TIMEOUT | PARTITION)
#define IN_RTS		(ACCESS | MLX5_QP_OPTPAR_RNR_TIMEOUT | MLX5_QP_OPTPAR_Q_KEY)
#define ANY_TRANSITION_BYTES	MLX5_ST_SZ_BYTES(init2rtr_qp_in)

/* The transitions' layouts differ in their names only */
static_assert(MLX5_ST_SZ_BYTES(rst2init_qp_in) == ANY_TRANSITION_BYTES);
static_assert(MLX5_ST_SZ_BYTES(init2init_qp_in) == ANY_TRANSITION_BYTES);
static_assert(MLX5_ST_SZ_BYTES(rtr2rts_qp_in) == ANY_TRANSITION_BYTES);
static_assert(MLX5_ST_SZ_BYTES(rts2rts_qp_in) == ANY_TRANSITION_BYTES);
static_assert(MLX5_ST_SZ_BYTES(sqerr2rts_qp_in) == ANY_TRANSITION_BYTES);
static_assert(MLX5_ST_SZ_BYTES(sqd2rts_qp_in) == ANY_TRANSITION_BYTES);

/* Optional fields, by service */
static const u32 service_fields[] = {
	[MLX5_QP_ST_RC]		= CONNECTED,
	[MLX5_QP_ST_UC]		= MLX5_QP_OPTPAR_RWE | PARTITION,
	[MLX5_QP_ST_UD]		= MLX5_QP_OPTPAR_Q_KEY | PARTITION,
	[MLX5_QP_ST_XRC]	= CONNECTED,
};

/* The command, and the optional fields it accepts; 0: there is none */
static const struct transition {
	u16 opcode;
	u32 fields;
} transitions[IB_QPS_ERR + 1][IB_QPS_ERR + 1] = {
	[IB_QPS_RESET][IB_QPS_INIT] = { MLX5_CMD_OP_RST2INIT_QP },
	[IB_QPS_INIT][IB_QPS_INIT] = { MLX5_CMD_OP_INIT2INIT_QP,
				       ACCESS | MLX5_QP_OPTPAR_Q_KEY | PARTITION },
	[IB_QPS_INIT][IB_QPS_RTR] = { MLX5_CMD_OP_INIT2RTR_QP,
				      ACCESS | MLX5_QP_OPTPAR_Q_KEY |
				      MLX5_QP_OPTPAR_PKEY_INDEX },
	[IB_QPS_RTR][IB_QPS_RTS] = { MLX5_CMD_OP_RTR2RTS_QP, IN_RTS },
	[IB_QPS_RTS][IB_QPS_RTS] = { MLX5_CMD_OP_RTS2RTS_QP, IN_RTS },
	[IB_QPS_SQE][IB_QPS_RTS] = { MLX5_CMD_OP_SQERR2RTS_QP, IN_RTS },
	[IB_QPS_SQD][IB_QPS_RTS] = { MLX5_CMD_OP_SQD_RTS_QP, IN_RTS },
};

static u32 optional_of(const struct rhca_mlx5_qp_change *change, u32 fields)
{
	u8 service = change->spec->service;
	int mask = change->asked->mask;
	u32 optional = 0;

	/* SQD_RTS accepts none for XRC, as in mlx5_ib */
	if (service >= ARRAY_SIZE(service_fields) ||
	    (service == MLX5_QP_ST_XRC && change->asked->from == IB_QPS_SQD))
		return 0;
	if (mask & RHCA_MLX5_ACCESS_MASK)
		optional |= ACCESS;
	if (mask & IB_QP_PKEY_INDEX)
		optional |= MLX5_QP_OPTPAR_PKEY_INDEX;
	if (mask & IB_QP_PORT)
		optional |= MLX5_QP_OPTPAR_PRI_PORT;
	if (mask & IB_QP_QKEY)
		optional |= MLX5_QP_OPTPAR_Q_KEY;
	if (mask & IB_QP_MIN_RNR_TIMER)
		optional |= MLX5_QP_OPTPAR_RNR_TIMEOUT;
	return optional & fields & service_fields[service];
}

static void set_own_queues(void *qpc, const struct rhca_mlx5_qp_spec *spec)
{
	if (spec->has_recv) {
		MLX5_SET(qpc, qpc, log_rq_size, spec->log_recv);
		MLX5_SET(qpc, qpc, log_rq_stride, spec->log_recv_bytes - 4);
	}
	if (spec->has_send)
		MLX5_SET(qpc, qpc, log_sq_size, spec->log_send);
	MLX5_SET(qpc, qpc, no_sq, !spec->has_send);
	MLX5_SET64(qpc, qpc, dbr_addr, spec->buffer->record);
	if (!spec->buffer->num_pages)
		return;
	MLX5_SET(qpc, qpc, page_offset, spec->buffer->page_offset);
	MLX5_SET(qpc, qpc, log_page_size,
		 rhca_mlx5_buffer_log_pages(spec->buffer));
}

static u8 receive_type(const struct rhca_mlx5_qp_spec *spec)
{
	if (spec->has_srq)
		return MLX5_SRQ_RQ;
	return spec->has_recv ? MLX5_NON_ZERO_RQ : MLX5_ZERO_LEN_RQ;
}

/* Fixed properties of a queue pair */
static void set_nature(void *qpc, const struct rhca_mlx5_qp_spec *spec)
{
	MLX5_SET(qpc, qpc, st, spec->service);
	MLX5_SET(qpc, qpc, pm_state, MLX5_QP_PM_MIGRATED);
	MLX5_SET(qpc, qpc, pd, spec->pd);
	MLX5_SET(qpc, qpc, cqn_snd, spec->send_cq);
	MLX5_SET(qpc, qpc, cqn_rcv, spec->recv_cq);
}

static void set_new(void *qpc, const struct rhca_mlx5_qp_spec *spec)
{
	set_nature(qpc, spec);
	set_own_queues(qpc, spec);
	MLX5_SET(qpc, qpc, rq_type, receive_type(spec));
	MLX5_SET(qpc, qpc, srqn_rmpn_xrqn, spec->srq);
	MLX5_SET(qpc, qpc, xrcd, spec->xrcd);
	MLX5_SET(qpc, qpc, uar_page, spec->uar);
	MLX5_SET(qpc, qpc, user_index, spec->user_index);
	MLX5_SET(qpc, qpc, fre, spec->fast_registration);
	MLX5_SET(qpc, qpc, ts_format, spec->timestamps);
	MLX5_SET(qpc, qpc, cs_res, spec->received_in_cqe);
	MLX5_SET(qpc, qpc, cs_req, spec->read_in_cqe);
}

int rhca_mlx5_create_hw_qp(struct mlx5_core_dev *mdev,
			   struct rhca_mlx5_qp_spec *spec, u32 *number)
{
	size_t bytes = MLX5_ST_SZ_BYTES(create_qp_in) +
		       rhca_mlx5_buffer_list_bytes(spec->buffer);
	u32 out[MLX5_ST_SZ_DW(create_qp_out)] = {};
	u32 *in;
	int ret;

	in = kvzalloc(bytes, GFP_KERNEL);
	if (!in)
		return -ENOMEM;
	MLX5_SET(create_qp_in, in, opcode, MLX5_CMD_OP_CREATE_QP);
	set_new(MLX5_ADDR_OF(create_qp_in, in, qpc), spec);
	if (MLX5_CAP_GEN(mdev, ece_support))
		MLX5_SET(create_qp_in, in, ece, spec->ece);
	rhca_mlx5_buffer_addresses(spec->buffer,
				   MLX5_ADDR_OF(create_qp_in, in, pas));
	ret = rhca_mlx5_exec(mdev, in, bytes, out, sizeof(out));
	kvfree(in);
	*number = MLX5_GET(create_qp_out, out, qpn);
	spec->ece = MLX5_CAP_GEN(mdev, ece_support) ?
		    MLX5_GET(create_qp_out, out, ece) : 0;
	return ret;
}

static void set_address(void *ads, const struct rhca_address *address)
{
	ether_addr_copy(MLX5_ADDR_OF(ads, ads, rmac_47_32), address->dmac);
	memcpy(MLX5_ADDR_OF(ads, ads, rgid_rip), address->flow.dgid.raw,
	       sizeof(address->flow.dgid.raw));
	MLX5_SET(ads, ads, src_addr_index, address->sgid_index);
	MLX5_SET(ads, ads, eth_prio, rhca_address_priority(address));
	MLX5_SET(ads, ads, hop_limit, rhca_address_hop_limit(address));
	MLX5_SET(ads, ads, tclass, address->flow.tclass);
	MLX5_SET(ads, ads, flow_label, address->flow.flow_label);
	if (address->flow.encap == RHCA_V1)
		return;
	MLX5_SET(ads, ads, dscp, address->flow.tclass >> 2);
	MLX5_SET(ads, ads, udp_sport, address->flow.udp_sport);
}

static int set_path(void *ads, const struct mlx5_core_dev *mdev,
		    const struct rhca_mlx5_qp_change *change)
{
	const struct ib_qp_attr *attr = change->asked->attr;
	int rate, mask = change->asked->mask;

	/* A function has one port, whatever the number of the RDMA port */
	MLX5_SET(ads, ads, vhca_port_num, 1);
	if (mask & IB_QP_PKEY_INDEX)
		MLX5_SET(ads, ads, pkey_index, attr->pkey_index);
	if (mask & IB_QP_TIMEOUT)
		MLX5_SET(ads, ads, ack_timeout, attr->timeout);
	if (!change->asked->address)
		return 0;
	rate = rhca_mlx5_static_rate(mdev, change->asked->address->static_rate);
	if (rate < 0)
		return rate;
	MLX5_SET(ads, ads, stat_rate, rate);
	set_address(ads, change->asked->address);
	return 0;
}

static void set_sizes(void *qpc, const struct rhca_mlx5_qp_change *change,
		      u8 log_max_message)
{
	switch (change->spec->service) {
	case MLX5_QP_ST_QP1:
		MLX5_SET(qpc, qpc, mtu, IB_MTU_256);
		MLX5_SET(qpc, qpc, log_msg_max, MAD_BYTES_LOG);
		break;
	case MLX5_QP_ST_UD:
	case MLX5_QP_ST_REG_UMR:
		MLX5_SET(qpc, qpc, mtu, IB_MTU_4096);
		MLX5_SET(qpc, qpc, log_msg_max, DATAGRAM_BYTES_LOG);
		break;
	default:
		if (!(change->asked->mask & IB_QP_PATH_MTU))
			break;
		MLX5_SET(qpc, qpc, mtu, change->asked->attr->path_mtu);
		MLX5_SET(qpc, qpc, log_msg_max, log_max_message);
	}
}

/*
 * Atomic operations for peers: extended ones up to the largest size, in powers of two, else those
 * of verbs. 0: none.
 */
static u8 atomic_mode(const struct mlx5_core_dev *mdev)
{
	const u32 extended = MLX5_ATOMIC_OPS_EXTENDED_CMP_SWAP |
			     MLX5_ATOMIC_OPS_EXTENDED_FETCH_ADD;
	const u32 basic = MLX5_ATOMIC_OPS_CMP_SWAP | MLX5_ATOMIC_OPS_FETCH_ADD;
	u32 sizes = MLX5_CAP_ATOMIC(mdev, atomic_size_qp) & ATOMIC_SIZES;
	u32 operations = MLX5_CAP_ATOMIC(mdev, atomic_operations);

	if (!MLX5_CAP_GEN(mdev, atomic))
		return 0;
	if (operations & extended && sizes)
		return max_t(u8, ilog2(sizes), MLX5_ATOMIC_MODE_8B);
	return (operations & basic) == basic ? MLX5_ATOMIC_MODE_IB_COMP : 0;
}

static int set_access(void *qpc, const struct mlx5_core_dev *mdev, int access)
{
	MLX5_SET(qpc, qpc, rre, !!(access & IB_ACCESS_REMOTE_READ));
	MLX5_SET(qpc, qpc, rwe, !!(access & IB_ACCESS_REMOTE_WRITE));
	if (!(access & IB_ACCESS_REMOTE_ATOMIC))
		return 0;
	if (!atomic_mode(mdev))
		return -EOPNOTSUPP;
	MLX5_SET(qpc, qpc, rae, 1);
	MLX5_SET(qpc, qpc, atomic_mode, atomic_mode(mdev));
	return 0;
}

static void set_responder(void *qpc, const struct rhca_mlx5_qp_change *change)
{
	const struct ib_qp_attr *attr = change->asked->attr;
	int mask = change->asked->mask;

	if (mask & IB_QP_RQ_PSN)
		MLX5_SET(qpc, qpc, next_rcv_psn, attr->rq_psn);
	if (mask & IB_QP_MIN_RNR_TIMER)
		MLX5_SET(qpc, qpc, min_rnr_nak, attr->min_rnr_timer);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic)
		MLX5_SET(qpc, qpc, log_rra_max,
			 order_base_2(attr->max_dest_rd_atomic));
}

static void set_requester(void *qpc, const struct ib_qp_attr *attr, int mask)
{
	MLX5_SET(qpc, qpc, log_ack_req_freq, ACK_REQUEST_LOG);
	if (mask & IB_QP_DEST_QPN)
		MLX5_SET(qpc, qpc, remote_qpn, attr->dest_qp_num);
	if (mask & IB_QP_SQ_PSN)
		MLX5_SET(qpc, qpc, next_send_psn, attr->sq_psn);
	if (mask & IB_QP_RETRY_CNT)
		MLX5_SET(qpc, qpc, retry_count, attr->retry_cnt);
	if (mask & IB_QP_RNR_RETRY)
		MLX5_SET(qpc, qpc, rnr_retry, attr->rnr_retry);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic)
		MLX5_SET(qpc, qpc, log_sra_max,
			 order_base_2(attr->max_rd_atomic));
	if (mask & IB_QP_QKEY)
		MLX5_SET(qpc, qpc, q_key, attr->qkey);
}

/*
 * A queue pair starts with its assigned port; the bond may select another once the peer's address
 * is known.
 */
static u32 set_lag_port(void *qpc, const struct rhca_mlx5_qp_change *change)
{
	bool is_rtr = change->asked->from == IB_QPS_INIT && change->asked->next == IB_QPS_RTR;

	if (change->asked->from == IB_QPS_RESET)
		MLX5_SET(qpc, qpc, lag_tx_port_affinity,
			 change->spec->lag_port);
	if (!is_rtr || !change->lag_port)
		return 0;
	MLX5_SET(qpc, qpc, lag_tx_port_affinity, change->lag_port);
	return MLX5_QP_OPTPAR_LAG_TX_AFF;
}

/* All commands accept ECE options except SQERR2RTS and SQD_RTS */
static bool takes_ece(const struct mlx5_core_dev *mdev,
		      const struct rhca_mlx5_qp_change *change)
{
	return change->ece && change->asked->from != IB_QPS_SQE &&
	       change->asked->from != IB_QPS_SQD && MLX5_CAP_GEN(mdev, ece_support);
}

static int run_transition(struct mlx5_core_dev *mdev,
			  const struct rhca_mlx5_qp_change *change,
			  const struct transition *transition)
{
	u32 out[MLX5_ST_SZ_DW(init2rtr_qp_out)] = {};
	u32 in[MLX5_ST_SZ_DW(init2rtr_qp_in)] = {};
	void *qpc = MLX5_ADDR_OF(init2rtr_qp_in, in, qpc);
	u32 optional = optional_of(change, transition->fields) |
		       set_lag_port(qpc, change);
	int ret;

	MLX5_SET(init2rtr_qp_in, in, opcode, transition->opcode);
	MLX5_SET(init2rtr_qp_in, in, qpn, change->number);
	MLX5_SET(init2rtr_qp_in, in, opt_param_mask, optional);
	set_nature(qpc, change->spec);
	set_sizes(qpc, change, MLX5_CAP_GEN(mdev, log_max_msg));
	ret = set_path(MLX5_ADDR_OF(qpc, qpc, primary_address_path), mdev,
		       change);
	if (!ret && change->asked->mask & RHCA_MLX5_ACCESS_MASK)
		ret = set_access(qpc, mdev, change->access);
	if (ret)
		return ret;
	set_responder(qpc, change);
	set_requester(qpc, change->asked->attr, change->asked->mask);
	MLX5_SET(qpc, qpc, counter_set_id, change->counter_set);
	if (takes_ece(mdev, change))
		MLX5_SET(init2rtr_qp_in, in, ece, *change->ece);
	ret = rhca_mlx5_exec_inout(mdev, init2rtr_qp, in, out);
	if (takes_ece(mdev, change))
		*change->ece = MLX5_GET(init2rtr_qp_out, out, ece);
	return ret;
}

/*
 * Change a queue pair's state or attributes. @change: checked with ib_modify_qp_is_ok(). Returns as
 * other commands; -EOPNOTSUPP for a transition without a command. The kernel's headers have none to
 * SQD, which the adapter enters by itself.
 */
int rhca_mlx5_change_hw_qp(struct mlx5_core_dev *mdev,
			   const struct rhca_mlx5_qp_change *change)
{
	const struct transition *transition =
		&transitions[change->asked->from][change->asked->next];

	if (change->asked->next == IB_QPS_RESET)
		return rhca_mlx5_command_on(mdev, MLX5_CMD_OP_2RST_QP,
					    change->number);
	if (change->asked->next == IB_QPS_ERR)
		return rhca_mlx5_command_on(mdev, MLX5_CMD_OP_2ERR_QP,
					    change->number);
	if (!transition->opcode)
		return -EOPNOTSUPP;
	return run_transition(mdev, change, transition);
}

/*
 * Change the counter set of a queue pair. @mdev: has rts2rts_qp_counters_set_id. @number: the queue
 * pair, in RTS.
 */
int rhca_mlx5_count_into(struct mlx5_core_dev *mdev, u32 number, u16 set)
{
	u32 in[MLX5_ST_SZ_DW(rts2rts_qp_in)] = {};
	void *qpc = MLX5_ADDR_OF(rts2rts_qp_in, in, qpc);

	MLX5_SET(rts2rts_qp_in, in, opcode, MLX5_CMD_OP_RTS2RTS_QP);
	MLX5_SET(rts2rts_qp_in, in, qpn, number);
	MLX5_SET(rts2rts_qp_in, in, opt_param_mask,
		 MLX5_QP_OPTPAR_COUNTER_SET_ID);
	MLX5_SET(qpc, qpc, counter_set_id, set);
	return rhca_mlx5_exec_in(mdev, rts2rts_qp, in);
}

static const enum ib_qp_state verbs_states[MLX5_QP_NUM_STATE] = {
	[MLX5_QP_STATE_RST]		= IB_QPS_RESET,
	[MLX5_QP_STATE_INIT]		= IB_QPS_INIT,
	[MLX5_QP_STATE_RTR]		= IB_QPS_RTR,
	[MLX5_QP_STATE_RTS]		= IB_QPS_RTS,
	[MLX5_QP_STATE_SQER]		= IB_QPS_SQE,
	[MLX5_QP_STATE_SQD]		= IB_QPS_SQD,
	[MLX5_QP_STATE_ERR]		= IB_QPS_ERR,
	[MLX5_QP_STATE_SQ_DRAINING]	= IB_QPS_SQD,
	[MLX5_QP_STATE_SUSPENDED]	= IB_QPS_ERR,
};

/* @out: struct query_qp_out */
static int query_hw_qp(struct mlx5_core_dev *mdev, u32 number, bool and_error,
		       u32 *out)
{
	u32 in[MLX5_ST_SZ_DW(query_qp_in)] = {};

	MLX5_SET(query_qp_in, in, opcode, MLX5_CMD_OP_QUERY_QP);
	MLX5_SET(query_qp_in, in, qpn, number);
	if (and_error)
		rhca_mlx5_ask_qp_error(in);
	return rhca_mlx5_exec_inout(mdev, query_qp, in, out);
}

/* Query a queue pair. @attr: its state and PSNs are filled in. */
int rhca_mlx5_query_hw_qp(struct mlx5_core_dev *mdev, u32 number,
			  struct ib_qp_attr *attr)
{
	u32 out[MLX5_ST_SZ_DW(query_qp_out)] = {};
	void *qpc = MLX5_ADDR_OF(query_qp_out, out, qpc);
	int ret = query_hw_qp(mdev, number, false, out);
	u8 state;

	if (ret)
		return ret;
	state = MLX5_GET(qpc, qpc, state);
	attr->qp_state = state < ARRAY_SIZE(verbs_states) ?
			 verbs_states[state] : IB_QPS_ERR;
	attr->sq_draining = state == MLX5_QP_STATE_SQ_DRAINING;
	attr->sq_psn = MLX5_GET(qpc, qpc, next_send_psn);
	attr->rq_psn = MLX5_GET(qpc, qpc, next_rcv_psn);
	return 0;
}

/*
 * Are any requests not completed? @has_recv: it has its own receive queue. Returns false also if
 * the adapter does not answer.
 */
bool rhca_mlx5_hw_qp_has_work(struct mlx5_core_dev *mdev, u32 number,
			      bool has_recv)
{
	u32 out[MLX5_ST_SZ_DW(query_qp_out)] = {};
	void *qpc = MLX5_ADDR_OF(query_qp_out, out, qpc);

	if (query_hw_qp(mdev, number, false, out))
		return false;
	return MLX5_GET(qpc, qpc, hw_sq_wqebb_counter) !=
	       MLX5_GET(qpc, qpc, sw_sq_wqebb_counter) ||
	       (has_recv && MLX5_GET(qpc, qpc, hw_rq_counter) !=
			    MLX5_GET(qpc, qpc, sw_rq_counter));
}

/* Query why a queue pair failed. @mdev: with rhca_mlx5_reports_qp_error(). */
int rhca_mlx5_query_qp_error(struct mlx5_core_dev *mdev, u32 number,
			     struct rhca_mlx5_qp_error *error)
{
	u32 out[MLX5_ST_SZ_DW(query_qp_out)] = {};
	int ret = query_hw_qp(mdev, number, true, out);

	if (ret)
		return ret;
	*error = (struct rhca_mlx5_qp_error) {
		.syndrome	= rhca_mlx5_qp_error(out, syndrome),
		.vendor		= rhca_mlx5_qp_error(out, vendor_error_syndrome),
		.hardware	= rhca_mlx5_qp_error(out, hw_error_syndrome),
		.hardware_type	= rhca_mlx5_qp_error(out, hw_syndrome_type),
	};
	return 0;
}
