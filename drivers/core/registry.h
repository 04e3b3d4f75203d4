/* SPDX-License-Identifier: GPL-2.0 */
/* All devices. */
#ifndef RHCA_CORE_REGISTRY_H
#define RHCA_CORE_REGISTRY_H

#include <linux/rculist.h>
#include <linux/types.h>

struct net_device;
struct rhca_dev;
struct rhca_dev_spec;
struct rhca_offer;

extern struct list_head rhca_devices;

/* Each port of each device, even of those not registered. RCU read side. */
#define rhca_for_each_port_rcu(dev, port) \
	list_for_each_entry_rcu(dev, &rhca_devices, entry) \
		for (port = (dev)->ports; port < (dev)->ports + (dev)->num_ports; port++)

int rhca_dev_create(const struct rhca_dev_spec *spec);
bool rhca_netdev_served(const struct net_device *ndev);
bool rhca_netdev_led(const struct net_device *ndev);
struct rhca_dev *rhca_dev_find(const struct net_device *ndev);
struct rhca_dev *rhca_dev_find_lag(const struct net_device *ndev);
void rhca_dev_plugged(struct rhca_dev *dev);
void rhca_dev_unplugged(struct rhca_dev *dev);
bool rhca_dev_remove_later(struct rhca_dev *dev);
void rhca_dev_drop(struct rhca_dev *dev);
void rhca_dev_remove_netdev(struct net_device *ndev);
void rhca_dev_remove_offer(const struct rhca_offer *offer,
			   void (*before)(struct rhca_dev *dev));
void rhca_dev_remove_all(void);

#endif
