// SPDX-License-Identifier: GPL-2.0
/*
 * A user in the kernel that registers as many pieces in one key as its device announces: their
 * content is written to other memory, and must arrive in order. Then the key is invalidated after a
 * READ into it, for which the invalidation must wait. Last, it is registered for atomic operations,
 * and again without, when none may work. Loading the module fails if any of that does. A shared
 * receive queue is created to be destroyed.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

/* With a gap between any two, so that they are not pages */
#define PIECE_BYTES	sizeof(u64)
#define STRIDE_BYTES	(2 * PIECE_BYTES)
#define REQUESTS	2
#define READ_BYTES	SZ_64K	/* enough that their packets do not all arrive at once */
#define PATIENCE_S	60

static char *device;
module_param(device, charp, 0);
MODULE_PARM_DESC(device, "name of the RDMA device");
static uint gid;
module_param(gid, uint, 0);
MODULE_PARM_DESC(gid, "index of a GID of its first port");
static uint pieces;
module_param(pieces, uint, 0444);
MODULE_PARM_DESC(pieces, "how many; 0: as many as it can");
static int read_pieces;
module_param(read_pieces, int, 0444);
MODULE_PARM_DESC(read_pieces, "answer: a READ into more is better done by a key");
static bool fixed_atomics;
module_param(fixed_atomics, bool, 0);
MODULE_PARM_DESC(fixed_atomics, "requests cannot change the right to atomic operations");

struct bench {
	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ib_srq *srq;
	struct ib_mr *mr;
	struct sg_table from_list;
	bool is_mapped;
	u64 *from;
	u64 *to;
	u64 to_dma;
};

/* From its own GID to that one. The kernel resolves addresses for processes only */
static int address_itself(struct bench *bench, struct rdma_ah_attr *attr)
{
	const struct ib_gid_attr *own = rdma_get_gid_attr(bench->ibdev, 1, gid);
	union ib_gid dgid;
	int ret;

	if (IS_ERR(own))
		return PTR_ERR(own);
	dgid = own->gid;
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, 1);
	rdma_ah_set_grh(attr, &dgid, 0, gid, 64, 0);
	ret = rdma_read_gid_l2_fields(own, NULL, attr->roce.dmac);
	rdma_put_gid_attr(own);
	return ret;
}

static int to_rtr(struct bench *bench)
{
	struct ib_qp_attr attr = {
		.qp_state		= IB_QPS_RTR,
		.path_mtu		= IB_MTU_1024,
		.dest_qp_num		= bench->qp->qp_num,
		.max_dest_rd_atomic	= 1,
		.min_rnr_timer		= 12,
	};
	int ret = address_itself(bench, &attr.ah_attr);

	if (ret)
		return ret;
	return ib_modify_qp(bench->qp, &attr, IB_QP_STATE | IB_QP_AV |
			    IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			    IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

/* Connects it to itself */
static int connect(struct bench *bench)
{
	struct ib_qp_attr init = {
		.qp_state		= IB_QPS_INIT,
		.port_num		= 1,
		.qp_access_flags	= IB_ACCESS_REMOTE_WRITE |
					  IB_ACCESS_REMOTE_READ |
					  IB_ACCESS_REMOTE_ATOMIC,
	};
	struct ib_qp_attr rts = {
		.qp_state	= IB_QPS_RTS,
		.timeout	= 22,	/* the model needs seconds to find so many pieces */
		.retry_cnt	= 7,
		.rnr_retry	= 7,
		.max_rd_atomic	= 1,
	};

	return ib_modify_qp(bench->qp, &init, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS) ?:
	       to_rtr(bench) ?:
	       ib_modify_qp(bench->qp, &rts, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static int make_queues(struct bench *bench)
{
	struct ib_qp_init_attr attr = {
		.cap		= { .max_send_wr = REQUESTS, .max_recv_wr = 1,
				    .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type	= IB_QPT_RC,
		.sq_sig_type	= IB_SIGNAL_ALL_WR,
	};
	struct ib_srq_init_attr srq_attr = {
		.attr	= { .max_wr = 1, .max_sge = 1 },
	};

	/* A key for the memory that it writes to, which is its own */
	bench->pd = ib_alloc_pd(bench->ibdev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(bench->pd))
		return PTR_ERR(bench->pd);
	bench->cq = ib_alloc_cq(bench->ibdev, NULL, 2 * REQUESTS, 0, IB_POLL_DIRECT);
	if (IS_ERR(bench->cq))
		return PTR_ERR(bench->cq);
	bench->srq = ib_create_srq(bench->pd, &srq_attr);
	if (IS_ERR(bench->srq))
		return PTR_ERR(bench->srq);
	attr.send_cq = bench->cq;
	attr.recv_cq = bench->cq;
	bench->qp = ib_create_qp(bench->pd, &attr);
	if (IS_ERR(bench->qp))
		return PTR_ERR(bench->qp);
	return connect(bench);
}

static int make_memory(struct bench *bench)
{
	struct scatterlist *entry;
	int ret, i;
	u64 to;

	bench->from = kzalloc(pieces * STRIDE_BYTES, GFP_KERNEL);
	bench->to = kzalloc(pieces * PIECE_BYTES, GFP_KERNEL);
	if (!bench->from || !bench->to)
		return -ENOMEM;
	ret = sg_alloc_table(&bench->from_list, pieces, GFP_KERNEL);
	if (ret)
		return ret;
	for_each_sg(bench->from_list.sgl, entry, pieces, i) {
		bench->from[2 * i] = ~(u64)i;
		sg_set_buf(entry, bench->from + 2 * i, PIECE_BYTES);
	}
	if (ib_dma_map_sg(bench->ibdev, bench->from_list.sgl, pieces,
			  DMA_BIDIRECTIONAL) != pieces)
		return -EIO;
	bench->is_mapped = true;
	to = ib_dma_map_single(bench->ibdev, bench->to, pieces * PIECE_BYTES,
			       DMA_BIDIRECTIONAL);
	ret = ib_dma_mapping_error(bench->ibdev, to);
	if (!ret)
		bench->to_dma = to;
	return ret;
}

static int map(struct bench *bench)
{
	bench->mr = ib_alloc_mr(bench->pd, IB_MR_TYPE_SG_GAPS, pieces);
	if (IS_ERR(bench->mr))
		return PTR_ERR(bench->mr);
	return ib_map_mr_sg(bench->mr, bench->from_list.sgl, pieces, NULL,
			    PAGE_SIZE) == pieces ? 0 : -EMSGSIZE;
}

static int wait_for_all(struct bench *bench)
{
	unsigned long end = jiffies + PATIENCE_S * HZ;
	int found, done = 0;
	struct ib_wc wc;

	while (done < REQUESTS) {
		found = ib_poll_cq(bench->cq, 1, &wc);
		if (found < 0)
			return found;
		if (found && wc.status != IB_WC_SUCCESS) {
			pr_err("request %d: %s, %#x\n", done,
			       ib_wc_status_msg(wc.status), wc.vendor_err);
			return -EIO;
		}
		done += found;
		if (!found && time_after(jiffies, end))
			return -ETIMEDOUT;
		if (!found)
			msleep(1);
	}
	return 0;
}

static int write_all(struct bench *bench)
{
	struct ib_sge sge = {
		.addr	= bench->mr->iova,
		.length	= bench->mr->length,
		.lkey	= bench->mr->lkey,
	};
	struct ib_rdma_wr write = {
		.wr		= { .opcode = IB_WR_RDMA_WRITE, .sg_list = &sge,
				    .num_sge = 1 },
		.remote_addr	= bench->to_dma,
		.rkey		= bench->pd->unsafe_global_rkey,
	};
	struct ib_reg_wr reg = {
		.wr	= { .opcode = IB_WR_REG_MR, .next = &write.wr },
		.mr	= bench->mr,
		.key	= bench->mr->rkey,
		.access	= IB_ACCESS_LOCAL_WRITE,
	};

	return ib_post_send(bench->qp, &reg.wr, NULL) ?: wait_for_all(bench);
}

/* A key that permits atomic operations is not granted without the right */
static int register_atomic(struct bench *bench)
{
	struct ib_reg_wr reg = {
		.wr	= { .opcode = IB_WR_REG_MR },
		.mr	= bench->mr,
		.key	= bench->mr->rkey,
		.access	= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC,
	};

	if (!fixed_atomics)
		return 0;
	return ib_post_send(bench->qp, &reg.wr, NULL) == -EINVAL ? 0 : -EPERM;
}

/* Without its fence the invalidation would be done before the whole READ has arrived */
static int read_and_invalidate(struct bench *bench)
{
	struct ib_sge sge = {
		.addr	= bench->mr->iova,
		.length	= min_t(u64, bench->mr->length, READ_BYTES),
		.lkey	= bench->mr->lkey,
	};
	struct ib_send_wr invalidate = {
		.opcode		= IB_WR_LOCAL_INV,
		.send_flags	= IB_SEND_FENCE,
		.ex.invalidate_rkey = bench->mr->rkey,
	};
	struct ib_rdma_wr read = {
		.wr		= { .opcode = IB_WR_RDMA_READ, .sg_list = &sge,
				    .num_sge = 1, .next = &invalidate },
		.remote_addr	= bench->to_dma,
		.rkey		= bench->pd->unsafe_global_rkey,
	};

	return ib_post_send(bench->qp, &read.wr, NULL) ?: wait_for_all(bench);
}

/* Execute a request that has a completion. Returns its status, or an error */
static int execute(struct bench *bench, const struct ib_send_wr *wr)
{
	unsigned long end = jiffies + PATIENCE_S * HZ;
	int ret = ib_post_send(bench->qp, wr, NULL);
	struct ib_wc wc;

	while (!ret) {
		ret = ib_poll_cq(bench->cq, 1, &wc);
		if (ret > 0)
			return wc.status;
		if (!ret && time_after(jiffies, end))
			ret = -ETIMEDOUT;
		if (!ret)
			msleep(1);
	}
	return ret;
}

static int register_for(struct bench *bench, int access)
{
	const struct ib_reg_wr reg = {
		.wr	= { .opcode = IB_WR_REG_MR },
		.mr	= bench->mr,
		.key	= bench->mr->rkey,
		.access	= access,
	};

	return execute(bench, &reg.wr);
}

static int invalidate(struct bench *bench)
{
	const struct ib_send_wr wr = {
		.opcode			= IB_WR_LOCAL_INV,
		.ex.invalidate_rkey	= bench->mr->rkey,
	};

	return execute(bench, &wr);
}

static int add_to_first(struct bench *bench)
{
	struct ib_sge sge = {
		.addr	= bench->to_dma,
		.length	= PIECE_BYTES,
		.lkey	= bench->pd->local_dma_lkey,
	};
	const struct ib_atomic_wr wr = {
		.wr		= { .opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
				    .sg_list = &sge, .num_sge = 1 },
		.remote_addr	= bench->mr->iova,
		.compare_add	= 1,
		.rkey		= bench->mr->rkey,
	};

	return execute(bench, &wr.wr);
}

/*
 * Last: the queue pair fails, as responder before it does as requester, so the request may be
 * flushed. The key is free
 */
static int end_atomics(struct bench *bench)
{
	int ret;

	if (fixed_atomics)
		return 0;
	ret = register_for(bench, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC) ?:
	      add_to_first(bench) ?: invalidate(bench) ?:
	      register_for(bench, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ);
	if (ret)
		return -EIO;
	ret = add_to_first(bench);
	pr_info("atomic operation without the right: %d\n", ret);
	return ret == IB_WC_REM_ACCESS_ERR || ret == IB_WC_WR_FLUSH_ERR ?
	       0 : -EACCES;
}

static int compare(struct bench *bench)
{
	int i;

	ib_dma_sync_single_for_cpu(bench->ibdev, bench->to_dma,
				   pieces * PIECE_BYTES, DMA_BIDIRECTIONAL);
	for (i = 0; i < pieces; i++)
		if (bench->to[i] != ~(u64)i)
			return -EBADMSG;
	return 0;
}

static int use(struct bench *bench)
{
	u32 most = bench->ibdev->attrs.max_fast_reg_page_list_len;

	if (!IS_ERR(ib_alloc_mr(bench->pd, IB_MR_TYPE_SG_GAPS, most + 1)))
		return -ERANGE;
	return map(bench) ?: register_atomic(bench) ?: write_all(bench) ?:
	       compare(bench) ?: read_and_invalidate(bench) ?:
	       end_atomics(bench);
}

static void release_memory(struct bench *bench)
{
	if (bench->to_dma)
		ib_dma_unmap_single(bench->ibdev, bench->to_dma,
				    pieces * PIECE_BYTES, DMA_BIDIRECTIONAL);
	if (bench->is_mapped)
		ib_dma_unmap_sg(bench->ibdev, bench->from_list.sgl, pieces,
				DMA_BIDIRECTIONAL);
	if (bench->from_list.sgl)
		sg_free_table(&bench->from_list);
	kfree(bench->from);
	kfree(bench->to);
}

static void release(struct bench *bench)
{
	if (!IS_ERR_OR_NULL(bench->qp))
		ib_destroy_qp(bench->qp);
	if (!IS_ERR_OR_NULL(bench->srq))
		ib_destroy_srq(bench->srq);
	if (!IS_ERR_OR_NULL(bench->mr))
		ib_dereg_mr(bench->mr);
	if (!IS_ERR_OR_NULL(bench->cq))
		ib_free_cq(bench->cq);
	release_memory(bench);
	if (!IS_ERR_OR_NULL(bench->pd))
		ib_dealloc_pd(bench->pd);
}

static int result = -ENODEV;

/* The device is held while this runs */
static int add_device(struct ib_device *ibdev)
{
	struct bench bench = { .ibdev = ibdev };

	if (strcmp(dev_name(&ibdev->dev), device))
		return -EOPNOTSUPP;
	read_pieces = ibdev->attrs.max_sgl_rd;
	if (!pieces)
		pieces = ibdev->attrs.max_fast_reg_page_list_len;
	result = make_queues(&bench) ?: make_memory(&bench) ?: use(&bench);
	pr_info("%u pieces: error %d\n", pieces, result);
	release(&bench);
	return -EOPNOTSUPP;
}

static struct ib_client client = {
	.name = "rhca_pieces",
	.add = add_device,
};

static int __init pieces_init(void)
{
	int ret = ib_register_client(&client);

	if (ret)
		return ret;
	ib_unregister_client(&client);
	return result;
}

static void __exit pieces_exit(void)
{
}

module_init(pieces_init);
module_exit(pieces_exit);
MODULE_DESCRIPTION("As many pieces in a memory key as a device can have");
MODULE_LICENSE("GPL");
