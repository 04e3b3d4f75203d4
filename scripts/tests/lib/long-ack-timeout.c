// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into programs without an option for the ACK timeout: ibv_rc_pingpong gives up when its
 * peer's machine stalls for two seconds, which is not the driver's fault.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>

#define PATIENT	18	/* 1.07 s, eight times or more */

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int) = dlsym(RTLD_NEXT, "ibv_modify_qp");
	struct ibv_qp_attr patient = *attr;

	if (mask & IBV_QP_TIMEOUT && patient.timeout && patient.timeout < PATIENT)
		patient.timeout = PATIENT;
	return modify(qp, &patient, mask);
}
