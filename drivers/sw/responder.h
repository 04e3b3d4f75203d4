/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_RESPONDER_H
#define RHCA_SW_RESPONDER_H

#include "sw/qp.h"
#include "sw/receive.h"

/**
 * enum rhca_verdict - What a check says about a request
 * @RHCA_PASS: go on with the next check
 * @RHCA_DUPLICATE: it has been executed before
 * @RHCA_PSN_GAP: packets before it are missing
 * @RHCA_DROP: ignore it
 * @RHCA_NO_BUFFER: no receive request is posted
 * @RHCA_BAD_REQUEST: it breaks the protocol
 * @RHCA_BAD_LENGTH: it is longer than what it goes to
 * @RHCA_BAD_KEY: the key does not allow it
 * @RHCA_BAD_OPERATION: the QP does not allow it
 * @RHCA_LOCAL_FAULT: our own receive request is not usable
 * @RHCA_NUM_VERDICTS: how many there are
 */
enum rhca_verdict {
	RHCA_PASS,
	RHCA_DUPLICATE,
	RHCA_PSN_GAP,
	RHCA_DROP,
	RHCA_NO_BUFFER,
	RHCA_BAD_REQUEST,
	RHCA_BAD_LENGTH,
	RHCA_BAD_KEY,
	RHCA_BAD_OPERATION,
	RHCA_LOCAL_FAULT,
	RHCA_NUM_VERDICTS,
};

/**
 * struct rhca_refusal - What a verdict other than RHCA_PASS leads to on RC
 * @answers: a NAK or RNR NAK is sent
 * @type: type of its syndrome
 * @nak: NAK code
 * @fatal: the QP moves to ERR
 * @wc: status of the receive request, when @fatal and one was taken
 * @event: asynchronous event, when @fatal
 */
struct rhca_refusal {
	bool answers;
	enum rhca_syndrome_type type;
	enum rhca_nak nak;
	bool fatal;
	enum ib_wc_status wc;
	enum ib_event_type event;
};

extern const u32 rhca_credits[RHCA_CREDIT_INVALID];
extern const struct rhca_refusal rhca_refusals[RHCA_NUM_VERDICTS];

void rhca_responder_receive(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
			    struct rhca_run *run);
void rhca_responder_continue(struct rhca_sw_qp *qp, struct rhca_run *run);
void rhca_responder_flush(struct rhca_sw_qp *qp, struct rhca_run *run);
void rhca_responder_reset(struct rhca_sw_qp *qp);
u8 rhca_credit_code(u32 requests);

#endif
