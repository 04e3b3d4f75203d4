/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Link aggregation: two functions of one adapter, each with its port, whose RoCE
 * is made one. The function of port 1 is the master: it holds the state, its
 * queue pairs leave by either port, and RoCE that comes in at either is its own.
 * The network interfaces stay apart.
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
	u8 remap[LAG_PORTS];	/* by affinity - 1: the port its frames leave by */
};

/* Make two functions, alone so far, the ports 1 and 2 of one adapter. */
bool lag_pair(struct device *first, struct device *second);

/* The state that both share; NULL for an adapter with one port. */
struct lag *lag_of(struct device *dev);
bool lag_is_master(const struct device *dev);

/* The port that a frame of a queue with this affinity leaves by; 0: its own. */
struct port *lag_egress(struct device *dev, u32 affinity);

/* The function whose RoCE takes what comes in at the port of @dev. */
struct device *lag_engine(struct device *dev);

/* A function has been reset: with the master, the aggregation goes. */
void lag_reset(struct device *dev);

#endif
