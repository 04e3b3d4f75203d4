/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Queue pairs: state, attributes, and the two halves that process them. The requester turns work
 * requests into packets and packets back into completions; the responder answers a peer.
 */
#ifndef CONNECTX_QP_H
#define CONNECTX_QP_H

#include "cq.h"
#include "ifc.h"
#include "list.h"
#include "recv_queue.h"
#include "roce.h"
#include "timer.h"

#define QPC_BYTES		IFC_BYTES(qpc)
#define WQE_BASIC_BLOCK		64u
#define WQE_MAX_BYTES		1024u
#define WQE_MAX_READ_BYTES	512u
/* In cs_res and cs_req of a QP's context. */
enum {
	CQE_DATA_32_RECEIVED = 0x1, CQE_DATA_64_RECEIVED = 0x2,
	CQE_DATA_32_READ = 0x11, CQE_DATA_64_READ = 0x22,
};

#define MAX_READS		16u	/* outstanding READs and atomics, as advertised */

enum qp_state {
	QP_RESET = 0, QP_INIT = 1, QP_RTR = 2, QP_RTS = 3, QP_SQ_ERROR = 4, QP_ERROR = 6,
	QP_SQ_DRAINED = 7,
};

enum qp_service {
	SERVICE_RC = 0, SERVICE_UC = 1, SERVICE_UD = 2, SERVICE_XRC = 3, SERVICE_GSI = 8,
	SERVICE_REG_UMR = 12,
};

enum wqe_opcode {
	WQE_NOP = 0x00, WQE_SEND_INV = 0x01, WQE_WRITE = 0x08, WQE_WRITE_IMM = 0x09,
	WQE_SEND = 0x0a, WQE_SEND_IMM = 0x0b, WQE_LSO = 0x0e, WQE_READ = 0x10,
	WQE_COMPARE_SWAP = 0x11, WQE_FETCH_ADD = 0x12, WQE_LOCAL_INV = 0x1b,
	WQE_SET_PSV = 0x20, WQE_UMR = 0x25,
};

/* Values of bits 7:5 of a control segment's last flags byte. */
enum fence_mode {
	FENCE_NONE = 0, FENCE_SMALL = 1, FENCE_READS = 2, FENCE_STRONG = 3, FENCE_BOTH = 4,
};

#define WQE_MAX_SEGMENTS	(WQE_MAX_BYTES / 16)

/* Destination of a UD send. */
struct address_vector {
	u32 qkey;
	u32 dest_qpn;
	u8 source_gid_index;
	u8 static_rate;
	u8 service_level;
	u8 traffic_class;
	u8 hop_limit;
	u32 flow_label;
	u16 udp_source_port;
	u8 dest_mac[MAC_BYTES];
	u8 dest_gid[GID_BYTES];
};

/* One posted send, parsed from a copy of its WQE. */
struct send_op {
	struct list link;
	u16 index;			/* of its first basic block */
	u16 blocks;
	u8 opcode;
	bool signalled;
	bool solicited;
	enum fence_mode fence;
	u32 immediate;
	u64 remote_address;
	u32 rkey;
	u64 swap_add;
	u64 compare;
	u32 xrc_srqn;
	struct address_vector av;
	u32 bytes;
	u32 segments;
	struct segment segment[WQE_MAX_SEGMENTS];
	u8 wqe[WQE_MAX_BYTES];
	u32 wqe_bytes;
	/* progress */
	u8 cqe_data[CQE_BYTES];		/* response data, if it goes into the completion */
	bool started;			/* its PSNs are assigned */
	bool done;
	bool lost;			/* on demand: it stays in the queue, as do those after it */
	u64 list_digest;		/* of a lost one: umr_list_digest() */
	u8 error;			/* enum cqe_syndrome; ends the QP when oldest */
	u32 first_psn;
	u32 packets;			/* number of PSNs */
	u32 sent;			/* packets sent in this pass */
	u32 received;			/* response packets taken */
};

struct send_queue {
	struct ring ring;
	u32 start;			/* of the queue in the ring, bytes */
	u32 log_count;			/* of basic blocks */
	u16 fetched;			/* basic blocks taken so far */
	u32 held;			/* of them, by ops that are not completed */
	struct list ops;		/* oldest first; gone when completed */
	struct send_op *current;	/* the next one to send, NULL: none */
	bool draining;			/* SQ_DRAINED has not been raised yet */
};

struct requester {
	u32 next_psn;			/* for the next new packet */
	u32 oldest_psn;			/* not acknowledged yet */
	/*
	 * READs and atomics that were started, up to the oldest request that is not done: the peer
	 * remembers only the advertised number, and may be asked again.
	 */
	u32 reads;
	u8 retries_left;
	u8 rnr_left;
	bool rnr_waiting;
	bool recovering;		/* retransmitted for a hole in the responses */
	struct timer timer;		/* acknowledge timeout, or RNR wait */
	u64 allowed_at_ns;		/* rate control: not before */
};

#define RNR_RETRY_FOREVER	7

enum message_kind { MESSAGE_NONE, MESSAGE_SEND, MESSAGE_WRITE };

/* An answered READ or atomic, kept for duplicates. */
struct responder_resource {
	u32 first_psn;
	u32 packets;
	bool atomic;
	u64 original;
};

/* An answer that waits to be sent. */
struct response {
	struct list link;
	u8 operation;
	u8 syndrome;
	bool again;			/* the request was a duplicate */
	u32 psn;
	u32 msn;
	u64 original;
	/* READ */
	u64 address;
	u32 rkey;
	u32 pd;
	u32 bytes;
	u32 done;
};

struct responder {
	u32 expected_psn;
	u32 msn;
	bool nak_sent;
	bool established;
	enum message_kind message;
	struct recv_wqe wqe;
	bool have_wqe;
	u32 offset;			/* bytes of the message taken */
	u64 write_address;
	u32 write_rkey;
	u32 write_bytes;
	struct srq *srq;		/* of this message: the QP's, or XRC's choice */
	struct responder_resource resource[MAX_READS];
	u32 resources;			/* ever used; the newest max_resources are kept */
	struct list responses;
	u32 queued[2];			/* READs and atomics of them: new, duplicate */
};

/* DCQCN, the reaction point: a rate that CNPs lower and time raises. */
struct rate_control {
	bool limited;
	double rate_mbps;
	double target_mbps;
	double alpha;
	u64 last_cnp_ns;
	u64 last_raise_ns;
	u64 last_cnp_sent_ns;
	struct timer pace;		/* until the next packet may leave */
};

struct qp {
	struct object object;
	struct device *dev;
	struct list ready;		/* in the device's list if there is work */
	struct list erring;		/* in the device's list while in error */
	u8 context[QPC_BYTES];
	enum qp_service service;
	enum qp_state state;
	u32 pd;
	u32 user_index;
	u32 ece;			/* options of enhanced connection establishment */
	u64 doorbell;
	u32 uar;
	bool reserved_lkey;
	bool fast_registration;		/* its requests may load lists of pages */
	struct object *pd_object;
	struct object *uar_object;	/* NULL: it has no send queue */
	struct object *xrcd;
	struct cq *send_cq;
	struct cq *recv_cq;
	struct srq *srq;
	bool has_rq;
	struct timer flush;		/* set while requests are flushed one at a time */
	u8 failure;			/* enum cqe_syndrome reported by an event */
	struct send_queue sq;
	struct recv_queue rq;
	/* attributes, from the context */
	u32 remote_qpn;
	u32 mtu;
	u32 qkey;
	u32 deth_sqpn;
	u8 access;			/* RIGHT_REMOTE_*: access that the QP grants a peer */
	u8 min_rnr_timer;
	u8 retry_count;
	u8 rnr_retry;
	u8 ack_timeout;
	u32 max_reads;			/* READs and atomics in flight, as requester */
	u32 max_resources;		/* as responder */
	u32 counter_set;
	u32 port_affinity;
	struct roce_route route;
	struct requester requester;
	struct responder responder;
	struct rate_control rate;
};

struct qp *qp_find(struct device *dev, u32 qpn);

/* The driver rang the send doorbell of a QP. */
void qp_send_doorbell(struct qp *qp);

/* Copy attributes from the context to the fields that the data path reads. */
void qp_load_context(struct qp *qp);

/* Add the QP to the list of those with something to send. */
void qp_wake(struct qp *qp);

/* Send up to a burst of packets. Return: true if more can be sent now. */
bool qp_work(struct qp *qp);

/* It is about to fail, which no completion can report: raise an event. */
void qp_failed(struct qp *qp, enum cqe_syndrome why, u32 event);

/* Complete all work requests with a flush error, also later ones. */
void qp_enter_error(struct qp *qp);

/*
 * Only the send queue fails, of a service that guarantees nothing to the peer: posted requests are
 * flushed, receiving continues, and SQERR2RTS_QP ends this state.
 */
void qp_enter_sq_error(struct qp *qp);

/*
 * Only the send queue stops: requests in progress are completed, which an event reports, and others
 * wait for SQD_RTS_QP. Return: false if the QP does not send.
 */
bool qp_drain(struct qp *qp);

/* Flush the next request of a QP that flushes one at a time. */
void qp_flush_next(struct timer *timer);

/* Look for receives posted to a QP in error. */
void qp_flush_receives(struct qp *qp);
void qp_reset(struct qp *qp);
void qp_destroy(struct object *object);

/* The route of a UD send. Return: false if the source address or the rate does not exist. */
bool qp_route_from_av(struct qp *qp, const struct address_vector *av, struct roce_route *route);

/* Send a frame on the wire, on the port of the QP's affinity. */
void qp_transmit(struct qp *qp, const u8 *frame, u32 bytes);

/* Count in the QP's counter set. */
void qp_count(struct qp *qp, u32 counter);

/* Is the rate of an address none, or one that the capability lists? */
bool qp_rate_known(const struct qp *qp, u32 rate);

/* Number of data bytes that the completion of a message may contain; 0: none. */
u32 qp_cqe_room(const struct qp *qp, bool of_request);

/* A completion for a receive, successful or not, in its CQ. */
void qp_complete_receive(struct qp *qp, struct cq *cq, u8 *cqe, bool solicited);
void qp_receive_error(struct qp *qp, const struct recv_wqe *wqe, enum cqe_syndrome syndrome);

/* Copy to the memory of a receive of @queue, with the rights of that queue. */
enum mkey_fault qp_scatter(struct qp *qp, const struct recv_queue *queue,
			   const struct recv_wqe *wqe, u32 offset, const u8 *from, u32 bytes);
bool qp_is_reliable(const struct qp *qp);

/* Does it accept packets of a peer in its state? */
bool qp_receives(const struct qp *qp);

/* Does it process requests in its state, even if only those in progress? */
bool qp_requests(const struct qp *qp);
u8 qp_transport(const struct qp *qp);

#endif
