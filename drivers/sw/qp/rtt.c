// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <linux/time64.h>
#include <rhca/compat.h>

#include "sw/qp/rtt.h"
#include "wire/psn.h"

/* Less queueing delay than this is due to a busy host, not a full switch */
#define MIN_QUEUEING_NS	(250U * NSEC_PER_USEC)

/* RoCE paths are shorter: a higher minimum means that the queue was full from the start */
#define LONGEST_PATH_NS		(4U * NSEC_PER_MSEC)

/* A window. Reading the clock twice takes a twentieth of the time of a 64-byte request */
#define NOT_TIMED	128

/**
 * rhca_rtt_ends - Does this acknowledge the timed packet?
 * @rtt: the estimate
 * @upto: all PSNs before this have arrived
 */
bool rhca_rtt_ends(const struct rhca_rtt *rtt, u32 upto)
{
	return rtt->sent_at && rhca_psn_before(rtt->psn, upto);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_ends);

static void note_least(struct rhca_rtt *rtt, u32 sample, u64 now)
{
	if (rtt->least && sample > rtt->least &&
	    now - rtt->least_at < RHCA_RTT_MIN_WINDOW_NS)
		return;
	rtt->least = sample;
	rtt->least_at = now;
}

/**
 * rhca_rtt_end - Take a sample when the timed packet is acknowledged
 * @rtt: the estimate, for which rhca_rtt_ends() was true
 * @now: ns, of the clock passed to rhca_rtt_begin()
 */
void rhca_rtt_end(struct rhca_rtt *rtt, u64 now)
{
	u32 sample = clamp_t(s64, now - rtt->sent_at, 1, U32_MAX / 2);
	u32 error;

	rtt->sent_at = 0;
	note_least(rtt, sample, now);
	rtt->skip = sample < rtt->least + MIN_QUEUEING_NS ? NOT_TIMED : 0;
	if (!rtt->smoothed) {		/* RFC 6298, 2.2 */
		rtt->smoothed = sample;
		rtt->deviation = sample / 2;
		return;
	}
	error = max(rtt->smoothed, sample) - min(rtt->smoothed, sample);
	rtt->deviation = (3ULL * rtt->deviation + error) / 4;	/* 2.3 */
	rtt->smoothed = (7ULL * rtt->smoothed + sample) / 8;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_end);

/**
 * rhca_rtt_repeat_answered - A retransmission after a loss was answered
 * @rtt: the estimate
 * @answer_ns: how long that took
 *
 * Used until a first transmission gives a better estimate, which may take long if a full queue has
 * dropped the first window. It says nothing about the path without queueing.
 */
void rhca_rtt_repeat_answered(struct rhca_rtt *rtt, u32 answer_ns)
{
	if (rtt->smoothed)
		return;
	rtt->smoothed = max(answer_ns, 1U);
	rtt->deviation = answer_ns / 2;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_repeat_answered);

/* Beyond the time @path of a round trip without queueing, this is queueing delay */
static u32 min_queueing(u32 path)
{
	return max(path / 4, MIN_QUEUEING_NS);
}

/* Round trip from which on the path has queueing delay */
static u32 queued_from(const struct rhca_rtt *rtt)
{
	u32 path = min(rtt->least, LONGEST_PATH_NS);

	return path + min_queueing(path);
}

/**
 * rhca_rtt_at_least - A round trip takes at least so long
 * @rtt: the estimate
 * @ns: as a retransmission's answer has shown; 0: it has not
 *
 * While everything is retransmitted, nothing can be timed. Had the queue been short when the last
 * sample was taken, the losses of a full one would pass for the wire's, and the window would stay.
 */
void rhca_rtt_at_least(struct rhca_rtt *rtt, u64 ns)
{
	if (rtt->smoothed && ns > rtt->smoothed && ns >= queued_from(rtt))
		rtt->smoothed = (7ULL * rtt->smoothed + min_t(u64, ns, U32_MAX / 2)) / 8;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_at_least);

/**
 * rhca_rtt_forget - Packets are retransmitted: discard the sample in progress
 * @rtt: the estimate
 * @psn: the first of them
 */
void rhca_rtt_forget(struct rhca_rtt *rtt, u32 psn)
{
	if (!rhca_psn_before(rtt->psn, psn))
		rtt->sent_at = 0;
	rtt->skip = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_forget);

/* Does a round trip without queueing take so many ns? */
bool rhca_rtt_is_direct(const struct rhca_rtt *rtt, u64 ns)
{
	return rtt->least && ns >= rtt->least &&
	       ns - rtt->least < min_queueing(rtt->least);
}

/**
 * rhca_rtt_is_queued - Does the path have queueing delay?
 * @rtt: the estimate
 *
 * Return: true if the round trip exceeds the minimum by a quarter, and by at least 250 us, or if
 * there is no sample.
 */
bool rhca_rtt_is_queued(const struct rhca_rtt *rtt)
{
	return !rtt->smoothed || rtt->smoothed >= queued_from(rtt);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_is_queued);

/* When an answer is late: RFC 6298's RTO without its lower bound, ns; 0: no sample yet */
u64 rhca_rtt_timeout(const struct rhca_rtt *rtt)
{
	return rtt->smoothed + 4ULL * rtt->deviation;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_timeout);

/**
 * rhca_rtt_ack_ns - How long to wait for an acknowledgement before using up a retry
 * @rtt: the estimate
 * @asked: the QP's ACK timeout, ns
 *
 * With a queue longer than the timeout nothing is lost yet, and retransmitting it all would make
 * the queue longer: 1000 packets at 400 Mbit/s take 84 ms, and perftest sets 67 ms.
 *
 * Return: the timeout, or up to the standard's limit the time an answer takes, ns
 */
u64 rhca_rtt_ack_ns(const struct rhca_rtt *rtt, u64 asked)
{
	return max(asked, min(rhca_rtt_timeout(rtt), asked << RHCA_ACK_TIMEOUT_SHIFT));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_ack_ns);

/* A softirq may be this late without any loss */
#define PROBE_MIN_NS		((u64)NSEC_PER_MSEC)
#define PROBE_RECOVERING_NS	(200ULL * NSEC_PER_USEC)

/* Until there is a sample */
#define PROBE_FIRST_NS		((u64)LONGEST_PATH_NS)

/*
 * Without queueing, one packet too many costs less than waiting for a lost one (RFC 8985, 7.2). In
 * a full queue all are late, and each retransmission makes it worse.
 */
static u64 late(const struct rhca_rtt *rtt, bool recovering, u32 answer_ns)
{
	u64 wait = 2ULL * rtt->smoothed;

	if (!recovering || rhca_rtt_is_queued(rtt))
		return max(wait, rhca_rtt_timeout(rtt));
	return answer_ns ? min(wait, RHCA_LATE_ANSWERS * answer_ns) : wait;
}

/**
 * rhca_rtt_probe_ns - How long to wait for an answer before retransmitting a packet
 * @rtt: the estimate
 * @recovering: there was a loss: retransmissions may be lost, too
 * @answer_ns: measured time to the answer of a retransmission, if waiting for one: without a window
 *	queued before it that is less than a round trip; else 0
 * @tries: unanswered probes so far, each of which doubles the wait
 * @most: upper limit, ns
 */
u64 rhca_rtt_probe_ns(const struct rhca_rtt *rtt, bool recovering, u32 answer_ns,
		      u32 tries, u64 most)
{
	u64 wait = PROBE_FIRST_NS;

	if (rtt->smoothed)
		wait = max(late(rtt, recovering, answer_ns),
			   recovering ? PROBE_RECOVERING_NS : PROBE_MIN_NS);
	return min(wait << min(tries, 20U), most);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_probe_ns);
