/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the software datapath keeps about a QP: one half for each direction, with a lock each.
 *
 * Lock order: send.lock and recv.lock are never held together. Inside either: the lock of a
 * shared receive queue, binding_lock, the lock of a CQ. Events and completion handlers run with
 * none held.
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

/* Acknowledgements are asked for at least this often, so the window moves */
#define RHCA_ACK_INTERVAL	32

/* More often while something is missing: NAKs and repeats may be lost, too */
#define RHCA_ACK_INTERVAL_LOSSY	8

/*
 * Response packets that one READ request asks for. Longer READs go out as several: who knows
 * what was lost sets the pace. Responses to one may all be on the wire at once.
 */
#define RHCA_READ_CHUNK		32U
#define RHCA_READ_CHUNK_LOSSY	8U	/* at least, where losses are recent */

/* Pauses of either half, until it is tried again */
#define RHCA_QUEUE_FULL_NS	(500 * NSEC_PER_USEC)	/* a few packets at 1 Gb/s */
#define RHCA_PAGE_FAULT_NS	(100 * NSEC_PER_USEC)	/* page cache, scheduling too */
/*
 * A process may have many QPs wait for pages that do not come, and each look builds a
 * packet: see rhca_fault_pause(). What takes 0.1 s comes from a slow disk or network.
 */
#define RHCA_PAGE_FAULT_SOON_NS	(RHCA_PAGE_FAULT_NS << 3)
#define RHCA_PAGE_FAULT_MOST_NS	(RHCA_PAGE_FAULT_NS << 10)
#define RHCA_MEM_BUSY_NS	(20 * NSEC_PER_USEC)	/* copying of some packets */

/* Requests that are flushed under one lock, with bottom halves off */
#define RHCA_FLUSH_BUDGET	256

/*
 * When a packet asks for an acknowledgement, which the next request may wait for:
 *
 * unasked	counts the packets since the last that did; RHCA_ACK_INTERVAL make
 *		the next one ask. A rewind begins anew: 0
 * ask		set while the newest packet is sent again because nobody will answer
 *		it (ask_if_stuck()), and at no other time
 * repeating	a loss has been noticed: all ask, until something new arrives
 * limited	an acknowledgement has carried credits, 9.7.7.2: SENDs up to
 * limit_ssn	have a buffer. The last of them asks, since the answer brings more.
 *		One beyond may go as a single packet, alone and asking: the probe.
 * probe_ssn	is that request when its first packet was taken: the rest may go. It
 *		is the only one; the next beyond the limit probes again
 *
 * Besides, the last packet of a request asks when none can follow it at once, and
 * each READ, atomic and FLUSH does: the response is its acknowledgement.
 */

struct rhca_congestion;
struct rhca_recovery;
struct rhca_sw_qp;
struct rhca_turn_ops;

/* Who sends for one half of a QP, see turn.h */
struct rhca_turn {
	struct hrtimer timer;			/* ends pauses */
	/* When a pause but a post delay's ends, monotonic ns; written under the half's lock */
	u64 not_before;
	struct rhca_sw_qp *qp;
	const struct rhca_turn_ops *ops;	/* the kind of half */
	struct llist_node listed;		/* in the list of @cpu, with a reference to @qp */
	int cpu;				/* in whose list it was put last */
	atomic_t word;		/* state, reason of a pause, kicks; beside the half's lock */
};

/*
 * Send queue side, and the responses to it. What a request touches is in four cache lines, from
 * the end of @turn to @probe_timer; with a thousand QPs each more is a miss.
 */
struct rhca_requester {
	struct rhca_turn turn;		/* who sends */
	/* protects all of this but @turn and @deferred; sq.head and the slots of the send queue */
	spinlock_t lock;
	/*
	 * Index behind the requests that are known to be posted. A slot is used again and again:
	 * what it says is about the request at an index only before this
	 */
	u32 posted_end;
	u32 next;			/* index of the request to send next */
	u32 next_offset;		/* payload bytes of @next that have been sent */
	u32 next_psn;			/* PSN of the next packet */
	u32 oldest_unacked_psn;		/* first PSN that the peer has not acknowledged */
	u32 newest_psn;			/* behind all ever sent; above @next_psn while repeating */
	u16 unasked;			/* packets since the last that asked to be acknowledged */
	u16 reads_in_flight;		/* READ and atomic requests without their last response */
	atomic_t deferred;		/* of the QP: what is left to a tasklet, RHCA_RAISE_* */
	u32 ssn;			/* send sequence number of the newest numbered request */
	u32 limit_ssn;			/* requests up to this have a receive buffer at the peer */
	u32 probe_ssn;			/* request beyond that whose first packet was taken */
	bool ask;			/* the next packet must ask for an acknowledgement */
	bool may_transmit;		/* new requests might be begun when this pass began */
	bool limited;			/* the peer counts its receive buffers */
	u8 retries_left;		/* sequence errors and timeouts until the QP gives up */
	u8 rnr_retries_left;		/* receiver-not-ready answers until it gives up */
	bool hole_due;			/* a packet is to be sent again before anything new */
	/* There has been a loss lately: only then @recovery has something to say */
	bool recovering;
	/* Since @probe_timer fired something was acknowledged, or a pause of the peer's ended */
	bool heard;
	u32 fault_ns;			/* last pause for a page that has not come yet, or 0 */
	/*
	 * enum rhca_pause: nothing is sent before turn.not_before, whoever owns the turn.
	 * LOCAL_FULL: the local queue has not taken what was sent last. RC sends it again, and
	 * @deadline is the first try's: the queue may never take it
	 */
	u8 pause;
	bool repeating;			/* after a loss, from @oldest_unacked_psn on */
	/*
	 * The local queue has not taken the block with its only packet; the block's, as
	 * @shared_next, while the turn is LENT
	 */
	bool shared_refused;
	bool drain_told;		/* it has drained in this SQD, and that has been told */
	bool ack_timed;			/* @ack_timer runs, or has fired and is about to look */
	bool has_rate;			/* that of @congestion, whose lock protects this */
	/*
	 * Of all packets until everything is acknowledged, since a packet was in a block that
	 * other QPs share; 0: the path's
	 */
	u16 udp_sport;
	struct rhca_block_backoff backoff;	/* keeps packets out of blocks after a loss */
	struct rhca_cwnd cwnd;		/* how many packets may be in flight */
	struct rhca_recovery *recovery;	/* RC: what has been lost, and what is done about it */
	struct rhca_rtt rtt;		/* of the path, queues included */
	struct rhca_sw_qp *shared_next;	/* another QP with a packet in that block */
	struct rhca_mem *held;		/* memory that who holds @lock goes on using, or NULL */
	/* When the oldest packet is sent again and takes a retry, jiffies: the verbs' timeout */
	unsigned long deadline;
	u64 probe_at;			/* when @probe_timer asks, in ns, unless @heard */
	struct rhca_wheel_timer probe_timer;	/* RC: nothing has been heard for a while */
	struct timer_list ack_timer;	/* looks at @deadline */
};

/* A READ, atomic or FLUSH that is being or has been answered */
struct rhca_resource {
	u8 opcode;	/* of the request; 0 when the slot is empty */
	bool replayed;	/* it came again: the peer may have taken it for done by now */
	union {
		struct {	/* FLUSH */
			u8 placement;	/* RHCA_PLACE_* */
			bool whole;	/* all that the key names, whatever @va and @length say */
		};
		u16 cut;	/* READs: bytes that the last response leaves out */
	};
	u32 first_psn;	/* of the first response */
	u32 last_psn;	/* of the last response; of a READ there may be more in @length */
	u32 next_psn;	/* of the next response to send; behind @last_psn when all are sent */
	union {
		u64 va;		/* READs and FLUSH: address of the first byte */
		u64 original;	/* atomics: value before the operation */
	};
	u32 rkey;	/* READs and FLUSH: key */
	u32 length;	/* READs and FLUSH: bytes */
};
static_assert(sizeof(struct rhca_resource) == 32);	/* there are many */

/* Receive queue side */
struct rhca_responder {
	struct rhca_turn turn;		/* sends READ responses and such, and what waits behind */
	spinlock_t lock;	/* protects all of this but @turn, and the queue's consumer side */
	u32 expected_psn;		/* of the next request packet */
	u32 msn;			/* messages completed, 24 bits */
	u8 message_opcode;		/* of the last packet */
	bool in_message;		/* a message has begun and not ended */
	bool established_told;		/* the communication-established event has been raised */
	struct rhca_hold_rule rule;	/* what has arrived, as far as NAKs depend on it */
	struct rhca_hold *hold;		/* what came before others that are missing, or NULL */
	u32 num_resources;		/* a power of two, or 0 */
	u32 newest_resource;		/* index behind the newest */
	u32 sending_resource;		/* index of the oldest with responses to send */
	bool has_responded;		/* there has been a READ, atomic or FLUSH since RESET */
	bool answer_waits;		/* an acknowledgement goes out behind the resources */
	u8 answer_syndrome;		/* its syndrome */
	/* enum rhca_request_status that it tells of and that ends the connection, or RHCA_PASS */
	u8 fatal;
	u32 answer_psn;			/* its PSN */
	bool have_wqe;			/* @wqe is a request that a message is being written to */
	bool srq_limit_reached;		/* taking it reached the limit of the shared queue */
	/*
	 * A SEND has taken @invalid_key away, but packets still use its memory. Its completion
	 * waits, and so does everything behind it
	 */
	bool invalidating;
	u32 fault_ns;			/* last pause for a page that has not come yet, or 0 */
	u8 pause;			/* enum rhca_pause that the turn ends with */
	u32 received;			/* payload bytes of the message so far */
	u32 write_rkey;			/* RDMA WRITE: key */
	u64 write_va;			/* RDMA WRITE: address of the next byte */
	u32 write_left;			/* RDMA WRITE: bytes to come */
	u32 invalid_key;		/* key that the peer has invalidated */
	struct rhca_mem *held;		/* memory that who holds @lock goes on using, or NULL */
	struct rhca_recv_wqe *wqe;
	struct rhca_block_backoff backoff;	/* no blocks after a response was asked for again */
	/*
	 * Ring of answers; RC only, from RTR on. Twice max_dest_rd_atomic at least: a repeated
	 * answer that is still due keeps no new request out
	 */
	struct rhca_resource *resources;
	u64 placed;			/* bytes that the FLUSH there has written back */
	struct ib_wc late_wc;		/* the completion that waits */
	bool late_solicited;		/* its SEND asked for an event */
	bool late_missed;		/* a request has been dropped meanwhile */
	struct rhca_reorder reorder;	/* of @rule, apart since it is seldom looked at */
};

/* What is left to a tasklet, in send.deferred; below that BIT(enum ib_event_type) of events */
#define RHCA_RAISE_SEND		BIT(28)
#define RHCA_RAISE_RECV		BIT(29)
#define RHCA_RAISE_SRQ_LIMIT	BIT(30)
#define RHCA_FLUSH_MORE		BIT(31)
#define RHCA_DEFERRED_EVENTS	GENMASK(27, 0)

/* QP of the software HCA */
struct rhca_sw_qp {
	struct rhca_verbs_qp base;
	/* So that the words of its turn, its lock and the PSNs share a line */
	struct rhca_requester send ____cacheline_aligned;
	u64 posted_at;		/* of a process's QP: when it posted last, monotonic ns */
	struct rhca_responder recv ____cacheline_aligned;
	struct rhca_congestion *congestion;
	struct work_struct flush_first;		/* what a process's QP in ERR has in its queues */
	struct delayed_work flush_again;	/* and what the process posts to them afterwards */
	atomic_t flush_credit;	/* that many can have been posted before ERR: without a pause */
	unsigned long flush_delay;		/* until @flush_again looks again, in jiffies */
};

static inline struct rhca_sw_qp *to_sw_qp(struct rhca_verbs_qp *qp)
{
	return container_of(qp, struct rhca_sw_qp, base);
}

/* Its lines of a half are on their way while other things are looked at */
static inline void rhca_prefetch_half(const void *half)
{
	prefetchw(half);
	prefetchw(half + L1_CACHE_BYTES);
	prefetchw(half + 2 * L1_CACHE_BYTES);
	prefetchw(half + 3 * L1_CACHE_BYTES);
}

/* Before a packet is handled, or a turn is run: what its QP is asked first */
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
 * Until the next look for a page: at first as long as has been waited for it, later 1/128
 * of that. A page may have come and gone again meanwhile: so not longer.
 */
static inline u64 rhca_fault_pause(u32 *fault_ns)
{
	u32 more = *fault_ns < RHCA_PAGE_FAULT_SOON_NS ? *fault_ns :
							 *fault_ns / 128;

	*fault_ns = clamp_t(u32, *fault_ns + more, RHCA_PAGE_FAULT_NS,
			    RHCA_PAGE_FAULT_MOST_NS);
	return *fault_ns;
}

struct rhca_shared_block;

/* What one pass through a QP leaves to be done without locks */
struct rhca_batch {
	bool raise_send;	/* the send CQ has a completion that was waited for */
	bool raise_recv;	/* the receive CQ likewise */
	bool flush_send;	/* the QP has failed: flush the other half */
	bool flush_recv;	/* likewise */
	bool flush_more;	/* a flush has used its budget */
	bool srq_limit;		/* raise the limit event of the shared receive queue */
	bool in_shared;		/* a request is in @shared, with the caller's reference to the QP */
	u32 flushed;		/* requests that were flushed */
	u32 sent;		/* packets of requests, or responses, that were sent */
	u32 sent_bytes;		/* payload of requests that were sent */
	u32 events;		/* BIT(enum ib_event_type) to raise */
	/* Completions wait there until rhca_responder_show(); NULL: each is shown at once */
	struct rhca_wc_list *received;
	struct rhca_shared_block *shared;	/* takes packets that are alone, or NULL */
};

static inline void rhca_batch_event(struct rhca_batch *batch,
				    enum ib_event_type type)
{
	batch->events |= BIT(type);
}

#endif
