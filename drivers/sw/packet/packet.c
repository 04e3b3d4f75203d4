// SPDX-License-Identifier: GPL-2.0
/*
 * Builds packets. Payload is copied while its ICRC is computed, so the ICRC matches what is sent:
 * the memory may change or be invalidated as soon as the packet is built.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <net/inet_ecn.h>
#include <rhca/compat.h>

#include "sw/packet/packet.h"
#include "sw/packet/pool.h"
#include "wire/crc32.h"
#include "wire/encap.h"
#include "wire/icrc.h"

#define TRAILER_BYTES	(3 + RHCA_ICRC_BYTES)	/* padding and ICRC */

static void begin(struct rhca_packet *packet, const struct rhca_verbs_qp *qp,
		  struct rhca_path *path, const struct rhca_bth_fields *fields,
		  unsigned int payload_bytes)
{
	packet->tail = (u8 *)packet->bth + rhca_transport_bytes(fields->opcode);
	packet->qp = qp;
	packet->path = path;
	packet->psn = fields->psn;
	packet->payload_bytes = payload_bytes;
	packet->udp_sport = path->address.flow.udp_sport;
	packet->ip_id = fields->psn;
	packet->shared = false;
	packet->like = NULL;
	rhca_bth_fill(packet->bth, fields);
}

/**
 * rhca_packet_begin - Allocate a packet and write its BTH
 * @packet: filled in
 * @qp: the sender
 * @path: its destination
 * @fields: of the BTH
 * @payload_bytes: how many rhca_packet_copy() will add
 *
 * Context: bottom halves off.
 * Return: 0 or -ENOMEM.
 */
int rhca_packet_begin(struct rhca_packet *packet, const struct rhca_verbs_qp *qp,
		      struct rhca_path *path,
		      const struct rhca_bth_fields *fields,
		      unsigned int payload_bytes)
{
	unsigned int network = rhca_network_bytes(path->address.flow.encap);
	unsigned int transport = rhca_transport_bytes(fields->opcode);
	struct sk_buff *skb;

	skb = alloc_skb(LL_MAX_HEADER + network + transport + payload_bytes +
			TRAILER_BYTES, GFP_ATOMIC);
	if (!skb) {
		rhca_qp_count(qp, RHCA_TX_DROPPED_NO_MEMORY);
		return -ENOMEM;
	}
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, path->address.flow.encap == RHCA_V2_IPV4 ?
				 sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	packet->skb = skb;
	packet->room = NULL;
	packet->network = skb_put(skb, network);
	packet->bth = skb_put(skb, transport);
	begin(packet, qp, path, fields, payload_bytes);
	RHCA_PACKET_CB(skb)->psn = fields->psn;
	RHCA_PACKET_CB(skb)->packets = 1;
	return 0;
}

/**
 * rhca_packet_begin_segment - Start a packet that goes into a block
 * @packet: filled in
 * @qp: the sender
 * @path: its destination
 * @fields: of the BTH
 * @payload_bytes: how many rhca_packet_copy() will add
 *
 * Context: bottom halves off until the segment is in its block, dropped or freed; until then no
 * other may be started and nothing sent.
 * Return: false without memory.
 */
bool rhca_packet_begin_segment(struct rhca_packet *packet,
			       const struct rhca_verbs_qp *qp, struct rhca_path *path,
			       const struct rhca_bth_fields *fields,
			       unsigned int payload_bytes)
{
	unsigned int transport = rhca_transport_bytes(fields->opcode);

	packet->room = rhca_pool_room(transport + payload_bytes +
				      TRAILER_BYTES);
	if (!packet->room)
		return false;
	packet->skb = NULL;
	packet->network = packet->segment_network;
	packet->bth = (struct rhca_bth *)packet->room;
	begin(packet, qp, path, fields, payload_bytes);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_packet_begin_segment);

static unsigned int pad_bytes(const struct rhca_packet *packet)
{
	return -packet->payload_bytes & 3;
}

/* Bytes of the finished segment */
unsigned int rhca_packet_bytes(const struct rhca_packet *packet)
{
	return packet->tail - (u8 *)packet->bth + packet->payload_bytes +
	       pad_bytes(packet) + RHCA_ICRC_BYTES;
}

/*
 * The ECN bits. Requests and data responses of connected QPs are ECN-capable. Acknowledgements are
 * not, as no sender would slow down for their marks, nor are datagrams.
 */
u8 rhca_packet_ecn(const struct rhca_address *address, u8 opcode)
{
	if (address->flow.encap == RHCA_V1 || opcode == IB_OPCODE_RC_ACKNOWLEDGE ||
	    (opcode & RHCA_OPCODE_TRANSPORT) > IB_OPCODE_UC ||
	    !READ_ONCE(address->port->cc.enable))
		return INET_ECN_NOT_ECT;
	return INET_ECN_ECT_0;
}

/* Not covered by the ICRC */
static u8 traffic_class(const struct rhca_packet *packet)
{
	const struct rhca_address *address = &packet->path->address;
	u8 opcode = packet->bth->opcode;

	if (opcode == RHCA_OPCODE_CNP)
		return READ_ONCE(address->port->cc.np_cnp_dscp) << 2;
	return address->flow.tclass | rhca_packet_ecn(address, opcode);
}

/* Write the network headers. @bytes: from the BTH to the end of the ICRC. */
void rhca_packet_write_network(struct rhca_packet *packet, unsigned int bytes)
{
	const struct rhca_address *address = &packet->path->address;
	struct rhca_flow flow = address->flow;

	flow.udp_sport = packet->udp_sport;
	flow.tclass = traffic_class(packet);
	flow.hop_limit = rhca_qos_hop_limit(&address->port->qos, &flow);
	rhca_network_fill(packet->network, &flow, bytes, packet->ip_id);
}

/* The ICRC over network headers like those of an earlier packet */
static u32 crc_of_network(const struct rhca_packet *packet)
{
	enum rhca_encap encap = packet->path->address.flow.encap;
	struct rhca_network *like = packet->like;

	if (!like->has_icrc)
		rhca_icrc_flow_begin(packet->vectors, encap, like->hdr,
				     &like->icrc);
	like->has_icrc = true;
	return rhca_icrc_flow_crc(&like->icrc, encap == RHCA_V2_IPV4 ?
				  packet->ip_id : 0);
}

/**
 * rhca_packet_protect - Write the network headers and start the ICRC
 * @packet: BTH and extended headers are in place
 *
 * From here to rhca_packet_seal() or rhca_packet_drop() the rules between rhca_crc32_begin() and
 * rhca_crc32_end() hold. The IPv4 identification is the low bits of the PSN, unless the place of
 * a READ request or of a packet in a shared block determines it.
 */
void rhca_packet_protect(struct rhca_packet *packet)
{
	enum rhca_encap encap = packet->path->address.flow.encap;
	unsigned int transport = packet->tail - (u8 *)packet->bth;
	unsigned int bytes = rhca_packet_bytes(packet);

	packet->bth->flags |= u8_encode_bits(pad_bytes(packet), RHCA_BTH_PAD);
	if (!packet->like)
		rhca_packet_write_network(packet, bytes);
	packet->vectors = rhca_crc32_begin(bytes);
	if (packet->like)
		packet->crc = rhca_icrc_transport(packet->vectors,
						  crc_of_network(packet),
						  packet->bth, transport);
	else
		packet->crc = rhca_icrc_begin(packet->vectors, encap,
					      packet->network, packet->bth,
					      transport - sizeof(struct rhca_bth));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_packet_protect);

/**
 * rhca_packet_seal - Finish a packet
 * @packet: after rhca_packet_protect(), with all its payload
 */
void rhca_packet_seal(struct rhca_packet *packet)
{
	unsigned int pad = pad_bytes(packet);
	__le32 icrc;

	if (pad) {
		memset(packet->tail, 0, pad);
		packet->crc = rhca_crc32(packet->vectors, packet->crc,
					 packet->tail, pad);
	}
	rhca_crc32_end(packet->vectors);
	icrc = rhca_icrc_final(packet->crc);
	memcpy(packet->tail + pad, &icrc, sizeof(icrc));
	packet->tail += pad + RHCA_ICRC_BYTES;
	if (packet->skb)
		skb_put(packet->skb, packet->tail - skb_tail_pointer(packet->skb));
}
EXPORT_SYMBOL_IF_KUNIT(rhca_packet_seal);

/**
 * rhca_packet_drop - Drop a packet whose memory is not accessible
 * @packet: after rhca_packet_protect(); empty afterwards
 */
void rhca_packet_drop(struct rhca_packet *packet)
{
	rhca_crc32_end(packet->vectors);
	rhca_packet_free(packet);
}

/* Free a sealed packet unsent; it is empty afterwards. Bottom halves off since it was begun */
void rhca_packet_free(struct rhca_packet *packet)
{
	kfree_skb(packet->skb);
	packet->skb = NULL;
	if (packet->room)
		rhca_pool_give_up();
	packet->room = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_packet_free);
