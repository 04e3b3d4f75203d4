/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which backend serves a netdev: hardware that offers to, else software.
 */
#ifndef RHCA_LIFECYCLE_CHOICE_H
#define RHCA_LIFECYCLE_CHOICE_H

#include <linux/types.h>

struct net_device;
struct rhca_backend_ops;
struct rhca_dev_spec;
struct workqueue_struct;

/**
 * struct rhca_choice_ops - What the choice needs to know from others
 * @may_serve: 0 if no other driver is on the netdev and nothing else is against a
 *	device of ours. May sleep.
 * @others_serve: Has another driver a device on the netdev, which came later than ours?
 *	Hardware may not serve then, and software is not given up for it. May sleep.
 * @software: the backend that serves any netdev
 * @kick: rhca_slot_kick()
 */
struct rhca_choice_ops {
	int (*may_serve)(struct net_device *ndev);
	bool (*others_serve)(struct net_device *ndev);
	const struct rhca_backend_ops *(*software)(void);
	void (*kick)(const struct net_device *ndev);
};

void rhca_choice_init(const struct rhca_choice_ops *ops,
		      struct workqueue_struct *wq);
void rhca_choice_stop(void);
void rhca_choice_netdev_came(void);
int rhca_choice_create(struct rhca_dev_spec *spec);

#endif
