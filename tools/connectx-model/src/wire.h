/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The port and its wire. A wire carries plain Ethernet frames, each in a datagram of a UDP or UNIX
 * socket, or through a tap device; two adapters of one process may also be joined. Faults of a real
 * network are simulated here.
 */
#ifndef CONNECTX_WIRE_H
#define CONNECTX_WIRE_H

#include "counters.h"
#include "timer.h"

#include <sys/socket.h>
#include <sys/un.h>

struct device;

#define WIRE_MAX_FRAME	65600u
#define PPM		1000000u

/* Probabilities in parts per million, applied to frames sent. */
struct impairment {
	u32 loss_ppm;
	u32 reorder_ppm;
	u32 corrupt_ppm;
	u32 duplicate_ppm;
	u32 mark_ppm;		/* congestion experienced */
};

struct frame {
	struct list link;
	u32 source_td;		/* transport domain of the sender; 0: from the wire */
	u32 bytes;
	u8 data[];
};

#define DSCPS		64u
#define TRUST_VLAN	1u

struct port {
	struct device *dev;
	int fd;				/* -1: nothing connected */
	struct sockaddr_storage peer;
	socklen_t peer_bytes;		/* 0: the socket is not a datagram one */
	struct device *joined;		/* the other end, in this process */
	bool link_up;
	bool enabled;			/* by the driver */
	u32 mtu;			/* with headers */
	u8 pfc_sent;			/* a bit for each priority; of no effect */
	u8 pfc_heeded;
	u8 trust;			/* what gives a packet its priority: TRUST_VLAN, or
					 * the DSCP; likewise */
	u8 dscp_priority[DSCPS];
	u64 wire_packets[DIRECTIONS];	/* excluding loopback */
	u64 wire_bytes[DIRECTIONS];
	struct impairment impairment;
	u64 random;
	struct frame *held;		/* to be overtaken by the next */
	void (*deliver_held)(struct port *port, const u8 *frame, u32 bytes);
	struct list incoming;		/* loopback, and frames from a joined port */
	struct list outgoing;		/* the socket has no room yet */
	u32 waiting;			/* number of them */
	struct timer retry;
};

void port_init(struct port *port, struct device *dev);

/**
 * port_connect - Connect the wire
 * @description: udp:LOCAL:REMOTE (ports of 127.0.0.1), unix:LOCAL:REMOTE,
 *	tap:NAME, join:INDEX or none
 *
 * Return: false with a message on stderr.
 */
bool port_connect(struct port *port, const char *description);
bool port_is_up(const struct port *port);

/* Attributes of a frame from an Ethernet queue. */
struct frame_source {
	u32 td;			/* transport domain */
	u32 affinity;		/* see lag_egress() */
};

/* Send an Ethernet frame. */
void port_send_ethernet(struct device *dev, const u8 *frame, u32 bytes,
			const struct frame_source *source);

/* Send a RoCE frame: it may be for this adapter itself, or for a group. */
void port_send_roce(struct device *dev, u32 affinity, const u8 *frame, u32 bytes);

/* Frames are waiting on the socket. */
void port_readable(struct port *port);

/* Deliver some of the frames from this process. */
void port_work(struct port *port);
/* The link has two owners: the outside world, and the driver. */
void port_set_link(struct port *port, bool up);
void port_enable(struct port *port, bool enabled);

/* Record all frames in a pcap file. Return: false with a message on stderr. */
bool pcap_open(const char *path);

/* A frame has arrived: deliver it. In receive.c. */
void receive_frame(struct device *dev, const u8 *frame, u32 bytes, u32 source_td);

#endif
