/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a device and its ports consist of. Data alone: the functions are declared by
 * the files that have them, which so need not know who puts a device together.
 */
#ifndef RHCA_CORE_PORT_DEVICE_TYPES_H
#define RHCA_CORE_PORT_DEVICE_TYPES_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rhca/backend.h>
#include <rhca/counter.h>

#include "core/rules/cc.h"
#include "core/rules/gid.h"
#include "core/rules/lag.h"
#include "core/rules/pkey.h"
#include "core/rules/pma.h"
#include "core/rules/qos.h"

struct rhca_dev;
struct rhca_port;

#define RHCA_MAX_PORTS		8	/* of one device; adapters have two */

/* With the 0 at the end; a board's ID (PSID) has 16 characters */
#define RHCA_HCA_TYPE_CHARS	16
#define RHCA_BOARD_ID_CHARS	64

/* What a port's QPs, or those of an rdma_counter, count */
struct rhca_counter_set {
	struct rhca_port *port;
	void *private;	/* the backend's own */
};

/* What is to be done about the addresses of a port's netdev */
struct rhca_gid_watch {
	struct work_struct work;	/* has ib_core read them again */
	struct delayed_work retry;	/* queues @work, while a default GID is missing */
	unsigned long retry_delay;	/* until then, in jiffies; only @work uses it */
	unsigned long removed;		/* bit 0: one has gone since they were read */
};

/* A port of a device */
struct rhca_port {
	struct rhca_dev *dev;
	u32 num;				/* from 1 */
	struct net_device __rcu *ndev;		/* NULL once that is being unregistered */
	unsigned long gid_types;		/* BIT(enum ib_gid_type) of those that it has */
	const struct net_device *made_on;	/* @ndev then: to compare, not to follow */
	const struct net *net;			/* likewise its namespace */
	bool told_of_end;			/* of @ndev; under rhca_slots_mutex */
	netdevice_tracker ndev_tracker;
	/* The other netdev of a LAG over equal-cost routes, or NULL; goes with @ndev */
	struct net_device __rcu *second;
	netdevice_tracker second_tracker;
	atomic_t next_member;			/* of a LAG, for the next QP; modulo */
	struct rhca_qos qos;
	struct rhca_gid_table gids;		/* a copy, for packets to QP1 */
	struct rhca_gid_watch gid_watch;	/* keeps GIDs up to date where ib_core does not */
	struct rhca_pkeys pkeys;
	struct rhca_cc cc;
	enum ib_port_state state;		/* as last told to the users */
	atomic_t pkey_violations;
	atomic_t qkey_violations;		/* since the last reset */
	atomic_t link_downed;			/* how often the link went down */
	struct rhca_counter_set counter_set;	/* of QPs that are not bound to a counter */
	/* What counter sets had when they went; under the device's @counters_lock */
	u64 retired[RHCA_NUM_COUNTERS];
	struct rhca_pma pma;			/* zero points of ports/N/counters */
	void *private;				/* the backend's own */
};

/* Bits of &rhca_dev.flags */
enum rhca_dev_flag {
	RHCA_DEV_REMOVED,	/* its netdev or the module goes, so it must not come back */
	RHCA_DEV_UNPLUGGED,	/* it is being unregistered: processes lose their objects */
};

/* An RDMA device */
struct rhca_dev {
	struct ib_device ibdev;			/* first, for ib_alloc_device() */
	const struct rhca_backend_ops *backend;
	struct rhca_offer *offer;		/* that it was made of, or NULL */
	struct rhca_caps caps;			/* what the backend can do */
	void *private;				/* the backend's own */
	/* What ibstat calls adapter and board, of which the backend may say what they are */
	char hca_type[RHCA_HCA_TYPE_CHARS];
	char board_id[RHCA_BOARD_ID_CHARS];
	struct list_head entry;			/* in the list of all devices */
	struct mutex qps_lock;			/* protects: */
	struct list_head qps;
	struct mutex counters_lock;		/* protects, besides what ports have retired: */
	struct xarray counter_sets;		/* by the id of their rdma_counter */
	struct rdma_stat_desc counter_descs[RHCA_NUM_COUNTERS];	/* what the backend counts */
	u8 counter_ids[RHCA_NUM_COUNTERS];	/* which these are, enum rhca_counter */
	u32 num_counters;			/* how many */
	u32 num_mcast_groups;			/* on its ports, under RTNL */
	u32 num_mcast_attachments;		/* QPs that are attached to them, under RTNL */
	u32 serial;				/* among all that were ever made, from 1 */
	/*
	 * Who is registering it, to compare, or NULL. ib_core has a device that cannot be
	 * registered after all unregistered by the same task
	 */
	const struct task_struct *registrant;
	unsigned long flags;			/* of enum rhca_dev_flag */
	struct rhca_lag_record replaced;	/* what comes back when this LAG ends */
	u32 num_ports;				/* 1..RHCA_MAX_PORTS */
	struct rhca_port ports[RHCA_MAX_PORTS];	/* port number n is ports[n - 1] */
};

static inline struct rhca_dev *to_rhca_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct rhca_dev, ibdev);
}

/* Of which this is the folder in sysfs */
static inline struct rhca_dev *rhca_dev_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct rhca_dev, ibdev);
}

static inline struct rhca_port *rhca_port_of(struct rhca_dev *dev, u32 num)
{
	return num && num <= dev->num_ports ? &dev->ports[num - 1] : NULL;
}

#endif
