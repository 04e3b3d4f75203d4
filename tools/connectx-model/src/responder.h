/* SPDX-License-Identifier: GPL-2.0 */
/* The answering half of RC, UC and XRC queue pairs. */
#ifndef CONNECTX_RESPONDER_H
#define CONNECTX_RESPONDER_H

#include "qp.h"

void responder_init(struct qp *qp);

/* Start from the PSN in the context, at INIT to RTR. */
void responder_start(struct qp *qp);

/* A request has arrived from the peer. */
void responder_receive(struct qp *qp, const struct roce_packet *packet);

/* Send a burst of answers. Return: true if there are more. */
bool responder_send(struct qp *qp);

/* Drop work in progress; a receive in use completes with an error. */
void responder_stop(struct qp *qp);
void responder_reset(struct qp *qp);

/* A shared queue is destroyed: forget the receive taken from it. */
void responder_forget_srq(struct qp *qp, const struct srq *srq);

#endif
