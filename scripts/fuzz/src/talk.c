// SPDX-License-Identifier: GPL-2.0
/* The target's side of a conversation with the hostile peer, and its course */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "talk.h"

#define RECEIVES	16
#define QUEUE		32
#define MAX_BURST	8	/* steps */

/* --- the target's side ---------------------------------------------------------- */

static void refill(struct talk *talk)
{
	struct mr *mr = &talk->world->mr;

	while (post_recv(&talk->qp.recv, 1, mr->start + REGION / 2,
			 rng_percent(&talk->rng, 90) ? 8 * talk->mtu_bytes : 100, mr->lkey))
		;
}

static void reap(struct world *world)
{
	while (ring_first(&world->cq.ring)) {
		ring_consume(&world->cq.ring);
		world->totals->completions++;
	}
}

static void post_one(struct talk *talk)
{
	static const enum wr_opcode opcodes[] = { WR_WRITE, WR_SEND, WR_READ, WR_READ, WR_CAS, WR_FADD,
						  WR_WRITE_IMM, WR_SEND_IMM };
	struct ring *ring = &talk->qp.send;
	struct rng *rng = &talk->rng;
	struct mr *mr = &talk->world->mr;
	enum wr_opcode opcode = opcodes[rng_below(rng, talk->qp.type == QPT_UC ? 2 : 8)];
	uint32_t length = opcode == WR_CAS || opcode == WR_FADD ? 8 : rng_below(rng, 5 * talk->mtu_bytes);

	if (!ring_room(ring))
		return;
	send_wqe_fill(ring_slot(ring, ring->buf->producer_index), 2, opcode, mr->start + REGION / 4,
		      length, mr->lkey, 0x1000, 0x77);
	ring_publish(ring, 1);
	talk->world->totals->requests++;
}

static void post_some(struct talk *talk)
{
	for (int left = 1 + rng_below(&talk->rng, 6); left; left--)
		post_one(talk);
	qp_kick(&talk->world->dev, talk->qp.handle, IB_USER_VERBS_CMD_POST_SEND);
}

static uint32_t first_psn(struct rng *rng)
{
	switch (rng_below(rng, 4)) {
	case 0: return (0xffffe0 + rng_below(rng, 64)) & PSN_MASK;
	case 1: return 0x7fffe0 + rng_below(rng, 64);
	default: return rng_next(rng) & PSN_MASK;
	}
}

static int reconnect(struct talk *talk)
{
	struct rng *rng = &talk->rng;
	struct qp_path path = {
		.sgid_index = talk->way->gid_index, .timeout = 6 + rng_below(rng, 4),
		.retries = rng_below(rng, 8), .rnr_retries = rng_below(rng, 8),
	};

	talk->our_qpn = path.dest_qpn = (rng_next(rng) & 0xffff00) | talk->qpn_low;
	talk->psn = path.rq_psn = first_psn(rng);
	talk->their_psn = path.sq_psn = first_psn(rng);
	talk->mtu = path.mtu = 1 + rng_below(rng, 5);
	talk->mtu_bytes = 128 << talk->mtu;
	memcpy(path.dgid, talk->way->framing.src, 16);
	talk->world->totals->reconnects++;
	return qp_connect(&talk->world->dev, &talk->qp, &path);
}

/* --- a case --------------------------------------------------------------------- */

static void step(struct talk *talk)
{
	uint32_t choice = rng_below(&talk->rng, 32);

	if (talk->qp.type == QPT_UD)
		send_unconnected(talk);
	else if (choice < 22)
		send_connected(talk);
	else if (choice < 24)
		answer_nothing(talk);
	else
		post_some(talk);
}

/* A QP in ERROR continues to receive for a while, then is reset. */
static bool still_well(struct talk *talk)
{
	if (rng_percent(&talk->rng, 90) || qp_state_of(&talk->world->dev, talk->qp.handle) == QPS_RTS)
		return true;
	return !reconnect(talk);
}

/* Several steps may be in flight before the first answer is read. */
static int burst(struct talk *talk, int most)
{
	int steps = rng_percent(&talk->rng, 40) ? 1 : 1 + (int)rng_below(&talk->rng, MAX_BURST);

	if (steps > most)
		steps = most;
	refill(talk);
	for (int left = steps; left; left--)
		step(talk);
	drain(talk);
	reap(talk->world);
	return steps;
}

int run_case(struct world *world, uint64_t seed, uint64_t number)
{
	struct talk talk = { .world = world, .rng = rng_of_case(seed, number), .qpn_low = number };
	uint32_t kind = rng_below(&talk.rng, 16);
	enum qp_type type = kind < 2 ? QPT_UD : kind < 4 ? QPT_UC : QPT_RC;
	int left = 100 + rng_below(&talk.rng, 600), ret;

	talk.way = &world->ways[rng_below(&talk.rng, world->num_ways)];
	ret = wire_listen(world->wire, talk.qpn_low);
	if (!ret)
		ret = qp_create(&world->dev, &talk.qp, type, world->cq.handle, world->cq.handle, NULL,
				type == QPT_UD ? RECEIVES : QUEUE, 2);
	if (!ret)
		ret = reconnect(&talk);
	while (!ret && left) {
		left -= burst(&talk, left);
		if (!still_well(&talk))
			ret = -EIO;
	}
	if (ret)
		fprintf(stderr, "case %llu: %s\n", (unsigned long long)number, strerror(-ret));
	ret = ret ?: qp_destroy(&world->dev, talk.qp.handle);
	ring_unmap(&talk.qp.send);
	ring_unmap(&talk.qp.recv);
	reap(world);
	world->totals->cases++;
	return ret;
}
