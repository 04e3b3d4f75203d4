// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver of a QP: the code of drivers/sw/rx/responder.c and sw/qp/hold.c around the pure
 * hold_rule.c. A held packet is a bit here.
 */
#include <linux/minmax.h>
#include <linux/time64.h>

#include "qp.h"

/* IP, UDP, BTH, AETH, ICRC and the frame: less than the minimum frame */
#define ANSWER_BYTES	64
/* An skb with a page for the payload, as counted by the port's limit */
#define HELD_BESIDES	768

enum hold { HOLD_REFUSED, HOLD_TWICE, HOLD_KEPT };

void responder_reset(struct qp *qp)
{
	qp->recv.rule.reorder = &qp->recv.reorder;
	rhca_hold_rule_reset(&qp->recv.rule);
}

static bool bit(const u64 *bits, u32 psn)
{
	return bits[psn % RHCA_HOLD_PACKETS / 64] >> psn % 64 & 1;
}

static void set_bit(u64 *bits, u32 psn, bool value)
{
	u64 *word = &bits[psn % RHCA_HOLD_PACKETS / 64], mask = 1ULL << psn % 64;

	*word = value ? *word | mask : *word & ~mask;
}

static bool has_room(const struct qp *qp, u32 bytes)
{
	u64 total = *host_held(qp->dst);
	u32 most = total > RHCA_HOLD_PORT_BYTES / 2 ? RHCA_HOLD_BYTES_SCARCE : RHCA_HOLD_BYTES;

	return total < RHCA_HOLD_PORT_BYTES && qp->recv.held_bytes + bytes <= most;
}

static void charge(struct qp *qp, u32 psn, int sign)
{
	u32 bytes = payload_of(qp, psn);

	qp->recv.num_held += sign;
	qp->recv.held_bytes += sign * bytes;
	*host_held(qp->dst) += sign * (s64)(bytes + HELD_BESIDES);
	set_bit(qp->recv.held, psn, sign > 0);
}

static enum hold hold(struct qp *qp, const struct packet *packet)
{
	struct receiver *recv = &qp->recv;
	u32 psn = packet->psn;

	if (!param.cc.selective_repeat)
		return HOLD_REFUSED;
	if (psn - recv->expected < RHCA_HOLD_PACKETS) {
		if (bit(recv->held, psn))
			return HOLD_TWICE;
		if (has_room(qp, payload_of(qp, psn))) {
			charge(qp, psn, 1);
			set_bit(recv->held_ask, psn, packet->asks);
			return HOLD_KEPT;
		}
	}
	totals.held_refused++;
	return HOLD_REFUSED;
}

static void answer(struct receiver *recv, bool nak, u32 psn)
{
	recv->answer_waits = true;
	recv->answer_nak = nak;
	recv->answer_psn = psn;
}

static void accept(struct receiver *recv, bool asked)
{
	if (recv->rule.nak_sent && recv->answer_waits && recv->answer_nak)
		answer(recv, false, recv->answer_psn - 1);
	if (asked)
		answer(recv, false, recv->expected);
	recv->expected++;
}

static void drain(struct qp *qp)
{
	struct receiver *recv = &qp->recv;

	while (recv->num_held && bit(recv->held, recv->expected)) {
		charge(qp, recv->expected, -1);
		accept(recv, bit(recv->held_ask, recv->expected) ||
		       (recv->answer_waits && !recv->answer_nak));
	}
}

static struct rhca_arrival arrival_of(const struct receiver *recv, const struct packet *packet)
{
	return (struct rhca_arrival) {
		.now	  = now,
		.psn	  = PSN(packet->psn),
		.expected = PSN(recv->expected),
		.num_held = recv->num_held,
		.ack_req  = packet->asks,
	};
}

static void wait_for_missing(struct qp *qp)
{
	u64 due = rhca_hold_rule_due(&qp->recv.rule);

	if (due > now && !qp->recv.waits) {
		qp->recv.waits = true;
		event_at(due, EVENT_WAITED, qp_index(qp));
	}
}

static void take_expected(struct qp *qp, const struct packet *packet)
{
	struct receiver *recv = &qp->recv;
	struct rhca_hold_rule *rule = &recv->rule;
	struct rhca_arrival arrival;

	accept(recv, packet->asks);
	if (!recv->num_held && !rhca_hold_rule_open(rule)) {
		rhca_hold_rule_in_order(rule, PSN(packet->psn));
		return;
	}
	drain(qp);
	arrival = arrival_of(recv, packet);
	if (rhca_hold_rule_filled(rule, &arrival))
		answer(recv, true, recv->expected);
	else
		wait_for_missing(qp);
}

static void take_ahead(struct qp *qp, const struct packet *packet)
{
	struct receiver *recv = &qp->recv;
	enum hold result = hold(qp, packet);
	struct rhca_arrival arrival = arrival_of(recv, packet);

	arrival.twice = result == HOLD_TWICE;
	arrival.refused = result == HOLD_REFUSED;
	if (rhca_hold_rule_ahead(&recv->rule, &arrival))
		answer(recv, true, recv->expected);
	else
		wait_for_missing(qp);
}

static void take_duplicate(struct qp *qp, const struct packet *packet)
{
	struct receiver *recv = &qp->recv;
	struct rhca_arrival arrival = arrival_of(recv, packet);
	enum rhca_dup_reply reply = rhca_hold_rule_duplicate(&recv->rule, &arrival);

	if (reply == RHCA_DUP_REPLAY && (!recv->answer_waits || !recv->answer_nak))
		answer(recv, false, recv->expected - 1);
	else if (reply == RHCA_DUP_NAK)
		answer(recv, true, recv->expected);
	if (reply != RHCA_DUP_NAK)
		wait_for_missing(qp);
}

static void send_back(const struct qp *qp, enum packet_kind kind, u32 psn)
{
	host_send(qp->dst, packet_new(kind, qp_index(qp), psn,
				      ANSWER_BYTES + (param.frame_bytes > 64 ? 24 : 0)));
}

/* At most one CNP in np_min_time_between_cnps */
static void answer_mark(struct qp *qp)
{
	if (now < qp->recv.cnp_due)
		return;
	qp->recv.cnp_due = now + NSEC_PER_USEC * param.cc.np_min_time_between_cnps;
	totals.cnps++;
	send_back(qp, PACKET_CNP, 0);
}

/* The wait for a missing packet is over */
void responder_waited(struct qp *qp)
{
	struct receiver *recv = &qp->recv;
	const struct rhca_arrival arrival = {
		.now	  = now,
		.expected = PSN(recv->expected),
		.num_held = recv->num_held,
	};

	recv->waits = false;
	if (!rhca_hold_rule_waited(&recv->rule, &arrival)) {
		wait_for_missing(qp);
		return;
	}
	answer(recv, true, recv->expected);
	responder_answer(qp);
}

/* A request has arrived; responder_answer() follows when its batch is processed */
void responder_receive(struct qp *qp, const struct packet *packet)
{
	if (packet->ce && param.cc.enable)
		answer_mark(qp);
	if (packet->psn == qp->recv.expected)
		take_expected(qp, packet);
	else if ((s32)(packet->psn - qp->recv.expected) > 0)
		take_ahead(qp, packet);
	else
		take_duplicate(qp, packet);
}

void responder_answer(struct qp *qp)
{
	struct receiver *recv = &qp->recv;

	if (!recv->answer_waits)
		return;
	recv->answer_waits = false;
	totals.naks += recv->answer_nak;
	totals.acks += !recv->answer_nak;
	send_back(qp, recv->answer_nak ? PACKET_NAK : PACKET_ACK, recv->answer_psn);
}
