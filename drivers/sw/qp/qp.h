/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Datapath state of a QP: one half for each direction, with a lock each.
 *
 * Lock order: send.lock and recv.lock are never held together. Inside either: the lock of a shared
 * receive queue, binding_lock, the lock of a CQ. Events and completion handlers run with none held.
 */
#ifndef RHCA_SW_QP_QP_H
#define RHCA_SW_QP_QP_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/llist.h>
#include <linux/prefetch.h>
#include <linux/timer.h>

#include "core/device.h"
#include "sw/verbs/memory/mem.h"
#include "sw/verbs/qp/qp.h"
#include "sw/packet/block.h"
#include "sw/qp/cwnd.h"
#include "sw/qp/hold_rule.h"
#include "sw/qp/rtt.h"
#include "sw/qp/turn.h"
#include "sw/verbs/timing_wheel.h"

/* Request an acknowledgement at least this often, so that the window moves */
#define RHCA_ACK_INTERVAL	32

/* More often after a loss: NAKs and retransmissions may be lost, too */
#define RHCA_ACK_INTERVAL_LOSSY	8

/*
 * Response packets per READ request. Longer READs are sent as several, so that the requester, which
 * knows of losses, sets the pace. All responses to one may be in flight at once.
 */
#define RHCA_READ_CHUNK		32U
#define RHCA_READ_CHUNK_LOSSY	8U	/* minimum after recent losses */

/* Pauses of either half before it tries again */
#define RHCA_QUEUE_FULL_NS	(500 * NSEC_PER_USEC)	/* a few packets at 1 Gb/s */
#define RHCA_PAGE_FAULT_NS	(100 * NSEC_PER_USEC)	/* page cache, scheduling too */
/*
 * A process may have many QPs wait for pages that never come, and each attempt builds a packet: see
 * rhca_fault_pause(). A page that takes 0.1 s comes from a slow disk or network.
 */
#define RHCA_PAGE_FAULT_SOON_NS	(RHCA_PAGE_FAULT_NS << 3)
#define RHCA_PAGE_FAULT_MAX_NS	(RHCA_PAGE_FAULT_NS << 10)
#define RHCA_MEM_BUSY_NS	(20 * NSEC_PER_USEC)	/* time to copy some packets */

/* Requests flushed while holding a lock, with bottom halves off */
#define RHCA_FLUSH_BUDGET	256

/*
 * When a packet requests an acknowledgement (AckReq), which the next request may wait for:
 *
 *	since_ack_req	packets since the last one with AckReq; RHCA_ACK_INTERVAL, or fewer, make
 *			the next one set it. A rewind resets this to 0
 *	ask_psn		this packet sets it: the last one before a pause for the QP's rate, or one
 *			that is sent again since a NAK names it, no answer has come, or it would
 *			not be acknowledged (ask_if_stuck())
 *	repeating	after a loss: all packets have AckReq until there is progress
 *	limited		an acknowledgement carried credits, 9.7.7.2: SENDs up to
 *	limit_ssn	have a receive buffer. The last of them has AckReq, as the answer brings
 *			more. One beyond may be sent as a single packet with AckReq: the probe
 *	probe_ssn	is that request once its first packet was accepted: the rest may be
 *			sent. The next one beyond the limit probes again
 *
 * In addition AckReq is set on the last packet of a request that none can follow at once, and on
 * each READ, atomic and FLUSH, whose response is the acknowledgement.
 */

struct rhca_congestion;
struct rhca_recovery;
struct rhca_sw_qp;
struct rhca_turn_ops;

/* The right to send for one half of a QP, see turn.h */
struct rhca_turn {
	struct hrtimer timer;			/* ends pauses */
	/* When a pause other than a post delay ends, monotonic ns; written under the half's lock */
	u64 not_before;
	struct rhca_sw_qp *qp;
	const struct rhca_turn_ops *ops;	/* the kind of half */
	struct llist_node listed;		/* in the list of @cpu, with a reference to @qp */
	int cpu;				/* CPU whose list it was last added to */
	atomic_t word;		/* state, reason of a pause, kicks; beside the half's lock */
};

/*
 * Send queue side and the responses to it. A request touches four cache lines, from the end of
 * @turn to @probe_timer; with a thousand QPs each further line is a miss.
 */
struct rhca_requester {
	struct rhca_turn turn;		/* the right to send */
	/* protects all of this but @turn and @deferred; sq.head and the slots of the send queue */
	spinlock_t lock;
	/*
	 * Index after the last request known to be posted. Slots are reused: only below this index
	 * a slot holds the request at its index
	 */
	u32 posted_end;
	u32 next;			/* index of the request to send next */
	u32 next_offset;		/* payload bytes of @next already sent */
	u32 next_psn;			/* PSN of the next packet */
	u32 oldest_unacked_psn;		/* first PSN that the peer has not acknowledged */
	u32 newest_psn;			/* after all ever sent; above @next_psn after a rewind */
	u16 since_ack_req;		/* packets since the last one with AckReq */
	u16 reads_in_flight;		/* READ and atomic requests without their last response */
	atomic_t deferred;		/* work of the QP left to a tasklet, RHCA_RAISE_* */
	u32 ssn;			/* send sequence number of the newest numbered request */
	u32 limit_ssn;			/* requests up to this have a receive buffer at the peer */
	u32 probe_ssn;			/* request beyond that whose first packet was accepted */
	bool may_transmit;		/* new requests may be started in this turn */
	bool limited;			/* the peer announces its receive buffers */
	u8 retries_left;		/* sequence errors and timeouts until the QP gives up */
	u8 rnr_retries_left;		/* RNR NAKs until it gives up */
	bool hole_due;			/* retransmit a packet before sending new ones */
	/* There was a recent loss: only then @recovery is in use */
	bool recovering;
	/* Since @probe_timer last fired there was progress, or an RNR pause ended */
	bool heard;
	/*
	 * enum rhca_pause: nothing is sent before turn.not_before, whoever owns the turn.
	 * LOCAL_FULL: the local queue refused the last packets. RC sends them again but keeps
	 * @deadline, as the queue may never accept them
	 */
	u8 pause;
	u32 fault_ns;			/* last pause for a missing page, or 0 */
	u16 ask_psn;	/* low bits of the PSN of a packet that must have AckReq set */
	bool repeating;			/* retransmitting from @oldest_unacked_psn on */
	/*
	 * The local queue refused the shared block with its only packet; owned by that block, like
	 * @shared_next, while the turn is LENT
	 */
	bool shared_refused;
	bool ack_timed;			/* @ack_timer is pending, or fired but not yet handled */
	bool has_rate;	/* the rate in @congestion is valid; protected by its lock */
	/*
	 * Source port of all packets until everything is acknowledged, since one was in a shared
	 * block; 0: the path's
	 */
	u16 udp_sport;
	struct rhca_block_backoff backoff;	/* no blocks for a while after a loss */
	struct rhca_cwnd cwnd;		/* how many packets may be in flight */
	struct rhca_recovery *recovery;	/* RC: losses and what is done about them */
	struct rhca_rtt rtt;		/* of the path, including queueing */
	struct rhca_sw_qp *shared_next;	/* another QP with a packet in that block */
	struct rhca_mem *held;		/* memory reference kept while @lock is held, or NULL */
	/* When the verbs' ACK timeout expires and uses up a retry, jiffies */
	unsigned long deadline;
	u64 probe_at;			/* when @probe_timer probes, in ns, unless @heard */
	struct rhca_wheel_timer probe_timer;	/* RC: no answer for a while */
	struct timer_list ack_timer;	/* checks @deadline */
	bool drain_reported;		/* it has drained in this SQD, and that was reported */
	u16 tx_cpu;			/* see rhca_tx_list_keep_queue() */
};

/* A READ, atomic or FLUSH, answered or being answered */
struct rhca_resource {
	u8 opcode;	/* of the request; 0 when the slot is empty */
	bool replayed;	/* repeated: the peer may no longer be waiting */
	union {
		struct {	/* FLUSH */
			u8 placement;	/* RHCA_PLACE_* */
			bool whole;	/* all of the region, ignoring @va and @length */
		};
		u16 cut;	/* READs: bytes the last response omits */
	};
	u32 first_psn;	/* of the first response */
	u32 last_psn;	/* last response to send; @length may allow more for a READ */
	u32 next_psn;	/* next response to send; after @last_psn if all were sent */
	union {
		u64 va;		/* READs and FLUSH: address of the first byte */
		u64 original;	/* atomics: value before the operation */
	};
	u32 rkey;	/* READs and FLUSH: key */
	u32 length;	/* READs and FLUSH: bytes */
};
static_assert(sizeof(struct rhca_resource) == 32);	/* there may be many */

/* Receive queue side */
struct rhca_responder {
	struct rhca_turn turn;		/* sends responses and what is queued after them */
	spinlock_t lock;	/* protects all of this but @turn, and the queue's consumer side */
	u32 expected_psn;		/* of the next request packet */
	u32 msn;			/* messages completed, 24 bits */
	u8 message_opcode;		/* of the last packet */
	bool in_message;		/* a message is incomplete */
	bool established_reported;	/* IB_EVENT_COMM_EST has been raised */
	struct rhca_hold_rule rule;	/* state of arrivals that NAKs depend on */
	struct rhca_hold *hold;		/* out-of-order requests, or NULL */
	u32 num_resources;		/* a power of two, or 0 */
	u32 newest_resource;		/* index after the newest */
	u32 sending_resource;		/* index of the oldest with pending responses */
	bool has_responded;		/* a READ, atomic or FLUSH was executed since RESET */
	bool answer_waits;		/* an acknowledgement is pending, after the resources */
	u8 answer_syndrome;		/* its syndrome */
	/* enum rhca_request_status with which it ends the connection, or RHCA_PASS */
	u8 fatal;
	u32 answer_psn;			/* its PSN */
	bool have_wqe;			/* @wqe is in use by a message */
	bool srq_limit_reached;		/* taking it reached the shared queue's limit */
	/*
	 * A SEND has invalidated @invalid_key, but packets still use its memory. Its completion and
	 * everything after it wait
	 */
	bool invalidating;
	/* An RNR NAK was sent, so @rule.nak_sent is set: the peer repeats all, nothing is held */
	bool not_ready;
	u32 fault_ns;			/* last pause for a missing page, or 0 */
	u8 pause;			/* enum rhca_pause that ends this turn */
	u16 tx_cpu;			/* see rhca_tx_list_keep_queue() */
	u32 received;			/* payload bytes of the message so far */
	u32 write_rkey;			/* RDMA WRITE: key */
	u64 write_va;			/* RDMA WRITE: address of the next byte */
	u32 write_left;			/* RDMA WRITE: bytes to come */
	u32 invalid_key;		/* key invalidated by the peer */
	struct rhca_mem *held;		/* memory reference kept while @lock is held, or NULL */
	struct rhca_recv_wqe *wqe;
	struct rhca_block_backoff backoff;	/* no blocks after a response was lost */
	/*
	 * Ring of answers; RC only, from RTR on. At least twice max_dest_rd_atomic, so that pending
	 * repeated answers do not block new requests
	 */
	struct rhca_resource *resources;
	u64 placed;			/* bytes written back for the current FLUSH */
	struct ib_wc late_wc;		/* the delayed completion */
	bool late_solicited;		/* its SEND asked for an event */
	bool late_missed;		/* a request was dropped meanwhile */
	struct rhca_reorder reorder;	/* of @rule; separate since it is seldom used */
};

/* Work left to a tasklet, in send.deferred; the lower bits are BIT(enum ib_event_type) */
#define RHCA_RAISE_SEND		BIT(28)
#define RHCA_RAISE_RECV		BIT(29)
#define RHCA_RAISE_SRQ_LIMIT	BIT(30)
#define RHCA_FLUSH_MORE		BIT(31)
#define RHCA_DEFERRED_EVENTS	GENMASK(27, 0)

/* QP of the software HCA */
struct rhca_sw_qp {
	struct rhca_verbs_qp base;
	/* Aligned so that the turn's word, the lock and the PSNs share a cache line */
	struct rhca_requester send ____cacheline_aligned;
	u64 posted_at;		/* process QPs: time of the last post, monotonic ns */
	struct rhca_responder recv ____cacheline_aligned;
	struct rhca_congestion *congestion;
	struct work_struct flush_first;	/* process QPs in ERR: flush what is in the queues */
	/* And what is posted afterwards; of kernel users what the CQs had no room for */
	struct delayed_work flush_again;
	atomic_t flush_credit;	/* most that may have been posted before ERR: no delay */
	unsigned long flush_delay;		/* interval of @flush_again, in jiffies */
};

static inline struct rhca_sw_qp *to_sw_qp(struct rhca_verbs_qp *qp)
{
	return container_of(qp, struct rhca_sw_qp, base);
}

/* Prefetch the cache lines of a half */
static inline void rhca_prefetch_half(const void *half)
{
	prefetchw(half);
	prefetchw(half + L1_CACHE_BYTES);
	prefetchw(half + 2 * L1_CACHE_BYTES);
	prefetchw(half + 3 * L1_CACHE_BYTES);
}

/* Prefetch what a packet or turn of the QP accesses first */
static inline void rhca_prefetch_qp(const struct rhca_verbs_qp *base,
				    bool for_requester)
{
	const struct rhca_sw_qp *qp = container_of(base, struct rhca_sw_qp, base);

	prefetch(&base->port);
	prefetch(&base->attr);
	if (for_requester) {
		prefetchw(&base->sq.head);
		rhca_prefetch_half(&qp->send.turn.word);
	} else {
		prefetch(&base->rq.ring);
		rhca_prefetch_half(&qp->recv.turn.word);
	}
}

/*
 * Pause before checking for a page again: first the time waited so far, later 1/128 of it. Not
 * longer, as a page may come and go again meanwhile.
 */
static inline u64 rhca_fault_pause(u32 *fault_ns)
{
	u32 more = *fault_ns < RHCA_PAGE_FAULT_SOON_NS ? *fault_ns :
							 *fault_ns / 128;

	*fault_ns = clamp_t(u32, *fault_ns + more, RHCA_PAGE_FAULT_NS,
			    RHCA_PAGE_FAULT_MAX_NS);
	return *fault_ns;
}

struct rhca_shared_block;

/* Work that a pass through a QP leaves for after its locks are released */
struct rhca_batch {
	bool raise_send;	/* notify the send CQ */
	bool raise_recv;	/* notify the receive CQ */
	bool flush_send;	/* the QP failed: flush the send queue */
	bool flush_recv;	/* the same for the receive queue */
	bool flush_more;	/* a flush used up its budget, or a CQ's room for it */
	bool srq_limit;		/* raise the limit event of the shared receive queue */
	bool in_shared;		/* a request is in @shared, with the caller's reference to the QP */
	u32 flushed;		/* requests flushed */
	u32 sent;		/* request or response packets sent */
	u32 sent_bytes;		/* payload of requests sent */
	u32 events;		/* BIT(enum ib_event_type) to raise */
	/* Collects completions for rhca_responder_show(); NULL: post each at once */
	struct rhca_wc_list *received;
	struct rhca_shared_block *shared;	/* takes lone packets, or NULL */
};

static inline void rhca_batch_event(struct rhca_batch *batch,
				    enum ib_event_type type)
{
	batch->events |= BIT(type);
}

#endif
