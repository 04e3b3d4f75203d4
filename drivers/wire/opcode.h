/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One row per opcode: which headers follow the BTH and the kind of packet. Opcodes without a row
 * are not supported.
 */
#ifndef RHCA_WIRE_OPCODE_H
#define RHCA_WIRE_OPCODE_H

#include <linux/bits.h>
#include <linux/types.h>
#include <rdma/ib_pack.h>

#include "wire/headers.h"

/* Extended transport headers, in their order after the BTH */
enum rhca_header {
	RHCA_HDR_DETH,
	RHCA_HDR_FETH,
	RHCA_HDR_RETH,
	RHCA_HDR_ATOMIC_ETH,
	RHCA_HDR_AETH,
	RHCA_HDR_ATOMIC_ACK_ETH,
	RHCA_HDR_IMMDT,
	RHCA_HDR_IETH,
	RHCA_HDR_CNP_PAD,
	RHCA_NUM_HDRS,
};

/* Kind of packet */
#define RHCA_OP_REQUEST		BIT(0)
#define RHCA_OP_RESPONSE	BIT(1)
#define RHCA_OP_FIRST		BIT(2)	/* first of several packets */
#define RHCA_OP_MIDDLE		BIT(3)
#define RHCA_OP_LAST		BIT(4)
#define RHCA_OP_ONLY		BIT(5)
#define RHCA_OP_SEND		BIT(6)
#define RHCA_OP_WRITE		BIT(7)
#define RHCA_OP_READ		BIT(8)	/* READ request or READ response */
#define RHCA_OP_ATOMIC		BIT(9)
#define RHCA_OP_PAYLOAD		BIT(10)	/* may carry payload */
#define RHCA_OP_CNP		BIT(11)
#define RHCA_OP_ATOMIC_WRITE	BIT(12)
#define RHCA_OP_FLUSH		BIT(13)
#define RHCA_OP_RESERVED	BIT(14)	/* reserved: RC answers with a NAK */

/* Requests answered from a responder resource */
#define RHCA_OP_RESOURCE	(RHCA_OP_READ | RHCA_OP_ATOMIC | \
				 RHCA_OP_ATOMIC_WRITE | RHCA_OP_FLUSH)

#define RHCA_OP_STARTS		(RHCA_OP_FIRST | RHCA_OP_ONLY)
#define RHCA_OP_ENDS		(RHCA_OP_LAST | RHCA_OP_ONLY)

#define RHCA_OPCODE_CNP		0x81	/* annex A17.9.3 */
/* RC, IBTA 1.6, annex A19 and 9.4.7; older kernels do not name them */
#define RHCA_OPCODE_FLUSH	0x1c
#define RHCA_OPCODE_ATOMIC_WRITE 0x1d
#define RHCA_OPCODE_TRANSPORT	GENMASK(7, 5)	/* RC, UC, RD, UD */
#define RHCA_MAX_HDR_BYTES	48	/* longest BTH + extended headers, rounded */

/* Properties of an opcode */
struct rhca_opcode {
	u16	headers;	/* BIT(enum rhca_header) of each header that follows the BTH */
	u8	header_bytes;	/* of all of them */
	u16	flags;		/* RHCA_OP_*; 0: opcode not supported */
};

extern const struct rhca_opcode rhca_opcodes[256];

unsigned int rhca_header_bytes(u16 headers);

static inline bool rhca_opcode_known(u8 opcode)
{
	return rhca_opcodes[opcode].flags;
}

/**
 * rhca_opcode_flags - Kind of packets with this opcode
 * @opcode: any
 *
 * Reserved opcodes of RC are requests, too, which a responder must not ignore silently, 9.7.5.2.
 * They count as a bare BTH with payload.
 *
 * Return: RHCA_OP_*; 0 for an opcode of an unsupported transport.
 */
static inline u16 rhca_opcode_flags(u8 opcode)
{
	if (rhca_opcode_known(opcode) ||
	    (opcode & RHCA_OPCODE_TRANSPORT) != IB_OPCODE_RC)
		return rhca_opcodes[opcode].flags;
	return RHCA_OP_REQUEST | RHCA_OP_PAYLOAD | RHCA_OP_RESERVED;
}

static inline bool rhca_opcode_has(u8 opcode, enum rhca_header hdr)
{
	return rhca_opcodes[opcode].headers & BIT(hdr);
}

/**
 * rhca_header_offset - Where a header starts
 * @opcode: an opcode whose row has @hdr
 * @hdr: the header
 *
 * Return: bytes from the start of the BTH to @hdr.
 */
static inline unsigned int rhca_header_offset(u8 opcode, enum rhca_header hdr)
{
	u16 before = rhca_opcodes[opcode].headers & (BIT(hdr) - 1);

	return sizeof(struct rhca_bth) + (before ? rhca_header_bytes(before) : 0);
}

/**
 * rhca_transport_bytes - Size of BTH and extended headers of an opcode
 * @opcode: any opcode; an unsupported one counts as a bare BTH
 *
 * Return: bytes from the start of the BTH to the payload.
 */
static inline unsigned int rhca_transport_bytes(u8 opcode)
{
	return sizeof(struct rhca_bth) + rhca_opcodes[opcode].header_bytes;
}

#endif
