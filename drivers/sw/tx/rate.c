// SPDX-License-Identifier: GPL-2.0
/*
 * The rate of a QP. A CNP reduces it by the fraction alpha / 2^rp_gd; alpha decays while no CNP
 * arrives. Then every rp_time_reset and every rp_byte_reset the rate moves half way back to its
 * target (fast recovery). After rp_threshold such steps the target itself grows by rp_ai_rate, or
 * by rp_hai_rate once both time and bytes have passed rp_threshold. There is no timer: each use of
 * the rate updates it first.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <rhca/compat.h>

#include "sw/tx/rate.h"

#define ONE		1024	/* scale of alpha and rp_dce_tcp_g */
#define MAX_STAGES	255
/* At 4 KiB and 2 Gbit/s these take rp_time_reset's default */
#define RAISE_PACKETS	16
/*
 * Wait for them at most this many rp_time_reset: after a burst of CNPs a QP takes some ms to send
 * 16 packets. Simulated (tools/fabric-sim): 8 senders into 200 Mbit/s have a goodput of 0.63 and a
 * Jain's index of 0.69 without this limit, 0.99 and 1.00 with 8, 0.99 and 0.94 with 1. 16 senders
 * of 1 MiB at 100 Gbit/s take 2.4 to 3.3 ms with 8.
 */
#define RAISE_PERIODS	8
/*
 * Packets (times alpha) to send between two reductions: the marks on these are the first response
 * to the reduction. Simulated for 0 to 8: 8 senders into 400 Mbit/s have a goodput of 0.98, and
 * 0.59 with 0; with 8, or without the factor alpha, queues of 16 senders no longer drain. At 4 KiB
 * and 2.6 Gbit/s they take rp_rate_reduce_monitor_period's default.
 */
#define CUT_PACKETS	4
/*
 * A rate above this multiple of the used rate does not limit a QP. The best of 1 to 16 in
 * simulation: with less, bursts end later; with more, shares are less equal.
 */
#define UNUSED_TIMES	8
/* More at once only mean a long idle time or a small rp_byte_reset */
#define MAX_RAISES	128
/* After these alpha is 0 for any g: (1023/1024)^8192 * 1023 < 1 */
#define MAX_DECAYS	8192

static u32 kbits(u32 mbits)
{
	return min_t(u64, (u64)mbits * 1000, RHCA_RATE_MAX);
}

/* CNPs do not reduce a rate below this, kbit/s */
static u32 min_rate(const struct rhca_cc *cc)
{
	return kbits(max(READ_ONCE(cc->rp_min_rate), 1U));
}

/* Bytes between increases */
static s32 byte_reset(const struct rhca_cc *cc)
{
	return clamp(READ_ONCE(cc->rp_byte_reset), 1U, (u32)S32_MAX / 64) * 64;
}

/* Start with rate @first, kbit/s. @now: ns. */
void rhca_rate_begin(struct rhca_rate *rate, const struct rhca_cc *cc,
		     u32 first, u64 now)
{
	first = clamp(first, min_rate(cc), rhca_rate_max(cc));
	*rate = (struct rhca_rate) {
		.rate		= first,
		.target		= first,
		.alpha		= min_t(u32, READ_ONCE(cc->rp_initial_alpha_value), ONE - 1),
		.raised		= true,
		.bytes_left	= byte_reset(cc),
		.alpha_at	= now,
		.raise_at	= now,
	};
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rate_begin);

static void raise(struct rhca_rate *rate, const struct rhca_cc *cc)
{
	u8 most = max(rate->time_stage, rate->byte_stage);
	u8 least = min(rate->time_stage, rate->byte_stage);
	u64 target = rate->target;

	if (least >= READ_ONCE(cc->rp_threshold))
		target += kbits(READ_ONCE(cc->rp_hai_rate));
	else if (most >= READ_ONCE(cc->rp_threshold))
		target += kbits(READ_ONCE(cc->rp_ai_rate));
	rate->target = min_t(u64, target, rhca_rate_max(cc));
	rate->rate = ((u64)rate->rate + rate->target) / 2;
	rate->raised = true;
}

/* @stage: number of increases, by time or by bytes */
static void raise_times(struct rhca_rate *rate, const struct rhca_cc *cc,
			u8 *stage, u64 times)
{
	for (times = min_t(u64, times, MAX_RAISES); times; times--) {
		*stage = min(*stage + 1, MAX_STAGES);
		raise(rate, cc);
	}
}

/*
 * Alpha is updated every rp_dce_tcp_rtt, in which an adapter sends many packets, or on a slow wire
 * every packet time, before which no packet could be marked.
 */
static u64 alpha_period(const struct rhca_rate *rate, const struct rhca_cc *cc,
			u32 packet)
{
	u64 packet_ns = div_u64(packet * 8ULL * 1000000, rate->target);

	return max(max(READ_ONCE(cc->rp_dce_tcp_rtt), 1U) * (u64)NSEC_PER_USEC, packet_ns);
}

static void decay(struct rhca_rate *rate, const struct rhca_cc *cc, u32 packet,
		  u64 now)
{
	u64 period = alpha_period(rate, cc, packet);
	u64 periods = now > rate->alpha_at ?
		      div64_u64(now - rate->alpha_at, period) : 0;
	u32 alpha = rate->alpha, g = min_t(u32, READ_ONCE(cc->rp_dce_tcp_g), ONE - 1);

	if (!periods)
		return;
	rate->alpha_at += periods * period;
	if (rate->marked) {
		/* Rounded down it would never rise with the largest g */
		alpha = (alpha * g + (ONE - 1) * (ONE - g) + ONE / 2) / ONE;
		rate->marked = false;
		periods--;
	}
	if (periods >= MAX_DECAYS)
		alpha = 0;
	for (; periods && alpha; periods--)
		alpha = alpha * g / ONE;
	rate->alpha = alpha;
}

/*
 * Apply the changes due to time. The parameters are meant for adapters, which send many packets in
 * rp_time_reset. On a slow wire an increase also waits, up to a limit, for packets to be sent, so
 * that marks due to it arrive before the next one. @packet: bytes of one. @now: ns.
 */
void rhca_rate_catch_up(struct rhca_rate *rate, const struct rhca_cc *cc,
			u32 packet, u64 now)
{
	u64 period = max(READ_ONCE(cc->rp_time_reset), 1U) * (u64)NSEC_PER_USEC;
	u64 raises = now > rate->raise_at ?
		     div64_u64(now - rate->raise_at, period) : 0;

	decay(rate, cc, packet, now);
	raises = min_t(u64, raises,
		       max_t(u64, rate->bytes_since / (packet * RAISE_PACKETS),
			     div_u64(raises, RAISE_PERIODS)));
	if (raises) {
		rate->raise_at = now;
		rate->bytes_since = 0;
	}
	raise_times(rate, cc, &rate->time_stage, raises);
	rate->rate = min(rate->rate, rhca_rate_max(cc));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rate_catch_up);

/* Apply the changes due to sending. @bytes: sent. */
void rhca_rate_sent(struct rhca_rate *rate, const struct rhca_cc *cc, u32 bytes)
{
	s32 reset = byte_reset(cc), raises;

	rate->bytes_left -= min_t(u32, bytes, S32_MAX / 2);
	rate->bytes_since = min_t(u64, (u64)rate->bytes_since + bytes, U32_MAX);
	if (rate->bytes_left > 0)
		return;
	raises = -rate->bytes_left / reset + 1;
	rate->bytes_left += raises * reset;
	raise_times(rate, cc, &rate->byte_stage, raises);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rate_sent);

/* Minimum time between reductions, ns */
static u64 cut_period(const struct rhca_rate *rate, const struct rhca_cc *cc,
		      u32 packet)
{
	return max(READ_ONCE(cc->rp_rate_reduce_monitor_period) * (u64)NSEC_PER_USEC,
		   rhca_rate_time(rate, CUT_PACKETS * packet) * rate->alpha / ONE);
}

/*
 * A QP sends below its rate. Reducing the unused part would change nothing: a QP limited to 25
 * Mbit/s by windows or the wire, with a rate of 80 Gbit/s, would not react to marks for a long time
 */
static void drop_unused(struct rhca_rate *rate, const struct rhca_cc *cc, u32 used)
{
	u64 most = max_t(u64, (u64)used * UNUSED_TIMES, min_rate(cc));

	if (!used)
		return;
	rate->rate = min_t(u64, rate->rate, most);
	rate->target = min_t(u64, rate->target, most);
}

/*
 * Handle a CNP. @used: the actual rate, kbit/s; 0: unknown. Returns false if nothing changes since
 * the rate was reduced a moment ago: what has been marked since was sent before, what is in flight
 * now shows the reduced rate, and the target is what it was before.
 */
bool rhca_rate_cnp(struct rhca_rate *rate, const struct rhca_cc *cc, u32 packet,
		   u32 used, u64 now)
{
	u64 cut, least;

	rate->marked = true;
	if (rate->cut_at && now < rate->cut_at + cut_period(rate, cc, packet))
		return false;
	drop_unused(rate, cc, used);
	rate->cut_at = now;
	if (READ_ONCE(cc->rp_clamp_tgt_rate) ||
	    (READ_ONCE(cc->rp_clamp_tgt_rate_ati) && rate->raised))
		rate->target = rate->rate;
	cut = (u64)rate->rate * rate->alpha >> clamp(READ_ONCE(cc->rp_gd), 10U, 11U);
	least = div_u64((u64)rate->rate * min(READ_ONCE(cc->rp_min_dec_fac), 100U), 100);
	least = max_t(u64, least, min_rate(cc));
	rate->rate = max(rate->rate - cut, min_t(u64, least, rate->rate));
	rate->time_stage = 0;
	rate->byte_stage = 0;
	rate->raised = false;
	rate->raise_at = now;
	rate->bytes_since = 0;
	rate->bytes_left = byte_reset(cc);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rate_cnp);
