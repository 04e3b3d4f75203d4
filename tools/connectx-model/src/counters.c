// SPDX-License-Identifier: GPL-2.0
#include "counters.h"

#include "device.h"
#include "qp.h"
#include "trace.h"

#define LINK_MBPS		100000.0
#define RATE_PERIOD_NS		1000000ull	/* between two increases of the rate */
#define ALPHA_ONE		1023.0
#define GAIN_ONE		1024.0
#define NS_PER_US		1000ull

void q_counter_add(struct device *dev, u32 set, u32 counter)
{
	struct q_counter *q_counter = find_object(struct q_counter, dev, OBJ_Q_COUNTER, set);

	if (q_counter)
		q_counter->value[counter]++;
}

static enum traffic_cast cast_of(const u8 *frame)
{
	static const u8 broadcast[MAC_BYTES] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (!memcmp(frame, broadcast, MAC_BYTES))
		return CAST_BROADCAST;
	return frame[0] & 1 ? CAST_MULTICAST : CAST_UNICAST;
}

void count_traffic(struct device_counters *counters, enum traffic_direction direction,
		   enum traffic_kind kind, const u8 *frame, u32 bytes)
{
	struct traffic *traffic = &counters->traffic[direction][kind][cast_of(frame)];

	traffic->packets++;
	traffic->bytes += bytes;
}

/* The defaults of a ConnectX. */
void congestion_init(struct congestion *congestion)
{
	u8 *rp = congestion->reaction, *np = congestion->notification;

	memset(congestion, 0, sizeof(*congestion));
	congestion->reaction_enabled = true;
	congestion->notification_enabled = true;
	SET(cong_control_r_roce_ecn_rp, rp, clamp_tgt_rate_after_time_inc, 1);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_time_reset, 300);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_byte_reset, 32767);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_threshold, 1);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_ai_rate, 5);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_hai_rate, 50);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_gd, 11);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_min_dec_fac, 50);
	SET(cong_control_r_roce_ecn_rp, rp, rpg_min_rate, 1);
	SET(cong_control_r_roce_ecn_rp, rp, dce_tcp_g, 1019);
	SET(cong_control_r_roce_ecn_rp, rp, dce_tcp_rtt, 1);
	SET(cong_control_r_roce_ecn_rp, rp, rate_reduce_monitor_period, 4);
	SET(cong_control_r_roce_ecn_rp, rp, initial_alpha_value, 1023);
	SET(cong_control_r_roce_ecn_np, np, min_time_between_cnps, 4);
	SET(cong_control_r_roce_ecn_np, np, cnp_dscp, 48);
	SET(cong_control_r_roce_ecn_np, np, cnp_802p_prio, 6);
}

bool congestion_enabled(struct device *dev)
{
	return dev->congestion.reaction_enabled;
}

void congestion_seen(struct qp *qp)
{
	static const u8 zeros[16];
	struct device *dev = qp->dev;
	struct roce_transport_headers bth = { .opcode = ROCE_OPCODE_CNP, .becn = true,
					      .pkey = ROCE_DEFAULT_PKEY,
					      .dest_qpn = qp->remote_qpn };
	const u8 *np = dev->congestion.notification;
	struct roce_route route = qp->route;
	u8 frame[ROCE_MAX_FRAME];
	u64 now = now_ns(), gap;

	dev->counters.ecn_marked++;
	gap = GET(cong_control_r_roce_ecn_np, np, min_time_between_cnps) * NS_PER_US;
	if (!dev->congestion.notification_enabled || now - qp->rate.last_cnp_sent_ns < gap)
		return;
	qp->rate.last_cnp_sent_ns = now;
	route.traffic_class = GET(cong_control_r_roce_ecn_np, np, cnp_dscp) << 2;
	dev->counters.cnp_sent++;
	qp_transmit(qp, frame, roce_build(frame, &route, &bth, zeros, sizeof(zeros)));
}

static void start_limiting(struct qp *qp)
{
	const u8 *rp = qp->dev->congestion.reaction;
	u32 first = GET(cong_control_r_roce_ecn_rp, rp, rate_to_set_on_first_cnp);

	qp->rate.limited = true;
	qp->rate.rate_mbps = first ? first : LINK_MBPS;
	qp->rate.target_mbps = qp->rate.rate_mbps;
	qp->rate.alpha = GET(cong_control_r_roce_ecn_rp, rp, initial_alpha_value) / ALPHA_ONE;
}

void congestion_notified(struct qp *qp)
{
	const u8 *rp = qp->dev->congestion.reaction;
	double gain = GET(cong_control_r_roce_ecn_rp, rp, dce_tcp_g) / GAIN_ONE;
	double least = GET(cong_control_r_roce_ecn_rp, rp, rpg_min_dec_fac) / 100.0;
	struct rate_control *rate = &qp->rate;
	double factor;

	if (!qp->dev->congestion.reaction_enabled || !qp_is_reliable(qp)) {
		qp->dev->counters.cnp_ignored++;
		return;
	}
	qp->dev->counters.cnp_handled++;
	if (!rate->limited)
		start_limiting(qp);
	rate->alpha = gain * rate->alpha + (1 - gain);
	factor = MAX(1 - rate->alpha / 2, least);
	rate->target_mbps = rate->rate_mbps;
	rate->rate_mbps = MAX(rate->rate_mbps * factor,
			      GET(cong_control_r_roce_ecn_rp, rp, rpg_min_rate));
	rate->last_cnp_ns = now_ns();
	rate->last_raise_ns = rate->last_cnp_ns;
	trace_note("dev%u QP %#x: CNP, rate now %.0f Mb/s", qp->dev->index, qp->object.id,
		   rate->rate_mbps);
}

/* Fast recovery towards the target, and additive increase of the target. */
static void raise_rate(struct qp *qp, u64 now)
{
	const u8 *rp = qp->dev->congestion.reaction;
	struct rate_control *rate = &qp->rate;
	double gain = GET(cong_control_r_roce_ecn_rp, rp, dce_tcp_g) / GAIN_ONE;

	for (; now - rate->last_raise_ns >= RATE_PERIOD_NS; rate->last_raise_ns += RATE_PERIOD_NS) {
		rate->alpha *= gain;
		rate->target_mbps += GET(cong_control_r_roce_ecn_rp, rp, rpg_hai_rate);
		rate->rate_mbps = (rate->rate_mbps + rate->target_mbps) / 2;
		if (rate->rate_mbps >= LINK_MBPS) {
			rate->limited = false;
			return;
		}
	}
}

void rate_charge(struct qp *qp, u32 bytes)
{
	u64 now;

	if (!qp->rate.limited)
		return;
	now = now_ns();
	raise_rate(qp, now);
	qp->requester.allowed_at_ns = MAX(qp->requester.allowed_at_ns, now) +
				      (u64)(bytes * 8 * 1000.0 / qp->rate.rate_mbps);
}

bool rate_allows(struct qp *qp)
{
	if (!qp->rate.limited || now_ns() >= qp->requester.allowed_at_ns)
		return true;
	if (!qp->rate.pace.at_ns)
		timer_set(&qp->rate.pace, qp->requester.allowed_at_ns);
	return false;
}
