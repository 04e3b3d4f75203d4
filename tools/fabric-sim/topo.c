// SPDX-License-Identifier: GPL-2.0
/*
 * A star: one switch. Or leaves and spines: each leaf has a link to each spine, and a connection's
 * hash selects the spine (ECMP). Ports are numbered so that routing is arithmetic.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "net.h"
#include "param.h"
#include "topo.h"

static u32 leaves, spines, per_leaf;
static bool is_star;
static bool routed_around;	/* all know that the link between leaf 0 and spine 0 is down */

static u32 leaf_to_spine(u32 leaf, u32 spine)
{
	return 2 * num_hosts + leaf * spines + spine;
}

static u32 spine_to_leaf(u32 spine, u32 leaf)
{
	return 2 * num_hosts + leaves * spines + spine * leaves + leaf;
}

static void make_star(void)
{
	u32 i;

	net_make(param.hosts, 1, 2 * param.hosts);
	for (i = 0; i < num_hosts; i++) {
		port_make(i, i, num_hosts, param.host_mbps);
		port_make(num_hosts + i, num_hosts, i,
			  !i && param.port_mbps ? param.port_mbps : param.host_mbps);
	}
}

static void make_leaves_and_spines(void)
{
	u32 hosts = param.hosts, i, s, leaf;
	double uplink;

	leaves = param.leaves;
	spines = param.spines;
	if (hosts % leaves || (param.flap_period_us && spines < 2) ||
	    param.flap_down_us > param.flap_period_us) {
		fprintf(stderr, "fabric-sim: hosts=%u leaves=%u spines=%u: as many hosts at each "
			"leaf, two spines where a link flaps, and down for no longer than that takes\n",
			hosts, leaves, spines);
		exit(2);
	}
	per_leaf = hosts / leaves;
	uplink = param.uplink_mbps ?: param.host_mbps * per_leaf / spines;
	net_make(hosts, leaves + spines, 2 * hosts + 2 * leaves * spines);
	for (i = 0; i < hosts; i++) {
		leaf = hosts + i / per_leaf;
		port_make(i, i, leaf, param.host_mbps);
		port_make(hosts + i, leaf, i, param.host_mbps);
	}
	for (i = 0; i < leaves; i++)
		for (s = 0; s < spines; s++) {
			port_make(leaf_to_spine(i, s), hosts + i, hosts + leaves + s, uplink);
			port_make(spine_to_leaf(s, i), hosts + leaves + s, hosts + i, uplink);
		}
}

void topo_make(void)
{
	is_star = !strcmp(param.topo, "star");
	if (is_star)
		make_star();
	else
		make_leaves_and_spines();
	net_loss(param.loss);
	if (!is_star && param.flap_period_us)
		event_at(param.flap_period_us * 1000, EVENT_LINK, 0);
}

static u32 choose_spine(u32 from, u32 to, u32 hash)
{
	if (routed_around && (!from || !to))
		return 1 + hash % (spines - 1);
	return hash % spines;
}

/* The port on which a node sends to a host */
u32 topo_route(u32 node, u32 host, u32 hash)
{
	u32 leaf;

	if (node < num_hosts)
		return node;
	if (is_star)
		return num_hosts + host;
	leaf = host / per_leaf;
	if (node >= num_hosts + leaves)
		return spine_to_leaf(node - num_hosts - leaves, leaf);
	if (node - num_hosts == leaf)
		return num_hosts + host;
	return leaf_to_spine(node - num_hosts, choose_spine(node - num_hosts, leaf, hash));
}

/* Number of links between two hosts */
u32 topo_hops(u32 a, u32 b)
{
	return is_star || a / per_leaf == b / per_leaf ? 2 : 4;
}

/* The slowest link of an empty path to a host, kbit/s */
double topo_bottleneck(u32 to)
{
	double kbps = ports[num_hosts + to].kbps;

	return kbps < ports[0].kbps ? kbps : ports[0].kbps;
}

/* The link between leaf 0 and spine 0 goes down, or comes up */
void topo_link_event(u32 up)
{
	u32 a = leaf_to_spine(0, 0), b = spine_to_leaf(0, 0);
	double next = up ? param.flap_period_us - param.flap_down_us : param.flap_down_us;

	if (up) {
		ports[a].down = false;
		ports[b].down = false;
	} else {
		port_cut(a);
		port_cut(b);
	}
	event_at(now + param.reroute_us * 1000, EVENT_ROUTES, up);
	event_at(now + next * 1000, EVENT_LINK, !up);
}

void topo_routes_event(u32 up)
{
	routed_around = !up;
}
