/* SPDX-License-Identifier: GPL-2.0 */
/* UD queue pairs, and the one that carries management datagrams. */
#ifndef CONNECTX_DATAGRAM_H
#define CONNECTX_DATAGRAM_H

#include "qp.h"

bool datagram_send(struct qp *qp);
void datagram_receive(struct qp *qp, const struct roce_packet *packet);

#endif
