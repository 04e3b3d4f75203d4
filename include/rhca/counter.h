/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters, and their names in "rdma statistic". Names follow mlx5 where the meaning is the same;
 * Documentation/counters.rst describes them.
 */
#ifndef RHCA_COUNTER_H
#define RHCA_COUNTER_H

#define RHCA_COUNTERS(COUNTER) \
	COUNTER(RHCA_RX_PACKETS, "rx_packets") \
	COUNTER(RHCA_RX_BYTES, "rx_bytes") \
	COUNTER(RHCA_RX_MULTICAST_PACKETS, "rx_multicast_packets") \
	COUNTER(RHCA_TX_PACKETS, "tx_packets") \
	COUNTER(RHCA_TX_BYTES, "tx_bytes") \
	COUNTER(RHCA_TX_MULTICAST_PACKETS, "tx_multicast_packets") \
	COUNTER(RHCA_RX_WRITE_REQUESTS, "rx_write_requests") \
	COUNTER(RHCA_RX_READ_REQUESTS, "rx_read_requests") \
	COUNTER(RHCA_RX_ATOMIC_REQUESTS, "rx_atomic_requests") \
	COUNTER(RHCA_DUPLICATE_REQUEST, "duplicate_request") \
	COUNTER(RHCA_OUT_OF_SEQUENCE, "out_of_sequence") \
	COUNTER(RHCA_OUT_OF_BUFFER, "out_of_buffer") \
	COUNTER(RHCA_PACKET_SEQ_ERR, "packet_seq_err") \
	COUNTER(RHCA_IMPLIED_NAK_SEQ_ERR, "implied_nak_seq_err") \
	COUNTER(RHCA_LOCAL_ACK_TIMEOUT_ERR, "local_ack_timeout_err") \
	COUNTER(RHCA_RNR_NAK_RETRY_ERR, "rnr_nak_retry_err") \
	COUNTER(RHCA_REQ_CQE_ERROR, "req_cqe_error") \
	COUNTER(RHCA_REQ_CQE_FLUSH_ERROR, "req_cqe_flush_error") \
	COUNTER(RHCA_REQ_REMOTE_ACCESS_ERRORS, "req_remote_access_errors") \
	COUNTER(RHCA_REQ_REMOTE_INVALID_REQUEST, "req_remote_invalid_request") \
	COUNTER(RHCA_REQ_TRANSPORT_RETRIES_EXCEEDED, "req_transport_retries_exceeded") \
	COUNTER(RHCA_REQ_RNR_RETRIES_EXCEEDED, "req_rnr_retries_exceeded") \
	COUNTER(RHCA_RESP_CQE_ERROR, "resp_cqe_error") \
	COUNTER(RHCA_RESP_CQE_FLUSH_ERROR, "resp_cqe_flush_error") \
	COUNTER(RHCA_RESP_LOCAL_LENGTH_ERROR, "resp_local_length_error") \
	COUNTER(RHCA_RESP_REMOTE_ACCESS_ERRORS, "resp_remote_access_errors") \
	COUNTER(RHCA_RESP_INVALID_REQUESTS, "resp_invalid_requests") \
	COUNTER(RHCA_NP_ECN_MARKED_ROCE_PACKETS, "np_ecn_marked_roce_packets") \
	COUNTER(RHCA_RP_CNP_IGNORED, "rp_cnp_ignored") \
	COUNTER(RHCA_RX_HELD, "rx_held") \
	COUNTER(RHCA_RX_HELD_DROPPED, "rx_held_dropped") \
	COUNTER(RHCA_TX_RETRANSMITTED_PACKETS, "tx_retransmitted_packets") \
	COUNTER(RHCA_PATH_MTU_MISMATCH, "path_mtu_mismatch") \
	COUNTER(RHCA_RX_ICRC_ENCAPSULATED, "rx_icrc_encapsulated") \
	COUNTER(RHCA_RX_DROPPED_TRUNCATED, "rx_dropped_truncated") \
	COUNTER(RHCA_RX_DROPPED_BAD_OPCODE, "rx_dropped_bad_opcode") \
	COUNTER(RHCA_RX_DROPPED_BAD_LENGTH, "rx_dropped_bad_length") \
	COUNTER(RHCA_RX_DROPPED_NO_QP, "rx_dropped_no_qp") \
	COUNTER(RHCA_RX_DROPPED_QP_STATE, "rx_dropped_qp_state") \
	COUNTER(RHCA_RX_DROPPED_BAD_PKEY, "rx_dropped_bad_pkey") \
	COUNTER(RHCA_RX_DROPPED_BAD_QKEY, "rx_dropped_bad_qkey") \
	COUNTER(RHCA_RX_DROPPED_NOT_FOR_US, "rx_dropped_not_for_us") \
	COUNTER(RHCA_RX_DROPPED_OUT_OF_WINDOW, "rx_dropped_out_of_window") \
	COUNTER(RHCA_RX_DROPPED_BAD_SYNDROME, "rx_dropped_bad_syndrome") \
	COUNTER(RHCA_RX_DROPPED_BAD_SEQUENCE, "rx_dropped_bad_sequence") \
	COUNTER(RHCA_RX_DROPPED_NO_ACCESS, "rx_dropped_no_access") \
	COUNTER(RHCA_RX_DROPPED_NO_RESOURCE, "rx_dropped_no_resource") \
	COUNTER(RHCA_RX_DROPPED_NO_MAD_BUFFER, "rx_dropped_no_mad_buffer") \
	COUNTER(RHCA_RX_DROPPED_NO_MEMORY, "rx_dropped_no_memory") \
	COUNTER(RHCA_TX_DROPPED, "tx_dropped") \
	COUNTER(RHCA_TX_DROPPED_NO_ROUTE, "tx_dropped_no_route") \
	COUNTER(RHCA_TX_DROPPED_NO_NETDEV, "tx_dropped_no_netdev") \
	COUNTER(RHCA_TX_DROPPED_BAD_PKEY, "tx_dropped_bad_pkey") \
	COUNTER(RHCA_TX_DROPPED_NO_MEMORY, "tx_dropped_no_memory") \
	COUNTER(RHCA_TX_DROPPED_FILTERED, "tx_dropped_filtered") \
	COUNTER(RHCA_TX_DROPPED_TOO_LONG, "tx_dropped_too_long") \
	COUNTER(RHCA_TX_DROPPED_STACK, "tx_dropped_stack") \
	COUNTER(RHCA_LINK_DOWNED, "link_downed") \
	COUNTER(RHCA_ROCE_ADP_RETRANS, "roce_adp_retrans") \
	COUNTER(RHCA_RP_CNP_HANDLED, "rp_cnp_handled") \
	COUNTER(RHCA_NP_CNP_SENT, "np_cnp_sent") \
	/* Off until "rdma statistic set link" enables them; a device's last */ \
	COUNTER(RHCA_CC_RX_CE_PKTS, "cc_rx_ce_pkts") \
	COUNTER(RHCA_CC_RX_CNP_PKTS, "cc_rx_cnp_pkts") \
	COUNTER(RHCA_RX_ECN_CAPABLE_PKTS, "rx_ecn_capable_pkts") \
	/* Adapters only: software has no such events */ \
	COUNTER(RHCA_ROCE_ADP_RETRANS_TO, "roce_adp_retrans_to") \
	COUNTER(RHCA_ROCE_SLOW_RESTART, "roce_slow_restart") \
	COUNTER(RHCA_ROCE_SLOW_RESTART_CNPS, "roce_slow_restart_cnps") \
	COUNTER(RHCA_ROCE_SLOW_RESTART_TRANS, "roce_slow_restart_trans")

#define RHCA_COUNTER_ID(id, name)	id,

enum rhca_counter {
	RHCA_COUNTERS(RHCA_COUNTER_ID)
	RHCA_NUM_COUNTERS,
	RHCA_FIRST_OPTIONAL = RHCA_CC_RX_CE_PKTS,
	RHCA_FIRST_OF_ADAPTERS = RHCA_ROCE_ADP_RETRANS_TO,
};

#endif
