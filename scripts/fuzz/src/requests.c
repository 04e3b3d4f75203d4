// SPDX-License-Identifier: GPL-2.0
/* The hostile peer's requests to the target, and how they are corrupted */
#include <stdio.h>
#include <string.h>

#include "talk.h"

#define MAX_BLOCK	16
#define GSO_UDP_L4	5	/* not in every linux/virtio_net.h */
#define MAX_STORM	64	/* CNPs */
#define MAX_AHEAD	160	/* packets after a gap: more than are held */
#define CE		3	/* of the traffic class */

/* --- the wire ----------------------------------------------------------------- */

void trace_frame(const struct world *world, const char *way, const uint8_t *frame, size_t length)
{
	if (!world->trace)
		return;
	printf("%s %zu ", way, length);
	for (size_t i = 0; i < length && i < 120; i++)
		printf("%02x", frame[i]);
	putchar('\n');
}

static const struct virtio_net_hdr plain;

/* Queue the frame built in the wire's buffer */
static void throw(struct world *world, const struct virtio_net_hdr *vnet, size_t length,
		  unsigned int packets, bool clean)
{
	trace_frame(world, ">", wire_room(world->wire), length);
	wire_add(world->wire, vnet, length, packets, clean);
}

static void throw_transport(struct talk *talk, const struct transport *t, const struct faults *faults)
{
	static const struct faults none;
	/* Frames with a wrong ICRC or traffic class still reach the driver. */
	struct faults stack = faults ? *faults : none;
	size_t length;

	length = frame_build(wire_room(talk->world->wire), &talk->way->framing, t, &stack);
	stack.icrc = stack.tclass = stack.id = 0;
	throw(talk->world, &plain, length, 1,
	      t->length >= BTH_BYTES && !memcmp(&stack, &none, sizeof(none)));
}

/* One fault of the frame, or two */
static struct faults choose_faults(struct rng *rng)
{
	struct faults faults = { .id = rng_next(rng) };
	int lie = (int)rng_below(rng, 129) - 64;

	switch (rng_below(rng, 16)) {
	case 0: faults.tags = 1 + rng_below(rng, 4); faults.vlan = rng_evil(rng); break;
	case 1: faults.ip_lie = lie; break;
	case 2: faults.udp_lie = lie; break;
	case 3: faults.ip_lie = faults.udp_lie = lie; break;
	case 4: faults.tail = rng_next(rng); break;
	case 5: faults.options = 1 + rng_below(rng, 10); break;
	case 6: faults.version = 1 + rng_below(rng, 15); break;
	case 7: faults.next = rng_evil(rng); break;
	case 8: faults.hops_over = true; break;
	case 9: faults.bad_ip_sum = true; break;
	case 10: faults.wrong_src = true; break;
	case 11: faults.wrong_dst = true; break;
	case 12: faults.fragment = rng_next(rng); break;
	case 13: faults.tclass = rng_next(rng); break;
	default: faults.icrc = 1u << rng_below(rng, 32); break;
	}
	return faults;
}

/* A packet with correct framing in two IPv4 fragments, perhaps overlapping */
static void throw_fragments(struct talk *talk, const struct transport *t)
{
	static uint8_t whole[MAX_FRAME];
	struct faults faults = { .id = rng_next(&talk->rng), .fragment = 0x2000 };
	size_t length = frame_build(whole, &talk->way->framing, t, &faults);
	size_t network = frame_network_bytes(&talk->way->framing);
	size_t cut = (length - network) / 2 & ~7, overlap = rng_below(&talk->rng, 2) * 8;

	if (talk->way->framing.v1 || talk->way->framing.ipv6 || cut <= overlap)
		return;
	for (int second = 0; second < 2; second++) {
		size_t from = second ? cut - overlap : 0;
		size_t bytes = second ? length - network - from : cut;
		struct transport piece = { .length = 0 };
		uint8_t *frame = wire_room(talk->world->wire);

		faults.fragment = second ? from / 8 : 0x2000;
		faults.ip_lie = (int)bytes - 8 - 4;
		faults.udp_lie = 0;
		/* The header describes the piece, which follows. */
		frame_build(frame, &talk->way->framing, &piece, &faults);
		memcpy(frame + network, whole + network + from, bytes);
		throw(talk->world, &plain, network + bytes, 1, false);
	}
}

/* --- contents of a packet --------------------------------------------------------- */

/* An address, key and length: mostly valid ones */
static void put_target(struct talk *talk, struct transport *t, uint32_t length)
{
	struct mr *mr = &talk->world->mr;
	struct rng *rng = &talk->rng;
	uint64_t address = (uintptr_t)mr->start + rng_below(rng, REGION / 2);
	uint32_t rkey = mr->rkey;

	switch (rng_below(rng, 40)) {
	case 0: address = (uintptr_t)mr->start + REGION - length / 2; break;
	case 1: address = rng_next(rng); break;
	case 2: address = -(uint64_t)rng_below(rng, 4096); break;
	case 3: rkey = rng_evil(rng); break;
	case 4: rkey ^= 1 << rng_below(rng, 32); break;
	case 5: length = rng_evil(rng); break;
	case 6: length += (int)rng_below(rng, 9) - 4; break;
	}
	transport_put_reth(t, address, rkey, length);
}

/* Change a few bytes, or cut the end off */
static void mutate(struct rng *rng, struct transport *t)
{
	unsigned int changes = 1 + rng_below(rng, 3);
	size_t headers = t->length < 44 ? t->length : 44;

	if (rng_percent(rng, 25)) {
		t->length = rng_below(rng, t->length + 1);
		return;
	}
	while (changes--)
		t->bytes[rng_below(rng, headers)] = rng_percent(rng, 50) ?
			rng_evil(rng) : rng_next(rng);
}

/* Send unchanged, or with something wrong */
void send_perhaps(struct talk *talk, struct transport *t)
{
	struct rng *rng = &talk->rng;
	struct faults faults;

	switch (rng_below(rng, 64)) {
	case 0:
		return;			/* lost */
	case 1:
		throw_transport(talk, t, NULL);
		break;			/* twice */
	case 2 ... 3:
		mutate(rng, t);
		break;
	case 4 ... 5:
		faults = choose_faults(rng);
		throw_transport(talk, t, &faults);
		return;
	case 6:
		throw_fragments(talk, t);
		return;
	case 7:
		faults = (struct faults){ .tclass = CE };
		throw_transport(talk, t, &faults);
		return;
	}
	throw_transport(talk, t, NULL);
}

/* PSNs near, far, on the other side, or just right */
uint32_t choose_psn(struct rng *rng, uint32_t right)
{
	switch (rng_below(rng, 24)) {
	case 0: return right + 1 + rng_below(rng, 8);
	case 1: return right - 1 - rng_below(rng, 8);
	case 2: return right + 0x800000 - 2 + rng_below(rng, 4);
	case 3: return rng_next(rng);
	default: return right;
	}
}

/* --- requests of ours ---------------------------------------------------------- */

/* opcodes of one message: first, middle, last, only; last and only may vary */
static const uint8_t message_opcodes[2][2][4] = {
	{ { SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY },
	  { SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM, SEND_ONLY_IMM } },
	{ { WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY },
	  { WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_ONLY_IMM } },
};

void begin(struct talk *talk, struct transport *t, uint8_t opcode, uint32_t psn, bool ack)
{
	if (talk->qp.type == QPT_UC)
		opcode |= UC;
	transport_begin(t, opcode, talk->qp.number, psn, ack);
}

/* One packet, @at of @count, of a SEND or WRITE of @length bytes */
static void build_segment(struct talk *talk, struct transport *t, bool write, bool imm,
			  unsigned int at, unsigned int count, uint32_t length)
{
	bool last = at == count - 1;
	unsigned int place = count == 1 ? 3 : last ? 2 : at ? 1 : 0;

	begin(talk, t, message_opcodes[write][imm][place], talk->psn + at,
	      last || rng_percent(&talk->rng, 20));
	if (write && !at)
		put_target(talk, t, length);
	if (imm && last)
		transport_put32(t, 0x1234);
	/* Rarely as long as the netdev's MTU allows */
	transport_put_payload(t, rng_percent(&talk->rng, 1) ? rng_below(&talk->rng, 8800) :
				 last ? length - at * talk->mtu_bytes : talk->mtu_bytes);
}

static void send_message(struct talk *talk)
{
	struct rng *rng = &talk->rng;
	unsigned int count = 1 + (rng_percent(rng, 40) ? rng_below(rng, 6) : 0);
	uint32_t length = (count - 1) * talk->mtu_bytes + rng_below(rng, talk->mtu_bytes + 1);
	bool write = rng_percent(rng, 50), imm = rng_percent(rng, 25);
	struct transport t;

	for (unsigned int at = 0; at < count; at++) {
		build_segment(talk, &t, write, imm, at, count, length);
		/* Sometimes a middle instead of a last, or similar */
		if (rng_percent(rng, 2))
			t.bytes[0] = (talk->qp.type == QPT_UC ? UC : 0) + rng_below(rng, 0x18);
		send_perhaps(talk, &t);
	}
	talk->psn += count;
}

/* A whole message as for UDP segmentation: equal packets after one header */
static void send_block(struct talk *talk)
{
	static struct transport t[MAX_BLOCK];
	struct rng *rng = &talk->rng;
	size_t network = frame_network_bytes(&talk->way->framing), segment, length;
	unsigned int count = 2 + rng_below(rng, MAX_BLOCK - 1);
	struct virtio_net_hdr vnet = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = GSO_UDP_L4,
		.hdr_len = network + 8, .csum_start = network, .csum_offset = 6,
	};

	if (talk->way->framing.v1)
		return;
	for (unsigned int at = 0; at < count; at++) {
		begin(talk, &t[at], SEND_ONLY, choose_psn(rng, talk->psn + at), at == count - 1);
		transport_put_payload(&t[at], rng_percent(rng, 97) ? 64 : rng_below(rng, 256));
		if (rng_percent(rng, 4))
			rng_fill(rng, t[at].bytes, t[at].length < 40 ? t[at].length : 40);
	}
	segment = t[0].length + 4;
	vnet.gso_size = rng_percent(rng, 90) ? segment : rng_evil(rng);
	length = frame_build_block(wire_room(talk->world->wire), &talk->way->framing, t, count,
				   rng_next(rng));
	throw(talk->world, &vnet, length, count, false);
	talk->psn += count;
}

static void send_read(struct talk *talk)
{
	struct rng *rng = &talk->rng;
	uint32_t length = rng_percent(rng, 80) ? rng_below(rng, 3 * talk->mtu_bytes) :
						 rng_below(rng, 1 << 16);
	struct transport t;

	begin(talk, &t, READ_REQUEST, choose_psn(rng, talk->psn), true);
	put_target(talk, &t, length);
	send_perhaps(talk, &t);
	talk->psn += length ? (length + talk->mtu_bytes - 1) / talk->mtu_bytes : 1;
}

static void send_atomic(struct talk *talk)
{
	struct mr *mr = &talk->world->mr;
	struct rng *rng = &talk->rng;
	uint64_t address = (uintptr_t)mr->start + 8 * rng_below(rng, REGION / 8);
	uint8_t opcode = rng_percent(rng, 50) ? COMPARE_SWAP : FETCH_ADD;
	struct transport t;

	if (rng_percent(rng, 20)) {
		begin(talk, &t, ATOMIC_WRITE, choose_psn(rng, talk->psn), true);
		put_target(talk, &t, 8);
		transport_put_payload(&t, 8);
	} else {
		begin(talk, &t, opcode, choose_psn(rng, talk->psn), true);
		transport_put64(&t, rng_percent(rng, 5) ? rng_next(rng) : address);
		transport_put32(&t, rng_percent(rng, 5) ? rng_evil(rng) : mr->rkey);
		transport_put64(&t, rng_next(rng));
		transport_put64(&t, rng_next(rng));
	}
	send_perhaps(talk, &t);
	talk->psn++;
}

static void send_invalidate(struct talk *talk)
{
	struct transport t;

	begin(talk, &t, SEND_ONLY_INV, talk->psn, true);
	transport_put32(&t, rng_evil(&talk->rng));
	transport_put_payload(&t, rng_below(&talk->rng, 64));
	send_perhaps(talk, &t);
	talk->psn++;
}

/* The same packets again, or with other content */
static void send_duplicate(struct talk *talk)
{
	uint32_t psn = talk->psn, back = 1 + rng_below(&talk->rng, 40);

	talk->psn -= back;
	switch (rng_below(&talk->rng, 3)) {
	case 0: send_read(talk); break;
	case 1: send_atomic(talk); break;
	default: send_message(talk); break;
	}
	talk->psn = psn;
}

static void send_datagram(struct talk *talk)
{
	struct rng *rng = &talk->rng;
	bool imm = rng_percent(rng, 20);
	struct transport t;

	transport_begin(&t, imm ? UD_SEND_ONLY_IMM : UD_SEND_ONLY, talk->qp.number, rng_next(rng), false);
	transport_put32(&t, rng_percent(rng, 90) ? QKEY : rng_evil(rng));
	transport_put32(&t, rng_below(rng, 1 << 24));
	if (imm)
		transport_put32(&t, 77);
	transport_put_payload(&t, rng_below(rng, talk->mtu_bytes + 100));
	send_perhaps(talk, &t);
}

/* To QP1, or to QPs that do not exist or belong to others */
static void send_elsewhere(struct talk *talk)
{
	static const uint32_t qpns[] = { 0, 1, 1, 1, 0xffffff, 0xfffffe };
	struct rng *rng = &talk->rng;
	uint32_t choice = rng_below(rng, 10);
	uint32_t qpn = choice < 6 ? qpns[choice] :
		choice < 8 ? talk->qp.number + rng_below(rng, 9) - 4 : rng_next(rng);
	uint8_t mad[256];
	struct transport t;

	transport_begin(&t, rng_percent(rng, 80) ? UD_SEND_ONLY : rng_below(rng, 256), qpn, talk->psn, true);
	transport_put32(&t, 0x80010000);
	transport_put32(&t, 1);
	rng_fill(rng, mad, sizeof(mad));
	memcpy(mad, "\1\7\2\3\0\0\0\0", 8);	/* communication management, Send */
	mad[16] = 0;
	mad[17] = 0x10 + rng_below(rng, 14);
	transport_put(&t, mad, sizeof(mad));
	send_perhaps(talk, &t);
}

/* One notification, or a storm of them */
static void send_congestion(struct talk *talk)
{
	static const uint8_t zero[16];
	struct rng *rng = &talk->rng;
	uint32_t left = rng_percent(rng, 80) ? 1 : 1 + rng_below(rng, MAX_STORM);
	struct transport t;

	for (; left; left--) {
		transport_begin(&t, CNP, talk->qp.number, 0, false);
		t.bytes[4] = 0x40;	/* BECN */
		if (rng_percent(rng, 10))
			t.bytes[2] ^= 1 << rng_below(rng, 8);	/* of the P_Key */
		transport_put(&t, zero, sizeof(zero));
		send_perhaps(talk, &t);
	}
}

/* Many packets after a missing one, which then arrives or not */
static void send_ahead(struct talk *talk)
{
	struct rng *rng = &talk->rng;
	uint32_t missing = talk->psn, behind;
	uint32_t until = missing + 1 + rng_below(rng, MAX_AHEAD);

	talk->psn += 1 + rng_below(rng, 3);
	while ((int32_t)(until - talk->psn) > 0)
		send_message(talk);
	behind = talk->psn;
	talk->psn = missing;
	if (rng_percent(rng, 50))
		send_message(talk);
	if (rng_percent(rng, 50))
		talk->psn = behind;
}

static void send_noise(struct talk *talk)
{
	struct rng *rng = &talk->rng;
	struct transport t;

	begin(talk, &t, rng_next(rng), choose_psn(rng, talk->psn), true);
	rng_fill(rng, t.bytes + t.length, 300);
	t.length += rng_below(rng, 300);
	send_perhaps(talk, &t);
}

/* One request of an RC or UC QP's peer, or another packet */
void send_connected(struct talk *talk)
{
	switch (rng_below(&talk->rng, 24)) {
	case 0 ... 9: send_message(talk); break;
	case 10 ... 12: send_read(talk); break;
	case 13 ... 14: send_atomic(talk); break;
	case 15: send_invalidate(talk); break;
	case 16 ... 17: send_duplicate(talk); break;
	case 18: send_noise(talk); break;
	case 19: send_elsewhere(talk); break;
	case 20 ... 21: send_congestion(talk); break;
	case 22: send_ahead(talk); break;
	default: send_block(talk); break;
	}
}

void send_unconnected(struct talk *talk)
{
	switch (rng_below(&talk->rng, 9)) {
	case 0: send_elsewhere(talk); break;
	case 3: send_congestion(talk); break;
	case 1: send_noise(talk); break;
	case 2: send_block(talk); break;
	default: send_datagram(talk); break;
	}
}
