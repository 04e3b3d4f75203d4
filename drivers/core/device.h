/* SPDX-License-Identifier: GPL-2.0 */
/* One RDMA device with one or more ports, each over a netdev: its creation, and its netdevs. */
#ifndef RHCA_CORE_DEVICE_H
#define RHCA_CORE_DEVICE_H

#include "core/port/device_types.h"
#include "core/port/port.h"

struct rhca_settings;

/**
 * struct rhca_dev_spec - What a new device should be
 * @name: its name, or NULL for the next free one: roce%d, roce_bond%d on a bond,
 *	roce_lag%d with a second netdev
 * @backend: who serves it
 * @offer: the offer that @backend made, or NULL
 * @netdevs: one netdev a port; the caller holds a reference to each
 * @net: the namespace that they are to be in, to compare; NULL: any
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
	const struct net *net;
	const struct rhca_pkey_table *pkeys[RHCA_MAX_PORTS];
	u32 num_ports;
	struct net_device *second;
	struct rhca_lag_record replaced;
	const struct rhca_settings *settings[RHCA_MAX_PORTS];
};

bool rhca_dev_claim(struct rhca_dev *dev);
bool rhca_is_device(const struct ib_device *ibdev);
struct rhca_dev *rhca_dev_alloc(const struct rhca_dev_spec *spec);
void rhca_dev_free_parts(struct rhca_dev *dev);
int rhca_dev_open_ports(struct rhca_dev *dev);
void rhca_dev_close_ports(struct rhca_dev *dev);

bool rhca_dev_is_on(const struct rhca_dev *dev, const struct net_device *ndev);
bool rhca_dev_stands_for(const struct rhca_dev *dev,
			 const struct net_device *ndev);
bool rhca_dev_leads(const struct rhca_dev *dev, const struct net_device *ndev);
bool rhca_dev_netdevs_stay(const struct rhca_dev *dev);
void rhca_dev_release_netdevs(struct rhca_dev *dev);
void rhca_dev_update_ports(struct rhca_dev *dev);

#endif
