// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into programs whose ACK timeout cannot be set: ibv_rc_pingpong gives up when
 * its peer's machine stands still for two seconds, which tells nothing of the driver.
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
