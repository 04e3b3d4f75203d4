// SPDX-License-Identifier: GPL-2.0
/*
 * A load generator in the kernel: measures the data path of two RDMA devices without
 * system calls, with kernel verbs only, so that the same code drives any driver. Also
 * measures the surroundings of that path: an skb from allocation through the netdevs
 * to a packet handler, and memcpy.
 *
 * Write one line to /sys/kernel/debug/rhca_bench/run, read the answer there:
 *
 *	DEVICE_A GID_A DEVICE_B GID_B KIND SIZE DEPTH MTU ROUNDS PER_ROUND
 *		[LIST [QPS [IDLE [WALK]]]]
 *
 * LIST requests are posted at once (default 1), to QPS pairs of QPs in turn (1), beside
 * IDLE pairs that are connected and unused (0). A round starts with the pair after the
 * last round's, so it may be shorter than a turn over all pairs: a round that outlasts its
 * time slice on a shared machine measures the others' slices. With WALK 1 each request has
 * another address within 64 MiB; else all have the same.
 *
 * KIND: write send read   one after the other, DEPTH outstanding
 *	 pingpong          a SEND each way, reports half of the round trip, in which each end
 *			   also waits for the ACK of its SEND
 *	 floor             an skb of SIZE from A's netdev to a handler on B's
 *	 memcpy, crc       SIZE bytes copied, or put through crc32_le()
 *	 carry             the minimal work: crc32_le() of SIZE bytes at A, a copy to B, and
 *			   crc32_le() again there, MTU at a time
 *
 * Answer: "MINIMUM MEDIAN P99", nanoseconds for one operation, over ROUNDS rounds of
 * PER_ROUND operations. P99: 99 of 100 rounds are not slower. EBADMSG: data has not arrived.
 */
#include <linux/crc32.h>
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define MAX_DEPTH	256
#define MAX_LIST	64
#define MAX_QPS		16384
#define MAX_ROUNDS	10000
#define CHUNK_BYTES	(4U << 20)	/* maximum that the page allocator provides in one piece */
#define MAX_SIZE	CHUNK_BYTES
#define MAX_CHUNKS	16
#define FLOOR_ETHERTYPE	0x88b5		/* IEEE 802 local experimental */
#define STALL_NS	(20 * NSEC_PER_SEC)
#define PORT		1
#define PATTERN		0xa5

enum kind { KIND_WRITE, KIND_SEND, KIND_READ, KIND_PINGPONG, KIND_FLOOR,
	    KIND_MEMCPY, KIND_CRC, KIND_CARRY, NUM_KINDS };

static const char *const kind_names[NUM_KINDS] = {
	[KIND_WRITE]	= "write",
	[KIND_SEND]	= "send",
	[KIND_READ]	= "read",
	[KIND_PINGPONG]	= "pingpong",
	[KIND_FLOOR]	= "floor",
	[KIND_MEMCPY]	= "memcpy",
	[KIND_CRC]	= "crc",
	[KIND_CARRY]	= "carry",
};

struct device_entry {
	struct list_head node;
	struct ib_device *ibdev;
};

/* One end: its QP, its memory, and the results from its CQ */
struct side {
	struct ib_device *ibdev;
	const struct ib_gid_attr *gid;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp **qps;
	u32 num_qps;
	u32 num_connected;
	void *memory[MAX_CHUNKS];
	u64 address[MAX_CHUNKS];
	u32 num_chunks;
	u32 walked;
	struct ib_cqe send_cqe;
	struct ib_cqe recv_cqe;
	u32 sent;
	u32 received;
	enum ib_wc_status status;
};

struct job {
	struct side a;
	struct side b;
	enum kind kind;
	u32 size;
	u32 depth;
	u32 mtu;
	u32 rounds;
	u32 per_round;
	u32 list;
	u32 qps;
	u32 idle;
	u32 walk;
	u32 next_qp;
	struct ib_rdma_wr *wrs;
	struct ib_sge *sges;
	u64 *samples;
};

/* Protects the list, the answer, and that devices stay while a job runs. */
static DEFINE_MUTEX(bench_mutex);
static LIST_HEAD(device_list);
static char answer[128];
static struct dentry *folder;

/* --- devices by name ------------------------------------------------------- */

static int add_device(struct ib_device *ibdev)
{
	struct device_entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL);

	if (!entry)
		return -ENOMEM;
	entry->ibdev = ibdev;
	mutex_lock(&bench_mutex);
	list_add(&entry->node, &device_list);
	mutex_unlock(&bench_mutex);
	return 0;
}

static void remove_device(struct ib_device *ibdev, void *client_data)
{
	struct device_entry *entry, *next;

	mutex_lock(&bench_mutex);
	list_for_each_entry_safe(entry, next, &device_list, node) {
		if (entry->ibdev == ibdev) {
			list_del(&entry->node);
			kfree(entry);
		}
	}
	mutex_unlock(&bench_mutex);
}

static struct ib_client bench_client = {
	.name	= "rhca_bench",
	.add	= add_device,
	.remove	= remove_device,
};

static struct ib_device *find_device(const char *name)
{
	struct device_entry *entry;

	list_for_each_entry(entry, &device_list, node)
		if (!strcmp(dev_name(&entry->ibdev->dev), name))
			return entry->ibdev;
	return NULL;
}

/* --- one end --------------------------------------------------------------- */

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct side *side = container_of(wc->wr_cqe, struct side, send_cqe);

	side->sent++;
	if (wc->status)
		side->status = wc->status;
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct side *side = container_of(wc->wr_cqe, struct side, recv_cqe);

	side->received++;
	if (wc->status)
		side->status = wc->status;
}

/* Without a drain, which takes 100 ms for each: nobody polls now */
static void close_qps(struct side *side)
{
	u32 i;

	for (i = 0; i < side->num_qps; i++)
		ib_destroy_qp(side->qps[i]);
	kvfree(side->qps);
}

static void close_side(struct side *side)
{
	u32 i;

	close_qps(side);
	for (i = 0; i < side->num_chunks; i++) {
		if (side->address[i])
			ib_dma_unmap_single(side->ibdev, side->address[i],
					    CHUNK_BYTES, DMA_BIDIRECTIONAL);
		free_pages_exact(side->memory[i], CHUNK_BYTES);
	}
	if (!IS_ERR_OR_NULL(side->cq))
		ib_free_cq(side->cq);
	if (!IS_ERR_OR_NULL(side->pd))
		ib_dealloc_pd(side->pd);
}

static int open_memory(struct side *side, bool walk)
{
	u32 num = walk ? MAX_CHUNKS : 1;

	while (side->num_chunks < num) {
		side->memory[side->num_chunks] =
			alloc_pages_exact(CHUNK_BYTES, GFP_KERNEL | __GFP_ZERO);
		if (!side->memory[side->num_chunks])
			return -ENOMEM;
		side->num_chunks++;
	}
	return 0;
}

static int map_memory(struct side *side)
{
	u32 i;

	for (i = 0; i < side->num_chunks; i++) {
		side->address[i] = ib_dma_map_single(side->ibdev,
						     side->memory[i],
						     CHUNK_BYTES,
						     DMA_BIDIRECTIONAL);
		if (ib_dma_mapping_error(side->ibdev, side->address[i])) {
			side->address[i] = 0;
			return -EIO;
		}
	}
	return 0;
}

static int open_qps(struct side *side, u32 depth, u32 num)
{
	struct ib_qp_init_attr init = {
		.send_cq	= side->cq,
		.recv_cq	= side->cq,
		.qp_type	= IB_QPT_RC,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr	= depth + 1,
			.max_recv_wr	= 2 * depth + 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
	};
	struct ib_qp *qp;

	side->qps = kvcalloc(num, sizeof(*side->qps), GFP_KERNEL);
	if (!side->qps)
		return -ENOMEM;
	while (side->num_qps < num) {
		qp = ib_create_qp(side->pd, &init);
		if (IS_ERR(qp))
			return PTR_ERR(qp);
		side->qps[side->num_qps++] = qp;
	}
	return 0;
}

static int open_verbs(struct side *side, const struct job *job)
{
	side->send_cqe.done = send_done;
	side->recv_cqe.done = recv_done;
	side->pd = ib_alloc_pd(side->ibdev, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (IS_ERR(side->pd))
		return PTR_ERR(side->pd);
	/* All QPs together have at most the depth outstanding */
	side->cq = ib_alloc_cq(side->ibdev, NULL, 2 * (job->depth + job->list) + 2,
			       0, IB_POLL_DIRECT);
	if (IS_ERR(side->cq))
		return PTR_ERR(side->cq);
	return map_memory(side) ?:
	       open_qps(side, job->depth + job->list, job->qps + job->idle);
}

/* Place that the next request reads or writes: a chunk, and an offset in it */
static u32 next_chunk(struct side *side, u32 size, u32 *offset)
{
	u32 slot = side->walked++;

	*offset = 0;
	if (side->num_chunks == 1)
		return 0;
	*offset = slot / MAX_CHUNKS % (CHUNK_BYTES / size) * size;
	return slot % MAX_CHUNKS;
}

static u64 next_address(struct side *side, u32 size)
{
	u32 offset, chunk = next_chunk(side, size, &offset);

	return side->address[chunk] + offset;
}

static void *next_memory(struct side *side, u32 size)
{
	u32 offset, chunk = next_chunk(side, size, &offset);

	return side->memory[chunk] + offset;
}

static void route_to(struct rdma_ah_attr *ah, const struct side *from,
		     const struct side *to)
{
	union ib_gid dgid = to->gid->gid;
	struct net_device *ndev;

	ah->type = rdma_ah_find_type(from->ibdev, PORT);
	rdma_ah_set_port_num(ah, PORT);
	rdma_ah_set_grh(ah, &dgid, 0, from->gid->index, 64, 0);
	rcu_read_lock();
	ndev = rcu_dereference(to->gid->ndev);
	if (ndev)
		ether_addr_copy(ah->roce.dmac, ndev->dev_addr);
	rcu_read_unlock();
}

static int connect_qp(struct side *side, const struct side *peer, u32 i, u32 mtu)
{
	struct ib_qp_attr attr = {
		.qp_state	 = IB_QPS_INIT,
		.port_num	 = PORT,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE |
				   IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
		.path_mtu	 = ib_mtu_int_to_enum(mtu),
		.dest_qp_num	 = peer->qps[i]->qp_num,
		.rq_psn		 = 1,
		.sq_psn		 = 1,
		.max_rd_atomic	 = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer	 = 12,
		.timeout	 = 14,
		.retry_cnt	 = 7,
		.rnr_retry	 = 7,
	};
	int ret;

	ret = ib_modify_qp(side->qps[i], &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTR;
	route_to(&attr.ah_attr, side, peer);
	ret = ib_modify_qp(side->qps[i], &attr, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (ret)
		return ret;
	attr.qp_state = IB_QPS_RTS;
	ret = ib_modify_qp(side->qps[i], &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			   IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			   IB_QP_MAX_QP_RD_ATOMIC);
	return ret;
}

static int connect_to(struct side *side, const struct side *peer, u32 mtu)
{
	int ret = 0;

	while (!ret && side->num_connected < side->num_qps) {
		ret = connect_qp(side, peer, side->num_connected, mtu);
		side->num_connected += !ret;
	}
	return ret;
}

static int post_recvs(struct side *side, u32 qp, u32 size, u32 num)
{
	struct ib_sge sge = {
		.length	= size,
		.lkey	= side->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe		= &side->recv_cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
	};
	int ret = 0;

	while (!ret && num--) {
		sge.addr = next_address(side, size);
		ret = ib_post_recv(side->qps[qp], &wr, NULL);
	}
	return ret;
}

/* Post a list of them in one call */
static int post_sends(struct job *job, struct side *side, struct side *peer,
		      u32 qp, enum ib_wr_opcode opcode, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++) {
		job->sges[i] = (struct ib_sge) {
			.addr	= next_address(side, job->size),
			.length	= job->size,
			.lkey	= side->pd->local_dma_lkey,
		};
		job->wrs[i] = (struct ib_rdma_wr) {
			.wr = {
				.next		= i + 1 < num ?
						  &job->wrs[i + 1].wr : NULL,
				.wr_cqe		= &side->send_cqe,
				.opcode		= opcode,
				.send_flags	= IB_SEND_SIGNALED,
				.sg_list	= &job->sges[i],
				.num_sge	= 1,
			},
			.remote_addr	= opcode == IB_WR_SEND ? 0 :
					  next_address(peer, job->size),
			.rkey		= peer->pd->unsafe_global_rkey,
		};
	}
	return ib_post_send(side->qps[qp], &job->wrs[0].wr, NULL);
}

/* Poll available completions; if there are none, let workers run. */
static void poll(struct job *job)
{
	int taken = ib_process_cq_direct(job->a.cq, 16);

	taken += ib_process_cq_direct(job->b.cq, 16);
	if (taken <= 0)
		yield();
}

static int failed(const struct job *job, u64 since)
{
	if (job->a.status || job->b.status)
		return -EIO;
	if (fatal_signal_pending(current))
		return -EINTR;
	return ktime_get_ns() - since > STALL_NS ? -ETIMEDOUT : 0;
}

/* --- rounds: each does per_round operations -------------------------------- */

static const enum ib_wr_opcode opcode_of[] = {
	[KIND_WRITE]	= IB_WR_RDMA_WRITE,
	[KIND_SEND]	= IB_WR_SEND,
	[KIND_READ]	= IB_WR_RDMA_READ,
};

static int post_list(struct job *job, u32 num)
{
	u32 qp = job->next_qp++ % job->qps;
	int ret = 0;

	if (job->kind == KIND_SEND)
		ret = post_recvs(&job->b, qp, job->size, num);
	return ret ?: post_sends(job, &job->a, &job->b, qp,
				 opcode_of[job->kind], num);
}

static int stream_round(struct job *job)
{
	u32 first = job->a.sent, seen = first, posted = 0, num;
	u64 start = ktime_get_ns();
	int ret = 0;

	while (job->a.sent - first < job->per_round) {
		while (posted < job->per_round) {
			num = min(job->list, job->per_round - posted);
			if (posted + num - (job->a.sent - first) > job->depth)
				break;
			ret = post_list(job, num);
			if (ret)
				return ret;
			posted += num;
		}
		poll(job);
		ret = failed(job, start);
		if (ret == -ETIMEDOUT && job->a.sent != seen) {	/* slow, not stalled */
			seen = job->a.sent;
			start = ktime_get_ns();
			ret = 0;
		}
		if (ret)
			return ret;
	}
	return 0;
}

static int one_way(struct job *job, struct side *from, struct side *to)
{
	u32 sent = from->sent, received = to->received;
	u64 start = ktime_get_ns();
	int ret;

	ret = post_recvs(to, 0, job->size, 1) ?:
	      post_sends(job, from, to, 0, IB_WR_SEND, 1);
	while (!ret && (to->received == received || from->sent == sent)) {
		poll(job);
		ret = failed(job, start);
	}
	return ret;
}

static int pingpong_round(struct job *job)
{
	int ret = 0;
	u32 i;

	for (i = 0; !ret && i < job->per_round; i += 2)
		ret = one_way(job, &job->a, &job->b) ?:
		      one_way(job, &job->b, &job->a);
	return ret;
}

static u32 floor_seen;

static int floor_receive(struct sk_buff *skb, struct net_device *ndev,
			 struct packet_type *type, struct net_device *orig)
{
	floor_seen++;
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static int floor_send(struct net_device *from, struct net_device *to, u32 size)
{
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(from) + size, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, LL_RESERVED_SPACE(from));
	skb_put(skb, size);
	skb_reset_network_header(skb);
	skb->dev = from;
	skb->protocol = htons(FLOOR_ETHERTYPE);
	if (dev_hard_header(skb, from, FLOOR_ETHERTYPE, to->dev_addr,
			    from->dev_addr, size) < 0) {
		kfree_skb(skb);
		return -EINVAL;
	}
	dev_queue_xmit(skb);
	return 0;
}

static int floor_round(struct job *job)
{
	struct net_device *from, *to;
	u32 i, first = floor_seen;
	u64 start = ktime_get_ns();
	int ret = 0;

	rcu_read_lock();
	from = rcu_dereference(job->a.gid->ndev);
	to = rcu_dereference(job->b.gid->ndev);
	dev_hold(from);
	dev_hold(to);
	rcu_read_unlock();
	for (i = 0; !ret && i < job->per_round; i++)
		ret = floor_send(from, to, job->size);
	while (!ret && floor_seen - first < job->per_round) {
		yield();
		ret = failed(job, start);
	}
	dev_put(from);
	dev_put(to);
	return ret;
}

static int memcpy_round(struct job *job)
{
	u32 i;

	for (i = 0; i < job->per_round; i++) {
		memcpy(job->a.memory[0], job->b.memory[0], job->size);
		barrier_data(job->a.memory[0]);
	}
	return 0;
}

static u32 crc_result;

static int crc_round(struct job *job)
{
	u32 i;

	for (i = 0; i < job->per_round; i++)
		crc_result = crc32_le(crc_result, job->a.memory[0], job->size);
	return 0;
}

static int carry_round(struct job *job)
{
	u32 i, done, piece;
	void *from, *to;

	for (i = 0; i < job->per_round; i++) {
		from = next_memory(&job->a, job->size);
		to = next_memory(&job->b, job->size);
		for (done = 0; done < job->size; done += piece) {
			piece = min(job->mtu, job->size - done);
			crc_result = crc32_le(crc_result, from + done, piece);
			memcpy(to + done, from + done, piece);
			crc_result = crc32_le(crc_result, to + done, piece);
		}
	}
	return 0;
}

static int (*const round_of[NUM_KINDS])(struct job *job) = {
	[KIND_WRITE]	= stream_round,
	[KIND_SEND]	= stream_round,
	[KIND_READ]	= stream_round,
	[KIND_PINGPONG]	= pingpong_round,
	[KIND_FLOOR]	= floor_round,
	[KIND_MEMCPY]	= memcpy_round,
	[KIND_CRC]	= crc_round,
	[KIND_CARRY]	= carry_round,
};

/* --- a job ----------------------------------------------------------------- */

static int compare_samples(const void *a, const void *b)
{
	u64 one = *(const u64 *)a, two = *(const u64 *)b;

	return one < two ? -1 : one > two;
}

static void answer_ns(struct job *job, u32 sample, char end)
{
	u64 tenths = div_u64(10 * job->samples[sample], job->per_round);
	u32 tenth;

	tenths = div_u64_rem(tenths, 10, &tenth);
	snprintf(answer + strlen(answer), sizeof(answer) - strlen(answer), "%llu.%u%c",
		 tenths, tenth, end);
}

static int measure(struct job *job)
{
	u64 start;
	int ret;
	u32 i;

	ret = round_of[job->kind](job);		/* the first one warms up */
	for (i = 0; !ret && i < job->rounds; i++) {
		start = ktime_get_ns();
		ret = round_of[job->kind](job);
		job->samples[i] = ktime_get_ns() - start;
	}
	if (ret)
		return ret;
	sort(job->samples, job->rounds, sizeof(u64), compare_samples, NULL);
	answer_ns(job, 0, ' ');
	answer_ns(job, job->rounds / 2, ' ');
	answer_ns(job, (u64)job->rounds * 99 / 100, '\n');
	return 0;
}

static void fill(struct side *side)
{
	u32 i;

	for (i = 0; i < side->num_chunks; i++)
		memset(side->memory[i], PATTERN, CHUNK_BYTES);
}

/* Has every place that was read or written the data? */
static int check_data(struct job *job)
{
	struct side *to = job->kind == KIND_READ ? &job->a : &job->b;
	u32 i, num = min(job->a.sent, to->num_chunks * (CHUNK_BYTES / job->size));

	for (i = 0; i < to->num_chunks; i++)
		ib_dma_sync_single_for_cpu(to->ibdev, to->address[i], CHUNK_BYTES,
					   DMA_FROM_DEVICE);
	to->walked = 0;
	/* Then the places are not received into one after the other */
	if (job->walk && (job->kind == KIND_PINGPONG || job->kind == KIND_SEND))
		return 0;
	for (i = 0; i < num; i++)
		if (memchr_inv(next_memory(to, job->size), PATTERN, job->size))
			return -EBADMSG;
	return 0;
}

/*
 * Post receives before they are needed, as programs do: a sender that was told of no credits sends
 * one packet, and waits for its answer.
 */
static int post_ahead(struct job *job)
{
	int ret = 0;
	u32 i;

	if (job->kind == KIND_SEND)
		for (i = 0; !ret && i < job->qps; i++)
			ret = post_recvs(&job->b, i, job->size, job->depth);
	return ret;
}

static int run_job(struct job *job)
{
	static struct packet_type floor_type = {
		.type	= cpu_to_be16(FLOOR_ETHERTYPE),
		.func	= floor_receive,
	};
	int ret;

	ret = open_memory(&job->a, job->walk) ?: open_memory(&job->b, job->walk);
	if (!ret)
		fill(job->kind == KIND_READ ? &job->b : &job->a);
	if (!ret && job->kind <= KIND_PINGPONG)
		ret = open_verbs(&job->a, job) ?:
		      open_verbs(&job->b, job) ?:
		      connect_to(&job->a, &job->b, job->mtu) ?:
		      connect_to(&job->b, &job->a, job->mtu) ?:
		      post_ahead(job);
	if (!ret) {
		if (job->kind == KIND_FLOOR)
			dev_add_pack(&floor_type);
		ret = measure(job);
		if (job->kind == KIND_FLOOR)
			dev_remove_pack(&floor_type);
	}
	if (!ret && job->kind <= KIND_PINGPONG)
		ret = check_data(job);
	if (job->a.status || job->b.status)
		pr_err("rhca_bench: completion status %d at A, %d at B\n",
		       job->a.status, job->b.status);
	close_side(&job->a);
	close_side(&job->b);
	return ret;
}

static int hold_gid(struct side *side, u32 index)
{
	const struct ib_gid_attr *gid = rdma_get_gid_attr(side->ibdev, PORT, index);

	if (IS_ERR(gid))
		return PTR_ERR(gid);
	side->gid = gid;
	return 0;
}

static int parse_job(struct job *job, char *line)
{
	char name_a[IB_DEVICE_NAME_MAX], name_b[IB_DEVICE_NAME_MAX], kind[16];
	u32 gid_a, gid_b;
	int found;

	job->list = 1;
	job->qps = 1;
	if (sscanf(line, "%63s %u %63s %u %15s %u %u %u %u %u %u %u %u %u",
		   name_a, &gid_a, name_b, &gid_b, kind, &job->size,
		   &job->depth, &job->mtu, &job->rounds, &job->per_round,
		   &job->list, &job->qps, &job->idle, &job->walk) < 10)
		return -EINVAL;
	found = match_string(kind_names, NUM_KINDS, kind);
	if (found < 0 || !job->depth || job->depth > MAX_DEPTH || !job->mtu ||
	    !job->size || job->size > MAX_SIZE || !job->list ||
	    job->list > MAX_LIST || job->list > job->depth || !job->qps ||
	    job->qps > MAX_QPS || job->idle > MAX_QPS || !job->rounds || job->rounds > MAX_ROUNDS ||
	    job->per_round < 2)
		return -EINVAL;
	job->kind = found;
	job->a.ibdev = find_device(name_a);
	job->b.ibdev = find_device(name_b);
	if (!job->a.ibdev || !job->b.ibdev)
		return -ENODEV;
	return hold_gid(&job->a, gid_a) ?: hold_gid(&job->b, gid_b);
}

static int run_line(char *line)
{
	struct job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int ret;

	if (!job)
		return -ENOMEM;
	ret = parse_job(job, line);
	if (!ret) {
		job->samples = kvcalloc(job->rounds, sizeof(u64), GFP_KERNEL);
		job->wrs = kcalloc(job->list, sizeof(*job->wrs), GFP_KERNEL);
		job->sges = kcalloc(job->list, sizeof(*job->sges), GFP_KERNEL);
		ret = job->samples && job->wrs && job->sges ? run_job(job) :
							      -ENOMEM;
		kvfree(job->samples);
		kfree(job->wrs);
		kfree(job->sges);
	}
	if (job->a.gid)
		rdma_put_gid_attr(job->a.gid);
	if (job->b.gid)
		rdma_put_gid_attr(job->b.gid);
	kfree(job);
	return ret;
}

static ssize_t run_write(struct file *file, const char __user *data,
			 size_t count, loff_t *pos)
{
	char *line;
	int ret;

	if (count > 255)
		return -EINVAL;
	line = memdup_user_nul(data, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	mutex_lock(&bench_mutex);
	answer[0] = '\0';
	ret = run_line(line);
	mutex_unlock(&bench_mutex);
	kfree(line);
	return ret ?: count;
}

static ssize_t run_read(struct file *file, char __user *data, size_t count,
			loff_t *pos)
{
	ssize_t ret;

	mutex_lock(&bench_mutex);
	ret = simple_read_from_buffer(data, count, pos, answer, strlen(answer));
	mutex_unlock(&bench_mutex);
	return ret;
}

static const struct file_operations run_file = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= run_write,
	.read	= run_read,
	.llseek	= default_llseek,
};

static int __init bench_init(void)
{
	int ret = ib_register_client(&bench_client);

	if (ret)
		return ret;
	folder = debugfs_create_dir("rhca_bench", NULL);
	debugfs_create_file("run", 0600, folder, NULL, &run_file);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove_recursive(folder);
	ib_unregister_client(&bench_client);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Kernel-verbs load generator for RDMA devices");
MODULE_LICENSE("GPL");
