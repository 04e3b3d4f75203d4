// SPDX-License-Identifier: GPL-2.0
#include "device.h"

#include "eq.h"
#include "ethernet.h"
#include "qp.h"
#include "trace.h"

#define FIRMWARE_MAJOR		16u
#define FIRMWARE_MINOR		35u
#define FIRMWARE_SUB		2000u
#define COMMAND_REVISION	5u
#define BASE_MASK		(~0xfffull)
#define POLL_NS			5000000ull
#define HEALTH_RESET_FLOW	0x80000000u	/* the driver must reset the function */
#define SOFTWARE_RESET_SUPPORTED	0x40000000u
#define HEALTH_TICK_NS		100000000ull

/* The init segment, IFC layout of struct mlx5_init_seg. */
enum {
	SEG_FW = 0x0, SEG_CMDIF = 0x4, SEG_QUEUE_HIGH = 0x10, SEG_QUEUE_LOW = 0x14,
	SEG_DOORBELL = 0x18, SEG_INITIALIZING = 0x1fc,
	SEG_HEALTH_SEVERITY = 0x238, SEG_HEALTH_SYNDROME = 0x23c, SEG_TIMER_HIGH = 0x1000, SEG_TIMER_LOW = 0x1004,
	SEG_HEALTH_COUNTER = 0x1010, SEG_END = 0x2000,
};

/* Doorbells in a UAR page. */
#define UAR_PAGE_SHIFT		12
#define UAR_PAGE_MASK		0xfffu
#define UAR_CQ			0x20u
#define UAR_EQ_ARM		0x40u
#define UAR_EQ			0x48u
#define UAR_SEND_FIRST		0x800u
#define UAR_SEND_STRIDE		0x100u

#define INTERFACE_SHIFT		8
#define INTERFACE_MASK		7u
#define INTERFACE_DISABLED	1u
#define INTERFACE_SW_RESET	7u

struct device *devices[MAX_DEVICES];
u32 device_count;

static void poll_error_queues(struct timer *timer)
{
	struct device *dev = container_of(timer, struct device, poll_timer);
	struct qp *qp;

	list_each(qp, &dev->error_queues, struct qp, erring)
		qp_flush_receives(qp);
	if (!list_empty(&dev->error_queues))
		timer_set(&dev->poll_timer, now_ns() + POLL_NS);
}

void device_init(struct device *dev, u32 index)
{
	u8 mac[MAC_BYTES] = { 0x02, 0xc9, 0x00, 0x00, 0x00, index + 1 };

	dev->index = index;
	dev->guest.ops = &device_guest_ops;
	dev->guest.owner = dev;
	dev->guest.dma = &dev->dma;
	dev->guest.bar_bytes = PCI_BAR_BYTES;
	dev->guest.fd = dev->guest.listen_fd = -1;
	pci_init(&dev->pci);
	resources_init(&dev->objects);
	caps_init(&dev->caps, dev->port_number, dev->has_switch, dev->pci.is_virtual);
	vport_init(&dev->vport, mac);
	port_init(&dev->port, dev);
	congestion_init(&dev->congestion);
	list_init(&dev->ready);
	list_init(&dev->error_queues);
	timer_init(&dev->poll_timer, poll_error_queues);
	timer_init(&dev->command_timer, command_due);
}

void device_reset(struct device *dev)
{
	trace_note("dev%u: reset", dev->index);
	resources_reset(&dev->objects);
	timer_cancel(&dev->poll_timer);
	timer_cancel(&dev->command_timer);
	dev->state = HCA_DISABLED;
	dev->issi = 0;
	dev->pages.count = 0;
	memset(&dev->commands, 0, sizeof(dev->commands));
	memset(&dev->steering, 0, sizeof(dev->steering));
	memset(&dev->faults, 0, sizeof(dev->faults));
	caps_init(&dev->caps, dev->port_number, dev->has_switch, dev->pci.is_virtual);
	lag_reset(dev);
	vport_reset(&dev->vport);
	congestion_init(&dev->congestion);
	dev->port.enabled = false;
}

void device_work(struct device *dev)
{
	struct list batch = { &batch, &batch };
	struct qp *qp;

	port_work(&dev->port);
	while (!list_empty(&dev->ready)) {
		qp = list_first(&dev->ready, struct qp, ready);
		list_unlink(&qp->ready);
		list_append(&batch, &qp->ready);
	}
	while (!list_empty(&batch)) {
		qp = list_first(&batch, struct qp, ready);
		list_unlink(&qp->ready);
		if (qp_work(qp))
			qp_wake(qp);
	}
	if (!list_empty(&dev->error_queues) && !dev->poll_timer.at_ns)
		timer_set(&dev->poll_timer, now_ns() + POLL_NS);
}

bool device_has_work(const struct device *dev)
{
	return !list_empty(&dev->ready) || !list_empty(&dev->port.incoming);
}

static u32 read_segment(struct device *dev, u32 at)
{
	u64 now = now_ns();

	switch (at) {
	case SEG_FW:
		return FIRMWARE_MINOR << 16 | FIRMWARE_MAJOR;
	case SEG_CMDIF:
		return COMMAND_REVISION << 16 | FIRMWARE_SUB;
	case SEG_QUEUE_HIGH:
		return dev->commands.base >> 32;
	case SEG_QUEUE_LOW:
		return (u32)dev->commands.base |
		       (u32)dev->commands.interface_state << INTERFACE_SHIFT |
		       COMMAND_SLOTS_LOG << 4 | COMMAND_STRIDE_LOG;
	case SEG_INITIALIZING:
		return SOFTWARE_RESET_SUPPORTED;
	case SEG_HEALTH_SEVERITY:
		return dev->faults.health_syndrome ? HEALTH_RESET_FLOW : 0;
	case SEG_HEALTH_SYNDROME:
		return (u32)dev->faults.health_syndrome << 16;
	case SEG_TIMER_HIGH:
		return now >> 32;
	case SEG_TIMER_LOW:
		return now;
	case SEG_HEALTH_COUNTER:
		return dev->faults.hung || dev->faults.health_syndrome ? 0 : now / HEALTH_TICK_NS;
	}
	return 0;
}

static void bar_read(void *owner, u64 at, u8 *to, u32 bytes)
{
	struct device *dev = owner;
	u32 i, part;
	u8 word[4];

	if (dev->faults.gone) {
		memset(to, 0xff, bytes);
		return;
	}
	for (i = 0; i < bytes; i += part) {
		part = MIN(bytes - i, 4 - (u32)(at + i) % 4);
		put_be32(word, at + i < SEG_END ? read_segment(dev, (at + i) & ~3ull) : 0);
		memcpy(to + i, word + (at + i) % 4, part);
	}
}

static void set_queue_low(struct device *dev, u32 value)
{
	u32 state = value >> INTERFACE_SHIFT & INTERFACE_MASK;

	if (state == INTERFACE_SW_RESET) {
		device_reset(dev);
		state = INTERFACE_DISABLED;
	}
	dev->commands.base = (dev->commands.base & ~0xffffffffull) | (value & BASE_MASK);
	dev->commands.interface_state = state;
}

static void write_segment(struct device *dev, u32 at, u32 value)
{
	switch (at) {
	case SEG_QUEUE_HIGH:
		dev->commands.base = (dev->commands.base & 0xffffffff) | (u64)value << 32;
		return;
	case SEG_QUEUE_LOW:
		set_queue_low(dev, value);
		return;
	case SEG_DOORBELL:
		command_doorbell(dev, value);
		return;
	}
	trace(TRACE_DOORBELL, "dev%u: write of %#x at %#x has no effect", dev->index, value, at);
}

static void ring_for_sends(struct qp *qp)
{
	qp->dev->counters.work.doorbells++;
	qp_send_doorbell(qp);
}

static void send_doorbell(struct device *dev, u32 uar, const u8 *from)
{
	u32 number = be32_at(from + 4) >> 8;
	struct qp *qp = qp_find(dev, number);
	struct sq *sq = sq_find(dev, number);
	u32 own = qp ? qp->uar : sq ? sq->uar->id : uar;

	trace(TRACE_DOORBELL, "dev%u UAR %u: send doorbell of %#x", dev->index, uar, number);
	if (own != uar)
		violation("dev%u: send queue %#x of UAR %u rung through UAR %u", dev->index, number,
			  own, uar);
	else if (qp)
		ring_for_sends(qp);
	else if (sq)
		sq_doorbell(sq);
	else
		violation("dev%u: send doorbell for %#x, which does not exist", dev->index, number);
}

static void uar_write(struct device *dev, u32 uar, u32 at, const u8 *from, u32 bytes)
{
	if (!object_find(&dev->objects, OBJ_UAR, uar)) {
		violation("dev%u: write to UAR page %u, which is not allocated", dev->index, uar);
		return;
	}
	if ((at == UAR_EQ || at == UAR_EQ_ARM) && bytes == 4)
		eq_doorbell(dev, uar, from[0], be32_at(from), at == UAR_EQ_ARM);
	else if (at == UAR_CQ && bytes == 8)
		cq_doorbell(dev, uar, be32_at(from), be32_at(from + 4) & 0xffffff);
	else if (at >= UAR_SEND_FIRST && at % UAR_SEND_STRIDE == 0 && bytes == 8)
		send_doorbell(dev, uar, from);
	else
		trace(TRACE_DOORBELL, "dev%u UAR %u: write of %u bytes at %#x has no effect",
		      dev->index, uar, bytes, at);
}

static void bar_write(void *owner, u64 at, const u8 *from, u32 bytes)
{
	struct device *dev = owner;

	if (dev->faults.gone)
		return;
	if (at < SEG_END && bytes == 4) {
		write_segment(dev, at, be32_at(from));
	} else if (at >= SEG_END && bytes >= 4) {
		dev->counters.work.register_writes++;
		uar_write(dev, at >> UAR_PAGE_SHIFT, at & UAR_PAGE_MASK, from, bytes);
	}
}

static void config_read(void *owner, u32 at, u8 *to, u32 bytes)
{
	struct device *dev = owner;

	if (dev->faults.gone)
		memset(to, 0xff, bytes);
	else
		memcpy(to, dev->pci.config + at, bytes);
}

static void config_write(void *owner, u32 at, const u8 *from, u32 bytes)
{
	struct device *dev = owner;

	if (!dev->faults.gone && pci_config_write(&dev->pci, at, from, bytes))
		device_reset(dev);
}

static void reset(void *owner)
{
	device_reset(owner);
}

const struct vfio_user_ops device_guest_ops = {
	.config_read = config_read,
	.config_write = config_write,
	.bar_read = bar_read,
	.bar_write = bar_write,
	.reset = reset,
};
