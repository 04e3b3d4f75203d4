// SPDX-License-Identifier: GPL-2.0
/*
 * Pacing: the code of drivers/sw/tx/congestion.c around the pure rate.c, without its locks and
 * memory.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "qp.h"

/* Rate of data in flight per round trip, kbit/s; 0: unknown */
static u32 used_rate(const struct qp *qp)
{
	u64 bits = (u64)(qp->send.next - qp->send.oldest) * param.mtu * 8;
	u64 rtt = qp->send.rtt.smoothed, since = qp->send.rtt.sent_at;

	if (!rtt && since && since < now)
		rtt = now - since;
	return rtt ? min_t(u64, div64_u64(bits * 1000000, rtt), RHCA_RATE_MAX) : 0;
}

static u32 first_rate(const struct qp *qp)
{
	u32 set = param.cc.rp_rate_to_set_on_first_cnp;

	if (set)
		return min_t(u64, (u64)set * 1000, RHCA_RATE_MAX);
	return used_rate(qp) ?: RHCA_RATE_MAX;
}

static void begin(struct pace *pace, u32 rate)
{
	rhca_rate_begin(&pace->rate, &param.cc, rate, now);
	pace->clock = now;
	pace->cnp_at = now;
	pace->limited = true;
}

bool pace_is_on(const struct qp *qp)
{
	return qp->send.pace.limited || param.cc.rp_max_rate;
}

void pace_cnp(struct qp *qp)
{
	struct pace *pace = &qp->send.pace;

	if (!pace->limited)
		begin(pace, first_rate(qp));
	pace->cnp_at = now;
	rhca_rate_catch_up(&pace->rate, &param.cc, param.mtu, now);
	rhca_rate_cnp(&pace->rate, &param.cc, param.mtu, used_rate(qp), now);
}

/* Without CNPs the limit is the user's, or there is none */
static bool is_over(struct pace *pace)
{
	if (now - pace->cnp_at < FORGET_NS || param.cc.rp_max_rate)
		return false;
	pace->limited = false;
	return true;
}

static u32 quantum(const struct rhca_rate *rate)
{
	u64 bytes = div_u64((u64)rate->rate * QUANTUM_NS, 8 * 1000000);
	u32 mtu = param.mtu;

	return clamp_t(u64, bytes, mtu, max(QUANTUM_BYTES, mtu));
}

/* How many packets may be sent now? 0: not before @wait_ns */
u32 pace_packets(struct qp *qp, u64 *wait_ns)
{
	struct pace *pace = &qp->send.pace;
	u64 ready;
	u32 bytes;

	if (!pace->limited)
		begin(pace, RHCA_RATE_MAX);
	if (is_over(pace))
		return U32_MAX;
	rhca_rate_catch_up(&pace->rate, &param.cc, param.mtu, now);
	bytes = quantum(&pace->rate);
	ready = pace->clock - min(pace->clock, rhca_rate_time(&pace->rate, bytes));
	if (ready <= now)
		return bytes / (u32)param.mtu;
	*wait_ns = ready - now;
	return 0;
}

static u64 made_good_from(const struct rhca_rate *rate)
{
	u64 late = LATE_NS, window;

	if (rate->rate == rhca_rate_max(&param.cc)) {
		window = rhca_rate_time(rate, RHCA_SEND_WINDOW * (u32)param.mtu);
		late = max_t(u64, late, min_t(u64, LATE_LIMITED_NS, window));
		late = max(late, rhca_rate_time(rate, QUANTUM_BYTES));
	}
	return now - min(now, late);
}

/* Packets were sent; @bytes from the IP header on */
void pace_sent(struct qp *qp, u32 packets, u32 bytes)
{
	struct pace *pace = &qp->send.pace;

	if (!packets || !pace->limited)
		return;
	bytes += packets * FRAME_BYTES;
	pace->clock = max(pace->clock, made_good_from(&pace->rate)) +
		      rhca_rate_time(&pace->rate, bytes);
	rhca_rate_sent(&pace->rate, &param.cc, bytes);
}
