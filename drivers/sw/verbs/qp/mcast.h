/* SPDX-License-Identifier: GPL-2.0 */
/* Delivery to the QPs of a multicast group, IBTA vol. 1, 10.5. */
#ifndef RHCA_SW_VERBS_QP_MCAST_H
#define RHCA_SW_VERBS_QP_MCAST_H

struct rhca_mcast_attachment;
struct rhca_verbs_qp;

int rhca_verbs_mcast_attach(struct rhca_mcast_attachment *attachment);
struct rhca_verbs_qp *
rhca_mcast_qp_get(const struct rhca_mcast_attachment *attachment);

#endif
