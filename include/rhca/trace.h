/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: system "rhca". Documentation/tracing.rst says which questions they answer.
 *
 * They take numbers and strings, so that any folder may include this; structs are only dereferenced
 * in trace.c's code. Where computing arguments is expensive on the data path, callers check
 * trace_..._enabled() first. Names are arrays: the arguments of __assign_str() changed in 6.10.
 *
 * In all of them dev and netdev are names, qpn is our QP's number, and error is 0 or a negative
 * errno.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rhca

#if !defined(RHCA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RHCA_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

struct rhca_slot_decision;
struct rhca_slot_facts;

#define RHCA_TRACE_NAME	16	/* IFNAMSIZ; longer device names are truncated */
#define RHCA_TRACE_WORD	32	/* names of counters, states, reasons */

/* Common fields of QP events */
#define RHCA_TRACE_QP_ENTRY						\
	__array(char, dev, RHCA_TRACE_NAME) __field(u32, qpn)
#define RHCA_TRACE_QP_ASSIGN						\
	strscpy(__entry->dev, dev, RHCA_TRACE_NAME); __entry->qpn = qpn

#define RHCA_TRACE_STATES						\
	{ 0, "RESET" }, { 1, "INIT" }, { 2, "RTR" }, { 3, "RTS" },	\
	{ 4, "SQD" }, { 5, "SQE" }, { 6, "ERR" }

/* enum rhca_turn_state: sw/qp/turn.h */
#define RHCA_TRACE_TURNS						\
	{ 0, "IDLE" }, { 1, "QUEUED" }, { 2, "RUNNING" },		\
	{ 3, "TIMED" }, { 4, "LENT" }

/**
 * rhca_slot_decide - Which device a netdev should have, and why
 * @f: the facts, lifecycle/slot_wants.h
 * @d: the decision, with the matching row of the table in lifecycle.rst
 */
TRACE_EVENT(rhca_slot_decide,
	TP_PROTO(const char *netdev, const struct rhca_slot_facts *f,
		 const struct rhca_slot_decision *d),
	TP_ARGS(netdev, f, d),
	TP_STRUCT__entry(
		__array(char, netdev, RHCA_TRACE_NAME)
		__field(u8, row)
		__field(u8, want)
		__field(u8, has)
		__field(u8, state)
		__field(u8, wish)
		__field(u8, leader)
		__field(u8, offer)
		__field(u8, other)
		__field(u8, lag)
		__field(u8, pair)
		__field(u16, flags)
	),
	TP_fast_assign(
		strscpy(__entry->netdev, netdev, RHCA_TRACE_NAME);
		__entry->row = d->row;
		__entry->want = d->want;
		__entry->has = f->has;
		__entry->state = f->netdev;
		__entry->wish = f->wish;
		__entry->leader = f->leader;
		__entry->offer = f->offer;
		__entry->other = f->other;
		__entry->lag = f->lag;
		__entry->pair = f->pair;
		__entry->flags = f->can_roce | f->standin_rule << 1 | f->was_hardware << 2 |
				 f->under_bond << 3 | f->tenants << 4 | f->one_port << 5 |
				 f->ports_there << 6 | f->rxe_leaving << 7 |
				 f->returns << 8 | f->request << 9;
	),
	TP_printk("netdev=%s row=%u want=%s has=%s state=%s wish=%s leader=%s offer=%s other=%s lag=%s pair=%s facts=%s",
		  __entry->netdev, __entry->row,
		  __print_symbolic(__entry->want, { 0, "nothing" }, { 1, "keep" },
				   { 2, "software" }, { 3, "hardware" }, { 4, "LAG" }),
		  __print_symbolic(__entry->has, { 0, "nothing" }, { 1, "software" },
				   { 2, "hardware" }, { 3, "LAG" }, { 4, "orphan" },
				   { 5, "leaving" }),
		  __print_symbolic(__entry->state, { 0, "gone" }, { 1, "down" }, { 2, "up" }),
		  __print_symbolic(__entry->wish, { 0, "-" }, { 1, "rule" }, { 2, "link" },
				   { 3, "removed" }),
		  __print_symbolic(__entry->leader, { 0, "-" }, { 1, "device" }, { 2, "LAG" }),
		  __print_symbolic(__entry->offer, { 0, "-" }, { 1, "listed" },
				   { 2, "busy" }, { 3, "failed" }, { 4, "free" }),
		  __print_symbolic(__entry->other, { 0, "-" }, { 1, "changing" },
				   { 2, "serves" }),
		  __print_symbolic(__entry->lag, { 0, "-" }, { 1, "member" }, { 2, "here" }),
		  __print_symbolic(__entry->pair, { 0, "-" }, { 1, "waits" }, { 2, "usable" }),
		  __print_flags(__entry->flags, "|",
				{ BIT(0), "can_roce" }, { BIT(1), "standin_rule" },
				{ BIT(2), "was_hardware" }, { BIT(3), "under_bond" },
				{ BIT(4), "tenants" }, { BIT(5), "one_port" },
				{ BIT(6), "ports_there" }, { BIT(7), "rxe_leaving" },
				{ BIT(8), "returns" }, { BIT(9), "request" }))
);

/**
 * rhca_netdev - Which device a netdev has, or why not
 * @what: what has happened
 */
TRACE_EVENT(rhca_netdev,
	TP_PROTO(const char *netdev, const char *what, int error),
	TP_ARGS(netdev, what, error),
	TP_STRUCT__entry(
		__array(char, netdev, RHCA_TRACE_NAME)
		__array(char, what, RHCA_TRACE_WORD)
		__field(int, error)
	),
	TP_fast_assign(
		strscpy(__entry->netdev, netdev, RHCA_TRACE_NAME);
		strscpy(__entry->what, what, RHCA_TRACE_WORD);
		__entry->error = error;
	),
	TP_printk("netdev=%s what=\"%s\" error=%d", __entry->netdev,
		  __entry->what, __entry->error)
);

/**
 * rhca_device - A device is created or removed
 * @dev: its name; empty before it has one
 * @netdev: of its first port; empty in "unplugged" and "gone", so filter by @dev
 * @what: "registered"; "failed"; "unplugged": detached from its users, to be removed or to change
 *	its RDMA namespace; "gone"
 */
TRACE_EVENT(rhca_device,
	TP_PROTO(const char *dev, const char *netdev, const char *what,
		 int error),
	TP_ARGS(dev, netdev, what, error),
	TP_STRUCT__entry(
		__array(char, dev, RHCA_TRACE_NAME)
		__array(char, netdev, RHCA_TRACE_NAME)
		__array(char, what, RHCA_TRACE_WORD)
		__field(int, error)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev, RHCA_TRACE_NAME);
		strscpy(__entry->netdev, netdev, RHCA_TRACE_NAME);
		strscpy(__entry->what, what, RHCA_TRACE_WORD);
		__entry->error = error;
	),
	TP_printk("dev=%s netdev=%s what=\"%s\" error=%d", __entry->dev,
		  __entry->netdev, __entry->what, __entry->error)
);

/**
 * rhca_qp_state - The state of a QP has changed
 * @from: state before, enum ib_qp_state
 * @to: state now
 * @by: "modify_qp", or "error": the data path
 */
TRACE_EVENT(rhca_qp_state,
	TP_PROTO(const char *dev, u32 qpn, int from, int to, const char *by),
	TP_ARGS(dev, qpn, from, to, by),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(u8, from)
		__field(u8, to)
		__array(char, by, RHCA_TRACE_NAME)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->from = from;
		__entry->to = to;
		strscpy(__entry->by, by, RHCA_TRACE_NAME);
	),
	TP_printk("dev=%s qpn=%u %s->%s by=%s", __entry->dev, __entry->qpn,
		  __print_symbolic(__entry->from, RHCA_TRACE_STATES),
		  __print_symbolic(__entry->to, RHCA_TRACE_STATES),
		  __entry->by)
);

/**
 * rhca_qp_event - An asynchronous event of a QP
 * @event: as ib_event_msg() names it
 */
TRACE_EVENT(rhca_qp_event,
	TP_PROTO(const char *dev, u32 qpn, const char *event),
	TP_ARGS(dev, qpn, event),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__array(char, event, RHCA_TRACE_WORD)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		strscpy(__entry->event, event, RHCA_TRACE_WORD);
	),
	TP_printk("dev=%s qpn=%u event=\"%s\"", __entry->dev, __entry->qpn,
		  __entry->event)
);

/**
 * rhca_wc_error - A completion in error, other than a flushed request
 * @wr_id: of the request
 * @status: as ib_wc_status_msg() names it
 * @opcode: enum ib_wc_opcode
 */
TRACE_EVENT(rhca_wc_error,
	TP_PROTO(const char *dev, u32 qpn, u64 wr_id, const char *status,
		 u32 opcode),
	TP_ARGS(dev, qpn, wr_id, status, opcode),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(u64, wr_id)
		__array(char, status, RHCA_TRACE_WORD)
		__field(u32, opcode)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->wr_id = wr_id;
		strscpy(__entry->status, status, RHCA_TRACE_WORD);
		__entry->opcode = opcode;
	),
	TP_printk("dev=%s qpn=%u wr_id=%#llx status=\"%s\" opcode=%u",
		  __entry->dev, __entry->qpn, __entry->wr_id,
		  __entry->status, __entry->opcode)
);

/**
 * rhca_rx_drop - A received packet was dropped
 * @dev: device that counts it
 * @counter: name of the counter
 * @qpn: QP number, or 0 if the packet reached no QP
 * @psn: its PSN, 0 if it could not be parsed
 * @opcode: its BTH opcode, 0 if it could not be parsed
 * @sgid: its source GID, 16 bytes, or NULL
 */
TRACE_EVENT(rhca_rx_drop,
	TP_PROTO(const char *dev, const char *counter, u32 qpn, u32 psn,
		 u8 opcode, const u8 *sgid),
	TP_ARGS(dev, counter, qpn, psn, opcode, sgid),
	TP_STRUCT__entry(
		__array(char, dev, RHCA_TRACE_NAME)
		__array(char, counter, RHCA_TRACE_WORD)
		__field(u32, qpn)
		__field(u32, psn)
		__field(u8, opcode)
		__array(u8, sgid, 16)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev, RHCA_TRACE_NAME);
		strscpy(__entry->counter, counter, RHCA_TRACE_WORD);
		__entry->qpn = qpn;
		__entry->psn = psn;
		__entry->opcode = opcode;
		if (sgid)
			memcpy(__entry->sgid, sgid, 16);
		else
			memset(__entry->sgid, 0, 16);
	),
	TP_printk("dev=%s counter=%s qpn=%u psn=%u opcode=%#x sgid=%pI6c",
		  __entry->dev, __entry->counter, __entry->qpn, __entry->psn,
		  __entry->opcode, __entry->sgid)
);

/**
 * rhca_tx - Packets were handed to the network stack, as one skb
 * @qpn: QP number; 0: packets of several QPs
 * @psn: of the first packet
 * @packets: how many; several are a block
 * @bytes: of the skb
 * @netdev: of the port
 * @result: 0; above 0: the local queue refused them (NET_XMIT_DROP), and RC retransmits; a negative
 *	errno: they are lost
 */
TRACE_EVENT(rhca_tx,
	TP_PROTO(const char *dev, u32 qpn, u32 psn, u32 packets, u32 bytes,
		 const char *netdev, int result),
	TP_ARGS(dev, qpn, psn, packets, bytes, netdev, result),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(u32, psn)
		__field(u32, packets)
		__field(u32, bytes)
		__array(char, netdev, RHCA_TRACE_NAME)
		__field(int, result)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->psn = psn;
		__entry->packets = packets;
		__entry->bytes = bytes;
		strscpy(__entry->netdev, netdev, RHCA_TRACE_NAME);
		__entry->result = result;
	),
	TP_printk("dev=%s qpn=%u psn=%u packets=%u bytes=%u netdev=%s result=%d",
		  __entry->dev, __entry->qpn, __entry->psn, __entry->packets,
		  __entry->bytes, __entry->netdev, __entry->result)
);

/**
 * rhca_rx - Packets were received, as one skb
 * @netdev: that received them
 * @bytes: of the skb
 * @segments: 1, or those of a block
 * @encap: enum rhca_encap: 0 RoCE v1, 1 v2 over IPv4, 2 v2 over IPv6
 */
TRACE_EVENT(rhca_rx,
	TP_PROTO(const char *netdev, u32 bytes, u32 segments, int encap),
	TP_ARGS(netdev, bytes, segments, encap),
	TP_STRUCT__entry(
		__array(char, netdev, RHCA_TRACE_NAME)
		__field(u32, bytes)
		__field(u32, segments)
		__field(int, encap)
	),
	TP_fast_assign(
		strscpy(__entry->netdev, netdev, RHCA_TRACE_NAME);
		__entry->bytes = bytes;
		__entry->segments = segments;
		__entry->encap = encap;
	),
	TP_printk("netdev=%s bytes=%u segments=%u encap=%s", __entry->netdev,
		  __entry->bytes, __entry->segments,
		  __print_symbolic(__entry->encap, { 0, "v1" },
				   { 1, "v2-ipv4" }, { 2, "v2-ipv6" }))
);

/**
 * rhca_nak - A NAK or RNR NAK was sent or received, IBTA vol. 1, 9.7.5.2
 * @sent: true: by our responder; false: received by our requester
 * @syndrome: of the AETH
 * @psn: of the BTH
 */
TRACE_EVENT(rhca_nak,
	TP_PROTO(const char *dev, u32 qpn, bool sent, u8 syndrome, u32 psn),
	TP_ARGS(dev, qpn, sent, syndrome, psn),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(bool, sent)
		__field(u8, syndrome)
		__field(u32, psn)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->sent = sent;
		__entry->syndrome = syndrome;
		__entry->psn = psn;
	),
	TP_printk("dev=%s qpn=%u %s %s syndrome=%#x psn=%u", __entry->dev,
		  __entry->qpn, __entry->sent ? "sent" : "received",
		  (__entry->syndrome & 0x60) == 0x20 ? "rnr" : "nak",
		  __entry->syndrome, __entry->psn)
);

/**
 * rhca_retransmit - The requester retransmits a packet, or everything from it on
 * @from: first PSN to retransmit
 * @to: PSN after the last one to retransmit
 * @cause: "nak", "read" (a response is missing), "rnr", "timeout" (of the verbs), "probe" (some
 *	round trips), "page fault", "local queue"
 * @retries_left: timeouts and NAKs until the QP fails
 */
TRACE_EVENT(rhca_retransmit,
	TP_PROTO(const char *dev, u32 qpn, u32 from, u32 to, const char *cause,
		 u8 retries_left),
	TP_ARGS(dev, qpn, from, to, cause, retries_left),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(u32, from)
		__field(u32, to)
		__array(char, cause, RHCA_TRACE_NAME)
		__field(u8, retries_left)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->from = from;
		__entry->to = to;
		strscpy(__entry->cause, cause, RHCA_TRACE_NAME);
		__entry->retries_left = retries_left;
	),
	TP_printk("dev=%s qpn=%u from=%u to=%u cause=\"%s\" retries_left=%u",
		  __entry->dev, __entry->qpn, __entry->from, __entry->to,
		  __entry->cause, __entry->retries_left)
);

/**
 * rhca_repeat_answered - A retransmitted packet was acknowledged
 * @ns: time since the retransmission
 *
 * Only for packets reported missing by a NAK or a missing response and retransmitted once: of
 * several copies it is unknown which was answered.
 */
TRACE_EVENT(rhca_repeat_answered,
	TP_PROTO(const char *dev, u32 qpn, u64 ns),
	TP_ARGS(dev, qpn, ns),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(u64, ns)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->ns = ns;
	),
	TP_printk("dev=%s qpn=%u ns=%llu", __entry->dev, __entry->qpn,
		  __entry->ns)
);

/**
 * rhca_turn - The turn word of a QP's half has changed, send-scheduler.rst
 * @requester: true: sends requests; false: sends responses
 * @from: the word before
 * @to: the word now
 * @kicks: BIT(enum rhca_kick) of pending kicks, and of the one that starts this turn
 */
TRACE_EVENT(rhca_turn,
	TP_PROTO(u32 qpn, bool requester, u32 from, u32 to, u32 kicks),
	TP_ARGS(qpn, requester, from, to, kicks),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(bool, requester)
		__field(u32, from)
		__field(u32, to)
		__field(u32, kicks)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->requester = requester;
		__entry->from = from;
		__entry->to = to;
		__entry->kicks = kicks;
	),
	TP_printk("qpn=%u %s %s->%s pause=%s kicks=%s", __entry->qpn,
		  __entry->requester ? "requester" : "responder",
		  __print_symbolic(__entry->from & 7, RHCA_TRACE_TURNS),
		  __print_symbolic(__entry->to & 7, RHCA_TRACE_TURNS),
		  __print_symbolic(__entry->to >> 3 & 7, { 0, "-" }, { 1, "POST_DELAY" },
				   { 2, "PACE" }, { 3, "RNR" }, { 4, "LOCAL_FULL" },
				   { 5, "PAGE_FAULT" }, { 6, "MEM_BUSY" }),
		  __print_flags(__entry->kicks, "|", { BIT(0), "POST" },
				{ BIT(1), "ACK" }, { BIT(2), "TIMEOUT" },
				{ BIT(3), "RESUME" }, { BIT(4), "BUDGET" },
				{ BIT(5), "STATE" }, { BIT(6), "REPEAT" }))
);

/**
 * rhca_cwnd - The congestion window of a QP was reduced, congestion.rst
 * @packets: its new size
 * @in_flight: unacknowledged packets
 * @rtt_ns: smoothed round-trip time, 0: not measured
 */
TRACE_EVENT(rhca_cwnd,
	TP_PROTO(const char *dev, u32 qpn, u32 packets, u32 in_flight,
		 u64 rtt_ns),
	TP_ARGS(dev, qpn, packets, in_flight, rtt_ns),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(u32, packets)
		__field(u32, in_flight)
		__field(u64, rtt_ns)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->packets = packets;
		__entry->in_flight = in_flight;
		__entry->rtt_ns = rtt_ns;
	),
	TP_printk("dev=%s qpn=%u packets=%u in_flight=%u rtt_ns=%llu",
		  __entry->dev, __entry->qpn, __entry->packets,
		  __entry->in_flight, __entry->rtt_ns)
);

/**
 * rhca_window - A request cannot be sent before the peer has answered earlier ones
 * @psn: of its next packet
 * @in_flight: unacknowledged packets
 * @packets: congestion window
 * @reads: READs and atomics in flight
 * @max_reads: how many may be
 * @why: "window" or "reads" are at their limit; "credit": the peer has no receive request for it
 *
 * A request with a fence waits without this event.
 */
TRACE_EVENT(rhca_window,
	TP_PROTO(const char *dev, u32 qpn, u32 psn, u32 in_flight, u32 packets,
		 u32 reads, u32 max_reads, const char *why),
	TP_ARGS(dev, qpn, psn, in_flight, packets, reads, max_reads, why),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__array(char, why, RHCA_TRACE_NAME)
		__field(u32, psn)
		__field(u32, in_flight)
		__field(u32, packets)
		__field(u32, reads)
		__field(u32, max_reads)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->psn = psn;
		__entry->in_flight = in_flight;
		__entry->packets = packets;
		__entry->reads = reads;
		__entry->max_reads = max_reads;
		strscpy(__entry->why, why, RHCA_TRACE_NAME);
	),
	TP_printk("dev=%s qpn=%u psn=%u in_flight=%u of %u reads=%u of %u why=%s",
		  __entry->dev, __entry->qpn, __entry->psn, __entry->in_flight,
		  __entry->packets, __entry->reads, __entry->max_reads, __entry->why)
);

/**
 * rhca_rate - The rate of a QP was reduced, or is no longer limited
 * @rate: rate, kbit/s
 * @target: rate that recovery aims at, kbit/s
 * @alpha: how congested the path is, of 1024
 * @cause: "cnp"; "over": no CNP for a second
 */
TRACE_EVENT(rhca_rate,
	TP_PROTO(const char *dev, u32 qpn, u32 rate, u32 target, u32 alpha,
		 const char *cause),
	TP_ARGS(dev, qpn, rate, target, alpha, cause),
	TP_STRUCT__entry(
		RHCA_TRACE_QP_ENTRY
		__field(u32, rate)
		__field(u32, target)
		__field(u32, alpha)
		__array(char, cause, RHCA_TRACE_NAME)
	),
	TP_fast_assign(
		RHCA_TRACE_QP_ASSIGN;
		__entry->rate = rate;
		__entry->target = target;
		__entry->alpha = alpha;
		strscpy(__entry->cause, cause, RHCA_TRACE_NAME);
	),
	TP_printk("dev=%s qpn=%u rate=%u target=%u alpha=%u cause=%s",
		  __entry->dev, __entry->qpn, __entry->rate, __entry->target,
		  __entry->alpha, __entry->cause)
);

/**
 * rhca_odp - Pages of a region with on-demand paging were requested
 * @addr: address in the process
 * @bytes: how many
 * @waited_us: until they were resident
 */
TRACE_EVENT(rhca_odp,
	TP_PROTO(u64 addr, u64 bytes, u64 waited_us, int error),
	TP_ARGS(addr, bytes, waited_us, error),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, bytes)
		__field(u64, waited_us)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->bytes = bytes;
		__entry->waited_us = waited_us;
		__entry->error = error;
	),
	TP_printk("addr=%#llx bytes=%llu waited_us=%llu error=%d",
		  __entry->addr, __entry->bytes, __entry->waited_us,
		  __entry->error)
);

/**
 * rhca_mlx5_command - A firmware command of roce_hca_mlx5 has ended
 * @function: address of the PCI function
 * @opcode: of the command, MLX5_CMD_OP_*
 * @status: the firmware's, 0: it has not refused
 * @syndrome: the firmware's
 * @us: how long it took
 *
 * Not of those that mlx5_core executes for us, which are in its own mlx5_cmd if they are refused.
 */
TRACE_EVENT(rhca_mlx5_command,
	TP_PROTO(const char *function, u16 opcode, u8 status, u32 syndrome,
		 u64 us, int error),
	TP_ARGS(function, opcode, status, syndrome, us, error),
	TP_STRUCT__entry(
		__array(char, function, RHCA_TRACE_NAME)
		__field(u16, opcode)
		__field(u8, status)
		__field(u32, syndrome)
		__field(u64, us)
		__field(int, error)
	),
	TP_fast_assign(
		strscpy(__entry->function, function, RHCA_TRACE_NAME);
		__entry->opcode = opcode;
		__entry->status = status;
		__entry->syndrome = syndrome;
		__entry->us = us;
		__entry->error = error;
	),
	TP_printk("function=%s opcode=%#x status=%#x syndrome=%#x us=%llu error=%d",
		  __entry->function, __entry->opcode, __entry->status,
		  __entry->syndrome, __entry->us, __entry->error)
);

/**
 * rhca_cq_overrun - A completion found no room: the CQ is in error
 * @entries: size of the CQ
 */
TRACE_EVENT(rhca_cq_overrun,
	TP_PROTO(const char *dev, u32 entries),
	TP_ARGS(dev, entries),
	TP_STRUCT__entry(
		__array(char, dev, RHCA_TRACE_NAME)
		__field(u32, entries)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev, RHCA_TRACE_NAME);
		__entry->entries = entries;
	),
	TP_printk("dev=%s entries=%u", __entry->dev, __entry->entries)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH rhca
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
