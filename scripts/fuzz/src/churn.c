// SPDX-License-Identifier: GPL-2.0
/*
 * One hostile process: slots with objects of two devices, and two threads that use and replace them
 * without coordination.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "churn.h"
#include "honest.h"
#include "random.h"
#include "verbs.h"

#define SLOTS		6	/* objects of a kind and device */
#define MAX_RINGS	1024
#define ARENA		(2 << 20)
#define THREADS		2

struct totals *totals;

/* Rings once mapped stay mapped, so that stale ones can be scribbled on, too. */
struct rings {
	struct ring all[MAX_RINGS];
	unsigned int count;
};

struct queue_pair {
	uint32_t handle;
	uint32_t number;
	enum qp_type type;
	const struct ring *send;
	const struct ring *recv;
	struct device *dev;
};

struct completion_queue {
	uint32_t handle;
	const struct ring *ring;
};

/* Shared by the threads without a lock: a handle may be stale, on purpose */
struct side {
	struct device dev;
	uint8_t gid[16];
	int gid_index;
	uint8_t *arena;
	struct completion_queue cq[SLOTS];
	struct completion_queue srq[SLOTS];
	struct queue_pair qp[SLOTS];
	struct mr mr[SLOTS];
	uint32_t mw_handle[SLOTS], mw_rkey[SLOTS];
	uint32_t ah_handle[SLOTS], ah_number[SLOTS];
};

static struct side sides[2];
static struct rings rings;
static bool may_fail;

struct actor {
	struct rng rng;
	int steps;
};

static void count(uint64_t *what, uint64_t by)
{
	__atomic_fetch_add(what, by, __ATOMIC_RELAXED);
}

/* For calls that name no object that the other thread may have destroyed */
static void must(bool fine, const char *what)
{
	if (fine || may_fail)
		return;
	printf("expected success, got a failure: %s\n", what);
	_exit(1);
}

/* --- objects ------------------------------------------------------------------ */

static const struct ring *keep_ring(const struct ring *ring)
{
	unsigned int at;

	if (!ring->buf)
		return NULL;
	at = __atomic_fetch_add(&rings.count, 1, __ATOMIC_RELAXED);
	if (at >= MAX_RINGS)
		return NULL;
	rings.all[at] = *ring;
	return &rings.all[at];
}

/* Any ring, also that of a destroyed object */
static const struct ring *known_ring(struct actor *actor)
{
	unsigned int known = __atomic_load_n(&rings.count, __ATOMIC_RELAXED);
	const struct ring *ring;

	if (!known)
		return NULL;
	ring = &rings.all[rng_below(&actor->rng, known < MAX_RINGS ? known : MAX_RINGS)];
	return ring->bytes ? ring : NULL;	/* not completely written yet */
}

static unsigned int slot(struct actor *actor)
{
	return rng_below(&actor->rng, SLOTS);
}

static void renew_cq(struct actor *actor, struct side *side)
{
	struct completion_queue *mine = &side->cq[slot(actor)];
	struct cq cq;

	/* Fails while a QP uses it */
	if (mine->handle && cq_destroy(&side->dev, mine->handle) && rng_percent(&actor->rng, 70))
		return;
	/* Its ring may already be another's, see ring_map() */
	if (cq_create(&side->dev, &cq, 1 + rng_below(&actor->rng, 600))) {
		must(cq.handle, "create_cq");
		return;
	}
	mine->ring = keep_ring(&cq.ring);
	mine->handle = cq.handle;
	count(&totals->objects, 1);
}

static void resize_cq(struct actor *actor, struct side *side)
{
	struct completion_queue *mine = &side->cq[slot(actor)];
	struct cq cq = { .handle = mine->handle };

	if (!cq_resize(&side->dev, &cq, 1 + rng_below(&actor->rng, 1200)))
		mine->ring = keep_ring(&cq.ring);
}

static void renew_srq(struct actor *actor, struct side *side)
{
	struct completion_queue *mine = &side->srq[slot(actor)];
	struct srq srq = { .handle = mine->handle };

	if (rng_percent(&actor->rng, 50)) {
		if (!srq_resize(&side->dev, &srq, 1 + rng_below(&actor->rng, 300)))
			mine->ring = keep_ring(&srq.ring);
		return;
	}
	if (mine->handle)
		srq_destroy(&side->dev, mine->handle);
	if (srq_create(&side->dev, &srq, 1 + rng_below(&actor->rng, 300), 1 + rng_below(&actor->rng, 4))) {
		must(srq.handle, "create_srq");
		return;
	}
	mine->ring = keep_ring(&srq.ring);
	mine->handle = srq.handle;
	count(&totals->objects, 1);
}

static void renew_qp(struct actor *actor, struct side *side)
{
	/* The other side's QP of the same slot has the same type. */
	static const enum qp_type types[SLOTS] = { QPT_RC, QPT_RC, QPT_RC, QPT_RC, QPT_UC, QPT_UD };
	unsigned int at = slot(actor);
	struct queue_pair *mine = &side->qp[at];
	struct srq srq = { .handle = side->srq[slot(actor)].handle };
	enum qp_type type = types[at];
	bool shared = srq.handle && rng_percent(&actor->rng, 30);
	struct qp qp;

	if (mine->handle)
		qp_destroy(&side->dev, mine->handle);
	if (qp_create(&side->dev, &qp, type, side->cq[slot(actor)].handle, side->cq[slot(actor)].handle,
		      shared ? &srq : NULL, 1 + rng_below(&actor->rng, 64), 4))
		return;
	mine->send = keep_ring(&qp.send);
	mine->recv = keep_ring(&qp.recv);
	mine->number = qp.number;
	mine->type = type;
	mine->dev = &side->dev;
	mine->handle = qp.handle;
	count(&totals->objects, 1);
}

static void renew_mr(struct actor *actor, struct side *side)
{
	struct mr *mine = &side->mr[slot(actor)], mr = *mine;
	uint32_t start = rng_below(&actor->rng, ARENA / 2), bytes, access;

	if (mr.handle && rng_percent(&actor->rng, 20)) {
		mr_reregister(&side->dev, &mr, rng_below(&actor->rng, 8), rng_below(&actor->rng, 32));
		*mine = mr;
		return;
	}
	if (mr.handle)
		mr_deregister(&side->dev, mr.handle);
	access = rng_percent(&actor->rng, 80) ? ACCESS_ALL | ACCESS_MW_BIND : rng_below(&actor->rng, 64);
	bytes = 1 + rng_below(&actor->rng, ARENA / 2);
	if (mr_register(&side->dev, &mr, side->arena + start, bytes, access)) {
		must(access != (ACCESS_ALL | ACCESS_MW_BIND), "reg_mr");
		mr.handle = 0;
	}
	*mine = mr;
	count(&totals->objects, 1);
}

static void renew_mw(struct actor *actor, struct side *side)
{
	unsigned int at = slot(actor);

	if (side->mw_handle[at])
		mw_dealloc(&side->dev, side->mw_handle[at]);
	must(!mw_alloc(&side->dev, 1 + rng_below(&actor->rng, 2), &side->mw_handle[at], &side->mw_rkey[at]),
	     "alloc_mw");
	count(&totals->objects, 1);
}

static void renew_ah(struct actor *actor, struct side *side, const struct side *peer)
{
	struct qp_path path = { .sgid_index = side->gid_index };
	unsigned int at = slot(actor);

	memcpy(path.dgid, peer->gid, 16);
	if (side->ah_handle[at])
		ah_destroy(&side->dev, side->ah_handle[at]);
	must(!ah_create(&side->dev, &path, &side->ah_handle[at], &side->ah_number[at]), "create_ah");
	count(&totals->objects, 1);
}

/* QP n of one side is mostly connected to QP n of the other, of the same type */
static void connect_pair(struct actor *actor, unsigned int at)
{
	for (int i = 0; i < 2; i++) {
		struct side *side = &sides[i], *peer = &sides[!i];
		struct qp qp = { .handle = side->qp[at].handle, .type = side->qp[at].type };
		struct qp_path path = {
			.sgid_index = side->gid_index, .dest_qpn = peer->qp[at].number, .mtu = 3,
			.sq_psn = 0xfffff8 + i, .rq_psn = 0xfffff8 + !i, .timeout = 8,
			.retries = 1 + rng_below(&actor->rng, 7), .rnr_retries = rng_below(&actor->rng, 3),
		};

		memcpy(path.dgid, peer->gid, 16);
		if (qp.handle)
			qp_connect(&side->dev, &qp, &path);
	}
}

/*
 * Map the ring of one object, or what is at its offset by now, once more, and use it as that of a
 * shared receive queue.
 */
static void map_again(struct actor *actor, struct side *side)
{
	const struct ring *ring = known_ring(actor);
	struct ring again;

	if (ring && !ring_map(&side->dev, &again, ring->offset, ring->bytes))
		side->srq[slot(actor)].ring = keep_ring(&again);
}

static void modify(struct actor *actor, struct side *side)
{
	struct ib_uverbs_modify_qp attr;

	if (rng_percent(&actor->rng, 70)) {
		qp_set_state(&side->dev, side->qp[slot(actor)].handle, rng_below(&actor->rng, 7));
		return;
	}
	rng_fill(&actor->rng, &attr, sizeof(attr));
	attr.qp_handle = side->qp[slot(actor)].handle;
	attr.attr_mask &= 1 << rng_below(&actor->rng, 21) | 1 << rng_below(&actor->rng, 21);
	attr.qp_state %= 8;
	qp_modify(&side->dev, &attr);
}

/* --- requests ------------------------------------------------------------------- */

static void fill_bind(struct actor *actor, struct side *side, struct rxe_send_wqe *wqe)
{
	const struct mr *mr = &side->mr[slot(actor)];
	uint32_t mw_rkey = side->mw_rkey[slot(actor)];

	wqe->wr.wr.mw.addr = (uintptr_t)mr->start + rng_below(&actor->rng, 4096);
	wqe->wr.wr.mw.length = rng_below(&actor->rng, mr->bytes + 1);
	wqe->wr.wr.mw.mr_lkey = mr->lkey;
	wqe->wr.wr.mw.mw_rkey = mw_rkey;
	wqe->wr.wr.mw.rkey = (mw_rkey & ~0xff) | rng_below(&actor->rng, 256);
	wqe->wr.wr.mw.access = ACCESS_ALL & ~1;
	wqe->dma.num_sge = 0;
}

static void fill_datagram(struct actor *actor, struct side *side, struct side *peer,
			  struct rxe_send_wqe *wqe)
{
	wqe->wr.opcode = rng_percent(&actor->rng, 80) ? WR_SEND : WR_SEND_IMM;
	wqe->wr.wr.ud.remote_qpn = peer->qp[slot(actor)].number;
	wqe->wr.wr.ud.remote_qkey = QKEY;
	wqe->wr.wr.ud.ah_num = side->ah_number[slot(actor)];
}

/* A valid request, unless an object that it names is destroyed meanwhile */
static void fill_sound(struct actor *actor, struct side *side, const struct queue_pair *qp,
		       struct rxe_send_wqe *wqe)
{
	static const enum wr_opcode opcodes[] = { WR_WRITE, WR_WRITE, WR_SEND, WR_WRITE_IMM, WR_READ,
						  WR_READ, WR_CAS, WR_FADD };
	struct rng *rng = &actor->rng;
	struct side *peer = &sides[side == &sides[0]];
	const struct mr *from = &side->mr[slot(actor)], *to = &peer->mr[slot(actor)];
	enum wr_opcode opcode = opcodes[rng_below(rng, qp->type == QPT_UC ? 4 : 8)];
	uint32_t most = from->bytes < to->bytes ? from->bytes : to->bytes;
	uint64_t remote = ((uintptr_t)to->start + 7) & ~7ull;
	uint32_t largest = rng_percent(rng, 30) ? 8000 : 300;
	uint32_t bytes = 8;

	if (opcode != WR_CAS && opcode != WR_FADD)
		bytes = rng_below(rng, most < largest ? most : largest);
	if (opcode == WR_WRITE || opcode == WR_READ)
		remote = (uintptr_t)to->start + rng_below(rng, to->bytes - bytes);
	send_wqe_fill(wqe, rng_next(rng), opcode, from->start, bytes, from->lkey, remote, to->rkey);
	if (qp->type == QPT_UD)
		fill_datagram(actor, side, peer, wqe);
}

/* A request that may be valid */
static void fill_send(struct actor *actor, struct side *side, const struct queue_pair *qp,
		      struct rxe_send_wqe *wqe)
{
	struct rng *rng = &actor->rng;
	struct side *peer = &sides[side == &sides[0]];
	const struct mr *from = &side->mr[slot(actor)], *to = &peer->mr[slot(actor)];
	enum wr_opcode opcode = rng_below(rng, WR_SEND_INV + 1);
	uint32_t bytes = opcode == WR_CAS || opcode == WR_FADD ? 8 :
		rng_percent(rng, 80) ? rng_below(rng, 2000) : rng_below(rng, 20000);
	uint64_t remote = (uintptr_t)to->start + rng_below(rng, 4096) * 8;

	send_wqe_fill(wqe, rng_next(rng), opcode, from->start, bytes, from->lkey, remote, to->rkey);
	if (rng_percent(rng, 50))
		wqe->wr.send_flags = rng_below(rng, 8);
	if (opcode == WR_LOCAL_INV || opcode == WR_SEND_INV)
		wqe->wr.ex.invalidate_rkey = side->mw_rkey[slot(actor)];
	else if (opcode == WR_BIND_MW)
		fill_bind(actor, side, wqe);
	if (qp->type == QPT_UD)
		fill_datagram(actor, side, peer, wqe);
	if (rng_percent(rng, 10)) {
		wqe->wr.send_flags |= SEND_INLINE;
		wqe->dma.length = rng_below(rng, 80);
	}
}

/* Overwrite one word of a slot, or all of it, with noise */
static void spoil(struct actor *actor, const struct ring *ring, void *at)
{
	size_t bytes = 1u << ring->shift;
	uint32_t *words = at;

	if (rng_percent(&actor->rng, 20)) {
		rng_fill(&actor->rng, at, bytes);
		return;
	}
	for (int left = 1 + rng_below(&actor->rng, 3); left; left--)
		words[rng_below(&actor->rng, bytes / 4)] = rng_evil(&actor->rng);
}

static void post_sends(struct actor *actor, struct side *side, const struct queue_pair *qp)
{
	const struct ring *ring = qp->send;
	uint32_t left, n = 1 + rng_below(&actor->rng, rng_percent(&actor->rng, 50) ? 16 : 64), at;
	bool sound = rng_percent(&actor->rng, 80);

	if (!ring)
		return;
	at = ring->buf->producer_index;
	if (n > ring->mask)
		n = ring->mask;
	for (left = n; left; left--, at++) {
		if (sound)
			fill_sound(actor, side, qp, ring_slot(ring, at));
		else
			fill_send(actor, side, qp, ring_slot(ring, at));
		if (!sound && rng_percent(&actor->rng, 20))
			spoil(actor, ring, ring_slot(ring, at));
	}
	ring_publish(ring, n);
	count(&totals->requests, n);
	qp_kick(&side->dev, qp->handle, IB_USER_VERBS_CMD_POST_SEND);
}

static void post_receives(struct actor *actor, struct side *side, const struct ring *ring)
{
	uint32_t n = 1 + rng_below(&actor->rng, 16), i, at;
	const struct mr *mr = &side->mr[slot(actor)];

	if (!ring)
		return;
	at = ring->buf->producer_index;
	for (i = 0; i < n; i++) {
		recv_wqe_fill(ring_slot(ring, at + i), rng_next(&actor->rng), mr->start,
			      rng_percent(&actor->rng, 95) ? mr->bytes : rng_below(&actor->rng, 20000),
			      mr->lkey);
		if (rng_percent(&actor->rng, 1))
			spoil(actor, ring, ring_slot(ring, at + i));
	}
	ring_publish(ring, n);
	count(&totals->receives, n);
}

/* Any field or slot of any ring */
static void scribble(struct actor *actor)
{
	const struct ring *ring;
	uint32_t *word;

	for (int left = rng_below(&actor->rng, 40); left; left--) {
		ring = known_ring(actor);
		if (!ring)
			continue;
		switch (rng_below(&actor->rng, 8)) {
		case 0: word = &ring->buf->producer_index; break;
		case 1: word = &ring->buf->consumer_index; break;
		case 2: word = &ring->buf->index_mask; break;
		case 3: word = &ring->buf->log2_elem_size; break;
		default: word = (uint32_t *)ring->buf + rng_below(&actor->rng, ring->bytes / 4); break;
		}
		*(volatile uint32_t *)word = rng_percent(&actor->rng, 50) ? rng_evil(&actor->rng) :
			*(volatile uint32_t *)word + rng_below(&actor->rng, 7) - 3;
	}
}

static void reap(struct side *side)
{
	for (int i = 0; i < SLOTS; i++) {
		const struct ring *ring = side->cq[i].ring;
		uint32_t filled;

		if (!ring)
			continue;
		filled = (ring->buf->producer_index - ring->buf->consumer_index) & ring->mask;
		__atomic_store_n(&ring->buf->consumer_index, ring->buf->producer_index, __ATOMIC_RELEASE);
		count(&totals->completions, filled);
	}
}

/* --- a case ----------------------------------------------------------------------- */

static void churn(struct actor *actor, struct side *side)
{
	switch (rng_below(&actor->rng, 17)) {
	case 0: renew_cq(actor, side); break;
	case 1 ... 2: resize_cq(actor, side); break;
	case 3 ... 4: renew_srq(actor, side); break;
	case 5 ... 7: renew_qp(actor, side); break;
	case 8 ... 10: renew_mr(actor, side); break;
	case 11: renew_mw(actor, side); break;
	case 12: renew_ah(actor, side, &sides[side == &sides[0]]); break;
	case 13: map_again(actor, side); break;
	case 14: cq_arm(&side->dev, side->cq[slot(actor)].handle, actor->steps & 1); break;
	default: modify(actor, side); break;
	}
}

static void step(struct actor *actor)
{
	struct side *side = &sides[rng_below(&actor->rng, 2)];
	struct queue_pair qp = side->qp[slot(actor)];

	switch (rng_below(&actor->rng, 32)) {
	case 0 ... 15: post_sends(actor, side, &qp); break;
	case 16 ... 19: post_receives(actor, side, qp.recv); break;
	case 20: post_receives(actor, side, side->srq[slot(actor)].ring); break;
	case 21: qp_kick(&side->dev, qp.handle, IB_USER_VERBS_CMD_POST_RECV); break;
	case 22 ... 23: scribble(actor); break;
	case 24 ... 26: churn(actor, side); break;
	case 27 ... 28: connect_pair(actor, slot(actor)); break;
	default: reap(side); break;
	}
}

static void *act(void *argument)
{
	struct actor *actor = argument;

	while (actor->steps--)
		step(actor);
	return NULL;
}

/* One of everything, in every slot, all connected */
static void populate(struct actor *actor)
{
	for (int i = 0; i < 2; i++) {
		for (int n = 0; n < 4 * SLOTS; n++) {
			renew_cq(actor, &sides[i]);
			renew_mr(actor, &sides[i]);
		}
		for (int n = 0; n < 2 * SLOTS; n++) {
			renew_srq(actor, &sides[i]);
			renew_qp(actor, &sides[i]);
			renew_mw(actor, &sides[i]);
			renew_ah(actor, &sides[i], &sides[!i]);
		}
	}
	for (unsigned int at = 0; at < SLOTS; at++)
		connect_pair(actor, at);
}

void run_case(const char *const names[2], const int gid_index[2], uint64_t seed, uint64_t number,
	      bool wild)
{
	struct actor actors[THREADS];
	pthread_t thread[THREADS];

	may_fail = wild;
	for (int i = 0; i < 2; i++) {
		if (device_open(&sides[i].dev, names[i]) ||
		    gid_read(names[i], gid_index[i], sides[i].gid))
			_exit(!wild);
		sides[i].gid_index = gid_index[i];
		sides[i].arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (sides[i].arena == MAP_FAILED)
			_exit(!wild);
	}
	for (int i = 0; i < THREADS; i++) {
		actors[i].rng = rng_of_case(seed + i, number);
		/* Creating and connecting the objects costs as much as some hundred steps. */
		actors[i].steps = rng_percent(&actors[i].rng, 50) ? 200 + rng_below(&actors[i].rng, 400) :
								    1000 + rng_below(&actors[i].rng, 3000);
	}
	populate(&actors[0]);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, act, &actors[i]))
			_exit(!wild);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}
