/* SPDX-License-Identifier: GPL-2.0 */
/* The sending half of RC, UC and XRC queue pairs. */
#ifndef CONNECTX_REQUESTER_H
#define CONNECTX_REQUESTER_H

#include "qp.h"

void requester_init(struct qp *qp);

/* Start from the PSN in the context, at RTR to RTS. */
void requester_start(struct qp *qp);

/* Send a burst. Return: true if more can be sent at once. */
bool requester_send(struct qp *qp);

/* An acknowledgement or a response has arrived. */
void requester_receive(struct qp *qp, const struct roce_packet *packet);

/* Stop sending, and all timers. */
void requester_stop(struct qp *qp);

/* Complete the oldest request with a flush error. Return: false if there is none. */
bool requester_flush_one(struct qp *qp);

/* Complete everything posted with a flush error. */
void requester_flush(struct qp *qp);
void requester_reset(struct qp *qp);

/* A completion for a send, good (syndrome 0) or bad. The op is freed. */
void requester_complete(struct qp *qp, struct send_op *op, enum cqe_syndrome syndrome);

/* In SQD: raise the event, once, if no request in progress is left. */
void requester_check_drained(struct qp *qp);

/* The oldest op failed: it completes with an error and the QP ends. */
void requester_fail(struct qp *qp, enum cqe_syndrome syndrome);

#endif
