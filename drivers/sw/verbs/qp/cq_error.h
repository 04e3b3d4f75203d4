/* SPDX-License-Identifier: GPL-2.0 */
/* A completion queue in error, and its QPs. */
#ifndef RHCA_SW_VERBS_QP_CQ_ERROR_H
#define RHCA_SW_VERBS_QP_CQ_ERROR_H

struct work_struct;

void rhca_cq_errors_work(struct work_struct *work);

#endif
