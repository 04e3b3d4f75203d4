/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GIDs on netdevs whose addresses ib_core does not watch.
 */
#ifndef RHCA_CORE_GID_WATCH_H
#define RHCA_CORE_GID_WATCH_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct rhca_dev;
struct rhca_port;

/**
 * struct rhca_gid_watch - What is to be done about the addresses of a port's netdev
 * @work: has ib_core read them again
 * @retry: queues @work once more, while a default GID is missing
 * @retry_delay: until then, in jiffies; only @work uses it
 * @removed: bit 0: one has gone since they were read
 */
struct rhca_gid_watch {
	struct work_struct work;
	struct delayed_work retry;
	unsigned long retry_delay;
	unsigned long removed;
};

void rhca_gid_watch_init(struct rhca_port *port);
void rhca_gid_watch_exit(struct rhca_port *port);
void rhca_gid_watch_address(struct rhca_port *port, bool removed);
void rhca_gid_watch_registered(struct rhca_dev *dev);

#endif
