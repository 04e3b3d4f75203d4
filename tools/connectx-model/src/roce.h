/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE frames: Ethernet, then GRH (v1) or IP and UDP (v2), then the InfiniBand transport headers,
 * payload, pad and ICRC. Building and parsing; no state.
 */
#ifndef CONNECTX_ROCE_H
#define CONNECTX_ROCE_H

#include "util.h"

#define ROCE_UDP_PORT		4791u
#define ROCE_ETHERTYPE		0x8915u
#define ROCE_MAX_HEADERS	160u	/* everything around the payload */
#define ROCE_MAX_MTU		4096u
#define ROCE_MAX_FRAME		(ROCE_MAX_MTU + ROCE_MAX_HEADERS)
#define ROCE_DEFAULT_PKEY	0xffffu
#define PSN_MASK		0xffffffu

/* Transport in bits 7:5 of an opcode, operation in bits 4:0. */
enum roce_transport {
	ROCE_RC = 0x00, ROCE_UC = 0x20, ROCE_UD = 0x60, ROCE_CNP = 0x80, ROCE_XRC = 0xa0,
};

enum roce_operation {
	SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
	WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM,
	READ_REQUEST, READ_RESPONSE_FIRST, READ_RESPONSE_MIDDLE, READ_RESPONSE_LAST,
	READ_RESPONSE_ONLY, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD,
	SEND_LAST_INV = 22, SEND_ONLY_INV = 23, OPERATIONS = 24,
};

#define ROCE_OPCODE_CNP		0x81

enum roce_header {
	HDR_XRCETH = 1 << 0, HDR_DETH = 1 << 1, HDR_RETH = 1 << 2, HDR_ATOMIC = 1 << 3,
	HDR_AETH = 1 << 4, HDR_ATOMIC_ACK = 1 << 5, HDR_IMM = 1 << 6, HDR_IETH = 1 << 7,
};

enum roce_trait {
	OP_FIRST = 1 << 0, OP_LAST = 1 << 1, OP_SEND = 1 << 2, OP_WRITE = 1 << 3,
	OP_RESPONSE = 1 << 4, OP_PAYLOAD = 1 << 5, OP_ONLY = OP_FIRST | OP_LAST,
};

struct roce_opcode_row {
	const char *name;
	u8 headers;
	u8 traits;
};

/* AETH syndromes. */
#define AETH_ACK		0x1fu	/* end-to-end credits are not used */
#define AETH_RNR		0x20u
#define AETH_NAK		0x60u
#define AETH_KIND(syndrome)	((syndrome) & 0x60)
#define AETH_VALUE(syndrome)	((syndrome) & 0x1f)
enum nak_code { NAK_SEQUENCE = 0, NAK_INVALID = 1, NAK_ACCESS = 2, NAK_OPERATION = 3 };

enum roce_l3 { ROCE_L3_GRH = 0, ROCE_L3_IPV6 = 1, ROCE_L3_IPV4 = 2 };

/* The transport headers, in host order; @headers tells which are present. */
struct roce_transport_headers {
	u8 opcode;
	bool solicited, ack_request, fecn, becn;
	u8 pad;
	u16 pkey;
	u32 dest_qpn;
	u32 psn;
	u32 xrc_srqn;
	u32 qkey, src_qpn;		/* DETH */
	u64 remote_address;		/* RETH and AtomicETH */
	u32 rkey;
	u32 dma_bytes;
	u64 swap_add, compare;
	u8 syndrome;			/* AETH */
	u32 msn;
	u64 original;			/* AtomicAckETH */
	u32 immediate;			/* or the key of IETH */
};

/* Addresses of a frame, and how it is sent. */
struct roce_route {
	u8 source_mac[MAC_BYTES];
	u8 dest_mac[MAC_BYTES];
	u8 source_gid[GID_BYTES];
	u8 dest_gid[GID_BYTES];
	enum roce_l3 l3;
	bool vlan_valid;
	u16 vlan;		/* number, and priority in bits 15:13 */
	u8 traffic_class;
	u8 hop_limit;
	u32 flow_label;
	u16 udp_source_port;
};

struct roce_packet {
	struct roce_route route;
	struct roce_transport_headers bth;
	bool congestion;	/* the IP header says congestion experienced */
	const u8 *payload;
	u32 payload_bytes;
	u8 grh[40];		/* as written to a UD receive queue */
};

extern const struct roce_opcode_row roce_operations[OPERATIONS];

/* The row of a full opcode, or NULL if it does not exist. */
const struct roce_opcode_row *roce_opcode(u8 opcode);
u8 roce_opcode_headers(u8 opcode);

/* Return: bytes of the frame, written to @frame (ROCE_MAX_FRAME). */
u32 roce_build(u8 *frame, const struct roce_route *route,
	       const struct roce_transport_headers *bth, const u8 *payload, u32 bytes);

enum roce_verdict { ROCE_OK, ROCE_NOT, ROCE_MALFORMED, ROCE_BAD_ICRC };

/* Parse a frame. @packet points into @frame afterwards. */
enum roce_verdict roce_parse(const u8 *frame, u32 bytes, struct roce_packet *packet);

/* Mark congestion in a RoCE v2 frame, as a switch does. */
void roce_mark_congestion(u8 *frame, u32 bytes);

bool gid_is_ipv4(const u8 gid[GID_BYTES]);
u16 internet_checksum(const u8 *data, u32 bytes, u32 sum);

static inline int32_t psn_diff(u32 a, u32 b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
