/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport headers of IBTA vol. 1, chapter 9, as on the wire: structs of big-endian words, masks
 * for the fields inside a word, and typed accessors. The framing (RoCE v1 or v2) before the BTH is
 * in encap.h.
 */
#ifndef RHCA_WIRE_HEADERS_H
#define RHCA_WIRE_HEADERS_H

#include <linux/bitfield.h>
#include <linux/build_bug.h>
#include <linux/types.h>

#define RHCA_ETHERTYPE		0x8915	/* RoCE v1, annex A16 */
#define RHCA_UDP_PORT		4791	/* RoCE v2, annex A17 */
#define RHCA_ICRC_BYTES		4
#define RHCA_PSN_MASK		GENMASK(23, 0)
#define RHCA_QPN_MASK		GENMASK(23, 0)
#define RHCA_MULTICAST_QPN	0xffffff

/* Base Transport Header, IBTA vol. 1, 9.2 */
struct rhca_bth {
	u8	opcode;
	u8	flags;		/* RHCA_BTH_SOLICITED .. RHCA_BTH_VERSION */
	__be16	pkey;
	__be32	dest;		/* RHCA_BTH_FECN .. RHCA_BTH_DEST_QPN */
	__be32	seq;		/* RHCA_BTH_ACK_REQ, RHCA_BTH_PSN */
};
static_assert(sizeof(struct rhca_bth) == 12);

#define RHCA_BTH_SOLICITED	BIT(7)
#define RHCA_BTH_MIGRATED	BIT(6)
#define RHCA_BTH_PAD		GENMASK(5, 4)
#define RHCA_BTH_VERSION	GENMASK(3, 0)
#define RHCA_BTH_FECN		BIT(31)
#define RHCA_BTH_BECN		BIT(30)
#define RHCA_BTH_RESERVED8A	GENMASK(31, 24)
#define RHCA_BTH_DEST_QPN	GENMASK(23, 0)
#define RHCA_BTH_ACK_REQ	BIT(31)
#define RHCA_BTH_PSN		GENMASK(23, 0)

/* Datagram Extended Transport Header, 9.3.1 */
struct rhca_deth {
	__be32	qkey;
	__be32	src;		/* RHCA_DETH_SRC_QPN */
};
static_assert(sizeof(struct rhca_deth) == 8);

#define RHCA_DETH_SRC_QPN	GENMASK(23, 0)

/* FLUSH Extended Transport Header, annex A19 */
struct rhca_feth {
	__be32	word;		/* RHCA_FETH_SELECTIVITY, RHCA_FETH_PLACEMENT */
};
static_assert(sizeof(struct rhca_feth) == 4);

#define RHCA_FETH_SELECTIVITY	GENMASK(5, 4)
#define RHCA_FETH_PLACEMENT	GENMASK(3, 0)

/* Required placement of data; at least one of these */
#define RHCA_PLACE_GLOBAL	BIT(0)	/* visible to all on the host */
#define RHCA_PLACE_PERSISTENT	BIT(1)	/* survives a loss of power */
#define RHCA_PLACE_ALL		(RHCA_PLACE_GLOBAL | RHCA_PLACE_PERSISTENT)

enum rhca_selectivity {
	RHCA_SELECT_RANGE	= 0,	/* addresses of the RETH */
	RHCA_SELECT_MR		= 1,	/* all of the key's memory */
};

/* RDMA Extended Transport Header, 9.3.3 */
struct rhca_reth {
	__be64	va;
	__be32	rkey;
	__be32	length;		/* bytes of the whole message */
} __packed;
static_assert(sizeof(struct rhca_reth) == 16);

/* Atomic Extended Transport Header, 9.3.4 */
struct rhca_atomic_eth {
	__be64	va;
	__be32	rkey;
	__be64	swap_add;
	__be64	compare;
} __packed;
static_assert(sizeof(struct rhca_atomic_eth) == 28);

/* ACK Extended Transport Header, 9.3.5 */
struct rhca_aeth {
	__be32	word;		/* RHCA_AETH_SYNDROME, RHCA_AETH_MSN */
};
static_assert(sizeof(struct rhca_aeth) == 4);

#define RHCA_AETH_SYNDROME	GENMASK(31, 24)
#define RHCA_AETH_MSN		GENMASK(23, 0)

/* The two parts of an AETH syndrome, 9.7.5.1.1, table 43 */
#define RHCA_SYNDROME_TYPE	GENMASK(7, 5)
#define RHCA_SYNDROME_VALUE	GENMASK(4, 0)

enum rhca_syndrome_type {
	RHCA_AETH_ACK		= 0,	/* value: credit count, 31 = invalid */
	RHCA_AETH_RNR		= 1,	/* value: timer code */
	RHCA_AETH_NAK		= 3,	/* value: enum rhca_nak */
};

#define RHCA_CREDIT_INVALID	31

enum rhca_nak {
	RHCA_NAK_PSN		= 0,
	RHCA_NAK_INVALID	= 1,
	RHCA_NAK_ACCESS		= 2,
	RHCA_NAK_OPERATION	= 3,
};

/* Atomic ACK Extended Transport Header, 9.3.5.3 */
struct rhca_atomic_ack_eth {
	__be64	original;
} __packed;
static_assert(sizeof(struct rhca_atomic_ack_eth) == 8);

/* Immediate Extended Transport Header, 9.3.6 */
struct rhca_immdt {
	__be32	data;
};

/* Invalidate Extended Transport Header, 9.3.7 */
struct rhca_ieth {
	__be32	rkey;
};

/* Reserved bytes of a congestion notification packet, annex A17.9.3 */
struct rhca_cnp_pad {
	u8	zero[16];
};

static inline u32 rhca_bth_psn(const struct rhca_bth *bth)
{
	return be32_get_bits(bth->seq, RHCA_BTH_PSN);
}

static inline bool rhca_bth_ack_req(const struct rhca_bth *bth)
{
	return be32_get_bits(bth->seq, RHCA_BTH_ACK_REQ);
}

static inline u32 rhca_bth_dest_qpn(const struct rhca_bth *bth)
{
	return be32_get_bits(bth->dest, RHCA_BTH_DEST_QPN);
}

static inline bool rhca_bth_solicited(const struct rhca_bth *bth)
{
	return bth->flags & RHCA_BTH_SOLICITED;
}

static inline u8 rhca_bth_pad(const struct rhca_bth *bth)
{
	return u8_get_bits(bth->flags, RHCA_BTH_PAD);
}

static inline u8 rhca_bth_version(const struct rhca_bth *bth)
{
	return u8_get_bits(bth->flags, RHCA_BTH_VERSION);
}

static inline u32 rhca_deth_src_qpn(const struct rhca_deth *deth)
{
	return be32_get_bits(deth->src, RHCA_DETH_SRC_QPN);
}

static inline u8 rhca_feth_placement(const struct rhca_feth *feth)
{
	return be32_get_bits(feth->word, RHCA_FETH_PLACEMENT);
}

static inline u8 rhca_feth_selectivity(const struct rhca_feth *feth)
{
	return be32_get_bits(feth->word, RHCA_FETH_SELECTIVITY);
}

static inline u8 rhca_aeth_syndrome(const struct rhca_aeth *aeth)
{
	return be32_get_bits(aeth->word, RHCA_AETH_SYNDROME);
}

static inline u32 rhca_aeth_msn(const struct rhca_aeth *aeth)
{
	return be32_get_bits(aeth->word, RHCA_AETH_MSN);
}

static inline bool rhca_syndrome_is_ack(u8 syndrome)
{
	return u8_get_bits(syndrome, RHCA_SYNDROME_TYPE) == RHCA_AETH_ACK;
}

static inline u8 rhca_syndrome(enum rhca_syndrome_type type, u8 value)
{
	return u8_encode_bits(type, RHCA_SYNDROME_TYPE) |
	       u8_encode_bits(value, RHCA_SYNDROME_VALUE);
}

/* BTH fields that a sender sets */
struct rhca_bth_fields {
	u8	opcode;
	u8	pad;		/* bytes of padding after the payload, 0-3 */
	bool	solicited;	/* ask the receiver for a solicited event */
	bool	ack_req;	/* ask the responder for an acknowledgement */
	u16	pkey;		/* host order */
	u32	dest_qpn;
	u32	psn;
};

/* MigReq is 1: RoCE has no path migration, so the state is always "migrated" */
static inline void rhca_bth_fill(struct rhca_bth *bth,
				 const struct rhca_bth_fields *f)
{
	bth->opcode = f->opcode;
	bth->flags = (f->solicited ? RHCA_BTH_SOLICITED : 0) |
		     RHCA_BTH_MIGRATED | u8_encode_bits(f->pad, RHCA_BTH_PAD);
	bth->pkey = cpu_to_be16(f->pkey);
	bth->dest = be32_encode_bits(f->dest_qpn, RHCA_BTH_DEST_QPN);
	bth->seq = be32_encode_bits(f->psn, RHCA_BTH_PSN) |
		   be32_encode_bits(f->ack_req, RHCA_BTH_ACK_REQ);
}

static inline void rhca_aeth_fill(struct rhca_aeth *aeth, u8 syndrome, u32 msn)
{
	aeth->word = be32_encode_bits(syndrome, RHCA_AETH_SYNDROME) |
		     be32_encode_bits(msn, RHCA_AETH_MSN);
}

static inline void rhca_feth_fill(struct rhca_feth *feth, u8 placement,
				  u8 selectivity)
{
	feth->word = be32_encode_bits(placement, RHCA_FETH_PLACEMENT) |
		     be32_encode_bits(selectivity, RHCA_FETH_SELECTIVITY);
}

static inline void rhca_deth_fill(struct rhca_deth *deth, u32 qkey, u32 src_qpn)
{
	deth->qkey = cpu_to_be32(qkey);
	deth->src = be32_encode_bits(src_qpn, RHCA_DETH_SRC_QPN);
}

#endif
