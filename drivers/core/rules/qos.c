// SPDX-License-Identifier: GPL-2.0
/*
 * Forced values of a port.
 *
 * Three layers decide on the traffic class, the first that says something
 * counts: the rules here; the application (rdma_set_option, address vector);
 * rdma_cm's default_roce_tos. rdma_cm has joined the last two when it hands us
 * an address vector.
 */
#include "core/rules/qos.h"

void rhca_qos_init(struct rhca_qos *qos)
{
	qos->tclass.global = RHCA_TCLASS_OFF;
	mutex_init(&qos->tclass_lock);
}

/*
 * Which class is forced on a connection with these network headers? May sleep. Returns 0 to
 * 255, or RHCA_TCLASS_OFF.
 */
int rhca_qos_forced_tclass(struct rhca_qos *qos, const struct rhca_flow *flow)
{
	int tclass;

	if (flow->encap == RHCA_V1)
		return RHCA_TCLASS_OFF;
	mutex_lock(&qos->tclass_lock);
	tclass = rhca_tclass_find(&qos->tclass, &flow->sgid, &flow->dgid);
	mutex_unlock(&qos->tclass_lock);
	return tclass;
}
