/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RoCE frames built by hand: transport headers, the framings of annexes A16 and A17, the ICRC, and
 * their corruption by a peer.
 */
#ifndef RHCA_FUZZ_PACKET_H
#define RHCA_FUZZ_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BTH_BYTES	12
#define MAX_TRANSPORT	9200
#define MAX_FRAME	65536

enum opcode {
	SEND_FIRST = 0, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM,
	WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM,
	READ_REQUEST, READ_RESPONSE_FIRST, READ_RESPONSE_MIDDLE, READ_RESPONSE_LAST,
	READ_RESPONSE_ONLY, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD,
	SEND_LAST_INV = 0x16, SEND_ONLY_INV, ATOMIC_WRITE = 0x1d,
	UC = 0x20, UD_SEND_ONLY = 0x64, UD_SEND_ONLY_IMM, CNP = 0x81,
};

/* Two ends of a conversation in one framing; addresses as GIDs */
struct framing {
	bool v1;
	bool ipv6;
	uint8_t src_mac[6];
	uint8_t dst_mac[6];
	uint8_t src[16];
	uint8_t dst[16];
};

/* Faults of the frame around a transport packet; 0: none */
struct faults {
	uint32_t icrc;		/* flips these bits */
	uint8_t tags;		/* VLAN tags in front, 802.1ad and 802.1Q in turn */
	uint16_t vlan;
	int ip_lie;		/* excess of the length in IP or GRH, in bytes */
	int udp_lie;
	uint8_t tail;		/* bytes after the ICRC */
	uint8_t options;	/* words of IPv4 options */
	uint8_t version;	/* wrong version and next header */
	uint8_t next;
	bool hops_over;
	bool bad_ip_sum;
	bool wrong_src;
	bool wrong_dst;
	uint16_t fragment;	/* the IPv4 field: flags and offset */
	uint8_t tclass;
	uint16_t id;
};

/* A transport packet in the making: BTH to the end of the pad, no ICRC */
struct transport {
	uint8_t bytes[MAX_TRANSPORT];
	size_t length;
};

void transport_begin(struct transport *t, uint8_t opcode, uint32_t qpn, uint32_t psn, bool ack);
void transport_put(struct transport *t, const void *bytes, size_t length);
void transport_put32(struct transport *t, uint32_t value);
void transport_put64(struct transport *t, uint64_t value);
void transport_put_reth(struct transport *t, uint64_t address, uint32_t rkey, uint32_t length);
/* Payload of arbitrary bytes, padded to whole words */
void transport_put_payload(struct transport *t, size_t length);

size_t frame_build(uint8_t *frame, const struct framing *framing, const struct transport *t,
		   const struct faults *faults);
size_t frame_network_bytes(const struct framing *framing);
size_t frame_build_block(uint8_t *frame, const struct framing *framing, const struct transport *t,
			 unsigned int count, uint16_t id);

/**
 * struct received - A packet from the other side, parsed
 * @icrc_right: its ICRC is valid
 */
struct received {
	uint8_t opcode;
	uint8_t pad;
	bool ack_request;
	bool icrc_right;
	uint32_t qpn;
	uint32_t psn;
	const uint8_t *rest;	/* after the BTH */
	size_t rest_bytes;	/* without the ICRC */
};

bool frame_parse(const uint8_t *frame, size_t length, const struct framing *framing,
		 struct received *got);

uint32_t get32(const uint8_t *at);
uint64_t get64(const uint8_t *at);

#endif
