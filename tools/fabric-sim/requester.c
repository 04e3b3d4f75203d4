// SPDX-License-Identifier: GPL-2.0
/*
 * The sender of a QP: the code of drivers/sw/tx/{requester,segment,probe,ack_timeout}.c and
 * sw/rx/completer.c around the pure recover.c, rtt.c, cwnd.c and rate.c, for WRITEs over RC.
 * Functions have the same names as there.
 */
#include <linux/minmax.h>
#include <linux/time64.h>

#include "qp.h"

/* IP, UDP, BTH, ICRC: counted by pacing in addition to the payload and the frame */
#define HEADERS		44
/* A turn that has used its budget continues after those of others */
#define NEXT_TURN_NS	1000

void requester_reset(struct qp *qp)
{
	struct sender *send = &qp->send;

	send->rule = (struct rhca_recover){};
	rhca_cwnd_reset(&send->cwnd);
	send->ask_psn = NONE;
	send->retries_left = param.retry_cnt;
}

static u32 in_flight(const struct sender *send)
{
	return send->next - send->oldest;
}

/* --- the ACK timeout: ack_timeout.c ---------------------------------------- */

static u64 ack_timeout(void)
{
	return max_t(u64, 4096ULL << (int)param.timeout, 10 * NSEC_PER_MSEC);
}

static void restart_ack_timer(struct sender *send)
{
	u32 taken = param.retry_cnt - send->retries_left;

	send->deadline = now + max(ack_timeout() << min_t(u32, taken, RHCA_ACK_TIMEOUT_SHIFT),
				   rhca_rtt_ack_ns(&send->rtt, ack_timeout()));
}

static bool waits_for_answer(const struct sender *send)
{
	return send->next != send->oldest || send->pause == PAUSE_LOCAL_FULL ||
	       (send->pause == PAUSE_PACE && send->newest != send->oldest);
}

static void start_ack_timer(struct qp *qp)
{
	qp->send.timeout_event = qp->send.deadline;
	event_at(qp->send.deadline, EVENT_TIMEOUT, qp_index(qp));
}

static void arm_ack_timer(struct qp *qp)
{
	struct sender *send = &qp->send;

	if (!param.timeout || !waits_for_answer(send) || send->timeout_event)
		return;
	if (send->pause != PAUSE_LOCAL_FULL)
		restart_ack_timer(send);
	start_ack_timer(qp);
}

/* --- losses: probe.c ------------------------------------------------------- */

static u64 wait_ns(const struct sender *send)
{
	u64 most = param.timeout ? rhca_rtt_ack_ns(&send->rtt, ack_timeout()) : (u64)PROBE_MAX_NS;
	bool repeats = send->rule.mode != RHCA_RECOVER_FLOW;

	return rhca_rtt_probe_ns(&send->rtt, send->lossy || repeats,
				 repeats ? send->rule.answer_ns : 0,
				 send->doublings, most);
}

static void start_probe(struct qp *qp, u64 ns)
{
	qp->send.probe_event = now + ns;
	event_at(now + ns, EVENT_PROBE, qp_index(qp));
}

static void wait_from_now(struct qp *qp)
{
	u64 wait = wait_ns(&qp->send);

	qp->send.heard = false;
	qp->send.probe_at = now + wait;
	start_probe(qp, wait);
}

static void probe_arm(struct qp *qp)
{
	struct sender *send = &qp->send;

	if (send->newest == send->oldest || send->probe_event || !param.cc.adp_retrans)
		return;
	wait_from_now(qp);
}

static void probe_soon(struct qp *qp)
{
	if (param.cc.adp_retrans)
		wait_from_now(qp);
}

static struct rhca_loss loss_of(const struct sender *send, u32 psn)
{
	return (struct rhca_loss) {
		.psn		= PSN(psn),
		.newest		= PSN(send->newest),
		.now		= now,
		.round_trip	= send->rtt.smoothed,
		.path		= send->rtt.least,
		.queued		= rhca_rtt_is_queued(&send->rtt),
		.one		= param.cc.selective_repeat,
	};
}

static void rewind_to(struct sender *send, u32 psn)
{
	send->next = psn;
	send->since_ack_req = 0;
	send->hole_due = false;
	rhca_rtt_forget(&send->rtt, PSN(psn));
}

static void repeat_from(struct sender *send, u32 psn)
{
	rhca_recover_repeats(&send->rule, PSN(send->newest));
	rewind_to(send, psn);
}

static void repeat(struct qp *qp, u32 psn, enum rhca_recover_action action)
{
	struct sender *send = &qp->send;

	if (action == RHCA_RECOVER_NOTHING)
		return;
	if (action == RHCA_RECOVER_REWIND) {
		repeat_from(send, psn);
		send->repeating = true;
	} else {
		send->hole_psn = psn;
		send->hole_due = true;
	}
	probe_soon(qp);
}

static void repeat_lost(struct qp *qp, u32 psn, enum rhca_recover_action action)
{
	struct sender *send = &qp->send;

	if (action == RHCA_RECOVER_NOTHING)
		return;
	if (rhca_cwnd_overflows(&send->cwnd, &send->rtt) ||
	    rhca_recover_costs_window(&send->rule, send->rtt.least))
		rhca_cwnd_lost(&send->cwnd, PSN(psn), PSN(send->newest));
	send->lossy = true;
	send->loss_psn = psn;
	repeat(qp, psn, action);
}

static bool is_starved(const struct sender *send)
{
	return send->probes >= MANY_PROBES ||
	       (send->probes && send->rtt.smoothed && rhca_rtt_is_queued(&send->rtt));
}

static void probe(struct qp *qp)
{
	struct sender *send = &qp->send;
	struct rhca_loss loss = loss_of(send, send->oldest);

	totals.probes++;
	if (is_starved(send))
		rhca_cwnd_timed_out(&send->cwnd, PSN(send->newest));
	send->probes = min(send->probes + 1, U8_MAX);
	send->doublings = min(send->doublings + 1, U8_MAX);
	repeat(qp, send->oldest, rhca_recover_probe(&send->rule, &loss));
	requester_turn(qp);
}

/* drivers/sw/tx/probe.c: send->recovering */
static bool recovers(const struct sender *send)
{
	return !rhca_recover_is_over(&send->rule) || send->rule.waits ||
	       send->lossy || send->probes || send->doublings;
}

static bool is_held_up(const struct sender *send)
{
	return send->pause == PAUSE_PACE ? send->hole_due || !in_flight(send) : send->pause;
}

void requester_probe_event(struct qp *qp)
{
	struct sender *send = &qp->send;

	if (now != send->probe_event)
		return;
	send->probe_event = 0;
	if (qp->failed || send->newest == send->oldest)
		return;
	if (is_held_up(send))
		send->probe_at = now + wait_ns(send);
	else if (send->heard)
		send->probe_at = (recovers(send) ? send->heard_at : now) + wait_ns(send);
	send->heard = false;
	if (now >= send->probe_at)
		probe(qp);
	if (!send->probe_event && send->probe_at > now)
		start_probe(qp, send->probe_at - now);
}

/* --- sending: requester.c, segment.c --------------------------------------- */

static bool wants_ack(const struct qp *qp)
{
	const struct sender *send = &qp->send;
	u32 interval = send->rule.mode == RHCA_RECOVER_FLOW ? RHCA_ACK_INTERVAL :
							       RHCA_ACK_INTERVAL_LOSSY;

	interval = min(interval, send->cwnd.packets / 2U);
	if (send->since_ack_req + 1 >= interval || send->repeating ||
	    send->next == send->ask_psn || in_flight(send) + 1 >= send->cwnd.packets)
		return true;
	return send->next + 1 == posted_end(qp);
}

static void advance(struct qp *qp, bool ask)
{
	struct sender *send = &qp->send;

	if (send->next < send->newest) {
		qp->repeated++;
		totals.repeated++;
	}
	totals.sent++;
	send->since_ack_req = ask ? 0 : send->since_ack_req + 1;
	if (ask && send->next == send->newest &&
	    rhca_rtt_is_due(&send->rtt, PSN(send->next)))
		rhca_rtt_begin(&send->rtt, PSN(send->next), now);
	send->next++;
	send->newest = max(send->newest, send->next);
}

/* Send a packet; false if none can be sent now */
static bool step(struct qp *qp, u32 *bytes)
{
	struct sender *send = &qp->send;
	u32 payload, packet, psn = send->next;
	bool ask;

	if (psn == posted_end(qp) || in_flight(send) >= send->cwnd.packets)
		return false;
	ask = wants_ack(qp);
	payload = payload_of(qp, psn);
	packet = packet_new(PACKET_DATA, qp_index(qp), psn, payload + (u32)param.frame_bytes);
	packets[packet].asks = ask;
	packets[packet].ect = param.cc.enable;
	if (host_send(qp->src, packet)) {
		*bytes += payload + HEADERS;
	} else {
		send->refused = true;
		send->refused_psn = psn;
		totals.refused++;
	}
	advance(qp, ask);
	return true;
}

static bool repeat_hole(struct qp *qp, u32 *bytes)
{
	struct sender *send = &qp->send;
	u32 next = send->next;
	u64 timed = send->rtt.sent_at;
	bool did;

	send->hole_due = false;
	if (send->hole_psn < send->oldest || send->hole_psn >= next)
		return false;
	rewind_to(send, send->hole_psn);
	if (send->rule.probed && send->rtt.psn != PSN(send->hole_psn))
		send->rtt.sent_at = timed;
	send->ask_psn = send->next;
	did = step(qp, bytes);
	if (did && !send->refused)
		rhca_recover_asks(&send->rule, PSN(send->hole_psn), PSN(send->next));
	send->hole_due = send->refused;
	send->next = next;
	return did;
}

static bool sends_new(const struct sender *send)
{
	return rhca_recover_sends_new(&send->rule);
}

static void pause_send(struct sender *send, enum pause pause, u64 ns)
{
	send->pause = pause;
	send->not_before = now + ns;
}

static void end_refused(struct sender *send)
{
	u32 psn = max(send->refused_psn, send->oldest);

	if (!send->refused)
		return;
	send->refused = false;
	rhca_cwnd_lost(&send->cwnd, PSN(psn), PSN(send->newest));
	if (!send->hole_due)
		repeat_from(send, psn);
	pause_send(send, PAUSE_LOCAL_FULL, RHCA_QUEUE_FULL_NS);
}

static void ask_if_stuck(struct qp *qp, u32 *bytes)
{
	struct sender *send = &qp->send;

	if (!send->since_ack_req || !in_flight(send) || send->refused)
		return;
	rewind_to(send, send->next - 1);
	send->ask_psn = send->next;
	step(qp, bytes);
}

static void excuse_wait(struct sender *send)
{
	if (!recovers(send) || send->excused || !(send->hole_due || send->next < send->newest))
		return;
	send->excused = true;
	restart_ack_timer(send);
}

/* True if more can be sent, but the turn is over */
static bool send_all(struct qp *qp, enum pause resumed)
{
	struct sender *send = &qp->send;
	bool again = resumed == PAUSE_LOCAL_FULL, paced = pace_is_on(qp), did = true;
	bool was_idle = send->newest == send->oldest && !again;
	u32 budget = RHCA_SECTION_PACKETS, bytes = 0;
	u64 sent = totals.sent, wait = 0;

	if (paced) {
		budget = min(budget, pace_packets(qp, &wait));
		if (!budget) {
			pause_send(send, PAUSE_PACE, wait);
			return false;
		}
		excuse_wait(send);
		send->ask_psn = send->next + budget - 1;
	}
	if (send->hole_due)
		budget -= repeat_hole(qp, &bytes);
	while (did && budget && !send->refused) {
		did = (sends_new(send) || send->next < send->newest) && step(qp, &bytes);
		budget -= did;
	}
	if (!did && sends_new(send))
		ask_if_stuck(qp, &bytes);
	sent = totals.sent - sent - send->refused;
	end_refused(send);
	if (paced)
		pace_sent(qp, sent, bytes);
	host_tx_charge(qp->src, sent);
	if (was_idle || (again && send->pause != PAUSE_LOCAL_FULL))
		restart_ack_timer(send);
	arm_ack_timer(qp);
	probe_arm(qp);
	return did;
}

static void turn_at(struct qp *qp, u64 at)
{
	struct sender *send = &qp->send;

	if (send->turn_event && send->turn_event <= at)
		return;
	send->turn_event = at;
	event_at(at, EVENT_TURN, qp_index(qp));
}

void requester_turn(struct qp *qp)
{
	struct sender *send = &qp->send;
	enum pause resumed = send->pause;
	bool more;

	if (qp->failed)
		return;
	if (send->pause && now < send->not_before) {
		turn_at(qp, send->not_before);
		return;
	}
	if (host_tx_free(qp->src) > now) {
		turn_at(qp, host_tx_free(qp->src));
		return;
	}
	send->pause = PAUSE_NONE;
	if (resumed && resumed != PAUSE_PACE)
		rhca_recover_waited(&send->rule);
	if (resumed != PAUSE_LOCAL_FULL && !send->since_ack_req && !send->hole_due &&
	    send->next == posted_end(qp)) {
		arm_ack_timer(qp);
		return;
	}
	more = send_all(qp, resumed);
	if (send->pause)
		turn_at(qp, send->not_before);
	else if (more)
		turn_at(qp, max(now + NEXT_TURN_NS, host_tx_free(qp->src)));
}

void requester_turn_event(struct qp *qp)
{
	if (now != qp->send.turn_event)
		return;
	qp->send.turn_event = 0;
	requester_turn(qp);
}

/* --- answers: completer.c --------------------------------------------------- */

static void measured(struct qp *qp)
{
	if (!qp->send.doublings)
		return;
	qp->send.doublings = 0;
	probe_soon(qp);
	qp->send.heard = true;
}

static void take_sample(struct qp *qp)
{
	struct sender *send = &qp->send;

	if (rhca_recover_delayed(&send->rule, &send->rtt, now)) {
		rhca_rtt_forget(&send->rtt, send->rtt.psn);
		return;
	}
	measured(qp);
	rhca_rtt_end(&send->rtt, now);
}

static void note_progress(struct qp *qp, u32 upto)
{
	struct sender *send = &qp->send;
	u32 acked = upto - send->oldest;

	rhca_cwnd_acked(&send->cwnd, acked, PSN(upto));
	if (rhca_rtt_ends(&send->rtt, PSN(upto)))
		take_sample(qp);
	send->oldest = upto;
	send->heard = true;
	send->heard_at = now;
	send->probes = 0;
	send->excused = false;
	if (!rhca_recover_is_over(&send->rule)) {
		if (!pace_is_on(qp))
			rhca_rtt_at_least(&send->rtt,
					  rhca_recover_answered_after(&send->rule, PSN(upto), now));
		if (rhca_recover_acked(&send->rule, PSN(upto), now)) {
			measured(qp);
			rhca_rtt_repeat_answered(&send->rtt, send->rule.answer_ns);
		}
	}
	send->retries_left = param.retry_cnt;
	send->repeating = false;
	restart_ack_timer(send);
	if (send->next < upto)
		rewind_to(send, upto);
	/* drivers/sw/tx/segment.c: the next loss is likely within so many packets */
	if (send->lossy && send->oldest > send->loss_psn + 64)
		send->lossy = false;
	work_progress(qp, acked);
}

static void fail(struct qp *qp)
{
	qp->failed = true;
	totals.failed++;
	qps_active--;
}

static void take_nak(struct qp *qp, u32 psn)
{
	struct sender *send = &qp->send;
	struct rhca_loss loss = loss_of(send, psn);
	enum rhca_recover_action action;

	if (psn >= send->next)
		return;
	action = rhca_recover_nak(&send->rule, &loss);
	if (action == RHCA_RECOVER_NOTHING)
		return;
	if (!param.cc.adp_retrans) {
		if (!send->retries_left) {
			fail(qp);
			return;
		}
		send->retries_left--;
	}
	repeat_lost(qp, psn, action);
}

/* requester_turn() follows when its batch is processed */
void requester_ack(struct qp *qp, u32 psn, bool nak)
{
	struct sender *send = &qp->send;
	u32 upto = nak ? psn : psn + 1;

	if (qp->failed || psn < send->oldest || psn >= send->newest || psn == U32_MAX)
		return;
	if (upto > send->oldest)
		note_progress(qp, upto);
	if (nak)
		take_nak(qp, psn);
	else if (send->rule.waits)
		repeat_lost(qp, send->oldest,
			    rhca_recover_acked_alone(&send->rule, PSN(send->oldest), now));
}

void requester_cnp(struct qp *qp)
{
	if (!qp->failed && param.cc.enable)
		pace_cnp(qp);
}

void requester_timeout_event(struct qp *qp)
{
	struct sender *send = &qp->send;
	struct rhca_loss loss = loss_of(send, send->oldest);

	if (now != send->timeout_event)
		return;
	send->timeout_event = 0;
	if (qp->failed || !waits_for_answer(send))
		return;
	if (now >= send->deadline && send->pause == PAUSE_PACE && is_held_up(send) &&
	    !send->excused) {
		restart_ack_timer(send);
	} else if (now >= send->deadline) {
		totals.timeouts++;
		if (!send->retries_left) {
			fail(qp);
			return;
		}
		send->retries_left--;
		send->excused = false;
		rhca_recover_back(&send->rule, &loss);
		restart_ack_timer(send);
		send->repeating = true;
		rhca_cwnd_timed_out(&send->cwnd, PSN(send->newest));
		repeat_from(send, send->oldest);
		requester_turn(qp);
	}
	if (waits_for_answer(send) && !send->timeout_event)
		start_ack_timer(qp);
}
