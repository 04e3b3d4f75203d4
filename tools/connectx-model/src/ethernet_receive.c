// SPDX-License-Identifier: GPL-2.0
/* Ethernet receive: steering, spreading over queues, checksums in completions. */
#include <stdlib.h>

#include "device.h"
#include "ethernet.h"
#include "roce.h"
#include "trace.h"

#define MAX_FRAME		9600u
#define CQE_L3_OK		0x02u
#define CQE_L4_OK		0x04u
#define CQE_VLAN_STRIPPED	0x01u
#define CQE_TCP			(4u << 4)
#define CQE_UDP			(2u << 4)
#define CQE_IPV6		(1u << 2)
#define CQE_IPV4		(2u << 2)
#define PROTOCOL_TCP		6u
#define PROTOCOL_UDP		17u
#define TOEPLITZ		2
#define HASH_KEY_BYTES		40u
#define BLOCK_UNICAST		1u
#define BLOCK_MULTICAST		2u

/* rx_hash_field_select.selected_fields */
enum { HASH_SRC_IP = 1, HASH_DST_IP = 2, HASH_SPORT = 4, HASH_DPORT = 8 };

struct rq *rq_find(struct device *dev, u32 number)
{
	return find_object(struct rq, dev, OBJ_RQ, number);
}

void rq_destroy(struct object *object)
{
	struct rq *rq = container_of(object, struct rq, object);

	object_unuse(rq->pd_object);
	object_unuse(&rq->cq->object);
	ring_free(&rq->queue.ring);
	free(rq);
}

void tir_destroy(struct object *object)
{
	struct tir *tir = container_of(object, struct tir, object);

	object_unuse(tir->td);
	free(tir);
}

void tis_destroy(struct object *object)
{
	struct tis *tis = container_of(object, struct tis, object);

	object_unuse(tis->td);
	free(tis);
}

/* Fields of a frame for the hash and the checksum. */
struct incoming {
	const u8 *frame;
	u32 bytes;
	u32 source_td;
	u16 vlan;
	bool vlan_valid;
	const u8 *l3;
	u32 l3_bytes;		/* from the IP header; 0: not IP */
	u8 version;
	u8 protocol;
	const u8 *l4;		/* NULL: fragment, or neither TCP nor UDP */
};

static void examine_ipv4(struct incoming *in, u32 room)
{
	u32 header, total;

	if (room < 20)
		return;
	header = (in->l3[0] & 0xf) * 4u;
	total = be16_at(in->l3 + 2);
	if (header < 20 || total < header || total > room)
		return;
	in->version = 4;
	in->l3_bytes = total;
	in->protocol = in->l3[9];
	if (!(be16_at(in->l3 + 6) & 0x3fff) && total >= header + 8)
		in->l4 = in->l3 + header;
}

static void examine_ipv6(struct incoming *in, u32 room)
{
	u32 total = room >= 40 ? be16_at(in->l3 + 4) + 40u : 0;

	if (!total || total > room)
		return;
	in->version = 6;
	in->l3_bytes = total;
	in->protocol = in->l3[6];
	if (total >= 48)
		in->l4 = in->l3 + 40;
}

static void examine(const u8 *frame, u32 bytes, struct incoming *in)
{
	u32 at = 12;
	u16 type = be16_at(frame + at);

	*in = (struct incoming){ .frame = frame, .bytes = bytes };
	if (type == 0x8100) {
		in->vlan_valid = true;
		in->vlan = be16_at(frame + at + 2);
		at += 4;
		type = be16_at(frame + at);
	}
	in->l3 = frame + at + 2;
	if (type == 0x0800)
		examine_ipv4(in, bytes - at - 2);
	else if (type == 0x86dd)
		examine_ipv6(in, bytes - at - 2);
	if (in->protocol != PROTOCOL_TCP && in->protocol != PROTOCOL_UDP)
		in->l4 = NULL;
}

static u32 toeplitz(const u8 *key, const u8 *data, u32 bytes)
{
	u32 window = be32_at(key), hash = 0, i;

	for (i = 0; i < bytes * 8; i++) {
		if (data[i / 8] >> (7 - i % 8) & 1)
			hash ^= window;
		window = window << 1 | (key[(i + 32) / 8] >> (7 - (i + 32) % 8) & 1);
	}
	return hash;
}

static u32 hash_of(const struct tir *tir, const struct incoming *in)
{
	const u8 *c = tir->context;
	u32 fields = GET(tirc, c, rx_hash_field_selector_outer.selected_fields);
	u32 address = in->version == 4 ? 4 : 16, bytes = 0;
	const u8 *source = in->l3 + (in->version == 4 ? 12 : 8);
	u8 key[HASH_KEY_BYTES + 4] = { 0 }, data[36];

	if (!in->version || GET(tirc, c, rx_hash_fn) != TOEPLITZ)
		return 0;
	if (fields & HASH_SRC_IP) {
		memcpy(data + bytes, source, address);
		bytes += address;
	}
	if (fields & HASH_DST_IP) {
		memcpy(data + bytes, source + address, address);
		bytes += address;
	}
	if ((fields & HASH_SPORT) && in->l4) {
		memcpy(data + bytes, in->l4, 2);
		bytes += 2;
	}
	if ((fields & HASH_DPORT) && in->l4) {
		memcpy(data + bytes, in->l4 + 2, 2);
		bytes += 2;
	}
	memcpy(key, AT(tirc, c, rx_hash_toeplitz_key), HASH_KEY_BYTES);
	return toeplitz(key, data, bytes);
}

/* A TIR may reject frames sent from its own transport domain. */
static bool blocked(const struct tir *tir, const struct incoming *in)
{
	u32 block = GET(tirc, tir->context, self_lb_block);

	if (!in->source_td || in->source_td != tir->td->id)
		return false;
	return block & (in->frame[0] & 1 ? BLOCK_MULTICAST : BLOCK_UNICAST);
}

static struct rq *choose_queue(struct device *dev, u32 tirn, const struct incoming *in, u32 *hash)
{
	const struct tir *tir = find_object(struct tir, dev, OBJ_TIR, tirn);
	const struct rqt *rqt;

	if (!tir || blocked(tir, in))
		return NULL;
	if (!GET(tirc, tir->context, disp_type))
		return rq_find(dev, GET(tirc, tir->context, inline_rqn));
	rqt = find_object(struct rqt, dev, OBJ_RQT, GET(tirc, tir->context, indirect_table));
	if (!rqt)
		return NULL;
	*hash = hash_of(tir, in);
	return rqt->count ? rq_find(dev, rqt->rqn[*hash % rqt->count]) : NULL;
}

static u16 plain_sum(const u8 *data, u32 bytes)
{
	return ~internet_checksum(data, bytes, 0);
}

static bool l4_good(const struct incoming *in)
{
	u32 bytes = in->l3_bytes - (in->l4 - in->l3);
	u32 sum = in->protocol + bytes, i, count = in->version == 4 ? 8 : 32;
	const u8 *addresses = in->l3 + (in->version == 4 ? 12 : 8);

	for (i = 0; i < count; i += 2)
		sum += be16_at(addresses + i);
	return !internet_checksum(in->l4, bytes, sum);
}

static void describe(const struct incoming *in, u8 *cqe)
{
	if (!in->version)
		return;
	put_be16(cqe + CQE_CHECKSUM, plain_sum(in->l3, in->l3_bytes));
	cqe[CQE_HDR_TYPE] |= in->version == 4 ? CQE_IPV4 : CQE_IPV6;
	if (in->version == 6 ||
	    !internet_checksum(in->l3, (in->l3[0] & 0xf) * 4, 0))
		cqe[CQE_HDS] |= CQE_L3_OK;
	if (!in->l4)
		return;
	cqe[CQE_HDR_TYPE] |= in->protocol == PROTOCOL_TCP ? CQE_TCP : CQE_UDP;
	if (l4_good(in))
		cqe[CQE_HDS] |= CQE_L4_OK;
}

static bool scatter(struct rq *rq, const struct recv_wqe *wqe, const u8 *from, u32 bytes)
{
	struct mkey_access who = { .pd = rq->queue.pd, .qpn = rq->object.id,
				   .rights = RIGHT_LOCAL_WRITE,
				   .reserved_lkey = rq->queue.reserved_lkey };
	u32 i, part;

	for (i = 0; i < wqe->segments && bytes; i++) {
		part = MIN(bytes, wqe->segment[i].bytes);
		who.key = wqe->segment[i].key;
		if (mkey_write(rq->dev, &who, wqe->segment[i].address, from, part))
			return false;
		from += part;
		bytes -= part;
	}
	return !bytes;
}

static void deliver(struct rq *rq, const struct incoming *in, u32 hash, u32 tag)
{
	u8 cqe[CQE_BYTES] = { 0 }, stripped[MAX_FRAME];
	const u8 *frame = in->frame;
	u32 bytes = in->bytes;
	struct recv_wqe wqe;

	if (rq->state != ETHERNET_READY || bytes > MAX_FRAME ||
	    !recv_queue_take(rq->dev, &rq->queue, &wqe)) {
		rq->dev->counters.rx_dropped++;
		q_counter_add(rq->dev, rq->counter_set, Q_OUT_OF_BUFFER);
		return;
	}
	if (in->vlan_valid && !rq->keep_vlan) {
		memcpy(stripped, frame, 12);
		memcpy(stripped + 12, frame + 16, bytes - 16);
		frame = stripped;
		bytes -= 4;
		cqe[CQE_HDR_TYPE] |= CQE_VLAN_STRIPPED;
		put_be16(cqe + CQE_VLAN, in->vlan);
	}
	describe(in, cqe);
	put_be32(cqe + CQE_RSS_HASH, hash);
	put_be32(cqe + CQE_SRQN, rq->user_index);
	put_be32(cqe + CQE_BYTE_COUNT, bytes);
	put_be32(cqe + CQE_QPN, tag ? tag : rq->object.id & 0xff0000);
	put_be16(cqe + CQE_WQE_COUNTER, wqe.index);
	cqe[CQE_OP_OWN] = CQE_SEND << 4;
	if (bytes > wqe.bytes || !scatter(rq, &wqe, frame, bytes)) {
		memset(cqe, 0, sizeof(cqe));
		put_be32(cqe + CQE_QPN, rq->object.id);
		put_be16(cqe + CQE_WQE_COUNTER, wqe.index);
		cqe[CQE_ERR_SYNDROME] = bytes > wqe.bytes ? CQE_LOCAL_LENGTH :
							    CQE_LOCAL_PROTECTION;
		cqe[CQE_OP_OWN] = CQE_RESPONSE_ERROR << 4;
	}
	cq_post(rq->cq, cqe, false);
}

void ethernet_receive(struct device *dev, const u8 *frame, u32 bytes, u32 source_td)
{
	struct steering_result result;
	struct incoming in;
	struct rq *rq;
	u32 i, hash;

	/* The address filter is for the wire; for loopback steering decides. */
	if (bytes < 18 || (!source_td && !vport_takes(&dev->vport, frame)))
		return;
	examine(frame, bytes, &in);
	in.source_td = source_td;
	steering_walk(dev, FLOW_NIC_RECEIVE, frame, bytes, &result);
	/* Frames sent by its own queues only count as received if a queue takes them. */
	if (!source_td || result.tirs)
		count_traffic(&dev->counters, COUNT_RX, COUNT_ETHERNET, frame, bytes);
	trace(TRACE_PACKET, "dev%u Ethernet frame of %u bytes to %u TIRs", dev->index, bytes,
	      result.tirs);
	for (i = 0; i < result.tirs; i++) {
		hash = 0;
		rq = choose_queue(dev, result.tir[i], &in, &hash);
		if (rq)
			deliver(rq, &in, hash, result.tag);
	}
}
