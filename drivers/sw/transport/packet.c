// SPDX-License-Identifier: GPL-2.0
/*
 * Building a packet. Payload is copied in the pass that computes its ICRC, so
 * the ICRC is that of what leaves: memory may be written to, or taken away, as
 * soon as the packet is built.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "sw/transport/packet.h"
#include "core/device.h"
#include "wire/crc32.h"
#include "wire/encap.h"
#include "wire/icrc.h"

#define TRAILER_BYTES	(3 + RHCA_ICRC_BYTES)	/* padding and ICRC */

/**
 * rhca_packet_begin - Allocate a packet and write its BTH
 * @packet: filled in
 * @qp: whose it is
 * @path: where it will go
 * @fields: of the BTH
 * @payload_bytes: how many rhca_packet_copy() will bring
 *
 * Context: bottom halves off.
 * Return: 0 or -ENOMEM.
 */
int rhca_packet_begin(struct rhca_packet *packet, const struct rhca_qp *qp,
		      struct rhca_path *path,
		      const struct rhca_bth_fields *fields,
		      unsigned int payload_bytes)
{
	unsigned int network = rhca_network_bytes(path->flow.encap);
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
	skb_put(skb, network);
	skb_set_transport_header(skb, path->flow.encap == RHCA_V2_IPV4 ?
				 sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	*packet = (struct rhca_packet) {
		.skb		= skb,
		.qp		= qp,
		.path		= path,
		.bth		= skb_put(skb, transport),
		.psn		= fields->psn,
		.payload_bytes	= payload_bytes,
		.udp_sport	= path->flow.udp_sport,
	};
	rhca_bth_fill(packet->bth, fields);
	RHCA_PACKET_CB(skb)->psn = fields->psn;
	return 0;
}

static unsigned int pad_bytes(const struct rhca_packet *packet)
{
	return -packet->payload_bytes & 3;
}

/**
 * rhca_packet_protect - Write the network headers and begin the ICRC
 * @packet: BTH and extended headers are in place
 *
 * From here to rhca_packet_seal() or rhca_packet_drop() the rules between
 * rhca_crc32_begin() and rhca_crc32_end() hold. The low bits of the PSN are the
 * IPv4 identification.
 */
void rhca_packet_protect(struct rhca_packet *packet)
{
	struct rhca_flow flow = packet->path->flow;
	unsigned int network = rhca_network_bytes(flow.encap);
	unsigned int bth_end = network + sizeof(struct rhca_bth);
	unsigned int pad = pad_bytes(packet);
	struct sk_buff *skb = packet->skb;
	unsigned int bytes = skb->len + packet->payload_bytes + pad +
			     RHCA_ICRC_BYTES;

	packet->bth->flags |= u8_encode_bits(pad, RHCA_BTH_PAD);
	flow.udp_sport = packet->udp_sport;
	flow.hop_limit = rhca_qos_hop_limit(&packet->path->port->qos, &flow);
	rhca_network_fill(skb->data, &flow, bytes - network, packet->psn);
	packet->vectors = rhca_crc32_begin(bytes);
	packet->crc = rhca_icrc_headers(packet->vectors, flow.encap, skb->data);
	packet->crc = rhca_crc32(packet->vectors, packet->crc,
				 skb->data + bth_end, skb->len - bth_end);
}

/**
 * rhca_packet_copy - Append payload
 * @packet: after rhca_packet_protect()
 * @from: bytes that may change meanwhile
 * @bytes: how many, all together the packet's payload_bytes
 */
void rhca_packet_copy(struct rhca_packet *packet, const void *from,
		      unsigned int bytes)
{
	packet->crc = rhca_crc32_copy(packet->vectors, packet->crc,
				      skb_put(packet->skb, bytes), from, bytes);
}

/**
 * rhca_packet_seal - Finish a packet
 * @packet: after rhca_packet_protect(), with all its payload
 */
void rhca_packet_seal(struct rhca_packet *packet)
{
	unsigned int pad = pad_bytes(packet);
	u8 *trailer = skb_put_zero(packet->skb, pad + RHCA_ICRC_BYTES);
	__le32 icrc;

	packet->crc = rhca_crc32(packet->vectors, packet->crc, trailer, pad);
	rhca_crc32_end(packet->vectors);
	icrc = rhca_icrc_final(packet->crc);
	memcpy(trailer + pad, &icrc, sizeof(icrc));
}

/**
 * rhca_packet_drop - The packet cannot be built: its memory is not accessible
 * @packet: after rhca_packet_protect(); without an skb afterwards
 */
void rhca_packet_drop(struct rhca_packet *packet)
{
	rhca_crc32_end(packet->vectors);
	kfree_skb(packet->skb);
	packet->skb = NULL;
}
