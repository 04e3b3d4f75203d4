/* SPDX-License-Identifier: GPL-2.0 */
/* The limit on multicast attachments of a user. */
#ifndef RHCA_CORE_MCAST_LIMIT_H
#define RHCA_CORE_MCAST_LIMIT_H

struct rhca_mcast_owner;
struct rhca_port;
struct rhca_qp;

int rhca_mcast_owner_get(struct rhca_port *port, const struct rhca_qp *qp,
			 struct rhca_mcast_owner **owner);
void rhca_mcast_owner_put(struct rhca_mcast_owner *owner);

#endif
