// SPDX-License-Identifier: GPL-2.0
/*
 * Who is charged for packets in queueing disciplines and rings of netdevs. A socket of
 * the QP's own owns them, which is never bound and receives nothing: the kernel's
 * sock_wfree() subtracts what has been freed, so packets may outlive the QP, the device
 * and this module. No callback says when there is room: a half that has to wait looks
 * again after a pause.
 */
#include <linux/net.h>
#include <net/net_namespace.h>

#include "sw/packet/under_way.h"

/**
 * rhca_under_way_open - Begin to count what a QP has under way
 * @qp: the QP; nothing changes when it is counted already
 *
 * The namespace is the initial one, which does not end before packets that are still in
 * the queue of a netdev.
 *
 * Context: process; the QP sends nothing yet.
 * Return: 0 or an error of sock_create_kern().
 */
int rhca_under_way_open(struct rhca_verbs_qp *qp)
{
	if (qp->owner)
		return 0;
	return sock_create_kern(&init_net, PF_INET, SOCK_DGRAM, IPPROTO_UDP,
				&qp->owner);
}

/**
 * rhca_under_way_close - The QP sends nothing any more
 * @qp: the QP
 *
 * Context: process.
 */
void rhca_under_way_close(struct rhca_verbs_qp *qp)
{
	if (qp->owner)
		sock_release(qp->owner);
	qp->owner = NULL;
}
