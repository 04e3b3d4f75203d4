// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion control of a QP. A CNP limits its rate until none has arrived for a second: by then
 * the rate has grown beyond the demand. Both halves share the rate, as a CNP does not say whether a
 * request or a response was marked. Packets are paced by a clock that advances by the time their
 * bytes take at that rate.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <rhca/trace.h>

#include "sw/packet/transmit.h"
#include "sw/qp/turn_sched.h"
#include "sw/tx/congestion.h"
#include "sw/tx/window.h"

/* Burst size: the bytes of this time, at least one packet and at most QUANTUM_BYTES */
#define QUANTUM_NS		100000
#define QUANTUM_BYTES		(32U << 10)
/* A timer may be this late; the bytes not sent meanwhile are caught up */
#define LATE_NS			250000
/*
 * The same when a user's limit, not congestion, holds the QP: bounded by a window, since responses
 * have none, and at least QUANTUM_BYTES, since at 100 Mbit/s a packet takes 333 us. The average is
 * then the configured rate.
 */
#define LATE_LIMITED_NS		NSEC_PER_MSEC
#define FORGET_NS		NSEC_PER_SEC
/* The Ethernet header, which a qdisc counts too */
#define FRAME_BYTES		14

static const struct rhca_cc *cc_of(const struct rhca_sw_qp *qp)
{
	return &qp->base.port->cc;
}

static void trace(const struct rhca_sw_qp *qp,
		  const struct rhca_congestion *congestion, const char *cause)
{
	trace_rhca_rate(rhca_qp_dev_name(&qp->base), qp->base.number,
			congestion->rate.rate, congestion->rate.target,
			congestion->rate.alpha, cause);
}

/* Rate of the requests: bytes in flight per round trip, kbit/s; 0: unknown */
static u32 used_rate(const struct rhca_sw_qp *qp, u64 now)
{
	const struct rhca_requester *send = &qp->send;
	/* An estimate without send.lock: values may change meanwhile */
	u64 rtt = data_race(READ_ONCE(send->rtt.smoothed));
	/* Likewise: before the first round trip has ended it takes at least that long */
	u64 since = data_race(READ_ONCE(send->rtt.sent_at));
	/* Likewise */
	u32 in_flight = data_race(rhca_requester_in_flight(send));
	u64 bits = (u64)in_flight * qp->base.mtu_bytes * 8;

	if (!rtt && since && since < now)
		rtt = now - since;
	return rtt ? min_t(u64, div64_u64(bits * 1000000, rtt), RHCA_RATE_MAX) : 0;
}

static u32 first_rate(const struct rhca_sw_qp *qp, u64 now)
{
	u32 set = READ_ONCE(cc_of(qp)->rp_rate_to_set_on_first_cnp);

	if (set)
		return min_t(u64, (u64)set * 1000, RHCA_RATE_MAX);
	return used_rate(qp, now) ?: RHCA_RATE_MAX;
}

static void begin(struct rhca_sw_qp *qp, struct rhca_congestion *congestion,
		  u32 rate, u64 now)
{
	rhca_rate_begin(&congestion->rate, cc_of(qp), rate, now);
	congestion->clock = now;
	congestion->cnp_at = now;
	WRITE_ONCE(qp->send.has_rate, true);
}

/**
 * rhca_congestion_reset - Start a connection without a rate
 * @qp: a QP in RESET
 */
void rhca_congestion_reset(struct rhca_sw_qp *qp)
{
	spin_lock_bh(&qp->congestion->lock);
	WRITE_ONCE(qp->send.has_rate, false);
	qp->congestion->cnp_due = 0;
	spin_unlock_bh(&qp->congestion->lock);
}

/**
 * rhca_congestion_cnp - A CNP has arrived, annex A17.9.3
 * @qp: a connected QP with a port; the CNP is from its peer
 *
 * Context: bottom halves off; no locks but the QP's own held.
 */
void rhca_congestion_cnp(struct rhca_sw_qp *qp)
{
	struct rhca_congestion *congestion = qp->congestion;
	u64 now = ktime_get_ns();
	u32 used = 0;

	spin_lock(&congestion->lock);
	if (!qp->send.has_rate)
		begin(qp, congestion, first_rate(qp, now), now);
	congestion->cnp_at = now;
	rhca_rate_catch_up(&congestion->rate, cc_of(qp), qp->base.mtu_bytes, now);
	/* A responder that is not idle sends, too */
	if (rhca_turn_state(rhca_turn_word(&qp->recv.turn)) == RHCA_TURN_IDLE)
		used = used_rate(qp, now);
	if (rhca_rate_cnp(&congestion->rate, cc_of(qp), qp->base.mtu_bytes, used, now))
		trace(qp, congestion, "cnp");
	spin_unlock(&congestion->lock);
}

/**
 * rhca_congestion_rate - Rate to which CNPs have reduced a QP
 * @qp: any QP
 *
 * Context: any but interrupts; no lock but modify_lock held.
 * Return: Mbit/s, rounded up; 0 if no CNP has arrived for a second.
 */
u32 rhca_congestion_rate(const struct rhca_sw_qp *qp)
{
	struct rhca_congestion *congestion = qp->congestion;
	u32 kbits = 0;

	if (!congestion)	/* destroyed, but still known to ib_core */
		return 0;
	spin_lock_bh(&congestion->lock);
	if (qp->send.has_rate &&
	    ktime_get_ns() - congestion->cnp_at < FORGET_NS)
		kbits = congestion->rate.rate;
	spin_unlock_bh(&congestion->lock);
	return kbits < RHCA_RATE_MAX ? DIV_ROUND_UP(kbits, 1000) : 0;
}

/* May a CNP be sent now? If so, the caller must send it */
static bool cnp_is_due(struct rhca_sw_qp *qp)
{
	struct rhca_congestion *congestion = qp->congestion;
	u64 now = ktime_get_ns();
	bool due;

	spin_lock(&congestion->lock);
	due = now >= congestion->cnp_due;
	if (due)
		congestion->cnp_due = now + NSEC_PER_USEC *
			READ_ONCE(cc_of(qp)->np_min_time_between_cnps);
	spin_unlock(&congestion->lock);
	return due;
}

/* Congestion notification packet, annex A17.9.3 */
static void send_cnp(struct rhca_sw_qp *qp, struct rhca_path *path)
{
	struct rhca_bth_fields fields = {
		.opcode		= RHCA_OPCODE_CNP,
		.pkey		= rhca_qp_pkey(&qp->base, path->address.port),
		.dest_qpn	= READ_ONCE(qp->base.attr.dest_qp_num),
	};
	struct rhca_packet packet __uninitialized;
	struct rhca_tx_list tx __uninitialized;

	if (rhca_packet_begin(&packet, &qp->base, path, &fields, 0))
		return;		/* the next mark tries again */
	memset(rhca_packet_header(&packet, RHCA_HDR_CNP_PAD), 0,
	       sizeof(struct rhca_cnp_pad));
	packet.bth->flags &= ~RHCA_BTH_MIGRATED;
	packet.bth->dest |= cpu_to_be32(RHCA_BTH_BECN);
	rhca_packet_protect(&packet);
	rhca_packet_seal(&packet);
	rhca_tx_list_begin(&tx, &qp->base, path, NULL);
	tx.is_cnp = true;
	tx.may_overtake = true;
	rhca_tx_list_add(&tx, &packet);
	rhca_tx_list_send(&tx);
	if (tx.sent_packets)
		rhca_qp_count(&qp->base, RHCA_NP_CNP_SENT);
}

/**
 * rhca_congestion_marked - Send a CNP for a marked packet if one is due
 * @qp: a connected QP with a port; the packet was admitted, its ICRC and P_Key are right
 *
 * Context: bottom halves off, RCU read side. The lock of a half may be held.
 */
void rhca_congestion_marked(struct rhca_sw_qp *qp)
{
	struct rhca_path *path = rcu_dereference(qp->base.path);

	if (path && READ_ONCE(qp->base.port->cc.enable) && cnp_is_due(qp))
		send_cnp(qp, path);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_congestion_marked);

/*
 * Without recent CNPs only the user's limit remains, if there is one. A CNP may have arrived after
 * @now, while the caller waited for the lock.
 */
static bool is_over(struct rhca_sw_qp *qp, struct rhca_congestion *congestion,
		    u64 now)
{
	if ((s64)(now - congestion->cnp_at) < FORGET_NS ||
	    READ_ONCE(cc_of(qp)->rp_max_rate))
		return false;
	WRITE_ONCE(qp->send.has_rate, false);
	trace(qp, congestion, "over");
	return true;
}

static u32 quantum(const struct rhca_sw_qp *qp, const struct rhca_rate *rate)
{
	u64 bytes = div_u64((u64)rate->rate * QUANTUM_NS, 8 * 1000000);

	return clamp_t(u64, bytes, qp->base.mtu_bytes,
		       max(QUANTUM_BYTES, qp->base.mtu_bytes));
}

/**
 * rhca_pace_packets - How many packets may be sent now?
 * @qp: a QP with a port, for which rhca_is_paced() is true
 * @wait_ns: set to the time to wait if none may
 *
 * Context: bottom halves off; the caller holds the lock of the half that sends.
 * Return: 0 or the number of packets; U32_MAX if there is no limit.
 */
u32 rhca_pace_packets(struct rhca_sw_qp *qp, u64 *wait_ns)
{
	struct rhca_congestion *congestion = qp->congestion;
	u64 now = ktime_get_ns(), ready;
	u32 packets = U32_MAX, bytes;

	spin_lock(&congestion->lock);
	if (!qp->send.has_rate)
		begin(qp, congestion, RHCA_RATE_MAX, now);
	if (!is_over(qp, congestion, now)) {
		rhca_rate_catch_up(&congestion->rate, cc_of(qp),
				   qp->base.mtu_bytes, now);
		bytes = quantum(qp, &congestion->rate);
		packets = bytes / qp->base.mtu_bytes;
		ready = congestion->clock -
			min(congestion->clock,
			    rhca_rate_time(&congestion->rate, bytes));
		if (ready > now) {
			*wait_ns = ready - now;
			packets = 0;
		}
	}
	spin_unlock(&congestion->lock);
	return packets;
}

/* Time from which on unused rate is caught up */
static u64 made_good_from(const struct rhca_sw_qp *qp,
			  const struct rhca_rate *rate, u64 now)
{
	u64 late = LATE_NS, window;

	if (rate->rate == rhca_rate_max(cc_of(qp))) {
		window = rhca_rate_time(rate, RHCA_SEND_WINDOW * qp->base.mtu_bytes);
		late = max_t(u64, late, min_t(u64, LATE_LIMITED_NS, window));
		late = max(late, rhca_rate_time(rate, QUANTUM_BYTES));
	}
	return now - min(now, late);
}

/**
 * rhca_pace_sent - Account for sent packets
 * @qp: a QP with a port
 * @packets: how many
 * @bytes: their bytes, from the IP header on
 *
 * Context: see rhca_pace_packets().
 */
void rhca_pace_sent(struct rhca_sw_qp *qp, u32 packets, u32 bytes)
{
	struct rhca_congestion *congestion = qp->congestion;
	u64 now = ktime_get_ns();

	if (!packets)
		return;
	bytes += packets * FRAME_BYTES;
	spin_lock(&congestion->lock);
	if (qp->send.has_rate) {
		congestion->clock = max(congestion->clock,
					made_good_from(qp, &congestion->rate,
						       now)) +
				    rhca_rate_time(&congestion->rate, bytes);
		rhca_rate_sent(&congestion->rate, cc_of(qp), bytes);
	}
	spin_unlock(&congestion->lock);
}
