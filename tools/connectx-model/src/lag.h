/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link aggregation: two functions of one adapter, each with its port, whose RoCE becomes one
 * device. The function of port 1 is the master: it holds the state, its queue pairs send on either
 * port, and RoCE received on either is its own. The network interfaces remain separate.
 */
#ifndef CONNECTX_LAG_H
#define CONNECTX_LAG_H

#include "util.h"

struct device;
struct port;

#define LAG_PORTS	2u

struct lag {
	bool active;
	bool spreads;		/* CREATE_VPORT_LAG: queues use their affinity */
	u8 remap[LAG_PORTS];	/* by affinity - 1: the port on which its frames are sent */
};

/* Make two separate functions the ports 1 and 2 of one adapter. */
bool lag_pair(struct device *first, struct device *second);

/* The state that both share; NULL for an adapter with one port. */
struct lag *lag_of(struct device *dev);
bool lag_is_master(const struct device *dev);

/* The port on which a queue with this affinity sends; 0: its own. */
struct port *lag_egress(struct device *dev, u32 affinity);

/* The function whose RoCE receives the frames of @dev's port. */
struct device *lag_engine(struct device *dev);

/* A function has been reset: if it was the master, the aggregation ends. */
void lag_reset(struct device *dev);

#endif
