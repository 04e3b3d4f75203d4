// SPDX-License-Identifier: GPL-2.0
/*
 * A sender to compare with: a window that grows and shrinks as in TCP (RFC 5681), a selective
 * acknowledgement for each packet, all missing packets retransmitted at once (RFC 6675), and a
 * timeout. With tcp_dctcp the window shrinks by the share of marked packets (RFC 8257). The
 * receiver accepts all packets.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>

#include "qp.h"

#define FIRST_WINDOW	10	/* RFC 6928 */
#define DUPLICATES	3	/* later packets after which one counts as lost */

enum state { GONE, LOST, OUT, SACKED };

/**
 * struct tcp - Both halves of a connection
 * @cwnd: packets that may be out
 * @ssthresh: where it begins to grow by one
 * @alpha: share of marked packets, smoothed
 * @state: enum state of packets, by PSN
 * @came: packets that have come before their turn, by PSN
 * @out: packets that are out
 * @lost: packets that count as lost and are not repeated yet
 * @highest: behind the furthest packet that has arrived
 * @scanned: those before it have been looked at
 * @recover: behind what had been sent at the loss
 * @window_end: when that is acknowledged, @alpha is brought up to date
 * @acked: packets of that window
 * @marked: of which so many were marked
 * @doublings: of the timeout
 */
struct tcp {
	double cwnd, ssthresh, alpha;
	u8 state[TCP_WINDOW_MAX];
	u8 came[TCP_WINDOW_MAX];
	u32 out, lost, highest, scanned, recover, window_end, acked, marked;
	u8 doublings;
	bool recovering;
};

void tcp_reset(struct qp *qp)
{
	qp->tcp = calloc(1, sizeof(*qp->tcp));
	if (!qp->tcp)
		abort();
	qp->tcp->cwnd = FIRST_WINDOW;
	qp->tcp->ssthresh = param.tcp_window;
	qp->tcp->alpha = 1;
}

/* --- receiver --------------------------------------------------------------------- */

void tcp_data(struct qp *qp, const struct packet *packet)
{
	u32 ack, psn = packet->psn;
	u8 *came = qp->tcp->came;

	if ((s32)(psn - qp->recv.expected) >= 0)
		came[psn % TCP_WINDOW_MAX] = 1;
	while (came[qp->recv.expected % TCP_WINDOW_MAX])
		came[qp->recv.expected++ % TCP_WINDOW_MAX] = 0;
	ack = packet_new(PACKET_ACK, qp_index(qp), qp->recv.expected, 88);
	packets[ack].psn2 = psn;
	packets[ack].ce = packet->ce;
	totals.acks++;
	host_send(qp->dst, ack);
}

/* --- sender ------------------------------------------------------------------------ */

static u64 rto(const struct qp *qp)
{
	u64 least = param.tcp_rto_us * 1000, measured = rhca_rtt_timeout(&qp->send.rtt);

	return max(least, measured) << min(qp->tcp->doublings, 6);
}

static void arm(struct qp *qp)
{
	struct sender *send = &qp->send;

	send->deadline = now + rto(qp);
	if (send->timeout_event)
		return;
	send->timeout_event = send->deadline;
	event_at(send->deadline, EVENT_TIMEOUT, qp_index(qp));
}

static u8 *state_of(struct qp *qp, u32 psn)
{
	return &qp->tcp->state[psn % TCP_WINDOW_MAX];
}

static void set_state(struct qp *qp, u32 psn, enum state state)
{
	struct tcp *tcp = qp->tcp;
	u8 *is = state_of(qp, psn);

	tcp->out += (state == OUT) - (*is == OUT);
	tcp->lost += (state == LOST) - (*is == LOST);
	*is = state;
}

static void shrink(struct qp *qp, double share)
{
	struct tcp *tcp = qp->tcp;

	tcp->ssthresh = max(tcp->cwnd * share, 2.);
	tcp->cwnd = tcp->ssthresh;
	tcp->recover = qp->send.newest;
	tcp->recovering = true;
}

/* Packets overtaken by enough later ones */
static void find_lost(struct qp *qp)
{
	struct tcp *tcp = qp->tcp;
	bool found = false;

	tcp->scanned = max(tcp->scanned, qp->send.oldest);
	for (; tcp->scanned + DUPLICATES < tcp->highest; tcp->scanned++) {
		if (*state_of(qp, tcp->scanned) != OUT)
			continue;
		set_state(qp, tcp->scanned, LOST);
		found = true;
	}
	if (found && !tcp->recovering)
		shrink(qp, .5);
}

static void note_marks(struct qp *qp, bool marked)
{
	struct tcp *tcp = qp->tcp;

	tcp->acked++;
	tcp->marked += marked;
	if (!param.tcp_dctcp || qp->send.oldest < tcp->window_end)
		return;
	tcp->alpha += ((double)tcp->marked / tcp->acked - tcp->alpha) / 16;
	if (tcp->marked && !tcp->recovering) {
		tcp->cwnd = max(tcp->cwnd * (1 - tcp->alpha / 2), 2.);
		tcp->ssthresh = tcp->cwnd;
	}
	tcp->acked = 0;
	tcp->marked = 0;
	tcp->window_end = qp->send.newest;
}

static void grow(struct tcp *tcp, u32 acked)
{
	if (tcp->recovering)
		return;
	tcp->cwnd += tcp->cwnd < tcp->ssthresh ? acked : acked / tcp->cwnd;
	tcp->cwnd = min(tcp->cwnd, param.tcp_window);
}

static void progress(struct qp *qp, u32 upto)
{
	struct sender *send = &qp->send;
	u32 acked = upto - send->oldest;

	if (rhca_rtt_ends(&send->rtt, PSN(upto)))
		rhca_rtt_end(&send->rtt, now);
	qp->tcp->doublings = 0;
	for (; send->oldest < upto; send->oldest++)
		set_state(qp, send->oldest, GONE);
	if (upto >= qp->tcp->recover)
		qp->tcp->recovering = false;
	grow(qp->tcp, acked);
	work_progress(qp, acked);
	arm(qp);
}

/* tcp_turn() follows */
void tcp_ack(struct qp *qp, const struct packet *packet)
{
	struct tcp *tcp = qp->tcp;

	if (packet->psn2 >= qp->send.oldest && *state_of(qp, packet->psn2) != GONE)
		set_state(qp, packet->psn2, SACKED);
	tcp->highest = max(tcp->highest, packet->psn2 + 1);
	if (packet->psn > qp->send.oldest)
		progress(qp, packet->psn);
	note_marks(qp, packet->ce);
	find_lost(qp);
}

static bool send_one(struct qp *qp, u32 psn)
{
	struct sender *send = &qp->send;
	u32 packet = packet_new(PACKET_DATA, qp_index(qp), psn,
				payload_of(qp, psn) + (u32)param.frame_bytes);

	packets[packet].ect = param.tcp_dctcp;
	if (!host_send(qp->src, packet))
		return false;
	totals.sent++;
	if (psn < send->newest) {
		qp->repeated++;
		totals.repeated++;
		rhca_rtt_forget(&send->rtt, PSN(psn));
	} else if (rhca_rtt_is_idle(&send->rtt)) {
		rhca_rtt_begin(&send->rtt, PSN(psn), now);
	}
	set_state(qp, psn, OUT);
	send->newest = max(send->newest, psn + 1);
	return true;
}

static u32 next_psn(struct qp *qp)
{
	u32 psn;

	if (!qp->tcp->lost)
		return qp->send.newest;
	for (psn = qp->send.oldest; *state_of(qp, psn) != LOST; psn++)
		;
	return psn;
}

void tcp_turn(struct qp *qp)
{
	struct sender *send = &qp->send;
	u32 psn;

	while (qp->tcp->out + 1 <= qp->tcp->cwnd) {
		psn = next_psn(qp);
		if (psn == posted_end(qp) || psn - send->oldest >= param.tcp_window ||
		    !send_one(qp, psn))
			break;
	}
	if (send->oldest != posted_end(qp) && !send->timeout_event)
		arm(qp);
}

static void time_out(struct qp *qp)
{
	u32 psn;

	totals.timeouts++;
	for (psn = qp->send.oldest; psn < qp->send.newest; psn++)
		if (*state_of(qp, psn) == OUT)
			set_state(qp, psn, LOST);
	shrink(qp, .5);
	qp->tcp->cwnd = 1;
	qp->tcp->recovering = false;
	qp->tcp->doublings++;
	qp->tcp->highest = qp->send.oldest;
	qp->tcp->scanned = qp->send.oldest;
	tcp_turn(qp);
}

void tcp_timeout_event(struct qp *qp)
{
	struct sender *send = &qp->send;

	if (now != send->timeout_event)
		return;
	send->timeout_event = 0;
	if (send->oldest == posted_end(qp))
		return;
	if (now >= send->deadline)
		time_out(qp);
	if (send->timeout_event)
		return;
	if (send->deadline <= now)
		send->deadline = now + rto(qp);
	send->timeout_event = send->deadline;
	event_at(send->deadline, EVENT_TIMEOUT, qp_index(qp));
}
