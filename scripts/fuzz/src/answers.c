// SPDX-License-Identifier: GPL-2.0
/* The hostile peer's answers to packets of the target */
#include <arpa/inet.h>
#include <string.h>

#include "talk.h"

/* --- answers of ours ----------------------------------------------------------- */

static void put_aeth(struct talk *talk, struct transport *t, uint8_t syndrome)
{
	transport_put32(t, (uint32_t)syndrome << 24 | (talk->msn & 0xffffff));
}

/* ACK with any credits, RNR NAK with any timer, NAK with any code, reserved ones */
static uint8_t choose_syndrome(struct rng *rng)
{
	switch (rng_below(rng, 32)) {
	case 0: return 0x20 | rng_below(rng, 8);
	case 1: return 0x60 | rng_below(rng, 32);
	case 2: return rng_next(rng);
	case 3: return 0x60;
	case 4 ... 8: return rng_below(rng, 32);
	default: return 0x1f;
	}
}

static void answer(struct talk *talk, uint8_t opcode, uint32_t psn, uint8_t syndrome, size_t payload)
{
	struct transport t;

	begin(talk, &t, opcode, psn, false);
	if (opcode != READ_RESPONSE_MIDDLE)
		put_aeth(talk, &t, syndrome);
	if (opcode == ATOMIC_ACKNOWLEDGE)
		transport_put64(&t, rng_next(&talk->rng));
	else
		transport_put_payload(&t, payload);
	send_perhaps(talk, &t);
}

static void answer_read(struct talk *talk, const struct received *got)
{
	struct rng *rng = &talk->rng;
	uint32_t length = got->rest_bytes >= 16 ? get32(got->rest + 12) : 0;
	uint32_t mtu = talk->mtu_bytes;
	uint32_t count = length ? (length + mtu - 1) / mtu : 1;
	uint32_t at, chunk;
	uint8_t opcode;

	if (count > 64)
		count = 64;
	for (at = 0; at < count; at++) {
		opcode = count == 1 ? READ_RESPONSE_ONLY : !at ? READ_RESPONSE_FIRST :
			at == count - 1 ? READ_RESPONSE_LAST : READ_RESPONSE_MIDDLE;
		chunk = at == count - 1 ? length - at * mtu : mtu;
		if (rng_percent(rng, 2))
			opcode = READ_RESPONSE_FIRST + rng_below(rng, 4);
		if (rng_percent(rng, 2))
			chunk = rng_below(rng, 2 * mtu);
		answer(talk, opcode, rng_percent(rng, 96) ? got->psn + at : choose_psn(rng, got->psn + at),
		       choose_syndrome(rng), chunk <= 4096 ? chunk : mtu);
	}
}

static void answer_request(struct talk *talk, const struct received *got)
{
	uint32_t psn = choose_psn(&talk->rng, got->psn);

	if (rng_percent(&talk->rng, 3))
		return;
	talk->msn++;
	switch (got->opcode) {
	case READ_REQUEST:
		answer_read(talk, got);
		break;
	case COMPARE_SWAP:
	case FETCH_ADD:
		answer(talk, ATOMIC_ACKNOWLEDGE, psn, choose_syndrome(&talk->rng), 0);
		break;
	default:
		if (got->ack_request)
			answer(talk, ACKNOWLEDGE, psn, choose_syndrome(&talk->rng), 0);
	}
}

/* Answers to nothing, or too early, or too late */
void answer_nothing(struct talk *talk)
{
	static const uint8_t opcodes[] = {
		ACKNOWLEDGE, ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, READ_RESPONSE_FIRST,
		READ_RESPONSE_MIDDLE, READ_RESPONSE_LAST, READ_RESPONSE_ONLY,
	};
	struct rng *rng = &talk->rng;
	uint8_t opcode = opcodes[rng_below(rng, sizeof(opcodes))];

	answer(talk, opcode, choose_psn(rng, talk->their_psn + rng_below(rng, 64)),
	       rng_percent(rng, 50) ? rng_next(rng) : choose_syndrome(rng),
	       opcode == ACKNOWLEDGE ? 0 : rng_below(rng, talk->mtu_bytes + 1));
}

/* The target's answers to our requests tell its state. */
static void learn(struct talk *talk, const struct received *got)
{
	uint8_t syndrome;

	if (got->rest_bytes < 4)
		return;
	syndrome = got->rest[0];
	if (syndrome == 0x60 || (syndrome & 0xe0) == 0x20)
		talk->psn = got->psn;
}

static void handle(struct talk *talk, const uint8_t *frame, size_t length)
{
	struct totals *totals = talk->world->totals;
	struct received got;

	if (!frame_parse(frame, length, &talk->way->framing, &got))
		return;
	totals->received++;
	totals->received_bad_icrc += !got.icrc_right;
	trace_frame(talk->world, "<", frame, length);
	if (got.qpn != talk->our_qpn || talk->qp.type != QPT_RC || got.opcode == CNP)
		return;
	if (got.opcode >= READ_RESPONSE_FIRST && got.opcode <= ATOMIC_ACKNOWLEDGE)
		learn(talk, &got);
	else
		answer_request(talk, &got);
}

/* A block from the target: each segment as the packet that it would have become */
static void handle_block(struct talk *talk, uint8_t *frame, size_t length, size_t segment)
{
	static uint8_t single[MAX_FRAME];
	const struct framing *framing = &talk->way->framing;
	size_t headers = frame_network_bytes(framing) + 8, at = headers, bytes;
	uint8_t *ip = single + 14, *udp = single + headers - 8;
	uint16_t id = frame[18] << 8 | frame[19];

	memcpy(single, frame, headers);
	for (; at < length; at += segment, id++) {
		bytes = length - at < segment ? length - at : segment;
		memcpy(single + headers, frame + at, bytes);
		*(uint16_t *)(udp + 4) = htons(8 + bytes);
		if (framing->ipv6) {
			*(uint16_t *)(ip + 4) = htons(8 + bytes);
		} else {
			*(uint16_t *)(ip + 2) = htons(28 + bytes);
			*(uint16_t *)(ip + 4) = htons(id);
		}
		handle(talk, single, headers + bytes);
	}
}

static void handle_any(void *context, uint8_t *frame, size_t length, size_t segment)
{
	if (segment)
		handle_block(context, frame, length, segment);
	else
		handle(context, frame, length);
}

/* Send queued frames, and answer all that have arrived */
void drain(struct talk *talk)
{
	struct wire *wire = talk->world->wire;

	/* A target that repeats itself for ever must not block us. */
	for (int left = 16; left; left--) {
		wire_flush(wire);
		if (!wire_receive(wire, handle_any, talk))
			break;
	}
	wire_flush(wire);
}
