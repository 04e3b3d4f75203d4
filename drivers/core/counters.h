/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of ports and of QPs bound by "rdma statistic": names, sets, and the management datagrams
 * that read them. The backend counts.
 */
#ifndef RHCA_CORE_COUNTERS_H
#define RHCA_CORE_COUNTERS_H

#include <rdma/ib_verbs.h>
#include <rhca/counter.h>

struct rhca_dev;
struct rhca_port;

int rhca_counters_init(struct rhca_dev *dev);
void rhca_counters_exit(struct rhca_dev *dev);
int rhca_port_totals(struct rhca_port *port, u64 *totals);

extern const struct ib_device_ops rhca_counter_verbs;
extern const struct ib_device_ops rhca_mad_verbs;	/* mad.c */

/* As "rdma statistic" shows it */
const char *rhca_counter_name(enum rhca_counter which);

#endif
