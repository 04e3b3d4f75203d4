/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_RX_EXECUTE_H
#define RHCA_SW_RX_EXECUTE_H

#include <linux/types.h>

#include "sw/rx/check.h"

enum rhca_request_status rhca_request_execute(struct rhca_sw_qp *qp,
					      const struct rhca_rx *rx);
int rhca_responder_reserve(struct rhca_sw_qp *qp, u32 max_dest_rd_atomic);

#endif
