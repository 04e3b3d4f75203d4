/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Types of a device and its ports. Data only: functions are declared with the files that define
 * them, which so need not know how a device is put together.
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

/* Including the final 0; a board's ID (PSID) has 16 characters */
#define RHCA_HCA_TYPE_CHARS	16
#define RHCA_BOARD_ID_CHARS	64

/* Counters of a port's QPs, or of those of an rdma_counter */
struct rhca_counter_set {
	struct rhca_port *port;
	void *private;	/* for the backend */
};

/* Pending work on the addresses of a port's netdev */
struct rhca_gid_watch {
	struct work_struct work;	/* makes ib_core read them again */
	struct delayed_work retry;	/* queues @work, while a default GID is missing */
	unsigned long retry_delay;	/* in jiffies; only used by @work */
	unsigned long removed;		/* bit 0: one was removed since they were read */
};

/* A port of a device */
struct rhca_port {
	struct rhca_dev *dev;
	u32 num;				/* from 1 */
	struct net_device __rcu *ndev;		/* NULL once it is being unregistered */
	unsigned long gid_types;		/* BIT(enum ib_gid_type) that it has */
	const struct net_device *made_on;	/* the first @ndev: compare only */
	const struct net *net;			/* likewise its namespace */
	bool end_reported;			/* of @ndev; under rhca_slots_mutex */
	netdevice_tracker ndev_tracker;
	/* The other netdev of a LAG over equal-cost routes, or NULL; released with @ndev */
	struct net_device __rcu *second;
	netdevice_tracker second_tracker;
	atomic_t next_member;			/* of a LAG, for the next QP; taken modulo */
	struct rhca_qos qos;
	struct rhca_gid_table gids;		/* a copy, for packets to QP1 */
	struct rhca_gid_watch gid_watch;	/* keeps GIDs up to date where ib_core does not */
	struct rhca_pkeys pkeys;
	struct rhca_cc cc;
	enum ib_port_state state;		/* as last reported to users */
	atomic_t pkey_violations;
	atomic_t qkey_violations;		/* since the last reset */
	atomic_t link_downed;			/* how often the link went down */
	struct rhca_counter_set counter_set;	/* of QPs that are not bound to a counter */
	/* Values of removed counter sets; under the device's @counters_lock */
	u64 retired[RHCA_NUM_COUNTERS];
	struct rhca_pma pma;			/* zero points of ports/N/counters */
	void *private;				/* the backend's own */
};

/* Bits of &rhca_dev.flags */
enum rhca_dev_flag {
	RHCA_DEV_REMOVED,	/* removal claimed: it must not return */
	RHCA_DEV_UNPLUGGED,	/* being unregistered: processes lose their objects */
};

/* An RDMA device */
struct rhca_dev {
	struct ib_device ibdev;			/* first, for ib_alloc_device() */
	const struct rhca_backend_ops *backend;
	struct rhca_offer *offer;		/* that it was created from, or NULL */
	struct rhca_caps caps;			/* what the backend can do */
	void *private;				/* the backend's own */
	/* What ibstat calls adapter and board; the backend may overwrite it */
	char hca_type[RHCA_HCA_TYPE_CHARS];
	char board_id[RHCA_BOARD_ID_CHARS];
	struct list_head entry;			/* in the list of all devices */
	struct mutex qps_lock;			/* protects: */
	struct list_head qps;
	struct mutex counters_lock;		/* protects, besides ports' @retired: */
	struct xarray counter_sets;		/* by the id of their rdma_counter */
	struct rdma_stat_desc counter_descs[RHCA_NUM_COUNTERS];	/* what the backend counts */
	u8 counter_ids[RHCA_NUM_COUNTERS];	/* enum rhca_counter of each */
	u32 num_counters;			/* of these */
	u32 num_mcast_groups;			/* on its ports; under RTNL */
	u32 num_mcast_attachments;		/* of QPs to these; under RTNL */
	u32 serial;				/* unique among all devices ever created, from 1 */
	/*
	 * The task that is registering it, compared only, or NULL. If the registration fails,
	 * ib_core unregisters the device in the same task
	 */
	const struct task_struct *registrant;
	unsigned long flags;			/* of enum rhca_dev_flag */
	struct rhca_lag_record replaced;	/* devices to create again when this LAG ends */
	u32 num_ports;				/* 1..RHCA_MAX_PORTS */
	struct rhca_port ports[RHCA_MAX_PORTS];	/* port number n is ports[n - 1] */
};

static inline struct rhca_dev *to_rhca_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct rhca_dev, ibdev);
}

/* From the struct device in sysfs */
static inline struct rhca_dev *rhca_dev_of(struct device *device)
{
	return rdma_device_to_drv_device(device, struct rhca_dev, ibdev);
}

static inline struct rhca_port *rhca_port_of(struct rhca_dev *dev, u32 num)
{
	return num && num <= dev->num_ports ? &dev->ports[num - 1] : NULL;
}

#endif
