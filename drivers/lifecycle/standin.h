/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stand-ins: devices of ours that are there while the RDMA device of another
 * driver is not.
 */
#ifndef RHCA_LIFECYCLE_STANDIN_H
#define RHCA_LIFECYCLE_STANDIN_H

#include <linux/netdevice.h>

struct workqueue_struct;

/**
 * struct rhca_standin_ops - What stand-ins need to know of netdevs
 * @wanted: does a stand-in belong on this netdev? Called under RTNL
 * @rival: is there another driver's device on it? 0: no; 1: yes; -EAGAIN: one
 *	that comes or goes just now
 * @create: make the device. May sleep
 */
struct rhca_standin_ops {
	bool (*wanted)(const struct net_device *ndev);
	int (*rival)(struct net_device *ndev);
	int (*create)(struct net_device *ndev);
};

void rhca_standin_init(const struct rhca_standin_ops *ops,
		       struct workqueue_struct *wq);
void rhca_standin_exit(void);
void rhca_standin_needed(void);
bool rhca_standin_is_pending(void);
void rhca_standin_rival_came(void);

#endif
