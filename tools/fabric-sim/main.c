// SPDX-License-Identifier: GPL-2.0
/*
 * fabric-sim: RC messages in a network of many hosts, with the driver's own code for loss and
 * congestion: sw/tx/recover.c and rate.c, sw/qp/rtt.c, cwnd.c and hold_rule.c are linked in
 * unmodified. A discrete-event simulation: packets, links with rate and delay, queues that
 * drop and mark, switches in a star or in leaves and spines. The result depends on the
 * parameters only.
 *
 * usage: fabric-sim [NAME=VALUE...]		("fabric-sim help" lists them)
 *
 * Prints one line of figures, see stats.c.
 */
#include <stdio.h>
#include <string.h>

#include "event.h"
#include "qp.h"
#include "stats.h"
#include "topo.h"

static void tcp_or_requester_turn(struct qp *qp)
{
	if (qp->tcp)
		tcp_turn(qp);
	else
		requester_turn_event(qp);
}

static void time_out(struct qp *qp)
{
	if (qp->tcp)
		tcp_timeout_event(qp);
	else
		requester_timeout_event(qp);
}

static void handle(const struct event *event)
{
	u32 of = event_of(event);

	switch (event_kind(event)) {
	case EVENT_ARRIVE:
		host_receive(packets[of].node, of);
		break;
	case EVENT_PORT:
		port_event(of);
		break;
	case EVENT_RECEIVE:
		host_batch(of);
		break;
	case EVENT_TURN:
		tcp_or_requester_turn(&qps[of]);
		break;
	case EVENT_PROBE:
		requester_probe_event(&qps[of]);
		break;
	case EVENT_WAITED:
		responder_waited(&qps[of]);
		break;
	case EVENT_TIMEOUT:
		time_out(&qps[of]);
		break;
	case EVENT_START:
		work_start(&qps[of]);
		break;
	case EVENT_WORK:
		work_event(of);
		break;
	case EVENT_SAMPLE:
		stats_sample();
		break;
	case EVENT_LINK:
		topo_link_event(of);
		break;
	case EVENT_ROUTES:
		topo_routes_event(of);
		break;
	}
}

static void run(u64 until)
{
	struct event event;

	while (event_next(&event, until)) {
		handle(&event);
		if (param.until_done && !qps_active)
			return;
	}
	now = until;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!param_set(argv[i])) {
			printf("usage: fabric-sim [NAME=VALUE...]\n");
			param_help();
			return strcmp(argv[i], "help") && strcmp(argv[i], "--help") ? 2 : 0;
		}
	random_seed(param.seed);
	topo_make();
	hosts_make();
	work_make();
	stats_open();
	if (param.sample_us)
		event_at(param.sample_us * 1000, EVENT_SAMPLE, 0);
	if (param.warm_us) {
		run(param.warm_us * 1000);
		stats_begin();
	}
	run(param.run_us * 1000);
	stats_end();
	if (fflush(stdout)) {
		perror("fabric-sim");
		return 1;
	}
	return 0;
}
