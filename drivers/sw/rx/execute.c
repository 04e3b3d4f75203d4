// SPDX-License-Identifier: GPL-2.0
/*
 * Executes a request that has passed the checks: copies its payload to its destination, or turns a
 * READ or atomic into a responder resource, for which there is room.
 */
#include <linux/highmem.h>
#include <linux/ip.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "sw/rx/execute.h"
#include "sw/verbs/memory/mw.h"
#include "sw/qp/payload.h"
#include "sw/qp/placement.h"
#include "sw/qp/recv_half.h"
#include "wire/psn.h"

static enum rhca_request_status scattered(enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS)
		return RHCA_PASS;
	return status == RHCA_WC_PAGE_FAULT ? RHCA_PAGE_FAULT : RHCA_LOCAL_FAULT;
}

static enum rhca_request_status put_in_buffer(struct rhca_sw_qp *qp,
					      const struct rhca_rx *rx, u32 offset)
{
	struct rhca_span span = rhca_receive_span(qp, offset, rx->payload_bytes);

	if (rx->in_place)
		return RHCA_PASS;
	return scattered(rhca_scatter(&qp->base, &span, rx));
}

/* The first 40 bytes hold the network header; IPv4 is in the last 20 */
static enum rhca_request_status put_grh(struct rhca_sw_qp *qp,
					const struct rhca_rx *rx)
{
	struct rhca_span span = rhca_receive_span(qp, 0, RHCA_GRH_BYTES);
	u8 grh[RHCA_GRH_BYTES] = {};

	if (rx->flow.encap == RHCA_V2_IPV4)
		memcpy(grh + RHCA_GRH_BYTES - sizeof(struct iphdr), rx->network,
		       sizeof(struct iphdr));
	else
		memcpy(grh, rx->network, RHCA_GRH_BYTES);
	return scattered(rhca_scatter_bytes(&qp->base, &span, grh));
}

static enum rhca_request_status execute_send(struct rhca_sw_qp *qp,
					     const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	enum rhca_request_status status;
	u32 offset = 0;

	if (rx->flags & RHCA_OP_STARTS)
		recv->received = 0;
	if (rhca_is_datagram(&qp->base)) {
		status = put_grh(qp, rx);
		if (status != RHCA_PASS)
			return status;
		offset = RHCA_GRH_BYTES;
	}
	status = put_in_buffer(qp, rx, offset + recv->received);
	if (status == RHCA_PASS)
		recv->received += rx->payload_bytes;
	return status;
}

/* @error: 0, or why the memory cannot be used */
static enum rhca_request_status accessed(int error)
{
	if (!error)
		return RHCA_PASS;
	return error == -EINPROGRESS ? RHCA_PAGE_FAULT : RHCA_BAD_KEY;
}

static enum rhca_request_status put_in_region(struct rhca_sw_qp *qp,
					      const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_mem *mem;

	mem = rhca_responder_hold(qp, recv->write_rkey, recv->write_va,
				  rx->payload_bytes, IB_ACCESS_REMOTE_WRITE);
	if (!mem)
		return RHCA_BAD_KEY;	/* invalidated since the check */
	if (rx->flags & RHCA_OP_ENDS)
		smp_wmb();	/* programs poll for the end: earlier packets and messages first */
	return accessed(rhca_rx_to_mem(mem, recv->write_va, recv->write_left, rx));
}

static enum rhca_request_status execute_write(struct rhca_sw_qp *qp,
					      const struct rhca_rx *rx)
{
	enum rhca_request_status status = RHCA_PASS;
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_reth *reth;

	if (rx->flags & RHCA_OP_STARTS) {
		reth = rhca_rx_header(rx, RHCA_HDR_RETH);
		recv->write_va = be64_to_cpu(reth->va);
		recv->write_rkey = be32_to_cpu(reth->rkey);
		recv->write_left = be32_to_cpu(reth->length);
		recv->received = 0;
	}
	if (rx->payload_bytes && !rx->in_place)
		status = put_in_region(qp, rx);
	if (status != RHCA_PASS)
		return status;
	if (rx->flags & RHCA_OP_STARTS)
		rhca_qp_count(&qp->base, RHCA_RX_WRITE_REQUESTS);
	recv->write_va += rx->payload_bytes;
	recv->write_left -= rx->payload_bytes;
	recv->received += rx->payload_bytes;
	return RHCA_PASS;
}

static struct rhca_resource *new_resource(struct rhca_sw_qp *qp,
					  const struct rhca_rx *rx, u32 psns)
{
	struct rhca_responder *recv = &qp->recv;
	struct rhca_resource *res = rhca_resource_at(recv,
						     recv->newest_resource++);

	recv->has_responded = true;
	*res = (struct rhca_resource) {
		.opcode		= rx->opcode,
		.first_psn	= rx->psn,
		.next_psn	= rx->psn,
		.last_psn	= rhca_psn_add(rx->psn, psns - 1),
	};
	return res;
}

/* A READ whose first page is missing is repeated as a WRITE is: nothing waits for it here */
static enum rhca_request_status look_at_region(struct rhca_sw_qp *qp,
					       const struct rhca_reth *reth)
{
	u32 length = be32_to_cpu(reth->length);
	u64 va = be64_to_cpu(reth->va);
	struct rhca_mem *mem;

	if (!length || !atomic_read(&qp->base.dev->num_on_demand))
		return RHCA_PASS;
	mem = rhca_responder_hold(qp, be32_to_cpu(reth->rkey), va, length,
				  IB_ACCESS_REMOTE_READ);
	if (!mem)
		return RHCA_BAD_KEY;
	return accessed(rhca_mem_ready(mem, va, min(length, qp->base.mtu_bytes), length));
}

static enum rhca_request_status execute_read(struct rhca_sw_qp *qp,
					     const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);
	enum rhca_request_status status = look_at_region(qp, reth);
	u32 length = be32_to_cpu(reth->length);
	struct rhca_resource *res;

	if (status != RHCA_PASS)
		return status;
	res = new_resource(qp, rx, rhca_response_packets(qp, length));
	res->va = be64_to_cpu(reth->va);
	res->rkey = be32_to_cpu(reth->rkey);
	res->length = length;
	rhca_qp_count(&qp->base, RHCA_RX_READ_REQUESTS);
	return RHCA_PASS;
}

/* Atomic among all QPs and, if the CPU is, towards the host: IB_ATOMIC_HCA */
static u64 run_atomic(u64 *word, const struct rhca_rx *rx)
{
	const struct rhca_atomic_eth *eth =
		rhca_rx_header(rx, RHCA_HDR_ATOMIC_ETH);
	atomic64_t *target = (atomic64_t *)word;
	u64 swap_add = be64_to_cpu(eth->swap_add);

	if (rx->opcode == IB_OPCODE_RC_COMPARE_SWAP)
		return atomic64_cmpxchg(target, be64_to_cpu(eth->compare),
					swap_add);
	return atomic64_fetch_add(swap_add, target);
}

/* All eight bytes become visible at once, 9.4.7. The response does not return the old value */
static u64 write_word(u64 *word, const struct rhca_rx *rx)
{
	u64 value;

	skb_copy_bits(rx->skb, rx->payload_offset, &value, sizeof(value));
	smp_store_release(word, value);	/* after what earlier requests have written, A19 */
	return 0;
}

/* Fails if the peer may not access the word, or not yet */
static enum rhca_request_status execute_on_word(struct rhca_sw_qp *qp, const struct rhca_rx *rx,
						u32 rkey, u64 va, int access)
{
	unsigned int offset, bytes;
	struct rhca_mem *mem;
	struct page *page;
	u64 original, *word;

	mem = rhca_responder_hold(qp, rkey, va, sizeof(*word), access);
	if (!mem)
		return RHCA_BAD_KEY;
	page = rhca_mem_page(mem, va, &offset, &bytes);
	if (!page)
		return accessed(rhca_mem_fault(mem, va, sizeof(*word), sizeof(*word)));
	if (!IS_ALIGNED(offset, sizeof(*word)))
		return RHCA_BAD_KEY;
	word = kmap_local_page(page) + offset;
	original = rx->flags & RHCA_OP_ATOMIC ? run_atomic(word, rx) : write_word(word, rx);
	kunmap_local(word);
	new_resource(qp, rx, 1)->original = original;
	rhca_qp_count(&qp->base, RHCA_RX_ATOMIC_REQUESTS);
	return RHCA_PASS;
}

static enum rhca_request_status execute_atomic(struct rhca_sw_qp *qp,
					       const struct rhca_rx *rx)
{
	const struct rhca_atomic_eth *eth =
		rhca_rx_header(rx, RHCA_HDR_ATOMIC_ETH);

	return execute_on_word(qp, rx, be32_to_cpu(eth->rkey), be64_to_cpu(eth->va),
			       IB_ACCESS_REMOTE_ATOMIC);
}

static enum rhca_request_status execute_atomic_write(struct rhca_sw_qp *qp,
						     const struct rhca_rx *rx)
{
	const struct rhca_reth *reth = rhca_rx_header(rx, RHCA_HDR_RETH);

	return execute_on_word(qp, rx, be32_to_cpu(reth->rkey), be64_to_cpu(reth->va),
			       IB_ACCESS_REMOTE_WRITE);
}

static enum rhca_request_status execute(struct rhca_sw_qp *qp,
					const struct rhca_rx *rx)
{
	if (rx->flags & RHCA_OP_SEND)
		return execute_send(qp, rx);
	if (rx->flags & RHCA_OP_WRITE)
		return execute_write(qp, rx);
	if (rx->flags & RHCA_OP_READ)
		return execute_read(qp, rx);
	if (rx->flags & RHCA_OP_ATOMIC)
		return execute_atomic(qp, rx);
	if (rx->flags & RHCA_OP_FLUSH) {
		rhca_flush_begin(qp, new_resource(qp, rx, 1), rx);
		return RHCA_PASS;
	}
	return execute_atomic_write(qp, rx);
}

static enum rhca_request_status invalidate(struct rhca_sw_qp *qp,
					   const struct rhca_rx *rx)
{
	struct rhca_responder *recv = &qp->recv;
	const struct rhca_ieth *ieth;
	int ret;

	if (!rhca_opcode_has(rx->opcode, RHCA_HDR_IETH))
		return RHCA_PASS;
	ieth = rhca_rx_header(rx, RHCA_HDR_IETH);
	recv->invalid_key = be32_to_cpu(ieth->rkey);
	rhca_mem_release(&recv->held);	/* do not wait for ourselves */
	ret = rhca_key_invalidate(qp->base.dev, qp->base.pd,
				  recv->invalid_key, qp->base.number, true);
	recv->invalidating = ret == -EINPROGRESS;
	return !ret || recv->invalidating ? RHCA_PASS : RHCA_BAD_KEY;
}

/*
 * Execute a request that has passed rhca_request_check(). recv.lock held. Returns RHCA_PASS or why
 * it failed: a key may have been invalidated since the check.
 */
enum rhca_request_status rhca_request_execute(struct rhca_sw_qp *qp,
					      const struct rhca_rx *rx)
{
	enum rhca_request_status status;

	lockdep_assert_held(&qp->recv.lock);
	status = execute(qp, rx);
	return status == RHCA_PASS ? invalidate(qp, rx) : status;
}

/* --- responder resources ------------------------------------------------------ */

/* Answered requests may be repeated, so move them too */
static struct rhca_resource *move_resources(struct rhca_responder *recv,
					    struct rhca_resource *to, u32 num)
{
	struct rhca_resource *from = recv->resources;
	u32 i, index;

	lockdep_assert_held(&recv->lock);
	for (i = 1; i <= recv->num_resources; i++) {
		index = recv->newest_resource - i;
		to[index & (num - 1)] = *rhca_resource_at(recv, index);
	}
	recv->resources = to;
	recv->num_resources = num;
	return from;
}

/**
 * rhca_responder_reserve - Reserve resources for READs and atomics of the peer
 * @qp: the QP
 * @max_dest_rd_atomic: how many it may have outstanding; fewer than before leave the resources as
 *	they are
 *
 * Context: may sleep; the QP's modify_lock held.
 * Return: 0, or -ENOMEM with nothing changed.
 */
int rhca_responder_reserve(struct rhca_sw_qp *qp, u32 max_dest_rd_atomic)
{
	struct rhca_responder *recv = &qp->recv;
	u32 num = max_dest_rd_atomic ?
		  roundup_pow_of_two(2 * max_dest_rd_atomic) : 0;
	struct rhca_resource *resources;

	if (num <= recv->num_resources)
		return 0;
	resources = kcalloc(num, sizeof(*resources), GFP_KERNEL_ACCOUNT);
	if (!resources)
		return -ENOMEM;
	spin_lock_bh(&recv->lock);
	resources = move_resources(recv, resources, num);
	spin_unlock_bh(&recv->lock);
	kfree(resources);
	return 0;
}
