/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All devices.
 */
#ifndef RHCA_CORE_REGISTRY_H
#define RHCA_CORE_REGISTRY_H

#include <linux/types.h>

struct ib_device;
struct net_device;
struct rhca_dev;
struct rhca_dev_spec;
struct rhca_offer;
struct rhca_port;

void rhca_devices_listen(void (*lost)(void));
int rhca_dev_create(const struct rhca_dev_spec *spec);
bool rhca_netdev_served(const struct net_device *ndev);
struct rhca_dev *rhca_dev_find(const struct net_device *ndev);
struct rhca_dev *rhca_dev_find_lag(const struct net_device *ndev);
bool rhca_dev_claim(struct rhca_dev *dev);
void rhca_dev_plugged(struct rhca_dev *dev);
void rhca_dev_unplugged(struct rhca_dev *dev);
bool rhca_dev_remove_and_put(struct rhca_dev *dev);
void rhca_dev_remove_netdev(struct net_device *ndev);
void rhca_dev_remove_offer(const struct rhca_offer *offer,
			   void (*before)(struct rhca_dev *dev));
void rhca_dev_remove_all(void);
void rhca_port_for_each(void (*see)(struct rhca_port *port, const void *what),
			const void *what);

#endif
