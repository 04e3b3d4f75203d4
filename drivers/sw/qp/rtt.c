// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <linux/time64.h>
#include <rhca/compat.h>

#include "sw/qp/rtt.h"
#include "wire/psn.h"

/* Waiting in queues of less than this is a busy host's, not a full switch's */
#define LEAST_QUEUEING_NS	(250U * NSEC_PER_USEC)

/* Paths of RoCE are shorter: who has never seen less began when the queue was full already */
#define LONGEST_PATH_NS		(4U * NSEC_PER_MSEC)

/* A window: to read a clock twice takes a twentieth of the time of a request of 64 bytes */
#define NOT_TIMED	128

/**
 * rhca_rtt_ends - Is the packet that is timed answered by this?
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
	    now - rtt->least_at < RHCA_RTT_LEAST_NS)
		return;
	rtt->least = sample;
	rtt->least_at = now;
}

/**
 * rhca_rtt_end - The packet that is timed has been answered
 * @rtt: the estimate, for which rhca_rtt_ends() has said yes
 * @now: ns, of the clock that rhca_rtt_begin() got
 */
void rhca_rtt_end(struct rhca_rtt *rtt, u64 now)
{
	u32 sample = clamp_t(s64, now - rtt->sent_at, 1, U32_MAX / 2);
	u32 error;

	rtt->sent_at = 0;
	note_least(rtt, sample, now);
	rtt->skip = sample < rtt->least + LEAST_QUEUEING_NS ? NOT_TIMED : 0;
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
 * rhca_rtt_repeat_answered - What was missing has been repeated, and answered
 * @rtt: the estimate
 * @answer_ns: how long that took
 *
 * Until a packet that is sent for the first time is answered in time there is no better
 * estimate: where the first window was lost in a full queue that may be long. Nothing is
 * known of the path without queues by it.
 */
void rhca_rtt_repeat_answered(struct rhca_rtt *rtt, u32 answer_ns)
{
	if (rtt->smoothed)
		return;
	rtt->smoothed = max(answer_ns, 1U);
	rtt->deviation = answer_ns / 2;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_repeat_answered);

/**
 * rhca_rtt_forget - Packets are sent again
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

/**
 * rhca_rtt_is_queued - Do packets wait in queues of the path?
 * @rtt: the estimate
 *
 * A loss means that a queue was full only if they do: without, it is the wire's.
 *
 * Return: true when they take a quarter longer than they can, and 250 us at least; or
 * when none has ever arrived that could tell.
 */
bool rhca_rtt_is_queued(const struct rhca_rtt *rtt)
{
	u32 path = min(rtt->least, LONGEST_PATH_NS);

	return !rtt->smoothed ||
	       rtt->smoothed >= path + max(path / 4, LEAST_QUEUEING_NS);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_is_queued);

/* When an answer counts as late: RFC 6298's RTO without its lower bound, ns; 0: no sample yet */
u64 rhca_rtt_timeout(const struct rhca_rtt *rtt)
{
	return rtt->smoothed + 4ULL * rtt->deviation;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_timeout);

/**
 * rhca_rtt_ack_ns - How long an acknowledgement is waited for until a retry is taken
 * @rtt: the estimate
 * @asked: the QP's ACK timeout, ns
 *
 * In a queue that is longer than that nothing is lost yet, and to send it all again would
 * make the queue longer: 84 ms are 1000 packets at 400 Mbit/s, and perftest asks for 67.
 *
 * Return: the timeout, or as long as an answer takes, as far as the standard goes, ns
 */
u64 rhca_rtt_ack_ns(const struct rhca_rtt *rtt, u64 asked)
{
	return max(asked, min(rhca_rtt_timeout(rtt), asked << RHCA_ACK_TIMEOUT_SHIFT));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_ack_ns);

/* A softirq may be late by so much without anything being lost */
#define PROBE_LEAST_NS		((u64)NSEC_PER_MSEC)
#define PROBE_RECOVERING_NS	(200ULL * NSEC_PER_USEC)

/* As long as nothing has been measured */
#define PROBE_FIRST_NS		((u64)LONGEST_PATH_NS)

/*
 * Where no queue is full, a packet too many costs less than to wait for one that is lost
 * (RFC 8985, 7.2). In a full queue all are late, and each that is repeated makes it worse.
 */
static u64 late(const struct rhca_rtt *rtt, bool recovering, u32 answer_ns)
{
	u64 wait = 2ULL * rtt->smoothed;

	if (!recovering || rhca_rtt_is_queued(rtt))
		return max(wait, rhca_rtt_timeout(rtt));
	return answer_ns ? min(wait, RHCA_LATE_ANSWERS * answer_ns) : wait;
}

/**
 * rhca_rtt_probe_ns - How long an answer is waited for before a packet is repeated
 * @rtt: the estimate
 * @recovering: something has been lost: what is repeated may be, too
 * @answer_ns: how long what is repeated is not answered, where that has been measured and
 *	       is what is waited for: a whole window in the queue took longer; else 0
 * @tries: times that it has been waited in vain, each twice as long
 * @most: not longer than that, ns
 */
u64 rhca_rtt_probe_ns(const struct rhca_rtt *rtt, bool recovering, u32 answer_ns,
		      u32 tries, u64 most)
{
	u64 wait = PROBE_FIRST_NS;

	if (rtt->smoothed)
		wait = max(late(rtt, recovering, answer_ns),
			   recovering ? PROBE_RECOVERING_NS : PROBE_LEAST_NS);
	return min(wait << min(tries, 20U), most);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_rtt_probe_ns);
