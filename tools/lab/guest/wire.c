// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of packets sent by a port of the switch, by the netem qdisc. A packet passes one such
 * port, so each direction between two hosts has it once.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "guest.h"

/* Missing in older headers */
#define NETEM_PRNG_SEED	14

/* Packets that may be queued in a port: 16 MB of the largest */
#define QUEUE_PACKETS	4096

struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = {
	{ "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, {}
};

static const struct unit rates[] = {
	{ "gbit", 125e6 }, { "mbit", 125e3 }, { "kbit", 125 }, { "bit", 0.125 },
	{ "gbps", 1e9 }, { "mbps", 1e6 }, { "kbps", 1e3 }, { "bps", 1 }, {}
};

static const struct unit parts[] = { { "%", 0.01 }, {} };

/* NUMBER with a unit, or without one if it is 0 or there is a default */
static bool measure(const char *value, const struct unit *unit, double plain, double *result)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || !(number >= 0) || isinf(number))
		return false;
	if (!*end && (plain || !number)) {
		*result = number * plain;
		return true;
	}
	for (; unit->name; unit++) {
		if (strcasecmp(end, unit->name))
			continue;
		*result = number * unit->factor;
		return true;
	}
	return false;
}

/* Returns NULL, or the expected format. */
const char *wire_parse(struct wire *wire, const char *what, const char *value)
{
	double result;

	if (!strcmp(what, "loss")) {
		if (!measure(value, parts, 1, &result) || result > 1)
			return "loss is a part of 1 or a percentage, such as 1%";
		wire->loss = result;
	} else if (!strcmp(what, "delay")) {
		if (!measure(value, times, 0, &result) || result > 60e9)
			return "delay is a time with its unit, such as 1ms";
		wire->delay_ns = result;
	} else if (!strcmp(what, "rate")) {
		if (!measure(value, rates, 0, &result) || (result && result < 125))
			return "rate is a number with its unit, such as 1gbit; 0 is no limit";
		wire->rate_bytes = result;
	} else {
		return "loss, delay and rate can be set";
	}
	return NULL;
}

static void put_options(struct netlink *nl, const struct wire *wire)
{
	struct tc_netem_qopt options = {
		.limit = QUEUE_PACKETS,
		.loss = wire->loss * UINT32_MAX,
	};
	struct tc_netem_rate rate = {
		.rate = wire->rate_bytes > UINT32_MAX ? UINT32_MAX : wire->rate_bytes,
	};
	int64_t delay = wire->delay_ns;
	size_t nest = netlink_nest(nl, TCA_OPTIONS);

	memcpy(nl->text + nl->size, &options, sizeof(options));
	nl->size += NLMSG_ALIGN(sizeof(options));
	netlink_put(nl, TCA_NETEM_LATENCY64, &delay, sizeof(delay));
	if (wire->rate_bytes > UINT32_MAX)
		netlink_put(nl, TCA_NETEM_RATE64, &wire->rate_bytes, sizeof(uint64_t));
	netlink_put(nl, TCA_NETEM_RATE, &rate, sizeof(rate));
	if (wire->ecn)
		netlink_put_u32(nl, TCA_NETEM_ECN, 1);
	if (wire->seed_set)
		netlink_put(nl, NETEM_PRNG_SEED, &wire->seed, sizeof(wire->seed));
	netlink_unnest(nl, nest);
}

/* In the network namespace of the switch. Returns 0 or a negative errno. */
int wire_set(const char *port, const struct wire *wire)
{
	struct tcmsg msg = { .tcm_family = AF_UNSPEC, .tcm_parent = TC_H_ROOT };
	bool none = !wire->loss && !wire->delay_ns && !wire->rate_bytes;
	struct netlink nl;
	int ret;

	netlink_open(&nl, NETLINK_ROUTE);
	msg.tcm_ifindex = link_index(port);
	if (!msg.tcm_ifindex)
		return -ENODEV;
	/* Created again, so that settings that no longer apply are gone. */
	netlink_begin(&nl, RTM_DELQDISC, 0, &msg, sizeof(msg));
	ret = netlink_do(&nl);
	if (none || (ret && ret != -ENOENT && ret != -EINVAL))
		return none ? 0 : ret;
	netlink_begin(&nl, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &msg, sizeof(msg));
	netlink_put_text(&nl, TCA_KIND, "netem");
	put_options(&nl, wire);
	return netlink_do(&nl);
}
