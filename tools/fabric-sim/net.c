// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>

#include <linux/minmax.h>

#include "event.h"
#include "net.h"
#include "param.h"

struct packet *packets;
struct port *ports;
u32 num_hosts, num_switches, num_ports;
struct net_totals net_totals;

static u32 free_packets = NONE, packets_made, packets_room;
static u64 *buffer_used;	/* of each switch, bytes */
static u64 random_state[2];

/* --- random numbers ------------------------------------------------------- */

/* splitmix64: all seeds are equally good */
static u64 mix(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

void random_seed(u64 seed)
{
	random_state[0] = mix(&seed);
	random_state[1] = mix(&seed);
}

/* xorshift128+ */
u64 random_u64(void)
{
	u64 a = random_state[0], b = random_state[1];

	random_state[0] = b;
	a ^= a << 23;
	random_state[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
	return random_state[1] + b;
}

/* --- packets -------------------------------------------------------------- */

static void *make(size_t num, size_t size)
{
	void *memory = calloc(num, size);

	if (!memory)
		abort();
	return memory;
}

static void make_room(void)
{
	packets_room = packets_room ? 2 * packets_room : 1 << 16;
	packets = realloc(packets, packets_room * sizeof(*packets));
	if (!packets)
		abort();
}

u32 packet_new(enum packet_kind kind, u32 qp, u32 psn, u32 bytes)
{
	u32 packet = free_packets;

	if (packet != NONE) {
		free_packets = packets[packet].next;
	} else {
		packet = packets_made++;
		if (packets_made > packets_room)
			make_room();
	}
	packets[packet] = (struct packet) {
		.next = NONE, .qp = qp, .psn = psn, .bytes = bytes, .kind = kind,
	};
	return packet;
}

void packet_free(u32 packet)
{
	packets[packet].next = free_packets;
	free_packets = packet;
}

/* --- ports ---------------------------------------------------------------- */

void net_make(u32 hosts, u32 switches, u32 num)
{
	num_hosts = hosts;
	num_switches = switches;
	num_ports = num;
	ports = make(num, sizeof(*ports));
	buffer_used = make(hosts + switches, sizeof(*buffer_used));
}

void port_make(u32 port, u32 node, u32 peer, double mbps)
{
	bool host = node < num_hosts;

	ports[port] = (struct port) {
		.node = node, .peer = peer, .kbps = max_t(double, mbps * 1000, 1), .delay = param.link_ns,
		.head = { NONE, NONE }, .tail = { NONE, NONE },
		.limit_packets = host ? param.host_queue : param.queue_packets,
		.limit_bytes = host ? 0 : param.queue_kb * 1024,
	};
}

/* Each link to a host loses packets at random */
void net_loss(double percent)
{
	u32 i;

	for (i = 0; i < num_ports; i++)
		if (ports[i].peer < num_hosts)
			ports[i].loss = min_t(double, percent / 100 * 0x1p32, U32_MAX);
}

static bool is_switch(const struct port *port)
{
	return port->node >= num_hosts;
}

static bool has_room(const struct port *port, u32 bytes)
{
	double left = param.buffer_kb * 1024 - buffer_used[port->node];

	if (port->limit_packets && port->packets >= port->limit_packets)
		return false;
	if (port->limit_bytes && port->bytes + bytes > port->limit_bytes)
		return false;
	return !is_switch(port) || !param.buffer_kb ||
	       (bytes <= left && port->bytes + bytes <= param.buffer_alpha * left);
}

/*
 * With RED's probability, as in switches and "tc red": nothing below Kmin, up to Pmax at Kmax,
 * everything above.
 */
static bool is_red(struct port *port)
{
	double queue = port->bytes, min = param.kmin_kb * 1024, max = param.kmax_kb * 1024;

	if (param.red_wlog) {
		port->average += (queue - port->average) / (1 << (int)param.red_wlog);
		queue = port->average;
	}
	if (queue <= min)
		return false;
	return queue > max || random_unit() < param.pmax / 100 * (queue - min) / (max - min);
}

/* False if RED drops it, as it cannot be marked */
static bool mark(struct port *port, struct packet *packet)
{
	if (!param.kmin_kb || !is_switch(port) || packet->kind != PACKET_DATA || !is_red(port))
		return true;
	if (!packet->ect)
		return false;
	packet->ce = true;
	port->marks++;
	net_totals.marks++;
	return true;
}

static void arm(u32 index)
{
	struct port *port = &ports[index];

	if (port->armed)
		return;
	port->armed = true;
	event_at(max(port->free_at, now), EVENT_PORT, index);
}

/* As "netem delay LATE reorder EARLY" */
static u64 late(const struct port *port)
{
	if (!param.late_ns || !is_switch(port))
		return 0;
	if (random_unit() >= param.early / 100)
		return param.late_ns;
	net_totals.early++;
	return 0;
}

static void start(u32 index, u32 packet)
{
	struct port *port = &ports[index];
	u64 time = packets[packet].bytes * 8000000ULL + port->rest;

	port->free_at = now + time / port->kbps;
	port->rest = time % port->kbps;
	port->sent += packets[packet].bytes;
	if (port->loss && (random_u64() >> 32) < port->loss) {
		net_totals.lost++;
		packet_free(packet);
		return;
	}
	packets[packet].node = port->peer;
	event_at(port->free_at + port->delay + late(port), EVENT_ARRIVE, packet);
}

/*
 * A switch sends CNPs first, as it should be configured (Documentation/operating.rst); a host with
 * fair queues (fq_codel) sends sparse flows first: answers.
 */
static bool goes_first(const struct port *port, const struct packet *packet)
{
	if (packet->kind == PACKET_DATA)
		return false;
	return packet->kind == PACKET_CNP || param.ack_priority ||
	       (!is_switch(port) && param.host_fair);
}

static void queue(struct port *port, u32 packet)
{
	u32 prio = goes_first(port, &packets[packet]);

	if (port->tail[prio] == NONE)
		port->head[prio] = packet;
	else
		packets[port->tail[prio]].next = packet;
	port->tail[prio] = packet;
	port->packets++;
	port->bytes += packets[packet].bytes;
	port->most = max(port->most, port->bytes);
	buffer_used[port->node] += packets[packet].bytes;
}

static u32 unqueue(struct port *port)
{
	u32 prio = port->head[1] != NONE, packet = port->head[prio];

	if (packet == NONE)
		return NONE;
	port->head[prio] = packets[packet].next;
	if (port->head[prio] == NONE)
		port->tail[prio] = NONE;
	packets[packet].next = NONE;
	port->packets--;
	port->bytes -= packets[packet].bytes;
	buffer_used[port->node] -= packets[packet].bytes;
	return packet;
}

/* False if the queue has no room; the packet is freed then */
bool port_send(u32 index, u32 packet)
{
	struct port *port = &ports[index];

	if (port->down) {
		net_totals.cut++;
		packet_free(packet);
		return true;
	}
	if (!has_room(port, packets[packet].bytes) || !mark(port, &packets[packet])) {
		port->drops++;
		net_totals.drops += is_switch(port);
		packet_free(packet);
		return false;
	}
	if (!port->packets && port->free_at <= now) {
		start(index, packet);
		return true;
	}
	queue(port, packet);
	arm(index);
	return true;
}

/* The wire is free */
void port_event(u32 index)
{
	struct port *port = &ports[index];
	u32 packet;

	port->armed = false;
	packet = unqueue(port);
	if (packet == NONE)
		return;
	start(index, packet);
	if (port->packets)
		arm(index);
}

/* The link goes down: queued packets are lost */
void port_cut(u32 index)
{
	u32 packet;

	ports[index].down = true;
	while ((packet = unqueue(&ports[index])) != NONE) {
		net_totals.cut++;
		packet_free(packet);
	}
}
