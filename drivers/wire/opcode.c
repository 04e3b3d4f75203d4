// SPDX-License-Identifier: GPL-2.0
/*
 * The opcode table of IBTA vol. 1, 9.2.1 (table 38), for supported transports: RC, UC, UD, and the
 * congestion notification of annex A17.
 */
#include <rhca/compat.h>

#include "wire/opcode.h"
#include "wire/headers.h"

#define DETH	BIT(RHCA_HDR_DETH)
#define FETH	BIT(RHCA_HDR_FETH)
#define RETH	BIT(RHCA_HDR_RETH)
#define ATOMIC	BIT(RHCA_HDR_ATOMIC_ETH)
#define AETH	BIT(RHCA_HDR_AETH)
#define ATACK	BIT(RHCA_HDR_ATOMIC_ACK_ETH)
#define IMMDT	BIT(RHCA_HDR_IMMDT)
#define IETH	BIT(RHCA_HDR_IETH)
#define CNPPAD	BIT(RHCA_HDR_CNP_PAD)

#define REQ	(RHCA_OP_REQUEST | RHCA_OP_PAYLOAD)
#define RESP	RHCA_OP_RESPONSE
#define RDRESP	(RHCA_OP_RESPONSE | RHCA_OP_READ | RHCA_OP_PAYLOAD)

#define BYTES_IF(hdrs, hdr, type)	((hdrs) & (hdr) ? sizeof(struct type) : 0)
#define BYTES_OF(hdrs)							      \
	(BYTES_IF(hdrs, DETH, rhca_deth) + BYTES_IF(hdrs, FETH, rhca_feth) +  \
	 BYTES_IF(hdrs, RETH, rhca_reth) +				      \
	 BYTES_IF(hdrs, ATOMIC, rhca_atomic_eth) +			      \
	 BYTES_IF(hdrs, AETH, rhca_aeth) +				      \
	 BYTES_IF(hdrs, ATACK, rhca_atomic_ack_eth) +			      \
	 BYTES_IF(hdrs, IMMDT, rhca_immdt) + BYTES_IF(hdrs, IETH, rhca_ieth) + \
	 BYTES_IF(hdrs, CNPPAD, rhca_cnp_pad))

#define OPCODE(name, hdrs, what) \
	[IB_OPCODE_##name] = {						      \
		.headers	= (hdrs),				      \
		.header_bytes	= BYTES_OF(hdrs),			      \
		.flags		= (what),				      \
	}

/* Names in the form that OPCODE() pastes */
#define IB_OPCODE_RC_FLUSH_REQ		RHCA_OPCODE_FLUSH
#define IB_OPCODE_RC_ATOMIC_WRITE_REQ	RHCA_OPCODE_ATOMIC_WRITE
#define IB_OPCODE_CNP_PACKET		RHCA_OPCODE_CNP

#define SEND_AND_WRITE_ROWS(t)						      \
	OPCODE(t##_SEND_FIRST, 0, REQ | RHCA_OP_SEND | RHCA_OP_FIRST),	      \
	OPCODE(t##_SEND_MIDDLE, 0, REQ | RHCA_OP_SEND | RHCA_OP_MIDDLE),      \
	OPCODE(t##_SEND_LAST, 0, REQ | RHCA_OP_SEND | RHCA_OP_LAST),	      \
	OPCODE(t##_SEND_LAST_WITH_IMMEDIATE, IMMDT,			      \
	       REQ | RHCA_OP_SEND | RHCA_OP_LAST),			      \
	OPCODE(t##_SEND_ONLY, 0, REQ | RHCA_OP_SEND | RHCA_OP_ONLY),	      \
	OPCODE(t##_SEND_ONLY_WITH_IMMEDIATE, IMMDT,			      \
	       REQ | RHCA_OP_SEND | RHCA_OP_ONLY),			      \
	OPCODE(t##_RDMA_WRITE_FIRST, RETH,				      \
	       REQ | RHCA_OP_WRITE | RHCA_OP_FIRST),			      \
	OPCODE(t##_RDMA_WRITE_MIDDLE, 0,				      \
	       REQ | RHCA_OP_WRITE | RHCA_OP_MIDDLE),			      \
	OPCODE(t##_RDMA_WRITE_LAST, 0,					      \
	       REQ | RHCA_OP_WRITE | RHCA_OP_LAST),			      \
	OPCODE(t##_RDMA_WRITE_LAST_WITH_IMMEDIATE, IMMDT,		      \
	       REQ | RHCA_OP_WRITE | RHCA_OP_LAST),			      \
	OPCODE(t##_RDMA_WRITE_ONLY, RETH,				      \
	       REQ | RHCA_OP_WRITE | RHCA_OP_ONLY),			      \
	OPCODE(t##_RDMA_WRITE_ONLY_WITH_IMMEDIATE, RETH | IMMDT,	      \
	       REQ | RHCA_OP_WRITE | RHCA_OP_ONLY)

const struct rhca_opcode rhca_opcodes[256] = {
	SEND_AND_WRITE_ROWS(RC),
	SEND_AND_WRITE_ROWS(UC),

	OPCODE(RC_SEND_LAST_WITH_INVALIDATE, IETH,
	       REQ | RHCA_OP_SEND | RHCA_OP_LAST),
	OPCODE(RC_SEND_ONLY_WITH_INVALIDATE, IETH,
	       REQ | RHCA_OP_SEND | RHCA_OP_ONLY),

	OPCODE(RC_RDMA_READ_REQUEST, RETH,
	       RHCA_OP_REQUEST | RHCA_OP_READ | RHCA_OP_ONLY),
	OPCODE(RC_RDMA_READ_RESPONSE_FIRST, AETH, RDRESP | RHCA_OP_FIRST),
	OPCODE(RC_RDMA_READ_RESPONSE_MIDDLE, 0, RDRESP | RHCA_OP_MIDDLE),
	OPCODE(RC_RDMA_READ_RESPONSE_LAST, AETH, RDRESP | RHCA_OP_LAST),
	OPCODE(RC_RDMA_READ_RESPONSE_ONLY, AETH, RDRESP | RHCA_OP_ONLY),
	OPCODE(RC_ACKNOWLEDGE, AETH, RESP),
	OPCODE(RC_ATOMIC_ACKNOWLEDGE, AETH | ATACK, RESP | RHCA_OP_ATOMIC),
	OPCODE(RC_COMPARE_SWAP, ATOMIC,
	       RHCA_OP_REQUEST | RHCA_OP_ATOMIC | RHCA_OP_ONLY),
	OPCODE(RC_FETCH_ADD, ATOMIC,
	       RHCA_OP_REQUEST | RHCA_OP_ATOMIC | RHCA_OP_ONLY),
	OPCODE(RC_FLUSH_REQ, FETH | RETH,
	       RHCA_OP_REQUEST | RHCA_OP_FLUSH | RHCA_OP_ONLY),
	OPCODE(RC_ATOMIC_WRITE_REQ, RETH,
	       REQ | RHCA_OP_ATOMIC_WRITE | RHCA_OP_ONLY),

	OPCODE(UD_SEND_ONLY, DETH, REQ | RHCA_OP_SEND | RHCA_OP_ONLY),
	OPCODE(UD_SEND_ONLY_WITH_IMMEDIATE, DETH | IMMDT,
	       REQ | RHCA_OP_SEND | RHCA_OP_ONLY),

	OPCODE(CNP_PACKET, CNPPAD, RHCA_OP_CNP),
};
EXPORT_SYMBOL_IF_KUNIT(rhca_opcodes);

/* Size of several extended headers. @headers: BIT(enum rhca_header) of each. */
unsigned int rhca_header_bytes(u16 headers)
{
	return BYTES_OF(headers);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_header_bytes);
