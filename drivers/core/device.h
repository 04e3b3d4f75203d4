/* SPDX-License-Identifier: GPL-2.0 */
/* An RDMA device with one or more ports, each on a netdev: its creation, and its netdevs. */
#ifndef RHCA_CORE_DEVICE_H
#define RHCA_CORE_DEVICE_H

#include "core/port/device_types.h"
#include "core/port/port.h"

struct rhca_settings;

/* Description of a new device. Per port: netdev, partitions, other settings */
struct rhca_dev_spec {
	/* NULL: the next free one of roce%d, roce_bond%d on a bond, roce_lag%d with @second */
	const char *name;
	bool name_is_kept;				/* and not given by the user */
	const struct rhca_backend_ops *backend;
	struct rhca_offer *offer;			/* of @backend, or NULL */
	struct net_device *netdevs[RHCA_MAX_PORTS];	/* the caller holds references */
	const struct net *net;				/* expected namespace; NULL: any */
	const struct rhca_pkey_table *pkeys[RHCA_MAX_PORTS];	/* NULL: the default */
	u32 num_ports;
	struct net_device *second;			/* also on the only port; or NULL */
	struct rhca_lag_record replaced;		/* devices that a LAG replaces */
	const struct rhca_settings *settings[RHCA_MAX_PORTS];	/* copied, or NULL */
};

bool rhca_dev_claim(struct rhca_dev *dev);
bool rhca_is_device(const struct ib_device *ibdev);
struct rhca_dev *rhca_dev_alloc(const struct rhca_dev_spec *spec);
void rhca_dev_free_parts(struct rhca_dev *dev);
int rhca_dev_open_ports(struct rhca_dev *dev);
void rhca_dev_close_ports(struct rhca_dev *dev);

bool rhca_dev_is_lag(const struct rhca_dev *dev);
bool rhca_dev_netdevs_stay(const struct rhca_dev *dev);
void rhca_dev_release_netdevs(struct rhca_dev *dev);

#endif
