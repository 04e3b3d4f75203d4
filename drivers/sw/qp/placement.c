// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA FLUSH, IBTA vol. 1, annex A19: tells the requester that earlier writes have reached the
 * requested placement. A QP's requests are executed in order, by CPUs with coherent caches, so
 * global visibility only needs a barrier. Persistence needs cache lines written back: a little at
 * once, larger ranges in portions when the answer is due, since a region may have gigabytes.
 * Requests that rely on the order wait.
 */
#include <linux/sizes.h>

#include "sw/qp/payload.h"
#include "sw/qp/placement.h"
#include "sw/qp/recv_half.h"
#include "sw/verbs/memory/mw.h"

/* Written back with bottom halves off: takes some 0.1 ms at 2 GB/s */
#define PORTION_BYTES	SZ_256K
/* Written back when the request arrives, in some 8 us: a block may have 64 of them */
#define AT_ONCE_BYTES	SZ_16K

static int access_of(u8 placement)
{
	int access = 0;

	if (placement & RHCA_PLACE_GLOBAL)
		access |= RHCA_ACCESS_FLUSH_GLOBAL;
	if (placement & RHCA_PLACE_PERSISTENT)
		access |= RHCA_ACCESS_FLUSH_PERSISTENT;
	return access;
}

static struct rhca_mem *hold_memory(struct rhca_sw_qp *qp,
				    const struct rhca_resource *res)
{
	struct rhca_remote remote = {
		.dev	= qp->base.dev,
		.pd	= qp->base.pd,
		.qp_num	= qp->base.number,
		.rkey	= res->rkey,
		.va	= res->va,
		.length	= res->length,
		.whole	= res->whole,
		.access	= access_of(res->placement),
	};

	lockdep_assert_held(&qp->recv.lock);
	return rhca_mem_hold_remote(&qp->recv.held, &remote);
}

/**
 * rhca_flush_access - Rights that a FLUSH needs
 * @rx: the request
 *
 * Return: RHCA_ACCESS_FLUSH_*, of the QP as well as of the memory.
 */
int rhca_flush_access(const struct rhca_rx *rx)
{
	return access_of(rhca_feth_placement(rhca_rx_header(rx, RHCA_HDR_FETH)));
}

static void describe(struct rhca_resource *res, const struct rhca_rx *rx)
{
	const struct rhca_feth *feth = rhca_rx_header(rx, RHCA_HDR_FETH);
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);

	res->placement = rhca_feth_placement(feth);
	res->whole = rhca_feth_selectivity(feth) == RHCA_SELECT_MR;
	res->va = be64_to_cpu(reth->va);
	res->rkey = be32_to_cpu(reth->rkey);
	res->length = be32_to_cpu(reth->length);
}

/**
 * rhca_flush_allowed - Does the key allow a FLUSH?
 * @qp: the QP
 * @rx: the request
 *
 * Unlike for a WRITE, the key is checked even for zero bytes.
 *
 * Context: recv.lock held.
 */
bool rhca_flush_allowed(struct rhca_sw_qp *qp, const struct rhca_rx *rx)
{
	struct rhca_resource res;

	describe(&res, rx);
	return hold_memory(qp, &res);
}

static u64 start_of(const struct rhca_resource *res, const struct rhca_mem *mem)
{
	return res->whole ? mem->iova : res->va;
}

static u64 bytes_of(const struct rhca_resource *res, const struct rhca_mem *mem)
{
	return res->whole ? mem->length : res->length;
}

/* A duplicate is only answered again, as its key may have been invalidated, A19 */
static void mark_placed(struct rhca_resource *res)
{
	pmem_wmb();
	res->placement &= ~RHCA_PLACE_PERSISTENT;
}

/**
 * rhca_flush_begin - Start a FLUSH that has been checked
 * @qp: the QP
 * @res: the resource that will answer it; filled in
 * @rx: the request
 *
 * Context: recv.lock held.
 */
void rhca_flush_begin(struct rhca_sw_qp *qp, struct rhca_resource *res,
		      const struct rhca_rx *rx)
{
	struct rhca_mem *mem;

	describe(res, rx);
	if (!(res->placement & RHCA_PLACE_PERSISTENT))
		return;
	mem = hold_memory(qp, res);
	if (mem && bytes_of(res, mem) <= AT_ONCE_BYTES) {
		rhca_mem_write_back(mem, start_of(res, mem), bytes_of(res, mem));
		mark_placed(res);
	}
}

/* True if all of it has been written back */
static bool write_back_portion(struct rhca_responder *recv,
			       const struct rhca_resource *res,
			       const struct rhca_mem *mem)
{
	u64 total = bytes_of(res, mem);
	u64 bytes = min_t(u64, total - min(recv->placed, total), PORTION_BYTES);

	lockdep_assert_held(&recv->lock);
	rhca_mem_write_back(mem, start_of(res, mem) + recv->placed, bytes);
	recv->placed += bytes;
	return recv->placed >= total;
}

/**
 * rhca_flush_place - Write data back as a FLUSH requests
 * @qp: the QP
 * @res: the FLUSH, the oldest unanswered resource
 *
 * Context: recv.lock held.
 * Return: 0 if complete; -EAGAIN if there is more to do and others should run first; -EACCES if the
 * key was invalidated since the request arrived.
 */
int rhca_flush_place(struct rhca_sw_qp *qp, struct rhca_resource *res)
{
	struct rhca_mem *mem;
	bool done;

	smp_wmb();	/* order the writes before the answer */
	if (!(res->placement & RHCA_PLACE_PERSISTENT))
		return 0;
	mem = hold_memory(qp, res);
	if (!mem)
		return -EACCES;
	done = write_back_portion(&qp->recv, res, mem);
	if (done)
		mark_placed(res);
	return done ? 0 : -EAGAIN;
}

/**
 * rhca_flush_is_pending - Is there a FLUSH whose data is not persistent yet?
 * @recv: the responder
 *
 * Context: recv.lock held.
 */
bool rhca_flush_is_pending(struct rhca_responder *recv)
{
	const struct rhca_resource *res;
	u32 i;

	for (i = recv->sending_resource; i != recv->newest_resource; i++) {
		res = rhca_resource_at(recv, i);
		if (res->opcode == RHCA_OPCODE_FLUSH &&
		    res->placement & RHCA_PLACE_PERSISTENT)
			return true;
	}
	return false;
}
