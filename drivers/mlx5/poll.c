// SPDX-License-Identifier: GPL-2.0
/* Reading and arming completion queues of the kernel. */
#include <linux/bitfield.h>
#include <linux/mlx5/cq.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "cq.h"
#include "device.h"
#include "fatal.h"
#include "poll.h"
#include "qp_types.h"
#include "srq.h"

#define QPN_MASK	GENMASK(23, 0)

/* In flags_rqpn, for datagrams */
#define HAS_GRH		GENMASK(29, 28)
#define NETWORK_HEADER	GENMASK(25, 24)
#define SOURCE_QPN	GENMASK(23, 0)

#define HAS_VLAN	BIT(0)	/* in l4_l3_hdr_type */
#define VLAN_PRIORITY	GENMASK(15, 13)
#define VLAN_ID		GENMASK(11, 0)

static const enum rdma_network_type network_types[] = {
	RDMA_NETWORK_ROCE_V1, RDMA_NETWORK_IPV6, RDMA_NETWORK_IPV4,
	RDMA_NETWORK_ROCE_V1
};

static u32 qpn_of(const struct mlx5_cqe64 *cqe)
{
	return be32_to_cpu(cqe->sop_drop_qpn) & QPN_MASK;
}

static bool is_send(u8 opcode)
{
	return opcode == MLX5_CQE_REQ || opcode == MLX5_CQE_REQ_ERR;
}

/* A completion also covers earlier requests without one */
static void take_send(struct rhca_mlx5_qp *qp, const struct mlx5_cqe64 *cqe,
		      struct ib_wc *wc)
{
	u32 block = be16_to_cpu(cqe->wqe_counter) & (qp->sq.num_blocks - 1);
	const struct rhca_mlx5_request *request = &qp->sq.request[block];

	qp->sq.oldest = block + request->blocks;
	wc->wr_id = request->wr_id;
	wc->opcode = request->opcode;
	wc->byte_len = be32_to_cpu(cqe->byte_cnt);
	/* From here on its place may be filled by a new request */
	smp_store_release(&qp->sq.completed, request->number);
}

static void take_recv(struct rhca_mlx5_qp *qp, const struct mlx5_cqe64 *cqe,
		      struct ib_wc *wc)
{
	struct ib_srq *srq = qp->base.ibqp.srq;
	struct rhca_mlx5_rq *rq = &qp->rq;

	wc->opcode = IB_WC_RECV;
	if (srq) {
		wc->wr_id = rhca_mlx5_srq_take(to_rhca_mlx5_srq(srq),
					       be16_to_cpu(cqe->wqe_counter));
		return;
	}
	wc->wr_id = rq->wr_id[rq->completed & (rq->num_entries - 1)];
	smp_store_release(&rq->completed, rq->completed + 1);	/* likewise */
}

static void describe_message(const struct mlx5_cqe64 *cqe, u8 opcode,
			     struct ib_wc *wc)
{
	wc->byte_len = be32_to_cpu(cqe->byte_cnt);
	switch (opcode) {
	case MLX5_CQE_RESP_WR_IMM:
		wc->opcode = IB_WC_RECV_RDMA_WITH_IMM;
		fallthrough;
	case MLX5_CQE_RESP_SEND_IMM:
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = cqe->immediate;
		break;
	case MLX5_CQE_RESP_SEND_INV:
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = be32_to_cpu(cqe->inval_rkey);
		break;
	}
}

static void describe_datagram(struct rhca_mlx5_qp *qp,
			      const struct mlx5_cqe64 *cqe, struct ib_wc *wc)
{
	u32 flags = be32_to_cpu(cqe->flags_rqpn);
	u16 vlan = be16_to_cpu(cqe->vlan_info);

	wc->src_qp = FIELD_GET(SOURCE_QPN, flags);
	if (FIELD_GET(HAS_GRH, flags))
		wc->wc_flags |= IB_WC_GRH;
	wc->network_hdr_type = network_types[FIELD_GET(NETWORK_HEADER, flags)];
	wc->wc_flags |= IB_WC_WITH_NETWORK_HDR_TYPE;
	if (cqe->l4_l3_hdr_type & HAS_VLAN) {
		wc->vlan_id = FIELD_GET(VLAN_ID, vlan);
		wc->sl = FIELD_GET(VLAN_PRIORITY, vlan);
		wc->wc_flags |= IB_WC_WITH_VLAN;
	}
	wc->port_num = qp->base.port ? qp->base.port->num : 1;
	if (qp->base.ibqp.qp_type == IB_QPT_GSI)
		ib_find_cached_pkey(qp->base.ibqp.device, wc->port_num,
				    be32_to_cpu(cqe->pkey), &wc->pkey_index);
}

static void fill(struct rhca_mlx5_qp *qp, const struct mlx5_cqe64 *cqe,
		 u8 opcode, struct ib_wc *wc)
{
	const struct mlx5_err_cqe *error = (const void *)cqe;

	memset(wc, 0, sizeof(*wc));
	wc->qp = &qp->base.ibqp;
	if (is_send(opcode))
		take_send(qp, cqe, wc);
	else
		take_recv(qp, cqe, wc);
	if (opcode == MLX5_CQE_REQ_ERR || opcode == MLX5_CQE_RESP_ERR) {
		wc->status = rhca_mlx5_status_of(error->syndrome);
		wc->vendor_err = error->vendor_err_synd;
		return;
	}
	if (is_send(opcode))
		return;
	describe_message(cqe, opcode, wc);
	if (rhca_qp_is_datagram(&qp->base))
		describe_datagram(qp, cqe, wc);
}

/*
 * A queue pair purges its entries under the queue's lock before it is freed, so the one found here
 * stays valid.
 */
static struct rhca_mlx5_qp *qp_of(struct rhca_mlx5_cq *cq, u32 qpn)
{
	struct rhca_mlx5_numbered *found;

	lockdep_assert_held(&cq->lock);
	found = xa_load(&rhca_mlx5_of(cq->ibcq.device)->qps, qpn);
	return found ? container_of(found, struct rhca_mlx5_qp, numbered) :
		       NULL;
}

/* Returns whether @wc was filled; skips entries without a queue pair */
static bool poll_one(struct rhca_mlx5_cq *cq, struct ib_wc *wc)
{
	struct rhca_mlx5_qp *qp;
	struct mlx5_cqe64 *cqe;

	while ((cqe = rhca_mlx5_cq_entry(cq, cq->hw.cons_index))) {
		cq->hw.cons_index++;
		dma_rmb();	/* the owner bit before the rest */
		qp = qp_of(cq, qpn_of(cqe));
		if (!qp)
			continue;
		fill(qp, cqe, get_cqe_opcode(cqe), wc);
		return true;
	}
	return false;
}

int rhca_mlx5_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct rhca_mlx5_cq *cq = to_rhca_mlx5_cq(ibcq);
	unsigned long flags;
	int polled = 0;
	u32 first;

	spin_lock_irqsave(&cq->lock, flags);
	if (unlikely(rhca_mlx5_is_dead(rhca_mlx5_of(ibcq->device)))) {
		polled = rhca_mlx5_flush(cq, num, wc);
		goto unlock;
	}
	first = cq->hw.cons_index;
	while (polled < num && poll_one(cq, wc + polled))
		polled++;
	/* Even if all entries were without a queue pair */
	if (cq->hw.cons_index != first)
		mlx5_cq_set_ci(&cq->hw);
unlock:
	spin_unlock_irqrestore(&cq->lock, flags);
	return polled;
}

int rhca_mlx5_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(ibcq->device);
	struct rhca_mlx5_cq *cq = to_rhca_mlx5_cq(ibcq);
	bool solicited = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED;
	unsigned long irq_flags;
	int missed;

	/* A dead adapter raises no events, and its entries are not read: fatal.c */
	if (unlikely(rhca_mlx5_is_dead(hca)))
		return flags & IB_CQ_REPORT_MISSED_EVENTS && rhca_mlx5_has_unflushed(cq);
	spin_lock_irqsave(&cq->lock, irq_flags);
	missed = flags & IB_CQ_REPORT_MISSED_EVENTS &&
		 rhca_mlx5_cq_entry(cq, cq->hw.cons_index);
	if (likely(!cq->has_ended))
		mlx5_cq_arm(&cq->hw, solicited ? MLX5_CQ_DB_REQ_NOT_SOL :
						 MLX5_CQ_DB_REQ_NOT,
			    hca->doorbells.up->map, cq->hw.cons_index);
	spin_unlock_irqrestore(&cq->lock, irq_flags);
	return missed;
}

/* The index after the last entry that was written and not read */
static u32 end_of(struct rhca_mlx5_cq *cq)
{
	u32 index = cq->hw.cons_index;

	while (index - cq->hw.cons_index < BIT(cq->log_entries) &&
	       rhca_mlx5_cq_entry(cq, index))
		index++;
	return index;
}

/* The owner bit belongs to the position, not to the entry */
static void move_entry(struct rhca_mlx5_cq *cq, u32 from, u32 to)
{
	struct mlx5_cqe64 *target = rhca_mlx5_cq_entry(cq, to);
	u8 owner = target->op_own & MLX5_CQE_OWNER_MASK;

	*target = *rhca_mlx5_cq_entry(cq, from);
	target->op_own = (target->op_own & ~MLX5_CQE_OWNER_MASK) | owner;
}

static void drop_entry(struct rhca_mlx5_qp *qp, const struct mlx5_cqe64 *cqe)
{
	if (qp->base.ibqp.srq && !is_send(get_cqe_opcode((void *)cqe)))
		rhca_mlx5_srq_take(to_rhca_mlx5_srq(qp->base.ibqp.srq),
				   be16_to_cpu(cqe->wqe_counter));
}

/*
 * Remove a queue pair's entries. From the newest to the oldest, remaining entries move up into the
 * gaps. @cq: of the kernel. @qp: in RESET, so that it gets no new entries.
 */
void rhca_mlx5_cq_purge(struct rhca_mlx5_cq *cq, struct rhca_mlx5_qp *qp)
{
	u32 index, purged = 0;
	struct mlx5_cqe64 *cqe;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	index = end_of(cq);
	dma_rmb();	/* the owner bits before the rest */
	while (index != cq->hw.cons_index) {
		cqe = rhca_mlx5_cq_entry(cq, --index);
		if (qpn_of(cqe) == qp->numbered.number) {
			drop_entry(qp, cqe);
			purged++;
		} else if (purged) {
			move_entry(cq, index, index + purged);
		}
	}
	if (purged) {
		cq->hw.cons_index += purged;
		wmb();	/* move the entries before the adapter may write */
		mlx5_cq_set_ci(&cq->hw);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}
