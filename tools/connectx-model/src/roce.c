// SPDX-License-Identifier: GPL-2.0
#include "roce.h"

#define ETHERTYPE_VLAN		0x8100u
#define ETHERTYPE_IPV4		0x0800u
#define ETHERTYPE_IPV6		0x86ddu
#define NEXT_HEADER_IBA		0x1bu
#define PROTOCOL_UDP		17u
#define IPV4_BYTES		20u
#define IPV6_BYTES		40u
#define UDP_BYTES		8u
#define BTH_BYTES		12u
#define ICRC_BYTES		4u
#define ETHERNET_BYTES		14u
#define ECN_CE			3u
#define BTH_MIGRATED		0x40u
#define BTH_SOLICITED		0x80u
#define BTH_ACK_REQUEST		0x80u
#define BTH_FECN		0x80u
#define BTH_BECN		0x40u
#define CNP_PAYLOAD_BYTES	16u

#define ROW(name, headers, traits)	[name] = { #name, headers, traits }

const struct roce_opcode_row roce_operations[OPERATIONS] = {
	ROW(SEND_FIRST,		0,			OP_SEND | OP_FIRST | OP_PAYLOAD),
	ROW(SEND_MIDDLE,	0,			OP_SEND | OP_PAYLOAD),
	ROW(SEND_LAST,		0,			OP_SEND | OP_LAST | OP_PAYLOAD),
	ROW(SEND_LAST_IMM,	HDR_IMM,		OP_SEND | OP_LAST | OP_PAYLOAD),
	ROW(SEND_ONLY,		0,			OP_SEND | OP_ONLY | OP_PAYLOAD),
	ROW(SEND_ONLY_IMM,	HDR_IMM,		OP_SEND | OP_ONLY | OP_PAYLOAD),
	ROW(WRITE_FIRST,	HDR_RETH,		OP_WRITE | OP_FIRST | OP_PAYLOAD),
	ROW(WRITE_MIDDLE,	0,			OP_WRITE | OP_PAYLOAD),
	ROW(WRITE_LAST,		0,			OP_WRITE | OP_LAST | OP_PAYLOAD),
	ROW(WRITE_LAST_IMM,	HDR_IMM,		OP_WRITE | OP_LAST | OP_PAYLOAD),
	ROW(WRITE_ONLY,		HDR_RETH,		OP_WRITE | OP_ONLY | OP_PAYLOAD),
	ROW(WRITE_ONLY_IMM,	HDR_RETH | HDR_IMM,	OP_WRITE | OP_ONLY | OP_PAYLOAD),
	ROW(READ_REQUEST,	HDR_RETH,		OP_ONLY),
	ROW(READ_RESPONSE_FIRST, HDR_AETH,		OP_RESPONSE | OP_FIRST | OP_PAYLOAD),
	ROW(READ_RESPONSE_MIDDLE, 0,			OP_RESPONSE | OP_PAYLOAD),
	ROW(READ_RESPONSE_LAST,	HDR_AETH,		OP_RESPONSE | OP_LAST | OP_PAYLOAD),
	ROW(READ_RESPONSE_ONLY,	HDR_AETH,		OP_RESPONSE | OP_ONLY | OP_PAYLOAD),
	ROW(ACKNOWLEDGE,	HDR_AETH,		OP_RESPONSE),
	ROW(ATOMIC_ACKNOWLEDGE,	HDR_AETH | HDR_ATOMIC_ACK, OP_RESPONSE),
	ROW(COMPARE_SWAP,	HDR_ATOMIC,		OP_ONLY),
	ROW(FETCH_ADD,		HDR_ATOMIC,		OP_ONLY),
	ROW(SEND_LAST_INV,	HDR_IETH,		OP_SEND | OP_LAST | OP_PAYLOAD),
	ROW(SEND_ONLY_INV,	HDR_IETH,		OP_SEND | OP_ONLY | OP_PAYLOAD),
};

/* Operations of each transport: RC and XRC all, UC sends and writes, UD whole sends. */
static bool transport_has(u8 transport, u8 operation)
{
	switch (transport) {
	case ROCE_RC:
	case ROCE_XRC:
		return true;
	case ROCE_UC:
		return operation <= WRITE_ONLY_IMM;
	case ROCE_UD:
		return operation == SEND_ONLY || operation == SEND_ONLY_IMM;
	}
	return false;
}

const struct roce_opcode_row *roce_opcode(u8 opcode)
{
	u8 operation = opcode & 0x1f;

	if (operation >= OPERATIONS || !roce_operations[operation].name ||
	    !transport_has(opcode & 0xe0, operation))
		return NULL;
	return &roce_operations[operation];
}

u8 roce_opcode_headers(u8 opcode)
{
	u8 headers = roce_operations[opcode & 0x1f].headers;
	u8 traits = roce_operations[opcode & 0x1f].traits;

	if ((opcode & 0xe0) == ROCE_UD)
		headers |= HDR_DETH;
	if ((opcode & 0xe0) == ROCE_XRC && !(traits & OP_RESPONSE))
		headers |= HDR_XRCETH;
	return headers;
}

bool gid_is_ipv4(const u8 gid[GID_BYTES])
{
	static const u8 prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, prefix, sizeof(prefix));
}

u16 internet_checksum(const u8 *data, u32 bytes, u32 sum)
{
	u32 i;

	for (i = 0; i + 1 < bytes; i += 2)
		sum += be16_at(data + i);
	if (bytes & 1)
		sum += data[bytes - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* CRC-32 of Ethernet, four bytes at a time. */
static u32 crc_table[4][256];

static void crc_prepare(void)
{
	u32 i, k, crc;

	for (i = 0; i < 256; i++) {
		crc = i;
		for (k = 0; k < 8; k++)
			crc = crc & 1 ? 0xedb88320u ^ crc >> 1 : crc >> 1;
		crc_table[0][i] = crc;
	}
	for (i = 0; i < 256; i++)
		for (k = 1; k < 4; k++)
			crc_table[k][i] = crc_table[0][crc_table[k - 1][i] & 0xff] ^
					  crc_table[k - 1][i] >> 8;
}

static u32 crc32_more(u32 crc, const u8 *data, u32 bytes)
{
	u32 word;

	if (!crc_table[0][1])
		crc_prepare();
	for (; bytes >= 4; bytes -= 4, data += 4) {
		memcpy(&word, data, sizeof(word));
		crc ^= le32toh(word);
		crc = crc_table[3][crc & 0xff] ^ crc_table[2][crc >> 8 & 0xff] ^
		      crc_table[1][crc >> 16 & 0xff] ^ crc_table[0][crc >> 24];
	}
	while (bytes--)
		crc = crc_table[0][(crc ^ *data++) & 0xff] ^ crc >> 8;
	return crc;
}

/* IBTA 7.8.1, annexes A16 and A17: fields that may change on the path count as ones. */
static u32 invariant_crc(const u8 *l3, enum roce_l3 kind, u32 bytes)
{
	u8 head[8 + IPV6_BYTES + UDP_BYTES + BTH_BYTES];
	u32 l3_bytes = kind == ROCE_L3_IPV4 ? IPV4_BYTES : IPV6_BYTES;
	u32 udp = 8 + l3_bytes;
	u32 bth = kind == ROCE_L3_GRH ? udp : udp + UDP_BYTES;
	u32 crc;

	memset(head, 0xff, 8);
	memcpy(head + 8, l3, bth - 8 + BTH_BYTES);
	if (kind == ROCE_L3_IPV4) {
		head[8 + 1] = 0xff;		/* type of service */
		head[8 + 8] = 0xff;		/* time to live */
		memset(head + 8 + 10, 0xff, 2);	/* checksum */
	} else {
		head[8] |= 0x0f;		/* traffic class, flow label */
		memset(head + 8 + 1, 0xff, 3);
		head[8 + 7] = 0xff;		/* hop limit */
	}
	if (kind != ROCE_L3_GRH)
		memset(head + udp + 6, 0xff, 2);
	head[bth + 4] = 0xff;
	crc = crc32_more(0xffffffff, head, bth + BTH_BYTES);
	return ~crc32_more(crc, l3 + bth - 8 + BTH_BYTES, bytes - (bth - 8 + BTH_BYTES));
}

static u8 *put_bth(u8 *at, const struct roce_transport_headers *bth)
{
	at[0] = bth->opcode;
	at[1] = (bth->solicited ? BTH_SOLICITED : 0) | BTH_MIGRATED | bth->pad << 4;
	put_be16(at + 2, bth->pkey);
	put_be32(at + 4, bth->dest_qpn);
	at[4] = (bth->fecn ? BTH_FECN : 0) | (bth->becn ? BTH_BECN : 0);
	put_be32(at + 8, bth->psn & PSN_MASK);
	at[8] = bth->ack_request ? BTH_ACK_REQUEST : 0;
	return at + BTH_BYTES;
}

static u8 *put_extended(u8 *at, const struct roce_transport_headers *bth, u8 headers)
{
	if (headers & HDR_XRCETH) {
		put_be32(at, bth->xrc_srqn & PSN_MASK);
		at += 4;
	}
	if (headers & HDR_DETH) {
		put_be32(at, bth->qkey);
		put_be32(at + 4, bth->src_qpn & PSN_MASK);
		at += 8;
	}
	if (headers & HDR_RETH) {
		put_be64(at, bth->remote_address);
		put_be32(at + 8, bth->rkey);
		put_be32(at + 12, bth->dma_bytes);
		at += 16;
	}
	if (headers & HDR_ATOMIC) {
		put_be64(at, bth->remote_address);
		put_be32(at + 8, bth->rkey);
		put_be64(at + 12, bth->swap_add);
		put_be64(at + 20, bth->compare);
		at += 28;
	}
	if (headers & HDR_AETH) {
		put_be32(at, (u32)bth->syndrome << 24 | (bth->msn & PSN_MASK));
		at += 4;
	}
	if (headers & HDR_ATOMIC_ACK) {
		put_be64(at, bth->original);
		at += 8;
	}
	if (headers & (HDR_IMM | HDR_IETH)) {
		put_be32(at, bth->immediate);
		at += 4;
	}
	return at;
}

static u8 *put_ethernet(u8 *at, const struct roce_route *route)
{
	static const u16 ethertype[] = {
		[ROCE_L3_GRH] = ROCE_ETHERTYPE, [ROCE_L3_IPV4] = ETHERTYPE_IPV4,
		[ROCE_L3_IPV6] = ETHERTYPE_IPV6,
	};

	memcpy(at, route->dest_mac, MAC_BYTES);
	memcpy(at + MAC_BYTES, route->source_mac, MAC_BYTES);
	at += 2 * MAC_BYTES;
	if (route->vlan_valid) {
		put_be16(at, ETHERTYPE_VLAN);
		put_be16(at + 2, route->vlan);
		at += 4;
	}
	put_be16(at, ethertype[route->l3]);
	return at + 2;
}

static void put_ipv4(u8 *ip, const struct roce_route *route, u32 bytes)
{
	memset(ip, 0, IPV4_BYTES);
	ip[0] = 0x45;
	ip[1] = route->traffic_class;
	put_be16(ip + 2, bytes);
	put_be16(ip + 6, 0x4000);	/* do not fragment */
	ip[8] = route->hop_limit;
	ip[9] = PROTOCOL_UDP;
	memcpy(ip + 12, route->source_gid + 12, 4);
	memcpy(ip + 16, route->dest_gid + 12, 4);
	put_be16(ip + 10, internet_checksum(ip, IPV4_BYTES, 0));
}

/* IPv6 and GRH only differ in the next header. */
static void put_ipv6(u8 *ip, const struct roce_route *route, u32 bytes)
{
	put_be32(ip, 6u << 28 | (u32)route->traffic_class << 20 | (route->flow_label & 0xfffff));
	put_be16(ip + 4, bytes - IPV6_BYTES);
	ip[6] = route->l3 == ROCE_L3_GRH ? NEXT_HEADER_IBA : PROTOCOL_UDP;
	ip[7] = route->hop_limit;
	memcpy(ip + 8, route->source_gid, GID_BYTES);
	memcpy(ip + 24, route->dest_gid, GID_BYTES);
}

u32 roce_build(u8 *frame, const struct roce_route *route,
	       const struct roce_transport_headers *given, const u8 *payload, u32 bytes)
{
	struct roce_transport_headers bth = *given;
	u32 l3_bytes = route->l3 == ROCE_L3_IPV4 ? IPV4_BYTES : IPV6_BYTES;
	u8 headers = bth.opcode == ROCE_OPCODE_CNP ? 0 : roce_opcode_headers(bth.opcode);
	u8 *l3 = put_ethernet(frame, route);
	u8 *udp = l3 + l3_bytes;
	u8 *at = route->l3 == ROCE_L3_GRH ? udp : udp + UDP_BYTES;
	u32 crc, l3_total;

	bth.pad = -bytes & 3;
	at = put_extended(put_bth(at, &bth), &bth, headers);
	if (bytes)
		memcpy(at, payload, bytes);
	memset(at + bytes, 0, bth.pad);
	at += bytes + bth.pad;
	l3_total = at + ICRC_BYTES - l3;
	if (route->l3 == ROCE_L3_IPV4)
		put_ipv4(l3, route, l3_total);
	else
		put_ipv6(l3, route, l3_total);
	if (route->l3 != ROCE_L3_GRH) {
		put_be16(udp, route->udp_source_port);
		put_be16(udp + 2, ROCE_UDP_PORT);
		put_be16(udp + 4, l3_total - l3_bytes);
		put_be16(udp + 6, 0);
	}
	crc = htole32(invariant_crc(l3, route->l3, l3_total - ICRC_BYTES));
	memcpy(at, &crc, ICRC_BYTES);
	return at + ICRC_BYTES - frame;
}

/* Start of each layer of a frame. */
struct layers {
	const u8 *l3;
	const u8 *end;		/* of the frame */
	u16 ethertype;
};

static bool parse_ethernet(const u8 *frame, u32 bytes, struct roce_route *route,
			   struct layers *layers)
{
	u32 at = 2 * MAC_BYTES;

	if (bytes < ETHERNET_BYTES + 4)
		return false;
	memcpy(route->dest_mac, frame, MAC_BYTES);
	memcpy(route->source_mac, frame + MAC_BYTES, MAC_BYTES);
	layers->ethertype = be16_at(frame + at);
	if (layers->ethertype == ETHERTYPE_VLAN) {
		route->vlan_valid = true;
		route->vlan = be16_at(frame + at + 2);
		at += 4;
		layers->ethertype = be16_at(frame + at);
	}
	layers->l3 = frame + at + 2;
	layers->end = frame + bytes;
	return true;
}

/* Return: bytes of the layer 3 packet, 0 if it is not RoCE. */
static u32 parse_ipv4(const struct layers *layers, struct roce_packet *packet)
{
	const u8 *ip = layers->l3;
	u32 room = layers->end - ip, bytes;

	if (room < IPV4_BYTES + UDP_BYTES || ip[0] != 0x45 || ip[9] != PROTOCOL_UDP ||
	    (be16_at(ip + 6) & 0x3fff) || be16_at(ip + IPV4_BYTES + 2) != ROCE_UDP_PORT)
		return 0;
	bytes = be16_at(ip + 2);
	packet->route.l3 = ROCE_L3_IPV4;
	packet->route.traffic_class = ip[1];
	packet->route.hop_limit = ip[8];
	packet->route.udp_source_port = be16_at(ip + IPV4_BYTES);
	packet->congestion = (ip[1] & 3) == ECN_CE;
	memset(packet->route.source_gid, 0, GID_BYTES);
	memset(packet->route.source_gid + 10, 0xff, 2);
	memcpy(packet->route.dest_gid, packet->route.source_gid, 12);
	memcpy(packet->route.source_gid + 12, ip + 12, 4);
	memcpy(packet->route.dest_gid + 12, ip + 16, 4);
	memset(packet->grh, 0, 20);
	memcpy(packet->grh + 20, ip, IPV4_BYTES);
	return bytes;
}

static u32 parse_ipv6(const struct layers *layers, struct roce_packet *packet)
{
	const u8 *ip = layers->l3;
	u32 room = layers->end - ip;
	bool v1 = layers->ethertype == ROCE_ETHERTYPE;

	if (room < IPV6_BYTES + UDP_BYTES || ip[0] >> 4 != 6 ||
	    ip[6] != (v1 ? NEXT_HEADER_IBA : PROTOCOL_UDP))
		return 0;
	if (!v1 && be16_at(ip + IPV6_BYTES + 2) != ROCE_UDP_PORT)
		return 0;
	packet->route.l3 = v1 ? ROCE_L3_GRH : ROCE_L3_IPV6;
	packet->route.traffic_class = be32_at(ip) >> 20;
	packet->route.flow_label = be32_at(ip) & 0xfffff;
	packet->route.hop_limit = ip[7];
	packet->route.udp_source_port = v1 ? 0 : be16_at(ip + IPV6_BYTES);
	packet->congestion = !v1 && (packet->route.traffic_class & 3) == ECN_CE;
	memcpy(packet->route.source_gid, ip + 8, GID_BYTES);
	memcpy(packet->route.dest_gid, ip + 24, GID_BYTES);
	memcpy(packet->grh, ip, IPV6_BYTES);
	return be16_at(ip + 4) + IPV6_BYTES;
}

static u32 extended_bytes(u8 headers)
{
	static const u8 size[] = { 4, 8, 16, 28, 4, 8, 4, 4 };
	u32 i, bytes = 0;

	for (i = 0; i < ARRAY_SIZE(size); i++)
		if (headers >> i & 1)
			bytes += size[i];
	return bytes;
}

static const u8 *get_extended(const u8 *at, struct roce_transport_headers *bth, u8 headers)
{
	if (headers & HDR_XRCETH) {
		bth->xrc_srqn = be32_at(at) & PSN_MASK;
		at += 4;
	}
	if (headers & HDR_DETH) {
		bth->qkey = be32_at(at);
		bth->src_qpn = be32_at(at + 4) & PSN_MASK;
		at += 8;
	}
	if (headers & HDR_RETH) {
		bth->remote_address = be64_at(at);
		bth->rkey = be32_at(at + 8);
		bth->dma_bytes = be32_at(at + 12);
		at += 16;
	}
	if (headers & HDR_ATOMIC) {
		bth->remote_address = be64_at(at);
		bth->rkey = be32_at(at + 8);
		bth->swap_add = be64_at(at + 12);
		bth->compare = be64_at(at + 20);
		at += 28;
	}
	if (headers & HDR_AETH) {
		bth->syndrome = at[0];
		bth->msn = be32_at(at) & PSN_MASK;
		at += 4;
	}
	if (headers & HDR_ATOMIC_ACK) {
		bth->original = be64_at(at);
		at += 8;
	}
	if (headers & (HDR_IMM | HDR_IETH)) {
		bth->immediate = be32_at(at);
		at += 4;
	}
	return at;
}

static enum roce_verdict parse_transport(const u8 *at, u32 bytes, struct roce_packet *packet)
{
	struct roce_transport_headers *bth = &packet->bth;
	const u8 *end = at + bytes;
	u8 headers;

	if (bytes < BTH_BYTES)
		return ROCE_MALFORMED;
	bth->opcode = at[0];
	bth->solicited = at[1] & BTH_SOLICITED;
	bth->pad = at[1] >> 4 & 3;
	bth->pkey = be16_at(at + 2);
	bth->fecn = at[4] & BTH_FECN;
	bth->becn = at[4] & BTH_BECN;
	bth->dest_qpn = be32_at(at + 4) & PSN_MASK;
	bth->ack_request = at[8] & BTH_ACK_REQUEST;
	bth->psn = be32_at(at + 8) & PSN_MASK;
	if ((at[1] & 0x0f) || (bth->opcode != ROCE_OPCODE_CNP && !roce_opcode(bth->opcode)))
		return ROCE_MALFORMED;
	headers = bth->opcode == ROCE_OPCODE_CNP ? 0 : roce_opcode_headers(bth->opcode);
	if (bytes < BTH_BYTES + extended_bytes(headers) + bth->pad)
		return ROCE_MALFORMED;
	packet->payload = get_extended(at + BTH_BYTES, bth, headers);
	packet->payload_bytes = end - packet->payload - bth->pad;
	if (bth->opcode == ROCE_OPCODE_CNP)
		return packet->payload_bytes == CNP_PAYLOAD_BYTES ? ROCE_OK : ROCE_MALFORMED;
	if (packet->payload_bytes && !(roce_opcode(bth->opcode)->traits & OP_PAYLOAD))
		return ROCE_MALFORMED;
	return ROCE_OK;
}

enum roce_verdict roce_parse(const u8 *frame, u32 bytes, struct roce_packet *packet)
{
	struct layers layers;
	u32 total = 0, before;
	u32 crc;

	memset(packet, 0, sizeof(*packet));
	if (!parse_ethernet(frame, bytes, &packet->route, &layers))
		return ROCE_NOT;
	if (layers.ethertype == ETHERTYPE_IPV4)
		total = parse_ipv4(&layers, packet);
	else if (layers.ethertype == ETHERTYPE_IPV6 || layers.ethertype == ROCE_ETHERTYPE)
		total = parse_ipv6(&layers, packet);
	if (!total)
		return ROCE_NOT;
	before = packet->route.l3 == ROCE_L3_IPV4 ? IPV4_BYTES : IPV6_BYTES;
	if (packet->route.l3 != ROCE_L3_GRH)
		before += UDP_BYTES;
	if (total > (u32)(layers.end - layers.l3) || total < before + BTH_BYTES + ICRC_BYTES)
		return ROCE_MALFORMED;
	memcpy(&crc, layers.l3 + total - ICRC_BYTES, sizeof(crc));
	if (le32toh(crc) != invariant_crc(layers.l3, packet->route.l3, total - ICRC_BYTES))
		return ROCE_BAD_ICRC;
	return parse_transport(layers.l3 + before, total - before - ICRC_BYTES, packet);
}

void roce_mark_congestion(u8 *frame, u32 bytes)
{
	struct roce_packet packet;
	struct layers layers;
	u8 *ip;

	if (roce_parse(frame, bytes, &packet) != ROCE_OK || packet.route.l3 == ROCE_L3_GRH ||
	    !parse_ethernet(frame, bytes, &packet.route, &layers))
		return;
	ip = (u8 *)layers.l3;
	if (packet.route.l3 == ROCE_L3_IPV4 && (ip[1] & 3)) {
		ip[1] |= ECN_CE;
		put_be16(ip + 10, 0);
		put_be16(ip + 10, internet_checksum(ip, IPV4_BYTES, 0));
	} else if (packet.route.l3 == ROCE_L3_IPV6 && (ip[1] & 0x30)) {
		ip[1] |= ECN_CE << 4;
	}
}
