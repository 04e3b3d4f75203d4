/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_CONTROL_LINK_H
#define RHCA_CONTROL_LINK_H

struct net_device;
struct rhca_backend_ops;

int rhca_link_init(const struct rhca_backend_ops *backend);
void rhca_link_exit(void);
const struct rhca_backend_ops *rhca_link_backend(void);
int rhca_link_check(struct net_device *ndev);

#endif
