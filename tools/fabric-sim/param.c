// SPDX-License-Identifier: GPL-2.0
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "param.h"

struct param param = {
	.topo = "star", .hosts = 9, .leaves = 4, .spines = 2,
	.host_mbps = 25000, .link_ns = 1250,
	.buffer_alpha = 1, .pmax = 1,
	.host_queue = 10240, .host_fair = 1, .mtu = 4096, .frame_bytes = 82, .timeout = 14, .retry_cnt = 7,
	.transport = "roce", .tcp_window = 1024, .tcp_rto_us = 1000,
	.work = "incast", .sizes = "fixed", .seed = 1, .run_us = 10000, .kb = 64, .depth = 1,
	.load = 0.5, .flows = 1000, .qps = 1,
	.label = "-",
	.cc = RHCA_CC_DEFAULT,
};

#define MOST_HOSTS	65536
#define MOST_BYTES	(U16_MAX / 2)	/* struct packet has two of these */
#define MOST_KIB	(U32_MAX / 1024)
#define MOST		1e15		/* of all other parameters: exact as a double */
#define LEAST_RATE	1e-3

struct number { const char *name; double *value; const char *help; double least, most; };
struct word { const char *name; const char **value; const char *help; const char *one_of[7]; };
struct knob { const char *name; u32 *value; };

#define NUMBER(name, help)		{ #name, &param.name, help, 0, MOST }
#define NUMBER_FROM(least, name, help)	{ #name, &param.name, help, least, MOST }
#define NUMBER_TO(most, name, help)	{ #name, &param.name, help, 0, most }
#define WORD(name, help, ...)		{ #name, &param.name, help, { __VA_ARGS__ } }
#define KNOB(name)			{ #name, &param.cc.name }

static const struct word words[] = {
	WORD(topo, "star, or leaf-spine", "star", "leaf-spine"),
	WORD(transport, "roce, or tcp: a window, selective repeats", "roce", "tcp"),
	WORD(work, "incast, steps, permutation, all-to-all, poisson, elephant",
	     "incast", "steps", "permutation", "all-to-all", "poisson", "elephant"),
	WORD(sizes, "of messages: fixed, heavy (half of one packet, some of megabytes)",
	     "fixed", "heavy"),
	WORD(out, "folder for CSV files"),
	WORD(label, "first column of the summary"),
};

static const struct number numbers[] = {
	{ "hosts", &param.hosts, "how many; leaf-spine: a multiple of leaves", 2, MOST_HOSTS },
	{ "leaves", &param.leaves, "leaf switches", 1, MOST_HOSTS },
	{ "spines", &param.spines, "spine switches", 1, MOST_HOSTS },
	NUMBER_FROM(LEAST_RATE, host_mbps, "rate of a host's link"),
	NUMBER(port_mbps, "of the link from the switch to host 0, 0: as others (star)"),
	NUMBER(uplink_mbps, "of a link from leaf to spine, 0: no oversubscription"),
	NUMBER(link_ns, "delay of each link"),
	NUMBER_TO(U32_MAX, queue_packets, "limit of a switch port, 0: none"),
	NUMBER_TO(MOST_KIB, queue_kb, "limit of a switch port, 0: none"),
	NUMBER(buffer_kb, "memory of a switch that its ports share, 0: no limit"),
	NUMBER(buffer_alpha, "a port has at most so much of what is free of that"),
	NUMBER(kmin_kb, "queue above which packets are marked, 0: never"),
	NUMBER(kmax_kb, "queue above which all are"),
	NUMBER(pmax, "share of packets marked just below that, %"),
	NUMBER_TO(30, red_wlog, "the queue is averaged over 2^N packets, 0: not"),
	NUMBER(loss, "lost at random by each link to a host, %"),
	NUMBER(late_ns, "such a link delays packets by that, too"),
	NUMBER(early, "but not so many of them, which overtake others, %"),
	NUMBER(ack_priority, "1: acknowledgements overtake data, as CNPs do"),
	NUMBER(flap_period_us, "time after which the link from leaf 0 to spine 0 flaps again"),
	NUMBER(flap_down_us, "time that it is down"),
	NUMBER(reroute_us, "time after which all switches know"),
	NUMBER_TO(U32_MAX, host_queue, "packets that a host's own queue takes"),
	NUMBER(host_fair, "1: in it answers overtake data, as where flows have queues of their own"),
	NUMBER(rx_ns, "processor time of a packet that arrives"),
	NUMBER(rx_delay_ns, "time until the processor looks at it"),
	NUMBER(tx_ns, "processor time of a packet that is sent"),
	{ "mtu", &param.mtu, "payload of a packet, bytes", 1, MOST_BYTES },
	{ "frame_bytes", &param.frame_bytes, "what a packet takes of the wire besides", 0, MOST_BYTES },
	NUMBER_TO(31, timeout, "ACK timeout of verbs, 4.096 us << N"),
	NUMBER_TO(7, retry_cnt, "of verbs"),
	{ "tcp_window", &param.tcp_window, "most packets in flight of transport=tcp", 0, TCP_WINDOW_MAX },
	NUMBER(tcp_rto_us, "its least retransmission timeout"),
	NUMBER(tcp_dctcp, "1: marks shrink the window by their share (DCTCP)"),
	NUMBER(seed, "of all that is random"),
	NUMBER(run_us, "time that is simulated"),
	NUMBER(warm_us, "rates are measured from then on"),
	NUMBER(sample_us, "time between figures over time, 0: none"),
	NUMBER_TO(MOST_KIB, kb, "size of a message, KiB"),
	NUMBER_TO(U32_MAX, messages, "of a QP, 0: without end"),
	{ "depth", &param.depth, "messages of a QP at once", 1, U32_MAX },
	NUMBER_FROM(LEAST_RATE, load, "of the hosts' links, poisson"),
	NUMBER_FROM(1, flows, "how many, poisson and elephant"),
	NUMBER_FROM(1, qps, "of each pair of hosts"),
	NUMBER(stagger_us, "QPs begin so much after each other, or at random times within it"),
	NUMBER(until_done, "1: end when all messages have arrived"),
};

static const struct knob knobs[] = {
	KNOB(enable), KNOB(selective_repeat), KNOB(adp_retrans),
	KNOB(np_min_time_between_cnps), KNOB(rp_clamp_tgt_rate), KNOB(rp_clamp_tgt_rate_ati),
	KNOB(rp_time_reset), KNOB(rp_byte_reset), KNOB(rp_threshold), KNOB(rp_max_rate),
	KNOB(rp_ai_rate), KNOB(rp_hai_rate), KNOB(rp_min_dec_fac), KNOB(rp_min_rate),
	KNOB(rp_rate_to_set_on_first_cnp), KNOB(rp_dce_tcp_g), KNOB(rp_dce_tcp_rtt),
	KNOB(rp_rate_reduce_monitor_period), KNOB(rp_initial_alpha_value), KNOB(rp_gd),
};

static void refuse(const char *name, const char *value, const char *wanted)
{
	fprintf(stderr, "fabric-sim: %s=%s: %s\n", name, value, wanted);
	exit(2);
}

static void set_word(const struct word *word, const char *value)
{
	size_t i;

	for (i = 0; word->one_of[i]; i++)
		if (!strcmp(word->one_of[i], value))
			break;
	if (i && !word->one_of[i])
		refuse(word->name, value, word->help);
	*word->value = value;
}

static void set_number(const struct number *number, const char *value)
{
	double found;
	char *end;

	found = strtod(value, &end);
	if (end == value || *end || !(found >= number->least && found <= number->most))
		refuse(number->name, value, "no number, too small or too large");
	*number->value = found;
}

static void set_knob(const struct knob *knob, const char *value)
{
	unsigned long long found;
	char *end;

	found = strtoull(value, &end, 0);
	if (*value < '0' || *value > '9' || *end || found > UINT32_MAX)
		refuse(knob->name, value, "no number, or too large");
	*knob->value = found;
}

static bool set(const char *name, size_t len, const char *value)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i].name) == len && !strncmp(words[i].name, name, len)) {
			set_word(&words[i], value);
			return true;
		}
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (strlen(numbers[i].name) == len && !strncmp(numbers[i].name, name, len)) {
			set_number(&numbers[i], value);
			return true;
		}
	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		if (strlen(knobs[i].name) == len && !strncmp(knobs[i].name, name, len)) {
			set_knob(&knobs[i], value);
			return true;
		}
	return false;
}

/* False if there is no such parameter */
bool param_set(const char *word)
{
	const char *equals = strchr(word, '=');

	return equals && set(word, equals - word, equals + 1);
}

void param_help(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		printf("  %-18s %s (%s)\n", words[i].name, words[i].help,
		       *words[i].value ?: "none");
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		printf("  %-18s %s (%g)\n", numbers[i].name, numbers[i].help, *numbers[i].value);
	printf("  Documentation/congestion.rst has these:\n ");
	for (i = 0; i < ARRAY_SIZE(knobs); i++)
		printf(" %s%s", knobs[i].name, i % 4 == 3 ? "\n " : "");
	printf("\n");
}
