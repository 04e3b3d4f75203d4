// SPDX-License-Identifier: GPL-2.0
/*
 * Hosts: a queue to the wire, which is a port (net.c), and a processor that takes packets in
 * batches, like a softirq. Answers are sent at the end of a batch.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/minmax.h>

#include "qp.h"
#include "topo.h"

/* Packets that one call of a NAPI poll processes */
#define BATCH	64

/**
 * struct host - A host
 * @head: packets that wait for the processor
 * @tail: the last of them
 * @rx_free: the processor has taken those before then, ns
 * @tx_free: and has sent what it had to, ns
 * @armed: an event looks at @head
 * @held: memory of what receivers hold, bytes
 */
struct host {
	u32 head;
	u32 tail;
	u64 rx_free;
	u64 tx_free;
	bool armed;
	u64 held;
};

static struct host *hosts;
static bool is_tcp;
static u32 touched[BATCH], num_touched;

void hosts_make(void)
{
	u32 i;

	is_tcp = !strcmp(param.transport, "tcp");
	hosts = calloc(num_hosts, sizeof(*hosts));
	if (!hosts)
		abort();
	for (i = 0; i < num_hosts; i++)
		hosts[i] = (struct host){ .head = NONE, .tail = NONE };
}

u64 *host_held(u32 host)
{
	return &hosts[host].held;
}

u64 host_tx_free(u32 host)
{
	return hosts[host].tx_free;
}

void host_tx_charge(u32 host, u32 num)
{
	if (param.tx_ns)
		hosts[host].tx_free = max(hosts[host].tx_free, now) + num * (u64)param.tx_ns;
}

/* False if the host's own queue is full */
bool host_send(u32 host, u32 packet)
{
	return port_send(host, packet);
}

static void touch(struct qp *qp)
{
	if (qp->touched)
		return;
	qp->touched = true;
	touched[num_touched++] = qp_index(qp);
}

static void take(u32 index)
{
	struct packet packet = packets[index];
	struct qp *qp = &qps[packet.qp];

	packet_free(index);
	touch(qp);
	switch (packet.kind) {
	case PACKET_DATA:
		if (is_tcp)
			tcp_data(qp, &packet);
		else
			responder_receive(qp, &packet);
		break;
	case PACKET_ACK:
	case PACKET_NAK:
		if (is_tcp)
			tcp_ack(qp, &packet);
		else
			requester_ack(qp, packet.psn, packet.kind == PACKET_NAK);
		break;
	case PACKET_CNP:
		requester_cnp(qp);
		break;
	}
}

static void end_batch(u32 host)
{
	struct qp *qp;
	u32 i;

	for (i = 0; i < num_touched; i++) {
		qp = &qps[touched[i]];
		qp->touched = false;
		if (is_tcp) {
			if (qp->src == host)
				tcp_turn(qp);
		} else if (qp->src == host) {
			requester_turn(qp);
		} else {
			responder_answer(qp);
		}
	}
	num_touched = 0;
}

void host_batch(u32 index)
{
	struct host *host = &hosts[index];
	u32 packet, num = 0;

	host->armed = false;
	while (num < BATCH && (packet = host->head) != NONE) {
		host->head = packets[packet].next;
		take(packet);
		num++;
	}
	if (host->head == NONE)
		host->tail = NONE;
	end_batch(index);
	host->rx_free = now + num * (u64)param.rx_ns;
	if (host->head != NONE) {
		host->armed = true;
		event_at(host->rx_free, EVENT_RECEIVE, index);
	}
}

static void wait_for_processor(u32 index, u32 packet)
{
	struct host *host = &hosts[index];

	if (host->tail == NONE)
		host->head = packet;
	else
		packets[host->tail].next = packet;
	host->tail = packet;
	if (host->armed)
		return;
	host->armed = true;
	event_at(max(host->rx_free, now + (u64)param.rx_delay_ns), EVENT_RECEIVE, index);
}

/* A packet has reached a node */
void host_receive(u32 node, u32 packet)
{
	const struct qp *qp = &qps[packets[packet].qp];
	u32 to = packets[packet].kind == PACKET_DATA ? qp->dst : qp->src;

	if (node >= num_hosts) {
		port_send(topo_route(node, to, qp->hash), packet);
		return;
	}
	packets[packet].next = NONE;
	if (param.rx_ns || param.rx_delay_ns) {
		wait_for_processor(node, packet);
		return;
	}
	take(packet);
	end_batch(node);
}
