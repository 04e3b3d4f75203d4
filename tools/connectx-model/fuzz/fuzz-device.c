// SPDX-License-Identifier: GPL-2.0
/*
 * A device with a few objects, and a guest that does anything: commands with any content, writes
 * anywhere in the BAR and in its own memory, frames from the wire with a valid ICRC. The input is a
 * list of such actions.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../src/device.h"
#include "../src/ethernet.h"
#include "../src/qp.h"
#include "../src/roce.h"
#include "../src/trace.h"

#define MEMORY_BYTES	(1u << 18)
#define WORK_LIMIT	64

/* Numbers of the first objects created by make_ready(). */
#define SQ_NUMBER	0x103
#define RQ_NUMBER	0x104
#define TIR_NUMBER	4
#define MAX_STEPS	64
#define MAX_COMMAND	8192u
#define SLOW_FLUSH_NS	1000000u
#define INLINE_BYTES	16u	/* of a command in its entry, present even if it is shorter */

static u8 *memory;
static struct device partner;	/* function of the adapter's other port; its guest does nothing */

struct input {
	const u8 *data;
	size_t left;
};

static u32 take(struct input *in, void *to, u32 bytes)
{
	u32 got = MIN(bytes, in->left);

	memset(to, 0, bytes);
	memcpy(to, in->data, got);
	in->data += got;
	in->left -= got;
	return got;
}

static u16 take16(struct input *in)
{
	u8 b[2];

	take(in, b, sizeof(b));
	return be16_at(b);
}

/* Guest addresses from the fuzzer are folded into existing memory. */
static struct device *make_device(void)
{
	struct device *dev = zalloc(sizeof(*dev));
	int fd = memfd_create("fuzz", 0);

	dev->has_switch = true;
	device_init(dev, 0);
	if (ftruncate(fd, MEMORY_BYTES) || dma_add(&dev->dma, 0, MEMORY_BYTES, fd, 0, true))
		abort();
	close(fd);
	memory = dev->dma.region[0].host;
	devices[0] = dev;
	device_count = 1;
	device_init(&partner, 1);
	lag_pair(dev, &partner);
	return dev;
}

/* Input and output of a command are in memory of their size, as in run_entry(). */
static void command_sized(struct device *dev, u16 opcode, u8 *in, u32 bytes, u32 out_bytes)
{
	u8 *exact = zalloc(bytes + INLINE_BYTES), *out = zalloc(out_bytes + INLINE_BYTES);

	put_be16(in, opcode);
	memcpy(exact, in, bytes);
	command_execute(dev, exact, bytes, out, out_bytes);
	free(exact);
	free(out);
}

static void command(struct device *dev, u16 opcode, u8 *in, u32 bytes)
{
	command_sized(dev, opcode, in, bytes, MAX_COMMAND);
}

static u8 scratch[MAX_COMMAND];

static u8 *fresh(void)
{
	memset(scratch, 0, sizeof(scratch));
	return scratch;
}

#define RUN(name, layout, extra) \
	command(dev, MLX5_CMD_OP_##name, scratch, IFC_BYTES(layout) + (extra))

static void make_queues(struct device *dev)
{
	u8 *in = fresh(), *c = AT(create_eq_in, in, eq_context_entry);
	u32 i;

	SET(eqc, c, log_eq_size, 4);
	SET(eqc, c, uar_page, 16);
	put_be64(AT(create_eq_in, in, event_bitmask), 0xfffffffe);
	put_be64(in + IFC_BYTES(create_eq_in), 0x1000);
	RUN(CREATE_EQ, create_eq_in, 8);
	in = fresh();
	c = AT(create_cq_in, in, cq_context);
	SET(cqc, c, log_cq_size, 4);
	SET(cqc, c, uar_page, 16);
	SET(cqc, c, c_eqn_or_apu_element, 1);
	SET(cqc, c, dbr_addr, 0x2000);
	put_be64(in + IFC_BYTES(create_cq_in), 0x3000);
	RUN(CREATE_CQ, create_cq_in, 8);
	for (i = 0; i < 3; i++) {
		in = fresh();
		c = AT(create_qp_in, in, qpc);
		SET(qpc, c, st, i);	/* RC, UC, UD */
		SET(qpc, c, pd, 1);
		SET(qpc, c, cqn_snd, 0x400);
		SET(qpc, c, cqn_rcv, 0x400);
		SET(qpc, c, uar_page, 16);
		SET(qpc, c, log_sq_size, 4);
		SET(qpc, c, log_rq_size, 4);
		SET(qpc, c, log_rq_stride, 2);
		SET(qpc, c, rlky, 1);
		SET(qpc, c, dbr_addr, 0x4000 + 8 * i);
		put_be64(in + IFC_BYTES(create_qp_in), 0x10000 + i * 0x2000);
		put_be64(in + IFC_BYTES(create_qp_in) + 8, 0x11000 + i * 0x2000);
		RUN(CREATE_QP, create_qp_in, 16);
	}
}

/* An Ethernet send and receive queue, and a table that sends everything to the latter. */
static void make_ethernet(struct device *dev)
{
	u8 *in, *c, *wq;

	fresh();
	RUN(ALLOC_TRANSPORT_DOMAIN, alloc_transport_domain_in, 0);
	in = fresh();
	SET(tisc, AT(create_tis_in, in, ctx), transport_domain, 2);
	RUN(CREATE_TIS, create_tis_in, 0);
	in = fresh();
	c = AT(create_sq_in, in, ctx);
	wq = AT(sqc, c, wq);
	SET(sqc, c, cqn, 0x400);
	SET(sqc, c, tis_lst_sz, 1);
	SET(sqc, c, tis_num_0, 3);
	SET(wq, wq, wq_type, 1);
	SET(wq, wq, pd, 1);
	SET(wq, wq, uar_page, 16);
	SET(wq, wq, dbr_addr, 0x5000);
	SET(wq, wq, log_wq_stride, 6);
	SET(wq, wq, log_wq_sz, 4);
	put_be64(in + IFC_BYTES(create_sq_in), 0x18000);
	RUN(CREATE_SQ, create_sq_in, 8);
	in = fresh();
	SET(modify_sq_in, in, sqn, SQ_NUMBER);
	SET(sqc, AT(modify_sq_in, in, ctx), state, 1);
	RUN(MODIFY_SQ, modify_sq_in, 0);
	in = fresh();
	c = AT(create_rq_in, in, ctx);
	wq = AT(rqc, c, wq);
	SET(rqc, c, cqn, 0x400);
	SET(wq, wq, wq_type, 1);
	SET(wq, wq, pd, 1);
	SET(wq, wq, dbr_addr, 0x5010);
	SET(wq, wq, log_wq_stride, 5);
	SET(wq, wq, log_wq_sz, 4);
	put_be64(in + IFC_BYTES(create_rq_in), 0x19000);
	RUN(CREATE_RQ, create_rq_in, 8);
	in = fresh();
	SET(modify_rq_in, in, rqn, RQ_NUMBER);
	SET(rqc, AT(modify_rq_in, in, ctx), state, 1);
	RUN(MODIFY_RQ, modify_rq_in, 0);
	in = fresh();
	c = AT(create_tir_in, in, ctx);
	SET(tirc, c, inline_rqn, RQ_NUMBER);
	SET(tirc, c, transport_domain, 2);
	RUN(CREATE_TIR, create_tir_in, 0);
}

static void steer_to_tir(struct device *dev)
{
	u8 *in = fresh(), *c;

	SET(create_flow_table_in, in, flow_table_context.log_size, 4);
	RUN(CREATE_FLOW_TABLE, create_flow_table_in, 0);
	in = fresh();
	SET(create_flow_group_in, in, table_id, 1);
	RUN(CREATE_FLOW_GROUP, create_flow_group_in, 0);
	in = fresh();
	c = AT(set_fte_in, in, flow_context);
	SET(set_fte_in, in, table_id, 1);
	SET(flow_context, c, group_id, 2);
	SET(flow_context, c, action, FLOW_FORWARD);
	SET(flow_context, c, destination_list_size, 1);
	put_be32(in + IFC_BYTES(set_fte_in), DESTINATION_TIR << 24 | TIR_NUMBER);
	RUN(SET_FLOW_TABLE_ENTRY, set_fte_in, 8);
	in = fresh();
	SET(set_flow_table_root_in, in, table_id, 1);
	RUN(SET_FLOW_TABLE_ROOT, set_flow_table_root_in, 0);
}

static void connect_queues(struct device *dev)
{
	static const u16 step[] = { MLX5_CMD_OP_RST2INIT_QP, MLX5_CMD_OP_INIT2RTR_QP,
				    MLX5_CMD_OP_RTR2RTS_QP };
	u32 qpn, i;
	u8 *in, *c;

	for (qpn = 0x100; qpn < 0x103; qpn++) {
		for (i = 0; i < ARRAY_SIZE(step); i++) {
			in = fresh();
			c = AT(init2rtr_qp_in, in, qpc);
			SET(init2rtr_qp_in, in, qpn, qpn);
			SET(qpc, c, mtu, 3);
			SET(qpc, c, remote_qpn, qpn);
			SET(qpc, c, rre, 1);
			SET(qpc, c, rwe, 1);
			SET(qpc, c, rae, 1);
			SET(qpc, c, atomic_mode, 1);
			SET(qpc, c, retry_count, 3);
			SET(qpc, c, log_sra_max, 2);
			SET(qpc, c, primary_address_path.ack_timeout, 1);
			SET(qpc, c, primary_address_path.rmac_47_32, 0x02c9);
			SET(qpc, c, primary_address_path.rmac_31_0, 1);
			memcpy(AT(qpc, c, primary_address_path.rgid_rip),
			       "\0\0\0\0\0\0\0\0\0\0\377\377\12\7\0\1", GID_BYTES);
			command(dev, step[i], scratch, IFC_BYTES(init2rtr_qp_in));
		}
	}
}

static void make_ready(struct device *dev)
{
	u8 *in, *c;

	fresh();
	RUN(ENABLE_HCA, enable_hca_in, 0);
	in = fresh();
	SET(manage_pages_in, in, input_num_entries, BOOT_PAGES + INIT_PAGES);
	put_be16(in + 6, 1);
	RUN(MANAGE_PAGES, manage_pages_in, 8 * (BOOT_PAGES + INIT_PAGES));
	fresh();
	RUN(INIT_HCA, init_hca_in, 0);
	fresh();
	RUN(ALLOC_UAR, alloc_uar_in, 0);
	fresh();
	RUN(ALLOC_PD, alloc_pd_in, 0);
	in = fresh();
	c = AT(create_mkey_in, in, memory_key_mkey_entry);
	SET(mkc, c, lr, 1);
	SET(mkc, c, lw, 1);
	SET(mkc, c, rr, 1);
	SET(mkc, c, rw, 1);
	SET(mkc, c, a, 1);
	SET(mkc, c, umr_en, 1);
	SET(mkc, c, pd, 1);
	SET(mkc, c, qpn, MKEY_ANY_QPN);
	SET(mkc, c, access_mode_1_0, MKEY_PAGES);
	SET(mkc, c, len, 0x4000);
	SET(mkc, c, log_page_size, 12);
	SET(mkc, c, translations_octword_size, 4);
	SET(create_mkey_in, in, translations_octword_actual_size, 2);
	put_be64(in + IFC_BYTES(create_mkey_in), 0x20000);
	put_be64(in + IFC_BYTES(create_mkey_in) + 8, 0x21000);
	RUN(CREATE_MKEY, create_mkey_in, 32);
	in = fresh();
	c = AT(set_roce_address_in, in, roce_address);
	memcpy(c, "\0\0\0\0\0\0\0\0\0\0\377\377\12\7\0\1", GID_BYTES);
	SET(roce_addr_layout, c, roce_version, 2);
	SET(roce_addr_layout, c, source_mac_47_32, 0x02c9);
	SET(roce_addr_layout, c, source_mac_31_0, 1);
	RUN(SET_ROCE_ADDRESS, set_roce_address_in, 0);
	SET(nic_vport_context, dev->vport.context, roce_en, 1);
	SET(nic_vport_context, dev->vport.context, promisc_all, 1);
	port_enable(&dev->port, true);
	make_queues(dev);
	connect_queues(dev);
	make_ethernet(dev);
	steer_to_tir(dev);
	/* All of it must be accepted, otherwise less is fuzzed than it seems. */
	if (dev->commands.failed)
		abort();
	partner.state = HCA_RUNNING;
	port_enable(&partner.port, true);
}

/* Otherwise few commands would pass the check of reserved bits. */
static void clear_reserved(const struct command_row *row, u8 *in, u32 bytes)
{
	const struct ifc_field *field;
	u32 i;

	for (field = row->in_fields; field && field->name; field++)
		if (strstr(field->name, "reserved") && field->bit + field->bits <= bytes * 8)
			for (i = 0; i < field->bits; i += 32)
				ifc_set_bits(in, field->bit + i, MIN(32, field->bits - i), 0);
}

static void any_command(struct device *dev, struct input *in)
{
	u16 index = take16(in) % command_table_rows;
	u32 bytes = take16(in) % 512 + command_table[index].in_bytes;
	u16 mercy = take16(in);

	bytes = MIN(bytes, MAX_COMMAND);
	take(in, fresh(), bytes);
	if (mercy & 3)
		clear_reserved(&command_table[index], scratch, bytes);
	command_sized(dev, command_table[index].opcode, scratch, bytes,
		      mercy & 4 ? MAX_COMMAND : 8 + (mercy >> 3 & 0xff));
}

static void any_bar_write(struct device *dev, struct input *in)
{
	u32 at = take16(in) | (u32)(take16(in) & 1) << 16;
	u8 data[8];

	take(in, data, sizeof(data));
	dev->guest.ops->bar_write(dev, at, data, at & 1 ? 4 : 8);
}

static void any_memory(struct device *dev, struct input *in)
{
	u32 at = (u32)take16(in) << 2, bytes = take16(in) & 0x3ff;

	(void)dev;
	take(in, memory + at, MIN(bytes, MEMORY_BYTES - at));
}

/* Post the current content of the queue. */
static void any_send(struct device *dev, struct input *in)
{
	u32 qpn = 0x100 + take16(in) % 3, blocks = 1 + take16(in) % 4;
	struct qp *qp = qp_find(dev, qpn);
	u8 wqe[256];
	u32 i;

	if (!qp)
		return;
	take(in, wqe, blocks * 64);
	for (i = 0; i < blocks; i++)
		ring_write(&dev->dma, &qp->sq.ring,
			   qp->sq.start + ((qp->sq.fetched + i) & 15) * 64, wqe + 64 * i, 64);
	put_be16(wqe, qp->sq.fetched);
	ring_write(&dev->dma, &qp->sq.ring, qp->sq.start + (qp->sq.fetched & 15) * 64 + 1, wqe, 2);
	put_be32(wqe, qpn << 8);
	ring_write(&dev->dma, &qp->sq.ring, qp->sq.start + (qp->sq.fetched & 15) * 64 + 4, wqe, 3);
	put_be32(memory + qp->doorbell % (MEMORY_BYTES - 8) + 4, (u16)(qp->sq.fetched + blocks));
	qp_send_doorbell(qp);
}

/* A frame through the Ethernet queue: any WQE, with the QP's memory as its data. */
static void any_ethernet_send(struct device *dev, struct input *in)
{
	struct sq *sq = sq_find(dev, SQ_NUMBER);
	u32 blocks = 1 + take16(in) % 4, i;
	u8 wqe[256];

	if (!sq)
		return;
	take(in, wqe, blocks * 64);
	for (i = 0; i < blocks; i++)
		ring_write(&dev->dma, &sq->ring, ((sq->consumed + i) & 15) * 64, wqe + 64 * i, 64);
	put_be32(memory + sq->doorbell % (MEMORY_BYTES - 8) + 4, (u16)(sq->consumed + blocks));
	sq_doorbell(sq);
}

static void any_frame(struct device *dev, struct input *in)
{
	struct qp *qp = qp_find(dev, 0x100 + take16(in) % 3);
	struct roce_transport_headers bth;
	u8 frame[ROCE_MAX_FRAME], payload[1024];
	u32 bytes = take16(in) & 0x3ff;

	take(in, &bth, sizeof(bth));
	take(in, payload, bytes);
	bth.solicited = bth.ack_request = bth.fecn = true;
	bth.becn = false;
	if (!qp || (bth.opcode != ROCE_OPCODE_CNP && !roce_opcode(bth.opcode)))
		return;
	bth.dest_qpn = qp->object.id;
	bth.pkey = ROCE_DEFAULT_PKEY;
	if (bth.psn & 1)
		bth.psn = qp->responder.expected_psn;
	receive_frame(dev, frame, roce_build(frame, &qp->route, &bth, payload, bytes), 0);
}

static void any_ethernet(struct device *dev, struct input *in)
{
	u8 frame[2048];
	u32 bytes = 60 + take16(in) % (sizeof(frame) - 60);

	take(in, frame, bytes);
	receive_frame(dev, frame, bytes, 0);
}

/* Some timers expire; failed QPs flush their requests one by one from now on, or at once. */
static void any_time(struct device *dev, struct input *in)
{
	u16 what = take16(in);

	dev->flush_ns = what & 0x100 ? SLOW_FLUSH_NS : 0;
	timers_expire(what & 0xf);
}

static void (*const actions[])(struct device *, struct input *) = {
	any_command, any_bar_write, any_memory, any_send, any_frame, any_ethernet,
	any_ethernet_send, any_time,
};

static bool any_work(struct device *dev)
{
	device_work(dev);
	device_work(&partner);
	return device_has_work(dev) || device_has_work(&partner);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct device *dev;
	struct input in = { data, size };
	u32 i, steps;

	if (!dev) {
		trace_open("/dev/null");
		dev = make_device();
	}
	memset(memory, 0, MEMORY_BYTES);
	make_ready(dev);
	for (steps = 0; in.left && steps < MAX_STEPS; steps++) {
		actions[take16(&in) % ARRAY_SIZE(actions)](dev, &in);
		for (i = 0; i < WORK_LIMIT && any_work(dev); i++)
			;
	}
	device_reset(dev);
	dev->flush_ns = 0;
	do {
		port_work(&dev->port);
		port_work(&partner.port);
	} while (!list_empty(&dev->port.incoming) || !list_empty(&partner.port.incoming));
	return 0;
}
