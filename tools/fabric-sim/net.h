/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The network: packets, ports with queues, switches with memory that their ports share.
 * Nodes are hosts first, then switches. A port is one direction of a link.
 */
#ifndef FABRIC_SIM_NET_H
#define FABRIC_SIM_NET_H

#include <linux/types.h>

#define NONE	U32_MAX

enum packet_kind {
	PACKET_DATA,
	PACKET_ACK,
	PACKET_NAK,
	PACKET_CNP,
};

/**
 * struct packet - A packet
 * @next: behind it in a queue
 * @qp: whose it is
 * @psn: counted from the first of the QP, beyond 24 bits
 * @psn2: of an acknowledgement of transport=tcp: what has just arrived
 * @node: that it is on its way to
 * @bytes: on the wire
 * @kind: enum packet_kind; all but data goes back to the QP's sender
 * @asks: for an acknowledgement
 * @ect: a queue may mark it
 * @ce: one has
 */
struct packet {
	u32 next;
	u32 qp;
	u32 psn;
	u32 psn2;
	u32 node;
	u16 bytes;
	u8 kind;
	bool asks : 1;
	bool ect : 1;
	bool ce : 1;
};

/**
 * struct port - One direction of a link, and the queue before it
 * @node: where the queue is
 * @peer: where the wire ends
 * @kbps: rate
 * @delay: of the wire, ns
 * @head: of the queues; the second one is sent first
 * @tail: of them
 * @packets: that wait
 * @bytes: of them
 * @free_at: the wire is free then, ns
 * @rest: of that, less than a ns: in ns * kbps
 * @armed: an event looks at the queue then
 * @down: the link is
 * @average: of the queue, bytes, where it is averaged
 * @limit_packets: of the queue
 * @limit_bytes: of the queue
 * @loss: packets are lost with that probability, of 2^32
 * @sent: bytes, of which what is lost on the wire is a part
 * @drops: for want of room
 * @marks: packets marked
 * @most: bytes that have waited at once
 */
struct port {
	u32 node;
	u32 peer;
	u64 kbps;
	u64 delay;
	u32 head[2];
	u32 tail[2];
	u32 packets;
	u32 bytes;
	u64 free_at;
	u64 rest;
	bool armed;
	bool down;
	double average;
	u32 limit_packets;
	u32 limit_bytes;
	u32 loss;
	u64 sent;
	u64 drops;
	u64 marks;
	u32 most;
};

/* Totals of all ports */
struct net_totals {
	u64 drops, marks, lost, cut, early;
};

extern struct packet *packets;
extern struct port *ports;
extern u32 num_hosts, num_switches, num_ports;
extern struct net_totals net_totals;

void net_make(u32 hosts, u32 switches, u32 ports);
void port_make(u32 port, u32 node, u32 peer, double mbps);
u32 packet_new(enum packet_kind kind, u32 qp, u32 psn, u32 bytes);
void packet_free(u32 packet);
bool port_send(u32 port, u32 packet);
void port_event(u32 port);
void port_cut(u32 port);
void net_loss(double percent);

/* Random numbers from the seed of the run */
void random_seed(u64 seed);
u64 random_u64(void);

static inline u32 random_below(u32 n)
{
	return ((random_u64() >> 32) * n) >> 32;
}

static inline double random_unit(void)
{
	return (random_u64() >> 11) * 0x1p-53;
}

#endif
