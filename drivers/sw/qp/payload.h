/* SPDX-License-Identifier: GPL-2.0 */
/* Copying of payload between packets and memory regions. */
#ifndef RHCA_SW_QP_PAYLOAD_H
#define RHCA_SW_QP_PAYLOAD_H

#include <rdma/ib_verbs.h>

#include "sw/packet/parse.h"
#include "sw/verbs/memory/mem.h"
#include "sw/verbs/qp/qp.h"

struct rhca_packet;

/* Never in a completion: a page of local memory is being faulted in, retry */
#define RHCA_WC_PAGE_FAULT	((enum ib_wc_status)(IB_WC_GENERAL_ERR + 1))

/* Payload whose CRC is computed while it is copied */
struct rhca_check {
	const u8 *data;	/* next byte */
	bool vectors;	/* from rhca_crc32_begin() */
	u32 crc;	/* CRC so far */
};

/* A range of bytes in a scatter/gather list */
struct rhca_span {
	const struct ib_sge *sge;		/* the list */
	u32 num_sge;			/* its entries */
	u32 offset;			/* first byte, counted from the start of the list */
	u32 bytes;			/* how many */
	struct ib_pd *pd;		/* protection domain of its keys; NULL: the QP's */
	struct rhca_mem **held;		/* for rhca_mem_hold(); released at the end of the pass */
};

enum ib_wc_status rhca_gather(struct rhca_verbs_qp *qp,
			      const struct rhca_span *span,
			      struct rhca_packet *packet);
enum ib_wc_status rhca_scatter(struct rhca_verbs_qp *qp,
			       const struct rhca_span *span,
			       const struct rhca_rx *rx);
enum ib_wc_status rhca_scatter_ready(struct rhca_verbs_qp *qp,
				     const struct rhca_span *span);
enum ib_wc_status rhca_scatter_bytes(struct rhca_verbs_qp *qp,
				     const struct rhca_span *span,
				     const void *data);
enum ib_wc_status rhca_scatter_checked(struct rhca_verbs_qp *qp,
				       const struct rhca_span *span,
				       struct rhca_check *check);
int rhca_checked_to_mem(const struct rhca_mem *mem, u64 addr, u32 bytes,
			u32 ahead, struct rhca_check *check);
int rhca_mem_to_packet(const struct rhca_mem *mem, u64 addr, u32 bytes,
		       u32 ahead, struct rhca_packet *packet);
int rhca_mem_ready(const struct rhca_mem *mem, u64 addr, u32 bytes, u32 ahead);
int rhca_rx_to_mem(const struct rhca_mem *mem, u64 addr, u32 ahead,
		   const struct rhca_rx *rx);
void rhca_mem_write_back(const struct rhca_mem *mem, u64 addr, u32 bytes);

#endif
