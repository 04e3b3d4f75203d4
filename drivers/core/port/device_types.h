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

/**
 * struct rhca_counter_set - What a port's QPs, or those of an rdma_counter, count
 * @port: the port
 * @private: the backend's own
 */
struct rhca_counter_set {
	struct rhca_port *port;
	void *private;
};

/* What is to be done about the addresses of a port's netdev */
struct rhca_gid_watch {
	struct work_struct work;	/* has ib_core read them again */
	/* queues @work once more, while a default GID is missing */
	struct delayed_work retry;
	unsigned long retry_delay;	/* until then, in jiffies; only @work uses it */
	unsigned long removed;		/* bit 0: one has gone since they were read */
};

/**
 * struct rhca_port - A port of a device
 * @dev: its device
 * @num: its number, from 1
 * @ndev: its netdev; NULL once that is being unregistered
 * @gid_types: RoCE versions that netdev and backend can and roce_mode has, a bit for
 *	each enum ib_gid_type
 * @made_on: @ndev when the port was made: to compare, not to follow
 * @net: likewise its namespace
 * @ndev_tracker: for the reference that @ndev holds
 * @second: a netdev that packets leave and arrive by as well (LAG over equal-cost
 *	routes), or NULL; goes with @ndev
 * @second_tracker: for its reference
 * @next_member: the LAG member that the next QP sits on, modulo their number
 * @gids: copy of the GID table, for packets to QP1
 * @gid_watch: keeps the GID table up to date where ib_core does not
 * @qos: forced values, priorities
 * @pkeys: partitions that it belongs to
 * @cc: what is done about loss
 * @state: as last told to the users
 * @pkey_violations: P_Keys that did not match
 * @qkey_violations: Q_Keys that did not match, since the last reset
 * @link_downed: how often the link went down
 * @counter_set: what all QPs count into that are not bound to a counter
 * @retired: what counter sets had when they went, by enum rhca_counter; under the
 *	device's @counters_lock
 * @pma: zero points of ports/N/counters
 * @private: the backend's own
 */
struct rhca_port {
	struct rhca_dev *dev;
	u32 num;
	struct net_device __rcu *ndev;
	unsigned long gid_types;
	const struct net_device *made_on;
	const struct net *net;
	netdevice_tracker ndev_tracker;
	struct net_device __rcu *second;
	netdevice_tracker second_tracker;
	atomic_t next_member;
	struct rhca_qos qos;
	struct rhca_gid_table gids;
	struct rhca_gid_watch gid_watch;
	struct rhca_pkeys pkeys;
	struct rhca_cc cc;
	enum ib_port_state state;
	atomic_t pkey_violations;
	atomic_t qkey_violations;
	atomic_t link_downed;
	struct rhca_counter_set counter_set;
	u64 retired[RHCA_NUM_COUNTERS];
	struct rhca_pma pma;
	void *private;
};

/**
 * enum rhca_dev_flag - Bits of &rhca_dev.flags
 * @RHCA_DEV_REMOVED: its netdev or the module goes, so it must not come back
 * @RHCA_DEV_UNPLUGGED: it is being unregistered: processes lose their objects
 */
enum rhca_dev_flag {
	RHCA_DEV_REMOVED,
	RHCA_DEV_UNPLUGGED,
};

/**
 * struct rhca_dev - An RDMA device
 * @ibdev: the verbs device; first for ib_alloc_device()
 * @backend: who serves it
 * @offer: the offer that it was made of; NULL: none was needed
 * @caps: what the backend can do
 * @private: the backend's own
 * @hca_type: what ibstat calls the kind of adapter; like @board_id the backend may
 *	say what it is
 * @board_id: and the board
 * @entry: in the list of all devices, protected by the list's mutex
 * @qps_lock: protects @qps
 * @qps: all QPs
 * @counters_lock: protects @counter_sets, and what ports have of those that went
 * @counter_sets: struct rhca_counter_set by the id of their rdma_counter
 * @counter_descs: names of what the backend counts
 * @counter_ids: which these are, by enum rhca_counter
 * @num_counters: how many
 * @num_mcast_groups: groups on its ports, under RTNL
 * @num_mcast_attachments: QPs that are attached to them, under RTNL
 * @serial: its number among all that were ever made, from 1
 * @registrant: who is registering it, to compare, or NULL. ib_core has a device that cannot be
 *	registered after all unregistered by the same task
 * @flags: of enum rhca_dev_flag
 * @replaced: the devices of members that come back when this LAG ends
 * @num_ports: 1..RHCA_MAX_PORTS
 * @ports: in order; port number n is ports[n - 1]
 */
struct rhca_dev {
	struct ib_device ibdev;
	const struct rhca_backend_ops *backend;
	struct rhca_offer *offer;
	struct rhca_caps caps;
	void *private;
	char hca_type[RHCA_HCA_TYPE_CHARS];
	char board_id[RHCA_BOARD_ID_CHARS];
	struct list_head entry;
	struct mutex qps_lock;		/* protects: */
	struct list_head qps;
	struct mutex counters_lock;	/* protects: */
	struct xarray counter_sets;
	struct rdma_stat_desc *counter_descs;
	u8 counter_ids[RHCA_NUM_COUNTERS];
	u32 num_counters;
	u32 num_mcast_groups;
	u32 num_mcast_attachments;
	u32 serial;
	const struct task_struct *registrant;
	unsigned long flags;
	struct rhca_lag_record replaced;
	u32 num_ports;
	struct rhca_port ports[RHCA_MAX_PORTS];
};

static inline struct rhca_dev *to_rhca_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct rhca_dev, ibdev);
}

static inline struct rhca_port *rhca_port_of(struct rhca_dev *dev, u32 num)
{
	return num && num <= dev->num_ports ? &dev->ports[num - 1] : NULL;
}

#endif
