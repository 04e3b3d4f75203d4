// SPDX-License-Identifier: GPL-2.0
/*
 * Figures of a run: a line of NAME=VALUE words, and CSV files in a folder.
 *
 *	goodput   payload that arrived in order, as a share of what the links to the
 *		  receivers could have brought
 *	jain      (sum x)^2 / (n sum x^2) of the QPs' payload; 1: all have the same
 *	slowdown  completion time of a QP's messages to that in an empty network
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>

#include "stats.h"
#include "topo.h"

/* QPs that have a column each in the figures over time */
#define MOST_COLUMNS	16

static FILE *series;
static u64 sampled_at;

static FILE *csv(const char *name)
{
	char path[4096];
	FILE *file;

	if (!param.out)
		return NULL;
	snprintf(path, sizeof(path), "%s/%s.csv", param.out, name);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(1);
	}
	return file;
}

static bool has_begun(const struct qp *qp)
{
	return qp->posted;
}

static u64 payload_bytes(const struct qp *qp)
{
	return (u64)qp->messages *
	       ((qp->message_packets - 1) * (u64)param.mtu + qp->last_bytes);
}

/* In an empty network: each link forwards the first packet after the previous one */
u64 ideal_ns(const struct qp *qp)
{
	u32 links = topo_hops(qp->src, qp->dst);
	u64 packets = (u64)qp->messages * qp->message_packets;
	double kbps = topo_bottleneck(qp->dst), first, all;

	first = min_t(double, param.mtu, payload_bytes(qp)) + param.frame_bytes;
	all = payload_bytes(qp) + packets * param.frame_bytes;
	return (all + (links - 1) * first + links * 88) * 8e6 / kbps +
	       2 * links * param.link_ns + 2 * param.rx_delay_ns;
}

/* --- over time --------------------------------------------------------------- */

/* Called before anything happens */
void stats_open(void)
{
	u32 i;

	series = csv("series");
	if (!series)
		return;
	fprintf(series, "us,goodput_mbps,jain,active,queue_bytes,drops,marks,cnps");
	for (i = 0; i < num_qps && num_qps <= MOST_COLUMNS; i++)
		fprintf(series, ",qp%u_mbps", i);
	fprintf(series, "\n");
}

void stats_sample(void)
{
	double sum = 0, squares = 0, mbps, ns = now - sampled_at;
	u32 i, active = 0;

	for (i = 0; i < num_qps; i++) {
		if (!has_begun(&qps[i]))
			continue;
		mbps = (qps[i].recv.expected - qps[i].sampled) * param.mtu * 8e3 / ns;
		sum += mbps;
		if (qps[i].ended && qps[i].ended < sampled_at)
			continue;
		squares += mbps * mbps;
		active++;
	}
	sampled_at = now;
	event_at(now + (u64)(param.sample_us * 1000), EVENT_SAMPLE, 0);
	if (series)
		fprintf(series, "%.1f,%.1f,%.4f,%u,%u,%lu,%lu,%lu", now / 1e3, sum,
			squares ? sum * sum / squares / active : 1, active,
			ports[num_hosts].bytes, net_totals.drops, net_totals.marks, totals.cnps);
	for (i = 0; i < num_qps; i++) {
		mbps = (qps[i].recv.expected - qps[i].sampled) * param.mtu * 8e3 / ns;
		if (series && num_qps <= MOST_COLUMNS)
			fprintf(series, ",%.1f", mbps);
		qps[i].sampled = qps[i].recv.expected;
	}
	if (series)
		fprintf(series, "\n");
}

/* Rates are measured from here on */
void stats_begin(void)
{
	u32 i;

	for (i = 0; i < num_qps; i++)
		qps[i].measured = qps[i].recv.expected;
}

/* --- at the end --------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double percentile(const double *sorted, u32 num, double share)
{
	return num ? sorted[min((u32)(share * num), num - 1)] : 0;
}

static double mean(const double *values, u32 num)
{
	double sum = 0;
	u32 i;

	for (i = 0; i < num; i++)
		sum += values[i];
	return num ? sum / num : 0;
}

static void print_completions(void)
{
	double *fct = malloc(num_qps * sizeof(*fct)), *slow = malloc(num_qps * sizeof(*slow));
	FILE *file = csv("completions");
	u32 i, num = 0, asked = 0;
	u64 last = 0;

	if (!fct || !slow)
		abort();
	if (file)
		fprintf(file, "qp,src,dst,bytes,start_us,fct_us,slowdown,repeated\n");
	for (i = 0; i < num_qps; i++) {
		asked += qps[i].messages && has_begun(&qps[i]);
		if (!qps[i].ended)
			continue;
		fct[num] = (qps[i].ended - qps[i].started) / 1e3;
		slow[num] = (qps[i].ended - qps[i].started) / (double)ideal_ns(&qps[i]);
		if (file)
			fprintf(file, "%u,%u,%u,%lu,%.3f,%.3f,%.3f,%u\n", i, qps[i].src,
				qps[i].dst, payload_bytes(&qps[i]), qps[i].started / 1e3,
				fct[num], slow[num], qps[i].repeated);
		last = max(last, qps[i].ended);
		num++;
	}
	if (file)
		fclose(file);
	qsort(fct, num, sizeof(*fct), compare);
	qsort(slow, num, sizeof(*slow), compare);
	if (asked)
		printf(" done=%u of=%u last_us=%.1f fct_p50=%.1f fct_p99=%.1f slow_mean=%.2f"
		       " slow_p50=%.2f slow_p99=%.2f", num, asked, last / 1e3,
		       percentile(fct, num, .5), percentile(fct, num, .99), mean(slow, num),
		       percentile(slow, num, .5), percentile(slow, num, .99));
	free(fct);
	free(slow);
}

/* Maximum that all receiving hosts could have got in that time */
static double capacity_bits(double ns)
{
	u8 *receives = calloc(num_hosts, 1);
	double bits = 0;
	u32 i;

	if (!receives)
		abort();
	for (i = 0; i < num_qps; i++)
		receives[qps[i].dst] = 1;
	for (i = 0; i < num_hosts; i++)
		if (receives[i])
			bits += topo_bottleneck(i) * ns / 1e6;
	free(receives);
	return bits;
}

static void print_rates(void)
{
	double sum = 0, squares = 0, x, least = INFINITY, ns = now - param.warm_us * 1000;
	u32 i, num = 0;

	for (i = 0; i < num_qps; i++) {
		if (!has_begun(&qps[i]))
			continue;
		x = qps[i].recv.expected - qps[i].measured;
		sum += x;
		squares += x * x;
		least = min(least, x);
		num++;
	}
	printf(" goodput=%.4f gbps=%.3f jain=%.4f least=%.4f",
	       sum * param.mtu * 8 / capacity_bits(ns), sum * param.mtu * 8 / ns,
	       squares ? sum * sum / squares / num : 1, sum ? least * num / sum : 0);
}

static u32 longest_queue(void)
{
	u32 i, most = 0;

	for (i = num_hosts; i < num_ports; i++)
		most = max(most, ports[i].most);
	return most;
}

void stats_end(void)
{
	double sent = totals.sent ?: 1;

	printf("label=%s ms=%.3f", param.label, now / 1e6);
	print_rates();
	print_completions();
	printf(" sent=%lu repeated=%.5f drops=%.5f marks=%.5f lost=%lu cut=%lu early=%lu", totals.sent,
	       totals.repeated / sent, net_totals.drops / sent, net_totals.marks / sent,
	       net_totals.lost, net_totals.cut, net_totals.early);
	printf(" acks=%lu naks=%lu cnps=%lu probes=%lu timeouts=%lu failed=%lu refused=%lu"
	       " held_refused=%lu queue_kb=%u events=%lu\n", totals.acks, totals.naks,
	       totals.cnps, totals.probes, totals.timeouts, totals.failed, totals.refused,
	       totals.held_refused, longest_queue() / 1024, events_done);
	if (series)
		fclose(series);
}
