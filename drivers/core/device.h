/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One RDMA device with one or more ports, each over a netdev.
 */
#ifndef RHCA_CORE_DEVICE_H
#define RHCA_CORE_DEVICE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rhca/backend.h>

#include "core/lag.h"
#include "core/port.h"

struct rhca_settings;

#define RHCA_MAX_PORTS		8	/* of one device; adapters have two */

/* With the 0 at the end; a board's ID (PSID) has 16 characters */
#define RHCA_HCA_TYPE_CHARS	16
#define RHCA_BOARD_ID_CHARS	64

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
 * @num_counters: how many
 * @num_mcast_groups: groups on its ports, under RTNL
 * @num_mcast_attachments: QPs that are attached to them, under RTNL
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
	const struct rdma_stat_desc *counter_descs;
	u32 num_counters;
	u32 num_mcast_groups;
	u32 num_mcast_attachments;
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

/**
 * struct rhca_dev_spec - What a new device should be
 * @name: its name, or NULL for the next free one: roce%d, roce_bond%d on a bond,
 *	roce_lag%d with a second netdev
 * @backend: who serves it
 * @offer: the offer that @backend made, or NULL
 * @netdevs: one netdev a port; the caller holds a reference to each
 * @pkeys: of each port the partitions to begin with, or NULL for the default
 * @num_ports: how many
 * @second: the netdev that the only port sends by as well, or NULL
 * @replaced: devices that it stands for
 * @settings: of each port, besides its partitions, or NULL; also copied
 */
struct rhca_dev_spec {
	const char *name;
	const struct rhca_backend_ops *backend;
	struct rhca_offer *offer;
	struct net_device *netdevs[RHCA_MAX_PORTS];
	const struct rhca_pkey_table *pkeys[RHCA_MAX_PORTS];
	u32 num_ports;
	struct net_device *second;
	struct rhca_lag_record replaced;
	const struct rhca_settings *settings[RHCA_MAX_PORTS];
};

bool rhca_is_device(const struct ib_device *ibdev);
struct rhca_dev *rhca_dev_alloc(const struct rhca_dev_spec *spec);
void rhca_dev_free_parts(struct rhca_dev *dev);
int rhca_dev_open_ports(struct rhca_dev *dev);
void rhca_dev_close_ports(struct rhca_dev *dev);

#endif
