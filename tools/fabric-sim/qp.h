/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection that sends messages (WRITEs) in one direction: the driver's state of a QP at either
 * end, as far as loss and congestion depend on it.
 */
#ifndef FABRIC_SIM_QP_H
#define FABRIC_SIM_QP_H

#include <linux/types.h>

#include "driver_limits.h"
#include "event.h"
#include "net.h"
#include "param.h"
#include "sw/qp/cwnd.h"
#include "sw/qp/hold_rule.h"
#include "sw/qp/rtt.h"
#include "sw/tx/rate.h"
#include "sw/tx/recover.h"

/* Counts from here on are PSNs of 32 bits; the driver's units get 24 of them */
#define PSN(psn)	((psn) & 0xffffff)

enum pause {
	PAUSE_NONE,
	PAUSE_PACE,
	PAUSE_LOCAL_FULL,
};

/* drivers/sw/tx/congestion.h */
struct pace {
	bool limited;
	u64 cnp_due;
	u64 cnp_at;
	u64 clock;
	struct rhca_rate rate;
};

/* drivers/sw/qp/qp.h and sw/tx/window.h: struct rhca_requester, struct rhca_recovery */
struct sender {
	struct rhca_recover rule;
	struct rhca_rtt rtt;
	struct rhca_cwnd cwnd;
	struct pace pace;
	u32 next;
	u32 oldest;
	u32 newest;
	u32 since_ack_req;
	u32 ask_psn;
	u32 hole_psn;
	u32 loss_psn;
	u32 refused_psn;
	u8 retries_left;
	u8 probes;
	u8 doublings;
	u8 pause;		/* enum pause */
	bool hole_due;
	bool heard;
	bool lossy;
	bool repeating;
	bool refused;
	bool excused;
	u64 not_before;
	u64 heard_at;
	u64 probe_at;
	u64 deadline;
	/* pending events; 0: none */
	u64 turn_event;
	u64 probe_event;
	u64 timeout_event;
};

/* drivers/sw/qp/qp.h: struct rhca_responder */
struct receiver {
	struct rhca_hold_rule rule;
	struct rhca_reorder reorder;
	u64 held[RHCA_HOLD_PACKETS / 64];
	u64 held_ask[RHCA_HOLD_PACKETS / 64];
	u32 num_held;
	u32 held_bytes;
	u32 expected;
	u32 answer_psn;
	bool answer_waits;
	bool answer_nak;
	bool waits;		/* an EVENT_WAITED is pending */
	u64 cnp_due;
};

struct tcp;

/**
 * struct qp - A connection
 * @src: host that sends
 * @dst: host that receives
 * @hash: chooses its way
 * @message_packets: packets of a message
 * @last_bytes: payload of the last of these
 * @messages: that it sends, 0: without end
 * @depth: of which so many are posted at once
 * @posted: messages posted
 * @done: messages acknowledged
 * @started: when the first was posted, ns
 * @ended: when all were acknowledged, 0: they are not
 * @touched: it has work at the end of a batch
 * @failed: no retry was left
 * @send: sender's half
 * @recv: receiver's half
 * @tcp: both halves of transport=tcp, in place of these
 * @repeated: packets sent again
 * @measured: @recv.expected when measuring began
 * @sampled: when the last figures over time were taken
 */
struct qp {
	u32 src;
	u32 dst;
	u32 hash;
	u32 message_packets;
	u32 last_bytes;
	u32 messages;
	u32 depth;
	u32 posted;
	u32 done;
	u64 started;
	u64 ended;
	bool touched;
	bool failed;
	struct sender send;
	struct receiver recv;
	struct tcp *tcp;
	u32 repeated;
	u32 measured;
	u32 sampled;
};

extern struct qp *qps;
extern u32 num_qps, qps_active;

struct totals {
	u64 sent, repeated, naks, acks, cnps, probes, timeouts, refused, held_refused, failed;
};
extern struct totals totals;

static inline u32 qp_index(const struct qp *qp)
{
	return qp - qps;
}

static inline u32 posted_end(const struct qp *qp)
{
	return qp->posted * qp->message_packets;
}

static inline u32 payload_of(const struct qp *qp, u32 psn)
{
	return (psn + 1) % qp->message_packets ? (u32)param.mtu : qp->last_bytes;
}

/* host.c */
void hosts_make(void);
bool host_send(u32 host, u32 packet);
void host_receive(u32 host, u32 packet);
void host_batch(u32 host);
u64 host_tx_free(u32 host);
void host_tx_charge(u32 host, u32 packets);
u64 *host_held(u32 host);

/* requester.c */
void requester_reset(struct qp *qp);
void requester_turn(struct qp *qp);
void requester_turn_event(struct qp *qp);
void requester_ack(struct qp *qp, u32 psn, bool nak);
void requester_cnp(struct qp *qp);
void requester_probe_event(struct qp *qp);
void requester_timeout_event(struct qp *qp);

/* pace.c */
bool pace_is_on(const struct qp *qp);
u32 pace_packets(struct qp *qp, u64 *wait_ns);
void pace_sent(struct qp *qp, u32 packets, u32 bytes);
void pace_cnp(struct qp *qp);

/* responder.c */
void responder_reset(struct qp *qp);
void responder_receive(struct qp *qp, const struct packet *packet);
void responder_answer(struct qp *qp);
void responder_waited(struct qp *qp);

/* tcp.c */
void tcp_reset(struct qp *qp);
void tcp_turn(struct qp *qp);
void tcp_data(struct qp *qp, const struct packet *packet);
void tcp_ack(struct qp *qp, const struct packet *packet);
void tcp_timeout_event(struct qp *qp);

/* work.c */
void work_make(void);
void work_event(u32 of);
void work_start(struct qp *qp);
void work_progress(struct qp *qp, u32 acked);

#endif
