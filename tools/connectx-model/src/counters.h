/* SPDX-License-Identifier: GPL-2.0 */
/* All counters, and congestion control, which depends on them. */
#ifndef CONNECTX_COUNTERS_H
#define CONNECTX_COUNTERS_H

#include "command.h"
#include "resource.h"

struct device;
struct qp;
struct roce_packet;

/* Counters of a counter set: name here, field of query_q_counter_out. */
#define Q_COUNTERS(X) \
	X(Q_RX_WRITES,		rx_write_requests) \
	X(Q_RX_READS,		rx_read_requests) \
	X(Q_RX_ATOMICS,		rx_atomic_requests) \
	X(Q_OUT_OF_BUFFER,	out_of_buffer) \
	X(Q_OUT_OF_SEQUENCE,	out_of_sequence) \
	X(Q_DUPLICATE,		duplicate_request) \
	X(Q_RNR_NAK_RETRY,	rnr_nak_retry_err) \
	X(Q_PACKET_SEQ_ERR,	packet_seq_err) \
	X(Q_IMPLIED_NAK,	implied_nak_seq_err) \
	X(Q_TIMEOUT,		local_ack_timeout_err) \
	X(Q_RNR_EXCEEDED,	req_rnr_retries_exceeded) \
	X(Q_RESP_LOCAL_LENGTH,	resp_local_length_error) \
	X(Q_REQ_LOCAL_LENGTH,	req_local_length_error) \
	X(Q_LOCAL_OP_ERROR,	local_operation_error) \
	X(Q_RESP_LOCAL_PROTECTION, resp_local_protection) \
	X(Q_REQ_LOCAL_PROTECTION, req_local_protection) \
	X(Q_RESP_CQE_ERROR,	resp_cqe_error) \
	X(Q_REQ_CQE_ERROR,	req_cqe_error) \
	X(Q_REQ_BAD_RESPONSE,	req_bad_response) \
	X(Q_REQ_REMOTE_INVALID,	req_remote_invalid_request) \
	X(Q_RESP_REMOTE_INVALID, resp_remote_invalid_request) \
	X(Q_REQ_REMOTE_ACCESS,	req_remote_access_errors) \
	X(Q_RESP_REMOTE_ACCESS,	resp_remote_access_errors) \
	X(Q_REQ_REMOTE_OP,	req_remote_operation_errors) \
	X(Q_RETRIES_EXCEEDED,	req_transport_retries_exceeded) \
	X(Q_RESP_FLUSH,		resp_cqe_flush_error) \
	X(Q_REQ_FLUSH,		req_cqe_flush_error)

#define Q_ENUM(name, field)	name,
enum { Q_COUNTERS(Q_ENUM) Q_COUNT };
#undef Q_ENUM

struct q_counter {
	struct object object;
	u32 value[Q_COUNT];
};

enum traffic_direction { COUNT_RX, COUNT_TX, DIRECTIONS };
enum traffic_kind { COUNT_ETHERNET, COUNT_ROCE, TRAFFIC_KINDS };
enum traffic_cast { CAST_UNICAST, CAST_MULTICAST, CAST_BROADCAST, CASTS };

struct traffic {
	u64 packets;
	u64 bytes;
};

/* The cost of a driver: for queue pairs; a network interface's queues are not included. */
struct work_counters {
	u64 requests;		/* fetched from send queues */
	u64 doorbells;		/* rung for them */
	u64 register_writes;	/* to pages of UARs, including doorbells */
	u64 stretches;		/* of memory, mapped by keys: one per page at most */
	u64 completions;
	u64 arms;		/* of any completion queue */
	u64 completion_events;	/* of any completion queue */
	u64 commands[COMMAND_ROWS_MAX];	/* by row of the table */
};

struct device_counters {
	struct traffic traffic[DIRECTIONS][TRAFFIC_KINDS][CASTS];
	struct work_counters work;
	u64 rx_icrc_errors;
	u64 rx_malformed;
	u64 rx_no_qp;
	u64 rx_dropped;
	u64 wire_tx_errors;
	u64 impaired_lost;
	u64 impaired_corrupted;
	u64 impaired_reordered;
	u64 impaired_duplicated;
	u64 ecn_marked;
	u64 cnp_sent;
	u64 cnp_handled;
	u64 cnp_ignored;
};

void q_counter_add(struct device *dev, u32 set, u32 counter);
void count_traffic(struct device_counters *counters, enum traffic_direction direction,
		   enum traffic_kind kind, const u8 *frame, u32 bytes);

#define ECN_CAPABLE	2u	/* in an IP header: ECT(0) */

/* DCQCN, annex A17: what the driver sets with MODIFY_CONG_PARAMS. */
struct congestion {
	bool reaction_enabled;		/* this end slows down */
	bool notification_enabled;	/* this end notifies the other */
	u8 reaction[256];		/* cong_control_r_roce_ecn_rp */
	u8 notification[256];		/* cong_control_r_roce_ecn_np */
};

void congestion_init(struct congestion *congestion);
bool congestion_enabled(struct device *dev);

/* A marked packet arrived: notify its sender, at a limited rate. */
void congestion_seen(struct qp *qp);

/* A CNP arrived: slow down. */
void congestion_notified(struct qp *qp);

/* Account for a packet, and tell whether the next one may be sent now. */
void rate_charge(struct qp *qp, u32 bytes);
bool rate_allows(struct qp *qp);

#endif
