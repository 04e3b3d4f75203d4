// SPDX-License-Identifier: GPL-2.0
/*
 * What hosts send. A QP is made for each pair and message before the run begins; it takes
 * part when its first message is posted.
 *
 *	incast       all to host 0
 *	steps        the same, but each QP begins stagger_us after the one before
 *	permutation  each host to the one half of them further on
 *	all-to-all   each host to all others
 *	poisson      messages between random hosts, at times of a Poisson process
 *	elephant     host 1 to host 0 without end, and messages to host 0 as in poisson
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>

#include "qp.h"
#include "stats.h"

struct qp *qps;
u32 num_qps, qps_active;
struct totals totals;

static bool is_tcp;
static u32 next_arrival, num_arrivals;	/* QPs that start one after the other */

/* --- QPs ----------------------------------------------------------------------- */

static void set_size(struct qp *qp, double bytes)
{
	u32 mtu = param.mtu, size = max_t(double, bytes, 1);

	qp->message_packets = DIV_ROUND_UP(size, mtu);
	qp->last_bytes = size - (qp->message_packets - 1) * mtu;
}

static struct qp *add_qp(u32 src, u32 dst)
{
	struct qp *qp = &qps[num_qps++];

	*qp = (struct qp) {
		.src = src, .dst = dst, .hash = random_u64() >> 32,
		.messages = param.messages, .depth = param.depth,
	};
	set_size(qp, param.kb * 1024);
	requester_reset(qp);
	responder_reset(qp);
	if (is_tcp)
		tcp_reset(qp);
	return qp;
}

static void reserve(u64 num)
{
	if (num >= 1 << 28) {
		fprintf(stderr, "fabric-sim: %lu QPs are too many\n", num);
		exit(2);
	}
	qps = calloc(num, sizeof(*qps));
	if (!qps)
		abort();
}

static void start_at(struct qp *qp, double us)
{
	qps_active++;
	event_at(us * 1000, EVENT_START, qp_index(qp));
}

static void start_sometime(struct qp *qp)
{
	start_at(qp, param.stagger_us * random_unit());
}

static void turn(struct qp *qp)
{
	if (is_tcp)
		tcp_turn(qp);
	else
		requester_turn(qp);
}

void work_start(struct qp *qp)
{
	qp->started = now;
	qp->posted = qp->messages ? min(qp->depth, qp->messages) : qp->depth;
	turn(qp);
}

/* Packets have been acknowledged: messages may be complete, and others are posted */
void work_progress(struct qp *qp, u32 acked)
{
	u32 done = qp->send.oldest / qp->message_packets;

	if (!acked || done == qp->done)
		return;
	qp->done = done;
	qp->posted = done + qp->depth;
	if (!qp->messages)
		return;
	qp->posted = min(qp->posted, qp->messages);
	if (done != qp->messages)
		return;
	qp->ended = now;
	qps_active--;
}

/* --- sender and receiver of each QP ------------------------------------------------ */

static void make_incast(bool steps)
{
	u32 i, j, num = 0;

	reserve((num_hosts - 1) * (u64)param.qps);
	for (j = 0; j < param.qps; j++)
		for (i = 1; i < num_hosts; i++) {
			if (steps)
				start_at(add_qp(i, 0), num++ * param.stagger_us);
			else
				start_sometime(add_qp(i, 0));
		}
}

static void make_permutation(void)
{
	u32 i, j;

	reserve(num_hosts * (u64)param.qps);
	for (j = 0; j < param.qps; j++)
		for (i = 0; i < num_hosts; i++)
			start_sometime(add_qp(i, (i + num_hosts / 2) % num_hosts));
}

/* Host i starts with host i + 1, so that not all start with the same one */
static void make_all_to_all(void)
{
	u32 i, j;

	reserve((u64)num_hosts * (num_hosts - 1));
	for (j = 1; j < num_hosts; j++)
		for (i = 0; i < num_hosts; i++)
			start_sometime(add_qp(i, (i + j) % num_hosts));
}

/*
 * Heavy-tailed, as in IRN's evaluation (Mittal et al., SIGCOMM 2018, 4.1): half of the
 * messages are a packet of 32 B to 1 KiB, 15 % have 200 KB to 3 MB, the rest lie between.
 */
static double heavy_size(void)
{
	double u = random_unit(), v = random_unit();

	if (u < .5)
		return 32 * pow(32, v);
	if (u < .85)
		return 1024 * pow(200e3 / 1024, v);
	return 200e3 * pow(15, v);
}

static double size_of(void)
{
	return !strcmp(param.sizes, "heavy") ? heavy_size() : param.kb * 1024;
}

/* Mean, from which arrivals are derived for the load */
static double mean_size(void)
{
	if (strcmp(param.sizes, "heavy"))
		return param.kb * 1024;
	return .5 * (1024 - 32) / log(32) + .35 * (200e3 - 1024) / log(200e3 / 1024) +
	       .15 * (3e6 - 200e3) / log(15);
}

static u32 other_than(u32 host)
{
	return (host + 1 + random_below(num_hosts - 1)) % num_hosts;
}

/* @links: number of hosts' links that the messages load */
static void make_arrivals(u32 num, double links, bool to_first)
{
	double us = 0, per_us = links * param.load * param.host_mbps / 8 / mean_size();
	struct qp *qp;
	u32 dst;

	for (next_arrival = num_qps; num; num--) {
		us -= log(1 - random_unit()) / per_us;
		dst = to_first ? 0 : random_below(num_hosts);
		qp = add_qp(other_than(dst), dst);
		qp->messages = 1;
		qp->depth = 1;
		set_size(qp, size_of());
		qp->started = us * 1000;
		qps_active++;
	}
	num_arrivals = num_qps;
	event_at(qps[next_arrival].started, EVENT_WORK, 0);
}

/* One after the other, so that few events are pending */
void work_event(u32 of)
{
	struct qp *qp = &qps[next_arrival++];

	(void)of;
	work_start(qp);
	if (next_arrival < num_arrivals)
		event_at(max(qps[next_arrival].started, now), EVENT_WORK, 0);
}

static void make_elephant(void)
{
	reserve(param.flows + 1);
	start_at(add_qp(1, 0), 0);
	qps[0].messages = 0;
	qps[0].depth = 32;
	make_arrivals(param.flows, 1, true);
}

void work_make(void)
{
	is_tcp = !strcmp(param.transport, "tcp");
	if (!strcmp(param.work, "permutation")) {
		make_permutation();
	} else if (!strcmp(param.work, "all-to-all")) {
		make_all_to_all();
	} else if (!strcmp(param.work, "poisson")) {
		reserve(param.flows);
		make_arrivals(param.flows, num_hosts, false);
	} else if (!strcmp(param.work, "elephant")) {
		make_elephant();
	} else {
		make_incast(!strcmp(param.work, "steps"));
	}
}
