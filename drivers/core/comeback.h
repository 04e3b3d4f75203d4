/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices that will be made again: after another driver has unregistered them,
 * and after a LAG that stood for them has ended.
 */
#ifndef RHCA_CORE_COMEBACK_H
#define RHCA_CORE_COMEBACK_H

struct kobject;
struct net;
struct net_device;
struct rhca_dev_spec;

struct kobject *rhca_in_tree_module(void);
bool rhca_stranger_unloading(void);
void rhca_comeback_plan(const struct rhca_dev_spec *spec, const char *why);
void rhca_comeback_replaced(struct net *net, const struct rhca_dev_spec *lag);
void rhca_comeback_cancel(const struct net_device *ndev);
void rhca_comeback_stop(void);
int rhca_comeback_init(void);
void rhca_comeback_exit(void);

#endif
