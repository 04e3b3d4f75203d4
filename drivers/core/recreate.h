/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices that will be made again: after another driver has unregistered them,
 * and after a LAG that stood for them has ended.
 */
#ifndef RHCA_CORE_RECREATE_H
#define RHCA_CORE_RECREATE_H

struct net_device;
struct rhca_dev;
struct rhca_lag_record;
struct rhca_pkey_table;

void rhca_recreate_dev(struct rhca_dev *dev, const char *why);
void rhca_recreate_listen(void (*new)(const struct rhca_lag_record *record,
				      const struct rhca_pkey_table *pkeys));
void rhca_recreate_replaced(const struct rhca_lag_record *record,
			    const struct rhca_pkey_table *pkeys);
void rhca_recreate_cancel(const struct net_device *ndev);
void rhca_recreate_stop(void);
int rhca_recreate_init(void);
void rhca_recreate_exit(void);

#endif
