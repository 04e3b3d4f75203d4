/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One RDMA device with one or more ports, each over a netdev.
 */
#ifndef RHCA_CORE_DEVICE_H
#define RHCA_CORE_DEVICE_H

#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rhca/backend.h>

#include "core/lag.h"
#include "core/port.h"

#define RHCA_MAX_PORTS		8	/* of one device; adapters have two */

/* What query_device reports and create_* enforces */
#define RHCA_MAX_QP		65536
#define RHCA_MAX_QP_WR		16384
#define RHCA_MAX_SGE		32
#define RHCA_MAX_INLINE		512	/* bytes; RHCA_MAX_SGE entries' room */
#define RHCA_MAX_CQ		65536
#define RHCA_MAX_CQE		4194303	/* as ConnectX */
#define RHCA_MAX_MR		(1 << 20)
#define RHCA_MAX_MW		(1 << 20)
#define RHCA_MAX_MR_BYTES	(1ULL << 40)
#define RHCA_MAX_FAST_REG_PAGES	512	/* of one fast registration */
#define RHCA_MAX_PD		65536
#define RHCA_MAX_AH		65536
#define RHCA_MAX_SRQ		65536
#define RHCA_MAX_SRQ_WR		16384
#define RHCA_MAX_MCAST_GROUPS	8192
#define RHCA_MAX_MCAST_GROUP_QPS	256	/* of one group: copies of a packet */
#define RHCA_MAX_MCAST_QPS	65536	/* attachments */
#define RHCA_MAX_RD_ATOMIC	128	/* responder resources of a QP, as rdma_rxe */
#define RHCA_MAX_MSG_BYTES	(1U << 31)	/* IBTA vol. 1, 9.3.3.1.3 */
#define RHCA_ACK_DELAY_CODE	15	/* 4.096 us << 15 = 134 ms, as ConnectX */

/* Objects that ib_core does not number for us */
enum rhca_limited {
	RHCA_LIMIT_PD,
	RHCA_LIMIT_CQ,
	RHCA_LIMIT_SRQ,
	RHCA_LIMIT_QP,
	RHCA_LIMIT_MCAST_GROUP,
	RHCA_LIMIT_MCAST_QP,
	RHCA_NUM_LIMITS,
};

/**
 * struct rhca_dev - An RDMA device
 * @ibdev: the verbs device; first for ib_alloc_device()
 * @backend: who moves the bytes
 * @entry: in the list of all devices, protected by the list's mutex
 * @keys: memory regions and windows by the upper 24 bits of their key
 * @paths: address handles by the number that the user ABI gives them
 * @counter_sets: counter sets by the id of their rdma_counter
 * @num_objects: objects that have a limit, see enum rhca_limited
 * @removal: its netdev or the module goes, so it must not come back
 * @unplugged: it is being unregistered: processes lose their objects
 * @replaced: the devices of members that come back when this LAG ends
 * @num_ports: 1..RHCA_MAX_PORTS
 * @ports: in order; port number n is ports[n - 1]
 */
struct rhca_dev {
	struct ib_device ibdev;
	const struct rhca_backend_ops *backend;
	struct list_head entry;
	struct xarray keys;
	struct xarray paths;
	struct xarray counter_sets;
	u32 next_key;
	u32 next_path;
	atomic_t num_objects[RHCA_NUM_LIMITS];
	bool removal;
	bool unplugged;
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
 * @netdevs: one netdev a port; the caller holds a reference to each
 * @pkeys: of each port the partitions to begin with, or NULL for the default
 * @num_ports: how many
 * @second: the netdev that the only port sends by as well, or NULL
 * @replaced: devices that it stands for
 */
struct rhca_dev_spec {
	const char *name;
	const struct rhca_backend_ops *backend;
	struct net_device *netdevs[RHCA_MAX_PORTS];
	const struct rhca_pkey_table *pkeys[RHCA_MAX_PORTS];
	u32 num_ports;
	struct net_device *second;
	struct rhca_lag_record replaced;
};

int rhca_dev_create(const struct rhca_dev_spec *spec);
bool rhca_netdev_served(const struct net_device *ndev);
struct rhca_dev *rhca_dev_find(const struct net_device *ndev);
bool rhca_dev_claim(struct rhca_dev *dev);
void rhca_dev_unplugged(struct rhca_dev *dev);
void rhca_dev_spec_put_netdevs(struct rhca_dev_spec *spec);
bool rhca_dev_remove(const struct net_device *ndev);
void rhca_dev_remove_netdev(struct net_device *ndev);
void rhca_dev_remove_all(void);
struct rhca_port *rhca_port_find_gid(const struct rhca_gid_query *query,
				     u16 *index);
struct rhca_port *rhca_port_find_netdev(const struct net_device *ndev);
void rhca_port_changed(struct net_device *ndev, bool mtu_changed);
void rhca_port_apps_changed(int ifindex);
bool rhca_limit_take(struct rhca_dev *dev, enum rhca_limited which, int max);
void rhca_limit_give(struct rhca_dev *dev, enum rhca_limited which);

#endif
