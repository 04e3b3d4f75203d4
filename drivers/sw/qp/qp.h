/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the software datapath keeps about a QP: one half for each direction,
 * with one lock each.
 *
 * Lock order: send.lock and recv.lock are never held together. Inside either:
 * the lock of a shared receive queue, binding_lock, the lock of a CQ. Events
 * and completion handlers run with none of them held.
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
 * Response packets that one READ request asks for: longer READs go out as
 * several requests, so that the requester, who knows what it has lost, sets the
 * pace. Responses to one request may all be on the wire at once.
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

/**
 * struct rhca_turn - Who sends for one half of a QP, see turn.h
 * @timer: ends pauses
 * @not_before: of a pause but a post delay's: when it ends, in ns of the monotonic
 *	clock; written with the half's lock held
 * @qp: the QP
 * @ops: the kind of half
 * @listed: in the list of @cpu, with a reference to the QP
 * @cpu: in whose list it was put last
 * @word: state, reason of a pause, kicks
 */
struct rhca_turn {
	struct hrtimer timer;
	u64 not_before;
	struct rhca_sw_qp *qp;
	const struct rhca_turn_ops *ops;
	struct llist_node listed;
	int cpu;
	atomic_t word;			/* beside the half's lock */
};

/**
 * struct rhca_requester - Send queue side, and the responses to it
 * @turn: who sends
 * @lock: protects all of this, and sq.head and the slots of the send queue
 * @posted_end: index behind the requests that are known to be posted. A slot is used
 *	again and again: what it says is about the request at an index only before this
 * @next: index of the request to send next; those before it have been sent
 * @next_offset: payload bytes of @next that have been sent
 * @next_psn: PSN of the next packet
 * @oldest_unacked_psn: first PSN that the peer has not acknowledged
 * @newest_psn: behind the newest PSN ever sent; above @next_psn while repeating
 * @unasked: packets since the last one that asked for an acknowledgement
 * @reads_in_flight: READ and atomic requests without their last response
 * @ssn: send sequence number of the newest numbered request
 * @limit_ssn: requests up to this have a receive buffer at the peer
 * @probe_ssn: request beyond @limit_ssn whose first packet was acknowledged
 * @ask: the next packet must ask for one
 * @may_transmit: new requests may be begun: the QP's state as this pass began
 * @limited: the peer counts its receive buffers
 * @retries_left: sequence errors and timeouts until the QP gives up
 * @rnr_retries_left: receiver-not-ready answers until it gives up
 * @hole_due: a packet is to be sent again before anything new
 * @recovering: @recovery has something to say: there has been a loss lately. Else who
 *	sends and who takes acknowledgements need not look there
 * @heard: something new has been acknowledged since @probe_timer fired, or a pause that the
 *	peer has asked for is over
 * @ack_timed: @ack_timer runs, or has fired and is about to look
 * @fault_ns: last pause for a page that has not come yet, or 0
 * @pause: enum rhca_pause: nothing is sent before turn.not_before, whoever owns the
 *	turn. LOCAL_FULL: the local queue has not taken what was sent last. RC sends it
 *	again, and @deadline is the first try's: the queue may never take it
 * @repeating: a loss has been noticed and @oldest_unacked_psn is sent again
 * @shared_refused: the local queue has not taken the block with its only packet; the
 *	block's, as @shared_next, while the turn is LENT
 * @drain_told: the queue has drained in this SQD, and the event for that, if it was asked
 *	for, has been raised
 * @may_be_limited: the QP has a &struct rhca_congestion; set without @lock
 * @udp_sport: of all packets until everything is acknowledged, since a packet was in a
 *	block that other QPs share; 0: the path's
 * @backoff: keeps packets out of blocks after a loss
 * @cwnd: how many packets may be in flight
 * @recovery: RC: what has been lost, and what is done about it
 * @rtt: of the path, queues included
 * @shared_next: another QP with a packet there
 * @held: memory that the pass which holds @lock goes on using, or NULL
 * @deadline: when the oldest packet is sent again and takes a retry, in jiffies: what
 *	the verbs know as timeout
 * @probe_at: when @probe_timer asks, in ns, unless @heard
 * @probe_timer: RC: nothing has been heard for a while
 * @ack_timer: looks at @deadline
 *
 * What a request touches is in four cache lines, from the end of @turn to @probe_timer;
 * with a thousand QPs each more is a miss.
 */
struct rhca_requester {
	struct rhca_turn turn;
	spinlock_t lock;		/* protects all of this but @turn */
	u32 posted_end;
	u32 next;
	u32 next_offset;
	u32 next_psn;
	u32 oldest_unacked_psn;
	u32 newest_psn;
	u32 unasked;
	u32 reads_in_flight;
	u32 ssn;
	u32 limit_ssn;
	u32 probe_ssn;
	bool ask;
	bool may_transmit;
	bool limited;
	u8 retries_left;
	u8 rnr_retries_left;
	bool hole_due;
	bool recovering;
	bool heard;
	u32 fault_ns;
	u8 pause;
	bool repeating;
	bool shared_refused;
	bool drain_told;
	bool ack_timed;
	bool may_be_limited;
	u16 udp_sport;
	struct rhca_block_backoff backoff;
	struct rhca_cwnd cwnd;
	struct rhca_recovery *recovery;
	struct rhca_rtt rtt;
	struct rhca_sw_qp *shared_next;
	struct rhca_mem *held;
	unsigned long deadline;
	u64 probe_at;
	struct rhca_wheel_timer probe_timer;
	struct timer_list ack_timer;
};

/**
 * struct rhca_resource - A READ, atomic or FLUSH that is being or has been answered
 * @opcode: of the request; 0 when the slot is empty
 * @first_psn: of the first response
 * @last_psn: of the last response
 * @next_psn: of the next response to send; behind @last_psn when all are sent
 * @replayed: it answers a repeated request: the peer may have the first answer by
 *	now, and have taken the request for done
 * @placement: FLUSH: RHCA_PLACE_*
 * @whole: FLUSH: all that the key names, whatever @va and @length say
 * @va: READs and FLUSH: address of the first byte
 * @original: atomics: value before the operation
 * @rkey: READs and FLUSH: key
 * @length: READs and FLUSH: bytes
 */
struct rhca_resource {
	u8 opcode;
	bool replayed;
	u8 placement;
	bool whole;
	u32 first_psn;
	u32 last_psn;
	u32 next_psn;
	union {
		u64 va;
		u64 original;
	};
	u32 rkey;
	u32 length;
};
static_assert(sizeof(struct rhca_resource) == 32);	/* there are many */

/**
 * struct rhca_responder - Receive queue side
 * @turn: who sends responses to READs, atomics and FLUSHes, and what waits behind them
 * @lock: protects all of this, and the consumer side of the receive queue
 * @expected_psn: of the next request packet
 * @msn: messages completed, 24 bits
 * @message_opcode: of the last packet
 * @in_message: a message has begun and not ended
 * @established_told: the communication-established event has been raised
 * @rule: what has arrived, as far as NAKs depend on it
 * @hold: requests that came before others that are missing, or NULL
 * @num_resources: a power of two, or 0
 * @newest_resource: index behind the newest
 * @sending_resource: index of the oldest with responses to send
 * @has_responded: there has been a READ, atomic or FLUSH since RESET
 * @answer_waits: an acknowledgement goes out behind the resources
 * @answer_syndrome: its syndrome
 * @fatal: enum rhca_request_status that the answer tells of, and that ends the
 *	connection with it; RHCA_PASS as long as there is none
 * @answer_psn: its PSN
 * @have_wqe: @wqe is a receive request that a message is being written to
 * @srq_limit_reached: taking it reached the limit of the shared queue
 * @invalidating: a SEND has taken @invalid_key away, but packets still use its
 *	memory. Its completion waits, and so does everything behind it
 * @fault_ns: last pause for a page that has not come yet, or 0
 * @pause: enum rhca_pause that the turn ends with
 * @received: payload bytes of the message so far
 * @write_rkey: RDMA WRITE: key
 * @write_va: RDMA WRITE: address of the next byte
 * @write_left: RDMA WRITE: bytes to come
 * @invalid_key: key that the peer has invalidated
 * @held: memory that the pass which holds @lock goes on using, or NULL
 * @wqe: that request
 * @backoff: keeps responses out of blocks after one has been asked for again
 * @resources: ring of answers; RC only, from RTR on. Twice max_dest_rd_atomic at
 *	least: a repeated answer that is still due keeps no new request out
 * @placed: bytes that the FLUSH there has written back
 * @late_wc: the completion that waits
 * @late_solicited: its SEND asked for an event
 * @late_missed: a request has been dropped meanwhile
 * @reorder: of @rule, apart since it is seldom looked at
 */
struct rhca_responder {
	struct rhca_turn turn;
	spinlock_t lock;		/* protects all of this but @turn */
	u32 expected_psn;
	u32 msn;
	u8 message_opcode;
	bool in_message;
	bool established_told;
	struct rhca_hold_rule rule;
	struct rhca_hold *hold;
	u32 num_resources;
	u32 newest_resource;
	u32 sending_resource;
	bool has_responded;
	bool answer_waits;
	u8 answer_syndrome;
	u8 fatal;
	u32 answer_psn;
	bool have_wqe;
	bool srq_limit_reached;
	bool invalidating;
	u32 fault_ns;
	u8 pause;
	u32 received;
	u32 write_rkey;
	u64 write_va;
	u32 write_left;
	u32 invalid_key;
	struct rhca_mem *held;
	struct rhca_recv_wqe *wqe;
	struct rhca_block_backoff backoff;
	struct rhca_resource *resources;
	u64 placed;
	struct ib_wc late_wc;
	bool late_solicited;
	bool late_missed;
	struct rhca_reorder reorder;
};

/* Bits of @deferred */
#define RHCA_RAISE_SEND		0
#define RHCA_RAISE_RECV		1
#define RHCA_RAISE_SRQ_LIMIT	2
#define RHCA_FLUSH_MORE		3

/**
 * struct rhca_sw_qp - QP of the software HCA
 * @base: the core's part
 * @posted_at: of a process's QP: when it posted last, in ns of the monotonic clock
 * @send: requester
 * @recv: responder
 * @congestion: its rate, since it has met congestion or has a limit; else NULL. Stays
 *	until the QP is destroyed
 * @deferred: what is left to a tasklet, see RHCA_RAISE_*
 * @deferred_events: BIT(enum ib_event_type) of the QP's, likewise
 * @flush_first: flushes what is left of the queues of a process's QP in ERR
 * @flush_again: flushes what the process posts to them afterwards
 * @flush_credit: requests that may be flushed without a pause: those that can
 *	have been posted before the QP went to ERR
 * @flush_delay: until @flush_again looks again, in jiffies
 */
struct rhca_sw_qp {
	struct rhca_verbs_qp base;
	/* So that the words of its turn, its lock and the PSNs share a line */
	struct rhca_requester send ____cacheline_aligned;
	u64 posted_at;
	struct rhca_responder recv ____cacheline_aligned;
	struct rhca_congestion *congestion;
	unsigned long deferred;
	atomic_t deferred_events;
	struct work_struct flush_first;
	struct delayed_work flush_again;
	atomic_t flush_credit;
	unsigned long flush_delay;
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

/**
 * struct rhca_batch - What one pass through a QP leaves to be done without locks
 * @raise_send: the send CQ has a completion that was waited for
 * @raise_recv: the receive CQ likewise
 * @flush_send: the QP has failed: flush the other half
 * @flush_recv: likewise
 * @flush_more: a flush has used its budget
 * @srq_limit: raise the limit event of the shared receive queue
 * @in_shared: a request of the QP is in @shared, which has taken the caller's
 *	reference to the QP
 * @flushed: requests that were flushed
 * @sent: packets of requests, or responses, that were sent
 * @sent_bytes: payload of requests that were sent
 * @events: BIT(enum ib_event_type) to raise
 * @received: where packets that came together leave their completions until
 *	rhca_responder_show(); NULL: each is shown at once
 * @shared: block that a packet which is alone may share with those of other QPs, or
 *	NULL
 */
struct rhca_batch {
	bool raise_send;
	bool raise_recv;
	bool flush_send;
	bool flush_recv;
	bool flush_more;
	bool srq_limit;
	bool in_shared;
	u32 flushed;
	u32 sent;
	u32 sent_bytes;
	u32 events;
	struct rhca_wc_list *received;
	struct rhca_shared_block *shared;
};

static inline void rhca_batch_event(struct rhca_batch *batch,
				    enum ib_event_type type)
{
	batch->events |= BIT(type);
}

#endif
