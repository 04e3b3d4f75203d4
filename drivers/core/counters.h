/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters: per-CPU arrays, so that the data path shares no cache line. A QP
 * counts into the array of its port, or into that of the rdma_counter that it is
 * bound to. Names follow mlx5 where the meaning is the same.
 */
#ifndef RHCA_CORE_COUNTERS_H
#define RHCA_CORE_COUNTERS_H

#include <linux/jump_label.h>
#include <linux/percpu.h>
#include <rdma/ib_verbs.h>

struct rhca_dev;
struct rhca_port;
struct rhca_qp;

enum rhca_counter {
	RHCA_RX_PACKETS,
	RHCA_RX_BYTES,
	RHCA_RX_MULTICAST_PACKETS,
	RHCA_TX_PACKETS,
	RHCA_TX_BYTES,
	RHCA_TX_MULTICAST_PACKETS,
	RHCA_RX_WRITE_REQUESTS,
	RHCA_RX_READ_REQUESTS,
	RHCA_RX_ATOMIC_REQUESTS,
	RHCA_DUPLICATE_REQUEST,
	RHCA_OUT_OF_SEQUENCE,
	RHCA_OUT_OF_BUFFER,
	RHCA_PACKET_SEQ_ERR,
	RHCA_IMPLIED_NAK_SEQ_ERR,
	RHCA_LOCAL_ACK_TIMEOUT_ERR,
	RHCA_RNR_NAK_RETRY_ERR,
	RHCA_REQ_CQE_ERROR,
	RHCA_REQ_CQE_FLUSH_ERROR,
	RHCA_REQ_REMOTE_ACCESS_ERRORS,
	RHCA_REQ_REMOTE_INVALID_REQUEST,
	RHCA_REQ_TRANSPORT_RETRIES_EXCEEDED,
	RHCA_REQ_RNR_RETRIES_EXCEEDED,
	RHCA_RESP_CQE_ERROR,
	RHCA_RESP_CQE_FLUSH_ERROR,
	RHCA_RESP_LOCAL_LENGTH_ERROR,
	RHCA_RESP_REMOTE_ACCESS_ERRORS,
	RHCA_RESP_INVALID_REQUESTS,
	RHCA_NP_ECN_MARKED_ROCE_PACKETS,
	RHCA_RP_CNP_IGNORED,
	RHCA_PATH_MTU_MISMATCH,
	RHCA_RX_ICRC_ENCAPSULATED,
	RHCA_RX_DROPPED_TRUNCATED,
	RHCA_RX_DROPPED_BAD_OPCODE,
	RHCA_RX_DROPPED_BAD_LENGTH,
	RHCA_RX_DROPPED_NO_QP,
	RHCA_RX_DROPPED_QP_STATE,
	RHCA_RX_DROPPED_BAD_PKEY,
	RHCA_RX_DROPPED_BAD_QKEY,
	RHCA_RX_DROPPED_NOT_FOR_US,
	RHCA_RX_DROPPED_OUT_OF_WINDOW,
	RHCA_RX_DROPPED_BAD_SYNDROME,
	RHCA_RX_DROPPED_BAD_SEQUENCE,
	RHCA_RX_DROPPED_NO_ACCESS,
	RHCA_RX_DROPPED_NO_RESOURCE,
	RHCA_RX_DROPPED_NO_MAD_BUFFER,
	RHCA_RX_DROPPED_NO_MEMORY,
	RHCA_TX_DROPPED,
	RHCA_TX_DROPPED_NO_ROUTE,
	RHCA_TX_DROPPED_NO_NETDEV,
	RHCA_TX_DROPPED_BAD_PKEY,
	RHCA_TX_DROPPED_NO_MEMORY,
	RHCA_TX_DROPPED_FILTERED,
	RHCA_TX_DROPPED_STACK,
	RHCA_LINK_DOWNED,

	/* Off until "rdma statistic set link" turns them on; at the end */
	RHCA_FIRST_OPTIONAL,
	RHCA_CC_RX_CE_PKTS = RHCA_FIRST_OPTIONAL,
	RHCA_CC_RX_CNP_PKTS,
	RHCA_RX_ECN_CAPABLE_PKTS,

	RHCA_NUM_COUNTERS,
};

struct rhca_counters {
	u64 value[RHCA_NUM_COUNTERS];
};

static inline void rhca_counter_add(struct rhca_counters __percpu *c,
				    enum rhca_counter which, u64 n)
{
	this_cpu_add(c->value[which], n);
}

static inline void rhca_counter_inc(struct rhca_counters __percpu *c,
				    enum rhca_counter which)
{
	this_cpu_inc(c->value[which]);
}

u64 rhca_counter_sum(const struct rhca_counters __percpu *c,
		     enum rhca_counter which);
void rhca_port_totals(struct rhca_port *port, struct rhca_counters *totals);
void rhca_counters_follow_port(struct rhca_qp *qp);
void rhca_counters_disable_optional(struct rhca_port *port);

/* Some port has an optional counter on */
DECLARE_STATIC_KEY_FALSE(rhca_optional_key);

extern const struct ib_device_ops rhca_counter_verbs;

#endif
