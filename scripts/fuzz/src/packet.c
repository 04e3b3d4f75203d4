// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <string.h>

#include "packet.h"

#define ROCE_V1_TYPE	0x8915
#define ROCE_V2_PORT	4791
#define GRH_NEXT_HEADER	0x1b
#define GRH_BYTES	40
#define IPV4_BYTES	20
#define UDP_BYTES	8
#define ICRC_BYTES	4

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value);
}

uint32_t get32(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

uint64_t get64(const uint8_t *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

/* --- ICRC --------------------------------------------------------------------- */

static uint32_t crc_table[8][256];

/* Slicing by eight; the table's first row is the usual one */
static void make_crc_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
		crc_table[0][i] = crc;
	}
	for (int row = 1; row < 8; row++)
		for (int i = 0; i < 256; i++)
			crc_table[row][i] = crc_table[row - 1][i] >> 8 ^
				crc_table[0][crc_table[row - 1][i] & 0xff];
}

static uint32_t crc32_of(uint32_t crc, const uint8_t *at, size_t bytes)
{
	if (!crc_table[0][1])
		make_crc_table();
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint32_t low, high;

		memcpy(&low, at, 4);
		memcpy(&high, at + 4, 4);
		low ^= crc;
		crc = crc_table[7][low & 0xff] ^ crc_table[6][low >> 8 & 0xff] ^
		      crc_table[5][low >> 16 & 0xff] ^ crc_table[4][low >> 24] ^
		      crc_table[3][high & 0xff] ^ crc_table[2][high >> 8 & 0xff] ^
		      crc_table[1][high >> 16 & 0xff] ^ crc_table[0][high >> 24];
	}
	while (bytes--)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
	return crc;
}

/* Fields that routers may change count as ones, IBTA annexes A16.5.1 and A17.3.3 */
static uint32_t icrc_of(const struct framing *framing, const uint8_t *network, size_t bytes,
			const uint8_t *transport, size_t length)
{
	uint8_t masked[8 + 128];
	uint8_t bth[BTH_BYTES] = {};
	size_t in_bth = length < BTH_BYTES ? length : BTH_BYTES;
	uint32_t crc;

	memset(masked, 0xff, 8);
	memcpy(masked + 8, network, bytes);
	if (framing->v1 || framing->ipv6) {
		masked[8] |= 0x0f;
		memset(masked + 9, 0xff, 3);
		masked[8 + 7] = 0xff;
	} else {
		masked[8 + 1] = masked[8 + 8] = masked[8 + 10] = masked[8 + 11] = 0xff;
	}
	if (!framing->v1)
		memset(masked + 8 + bytes - 2, 0xff, 2);
	memcpy(bth, transport, in_bth);
	bth[4] = 0xff;
	crc = crc32_of(~0u, masked, 8 + bytes);
	crc = crc32_of(crc, bth, in_bth);
	return ~crc32_of(crc, transport + in_bth, length - in_bth);
}

/* --- transport ---------------------------------------------------------------- */

void transport_begin(struct transport *t, uint8_t opcode, uint32_t qpn, uint32_t psn, bool ack)
{
	t->bytes[0] = opcode;
	t->bytes[1] = 0x40;	/* migrated, as usual */
	put16(t->bytes + 2, 0xffff);
	put32(t->bytes + 4, qpn & 0xffffff);
	put32(t->bytes + 8, (ack ? 1u << 31 : 0) | (psn & 0xffffff));
	t->length = BTH_BYTES;
}

void transport_put(struct transport *t, const void *bytes, size_t length)
{
	memcpy(t->bytes + t->length, bytes, length);
	t->length += length;
}

void transport_put32(struct transport *t, uint32_t value)
{
	put32(t->bytes + t->length, value);
	t->length += 4;
}

void transport_put64(struct transport *t, uint64_t value)
{
	transport_put32(t, value >> 32);
	transport_put32(t, value);
}

void transport_put_reth(struct transport *t, uint64_t address, uint32_t rkey, uint32_t length)
{
	transport_put64(t, address);
	transport_put32(t, rkey);
	transport_put32(t, length);
}

void transport_put_payload(struct transport *t, size_t length)
{
	unsigned int pad = -length & 3;

	memset(t->bytes + t->length, 0x5a, length + pad);
	t->bytes[1] = (t->bytes[1] & ~0x30) | pad << 4;
	t->length += length + pad;
}

/* --- frames ------------------------------------------------------------------- */

static uint16_t ip_sum(const uint8_t *header, size_t bytes)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < bytes; i += 2)
		sum += header[i] << 8 | header[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* A GRH is an IPv6 header with another next header. */
static size_t put_ipv6(uint8_t *at, const struct framing *framing, const struct faults *faults,
		       size_t payload)
{
	at[0] = (faults->version ?: 6) << 4 | faults->tclass >> 4;
	at[1] = faults->tclass << 4;
	at[2] = at[3] = 0;
	put16(at + 4, payload + faults->ip_lie);
	at[6] = faults->next ?: framing->v1 ? GRH_NEXT_HEADER : IPPROTO_UDP;
	at[7] = faults->hops_over ? 0 : 64;
	memcpy(at + 8, framing->src, 16);
	memcpy(at + 24, framing->dst, 16);
	at[8 + 15] ^= faults->wrong_src;
	at[24 + 15] ^= faults->wrong_dst;
	return GRH_BYTES;
}

static size_t put_ipv4(uint8_t *at, const struct framing *framing, const struct faults *faults,
		       size_t payload)
{
	size_t bytes = IPV4_BYTES + 4 * faults->options;

	memset(at, 0, bytes);
	at[0] = (faults->version ?: 4) << 4 | bytes / 4;
	at[1] = faults->tclass;
	put16(at + 2, bytes + payload + faults->ip_lie);
	put16(at + 4, faults->id);
	put16(at + 6, faults->fragment ?: 0x4000);
	at[8] = faults->hops_over ? 0 : 64;
	at[9] = faults->next ?: IPPROTO_UDP;
	memcpy(at + 12, framing->src + 12, 4);
	memcpy(at + 16, framing->dst + 12, 4);
	at[15] ^= faults->wrong_src;
	at[19] ^= faults->wrong_dst;
	memset(at + IPV4_BYTES, 1, bytes - IPV4_BYTES);	/* no operation */
	put16(at + 10, ip_sum(at, bytes) + faults->bad_ip_sum);
	return bytes;
}

static size_t put_network(uint8_t *at, const struct framing *framing, const struct faults *faults,
			  size_t length)
{
	size_t bytes;

	if (framing->v1)
		return put_ipv6(at, framing, faults, length);
	if (framing->ipv6)
		bytes = put_ipv6(at, framing, faults, UDP_BYTES + length);
	else
		bytes = put_ipv4(at, framing, faults, UDP_BYTES + length);
	put16(at + bytes, 0xc123);
	put16(at + bytes + 2, ROCE_V2_PORT);
	put16(at + bytes + 4, UDP_BYTES + length + faults->udp_lie);
	put16(at + bytes + 6, 0);
	return bytes + UDP_BYTES;
}

static size_t put_ethernet(uint8_t *at, const struct framing *framing, const struct faults *faults)
{
	uint8_t *type = at + 12;

	memcpy(at, framing->dst_mac, 6);
	memcpy(at + 6, framing->src_mac, 6);
	for (int i = 0; i < faults->tags; i++, type += 4) {
		put16(type, (faults->tags - i) % 2 ? 0x8100 : 0x88a8);
		put16(type + 2, faults->vlan);
	}
	put16(type, framing->v1 ? ROCE_V1_TYPE : framing->ipv6 ? 0x86dd : 0x0800);
	return type + 2 - at;
}

static void put_icrc(uint8_t *at, uint32_t icrc)
{
	at[0] = icrc;
	at[1] = icrc >> 8;
	at[2] = icrc >> 16;
	at[3] = icrc >> 24;
}

/* Returns the frame's length; @frame has room for MAX_FRAME. */
size_t frame_build(uint8_t *frame, const struct framing *framing, const struct transport *t,
		   const struct faults *faults)
{
	uint8_t *network = frame + put_ethernet(frame, framing, faults);
	size_t bytes = put_network(network, framing, faults, t->length + ICRC_BYTES);
	uint8_t *end = network + bytes + t->length;

	memcpy(network + bytes, t->bytes, t->length);
	put_icrc(end, icrc_of(framing, network, bytes, t->bytes, t->length) ^ faults->icrc);
	memset(end + ICRC_BYTES, 0xee, faults->tail);
	return end + ICRC_BYTES + faults->tail - frame;
}

/* Bytes of a correct frame before the UDP header, for GSO. */
size_t frame_network_bytes(const struct framing *framing)
{
	return 14 + (framing->ipv6 ? GRH_BYTES : IPV4_BYTES);
}

/*
 * Packets of one size, the last possibly shorter, after one RoCE v2 header, as for UDP
 * segmentation: each has the ICRC that is right after segmentation, with IPv4 identifications that
 * count up.
 */
size_t frame_build_block(uint8_t *frame, const struct framing *framing, const struct transport *t,
			 unsigned int count, uint16_t id)
{
	uint8_t network[128], *end;
	struct faults faults = { .id = id };
	size_t total = 0, bytes;

	for (unsigned int i = 0; i < count; i++)
		total += t[i].length + ICRC_BYTES;
	end = frame + put_ethernet(frame, framing, &faults);
	end += put_network(end, framing, &faults, total);
	for (unsigned int i = 0; i < count; i++) {
		faults.id = id + i;
		bytes = put_network(network, framing, &faults, t[i].length + ICRC_BYTES);
		memcpy(end, t[i].bytes, t[i].length);
		end += t[i].length;
		put_icrc(end, icrc_of(framing, network, bytes, t[i].bytes, t[i].length));
		end += ICRC_BYTES;
	}
	return end - frame;
}

/* --- received packets ----------------------------------------------------------- */

static const uint8_t *find_transport(const uint8_t *frame, size_t length,
				     const struct framing *framing, size_t *network)
{
	uint16_t type = frame[12] << 8 | frame[13];
	const uint8_t *ip = frame + 14;

	if (memcmp(frame, framing->src_mac, 6))
		return NULL;
	if (framing->v1) {
		*network = GRH_BYTES;
		return type == ROCE_V1_TYPE && length >= 14 + GRH_BYTES ? ip + GRH_BYTES : NULL;
	}
	if (type != (framing->ipv6 ? 0x86dd : 0x0800) || length < 14 + GRH_BYTES + UDP_BYTES)
		return NULL;
	*network = (framing->ipv6 ? GRH_BYTES : IPV4_BYTES) + UDP_BYTES;
	if (ip[framing->ipv6 ? 6 : 9] != IPPROTO_UDP)
		return NULL;
	if ((ip[*network - 6] << 8 | ip[*network - 5]) != ROCE_V2_PORT)
		return NULL;
	return ip + *network;
}

/* False: not a RoCE packet for us in this framing */
bool frame_parse(const uint8_t *frame, size_t length, const struct framing *framing,
		 struct received *got)
{
	size_t network, bytes;
	const uint8_t *bth = find_transport(frame, length, framing, &network);
	uint8_t icrc[ICRC_BYTES];

	if (!bth || frame + length < bth + BTH_BYTES + ICRC_BYTES)
		return false;
	bytes = frame + length - bth - ICRC_BYTES;
	put_icrc(icrc, icrc_of(framing, frame + 14, network, bth, bytes));
	*got = (struct received){
		.opcode = bth[0], .pad = bth[1] >> 4 & 3,
		.qpn = get32(bth + 4) & 0xffffff, .psn = get32(bth + 8) & 0xffffff,
		.ack_request = bth[8] >> 7,
		.icrc_right = !memcmp(icrc, bth + bytes, ICRC_BYTES),
		.rest = bth + BTH_BYTES, .rest_bytes = bytes - BTH_BYTES,
	};
	return true;
}
