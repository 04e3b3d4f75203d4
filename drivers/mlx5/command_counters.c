// SPDX-License-Identifier: GPL-2.0
/* Firmware commands of counters. */
#include <linux/mlx5/vport.h>

#include "command.h"

/* Offset of a 32-bit counter in the answer */
static const struct {
	enum rhca_counter counter;
	size_t offset;
} set_layout[] = {
#define FIELD(counter, field) \
	{ counter, MLX5_BYTE_OFF(query_q_counter_out, field) }
	FIELD(RHCA_RX_WRITE_REQUESTS, rx_write_requests),
	FIELD(RHCA_RX_READ_REQUESTS, rx_read_requests),
	FIELD(RHCA_RX_ATOMIC_REQUESTS, rx_atomic_requests),
	FIELD(RHCA_DUPLICATE_REQUEST, duplicate_request),
	FIELD(RHCA_OUT_OF_SEQUENCE, out_of_sequence),
	FIELD(RHCA_OUT_OF_BUFFER, out_of_buffer),
	FIELD(RHCA_PACKET_SEQ_ERR, packet_seq_err),
	FIELD(RHCA_IMPLIED_NAK_SEQ_ERR, implied_nak_seq_err),
	FIELD(RHCA_LOCAL_ACK_TIMEOUT_ERR, local_ack_timeout_err),
	FIELD(RHCA_RNR_NAK_RETRY_ERR, rnr_nak_retry_err),
	FIELD(RHCA_REQ_CQE_ERROR, req_cqe_error),
	FIELD(RHCA_REQ_CQE_FLUSH_ERROR, req_cqe_flush_error),
	FIELD(RHCA_REQ_REMOTE_ACCESS_ERRORS, req_remote_access_errors),
	FIELD(RHCA_REQ_REMOTE_INVALID_REQUEST, req_remote_invalid_request),
	FIELD(RHCA_REQ_TRANSPORT_RETRIES_EXCEEDED,
	      req_transport_retries_exceeded),
	FIELD(RHCA_RESP_CQE_ERROR, resp_cqe_error),
	FIELD(RHCA_RESP_CQE_FLUSH_ERROR, resp_cqe_flush_error),
	FIELD(RHCA_RESP_LOCAL_LENGTH_ERROR, resp_local_length_error),
	FIELD(RHCA_RESP_REMOTE_ACCESS_ERRORS, resp_remote_access_errors),
	FIELD(RHCA_ROCE_ADP_RETRANS, roce_adp_retrans),
	FIELD(RHCA_ROCE_ADP_RETRANS_TO, roce_adp_retrans_to),
	FIELD(RHCA_ROCE_SLOW_RESTART, roce_slow_restart),
	FIELD(RHCA_ROCE_SLOW_RESTART_CNPS, roce_slow_restart_cnps),
	FIELD(RHCA_ROCE_SLOW_RESTART_TRANS, roce_slow_restart_trans),
#undef FIELD
	/* Headers of older kernels have no name for this word */
	{ RHCA_REQ_RNR_RETRIES_EXCEEDED,
	  MLX5_BYTE_OFF(query_q_counter_out, local_ack_timeout_err) + 16 },
};

/* Otherwise queue pairs count into set 0, which nothing reads */
bool rhca_mlx5_has_counter_sets(const struct mlx5_core_dev *mdev)
{
	return MLX5_CAP_GEN(mdev, max_qp_cnt);
}

/* Read the counters of a set. @values: by enum rhca_counter; only those of the set are written. */
int rhca_mlx5_query_counter_set(struct mlx5_core_dev *mdev, u16 set,
				u64 *values)
{
	u32 out[MLX5_ST_SZ_DW(query_q_counter_out)] = {};
	u32 in[MLX5_ST_SZ_DW(query_q_counter_in)] = {};
	size_t i;
	int ret;

	if (!rhca_mlx5_has_counter_sets(mdev))
		return 0;
	MLX5_SET(query_q_counter_in, in, opcode, MLX5_CMD_OP_QUERY_Q_COUNTER);
	MLX5_SET(query_q_counter_in, in, counter_set_id, set);
	ret = rhca_mlx5_exec_inout(mdev, query_q_counter, in, out);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(set_layout); i++)
		values[set_layout[i].counter] =
			be32_to_cpup((void *)out + set_layout[i].offset);
	return 0;
}

/*
 * Read the port's counters of congestion; for a LAG those of both functions. @values: by enum
 * rhca_counter; only these are written.
 */
int rhca_mlx5_query_congestion(struct mlx5_core_dev *mdev, u64 *values)
{
#define OFFSET(field) \
	MLX5_BYTE_OFF(query_cong_statistics_out, field##_high)
	size_t offsets[] = {
		OFFSET(rp_cnp_ignored),
		OFFSET(rp_cnp_handled),
		OFFSET(np_ecn_marked_roce_packets),
		OFFSET(np_cnp_sent),
	};
#undef OFFSET
	u64 counted[ARRAY_SIZE(offsets)];
	int ret;

	if (!MLX5_CAP_GEN(mdev, cc_query_allowed))
		return 0;
	ret = mlx5_lag_query_cong_counters(mdev, counted, ARRAY_SIZE(offsets),
					   offsets);
	if (ret)
		return ret;
	values[RHCA_RP_CNP_IGNORED] = counted[0];
	values[RHCA_RP_CNP_HANDLED] = counted[1];
	values[RHCA_NP_ECN_MARKED_ROCE_PACKETS] = counted[2];
	values[RHCA_NP_CNP_SENT] = counted[3];
	return 0;
}

bool rhca_mlx5_counts_icrc(const struct mlx5_core_dev *mdev)
{
	return MLX5_CAP_PCAM_FEATURE(mdev, rx_icrc_encapsulated_counter);
}

/*
 * Read the port's counter of packets with a wrong ICRC. @value: not written if the firmware has no
 * such counter.
 */
int rhca_mlx5_query_icrc(struct mlx5_core_dev *mdev, u64 *value)
{
	u32 in[MLX5_ST_SZ_DW(ppcnt_reg)] = {};
	u32 out[MLX5_ST_SZ_DW(ppcnt_reg)] = {};
	void *extended = MLX5_ADDR_OF(ppcnt_reg, out, counter_set);
	int ret;

	if (!rhca_mlx5_counts_icrc(mdev))
		return 0;
	MLX5_SET(ppcnt_reg, in, local_port, 1);
	MLX5_SET(ppcnt_reg, in, grp, MLX5_ETHERNET_EXTENDED_COUNTERS_GROUP);
	ret = mlx5_core_access_reg(mdev, in, sizeof(in), out, sizeof(out),
				   MLX5_REG_PPCNT, 0, 0);
	if (!ret)
		*value = MLX5_GET64(eth_extended_cntrs_grp_data_layout,
				    extended, rx_icrc_encapsulated_high);
	return ret;
}

/* Read the function's RoCE packets since power-on. @values: by enum rhca_counter. */
int rhca_mlx5_query_traffic(struct mlx5_core_dev *mdev, u64 *values)
{
	u32 out[MLX5_ST_SZ_DW(query_vport_counter_out)] = {};
	int ret;

	ret = mlx5_core_query_vport_counter(mdev, 0, 0, 1, out);
	if (ret)
		return ret;
#define COUNT(field)	MLX5_GET64(query_vport_counter_out, out, field)
	values[RHCA_RX_MULTICAST_PACKETS] = COUNT(received_ib_multicast.packets);
	values[RHCA_RX_PACKETS] = COUNT(received_ib_unicast.packets) +
				  values[RHCA_RX_MULTICAST_PACKETS];
	values[RHCA_RX_BYTES] = COUNT(received_ib_unicast.octets) +
				COUNT(received_ib_multicast.octets);
	values[RHCA_TX_MULTICAST_PACKETS] = COUNT(transmitted_ib_multicast.packets);
	values[RHCA_TX_PACKETS] = COUNT(transmitted_ib_unicast.packets) +
				  values[RHCA_TX_MULTICAST_PACKETS];
	values[RHCA_TX_BYTES] = COUNT(transmitted_ib_unicast.octets) +
				COUNT(transmitted_ib_multicast.octets);
#undef COUNT
	return 0;
}
