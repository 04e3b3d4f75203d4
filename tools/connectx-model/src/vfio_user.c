// SPDX-License-Identifier: GPL-2.0
#include "vfio_user.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "pci.h"
#include "trace.h"

enum {
	MSG_VERSION = 1, MSG_DMA_MAP, MSG_DMA_UNMAP, MSG_DEVICE_GET_INFO,
	MSG_GET_REGION_INFO, MSG_GET_REGION_IO_FDS, MSG_GET_IRQ_INFO, MSG_SET_IRQS,
	MSG_REGION_READ, MSG_REGION_WRITE, MSG_DMA_READ, MSG_DMA_WRITE, MSG_DEVICE_RESET,
	MSG_COUNT
};

enum { REGION_BAR0 = 0, REGION_CONFIG = 7, REGIONS = 9 };
enum { IRQ_MSIX = 2, IRQS = 5 };

#define FLAG_REPLY		0x1u
#define FLAG_NO_REPLY		0x10u
#define FLAG_ERROR		0x20u
#define DMA_WRITABLE		0x2u
#define UNMAP_ALL		0x2u
#define REGION_READ_WRITE	0x3u
#define IRQ_EVENTFD		0x1u
#define IRQ_NO_RESIZE		0x8u
#define SET_DATA_NONE		0x1u
#define SET_DATA_EVENTFD	0x4u
#define DEVICE_RESET_AND_PCI	0x3u

#define MAX_FDS			16
#define MAX_TRANSFER		65536u
#define MAX_BODY		(MAX_TRANSFER + 64)

struct header {
	u16 id;
	u16 command;
	u32 bytes;
	u32 flags;
	u32 error;
};

struct message {
	struct header header;
	u32 bytes;		/* of the body */
	u8 body[MAX_BODY];
	int fd[MAX_FDS];
	u32 fds;
};

static bool read_all(int fd, void *to, size_t bytes)
{
	ssize_t got;

	for (; bytes; bytes -= got, to = (u8 *)to + got) {
		got = read(fd, to, bytes);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			return false;
	}
	return true;
}

static void reply(struct vfio_user *guest, const struct message *m, const void *body,
		  u32 bytes, int error)
{
	struct header header = m->header;
	struct iovec part[2] = { { &header, sizeof(header) }, { (void *)body, bytes } };
	struct msghdr msg = { .msg_iov = part, .msg_iovlen = bytes ? 2 : 1 };

	if (m->header.flags & FLAG_NO_REPLY)
		return;
	header.bytes = sizeof(header) + bytes;
	header.flags = FLAG_REPLY | (error ? FLAG_ERROR : 0);
	header.error = error;
	if (sendmsg(guest->fd, &msg, MSG_NOSIGNAL) < 0)
		trace_note("vfio-user: reply: %s", strerror(errno));
}

static u32 word(const struct message *m, u32 at)
{
	u32 v = 0;

	if (at + sizeof(v) <= m->bytes)
		memcpy(&v, m->body + at, sizeof(v));
	return v;
}

static u64 double_word(const struct message *m, u32 at)
{
	u64 v = 0;

	if (at + sizeof(v) <= m->bytes)
		memcpy(&v, m->body + at, sizeof(v));
	return v;
}

static void version(struct vfio_user *guest, struct message *m)
{
	static const char text[] =
		"{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":65536}}";
	u8 body[4 + sizeof(text)];

	memcpy(body, m->body, 4);
	memcpy(body + 4, text, sizeof(text));
	reply(guest, m, body, sizeof(body), 0);
}

static void dma_map(struct vfio_user *guest, struct message *m)
{
	int error = dma_add(guest->dma, double_word(m, 16), double_word(m, 24),
			    m->fds ? m->fd[0] : -1, double_word(m, 8),
			    word(m, 4) & DMA_WRITABLE);

	reply(guest, m, NULL, 0, -error);
}

static void dma_unmap(struct vfio_user *guest, struct message *m)
{
	if (word(m, 4) & UNMAP_ALL)
		dma_remove_all(guest->dma);
	else
		dma_remove(guest->dma, double_word(m, 8), double_word(m, 16));
	reply(guest, m, m->body, m->bytes, 0);
}

static void device_info(struct vfio_user *guest, struct message *m)
{
	u32 info[4] = { sizeof(info), DEVICE_RESET_AND_PCI, REGIONS, IRQS };

	reply(guest, m, info, sizeof(info), 0);
}

static void region_info(struct vfio_user *guest, struct message *m)
{
	struct {
		u32 argsz, flags, index, cap_offset;
		u64 bytes, offset;
	} info = { .argsz = sizeof(info), .index = word(m, 8) };

	if (info.index == REGION_BAR0)
		info.bytes = guest->bar_bytes;
	else if (info.index == REGION_CONFIG)
		info.bytes = PCI_CONFIG_BYTES;
	if (info.bytes)
		info.flags = REGION_READ_WRITE;
	info.offset = (u64)info.index << 40;
	reply(guest, m, &info, sizeof(info), 0);
}

static void irq_info(struct vfio_user *guest, struct message *m)
{
	u32 index = word(m, 8);
	bool msix = index == IRQ_MSIX;
	u32 info[4] = { sizeof(info), msix ? IRQ_EVENTFD | IRQ_NO_RESIZE : 0, index,
			msix ? VFIO_USER_VECTORS : 0 };

	reply(guest, m, info, sizeof(info), 0);
}

static void set_irq_fd(struct vfio_user *guest, u32 vector, int fd)
{
	if (guest->irq_fd[vector] >= 0)
		close(guest->irq_fd[vector]);
	guest->irq_fd[vector] = fd;
}

static void set_irqs(struct vfio_user *guest, struct message *m)
{
	u32 flags = word(m, 4), start = word(m, 12), count = word(m, 16), i;

	if (word(m, 8) == IRQ_MSIX && (flags & SET_DATA_NONE) && !count) {
		for (i = 0; i < VFIO_USER_VECTORS; i++)
			set_irq_fd(guest, i, -1);
	} else if (word(m, 8) == IRQ_MSIX && (flags & SET_DATA_EVENTFD)) {
		for (i = 0; i < count && start + i < VFIO_USER_VECTORS; i++) {
			set_irq_fd(guest, start + i, i < m->fds ? m->fd[i] : -1);
			if (i < m->fds)
				m->fd[i] = -1;
		}
	}
	reply(guest, m, NULL, 0, 0);
}

static bool within(u64 at, u32 bytes, u64 size)
{
	return at <= size && bytes <= size - at;
}

static void region_read(struct vfio_user *guest, struct message *m)
{
	static u8 body[16 + MAX_TRANSFER];
	u64 at = double_word(m, 0);
	u32 region = word(m, 8), bytes = word(m, 12);

	if (bytes > MAX_TRANSFER) {
		reply(guest, m, NULL, 0, EINVAL);
		return;
	}
	memcpy(body, m->body, 16);
	memset(body + 16, 0, bytes);
	if (region == REGION_CONFIG && within(at, bytes, PCI_CONFIG_BYTES))
		guest->ops->config_read(guest->owner, at, body + 16, bytes);
	else if (region == REGION_BAR0 && within(at, bytes, guest->bar_bytes))
		guest->ops->bar_read(guest->owner, at, body + 16, bytes);
	reply(guest, m, body, 16 + bytes, 0);
}

static void region_write(struct vfio_user *guest, struct message *m)
{
	u64 at = double_word(m, 0);
	u32 region = word(m, 8), bytes = word(m, 12);

	if (m->bytes < 16 || bytes > m->bytes - 16) {
		reply(guest, m, NULL, 0, EINVAL);
		return;
	}
	reply(guest, m, m->body, 16, 0);
	if (region == REGION_CONFIG && within(at, bytes, PCI_CONFIG_BYTES))
		guest->ops->config_write(guest->owner, at, m->body + 16, bytes);
	else if (region == REGION_BAR0 && within(at, bytes, guest->bar_bytes))
		guest->ops->bar_write(guest->owner, at, m->body + 16, bytes);
}

static void reset(struct vfio_user *guest, struct message *m)
{
	guest->ops->reset(guest->owner);
	reply(guest, m, NULL, 0, 0);
}

static void (*const handlers[MSG_COUNT])(struct vfio_user *, struct message *) = {
	[MSG_VERSION]		= version,
	[MSG_DMA_MAP]		= dma_map,
	[MSG_DMA_UNMAP]		= dma_unmap,
	[MSG_DEVICE_GET_INFO]	= device_info,
	[MSG_GET_REGION_INFO]	= region_info,
	[MSG_GET_IRQ_INFO]	= irq_info,
	[MSG_SET_IRQS]		= set_irqs,
	[MSG_REGION_READ]	= region_read,
	[MSG_REGION_WRITE]	= region_write,
	[MSG_DEVICE_RESET]	= reset,
};

static bool receive(struct vfio_user *guest, struct message *m)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(m->fd))];
	} control;
	struct iovec part = { &m->header, sizeof(m->header) };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1,
			      .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	ssize_t got = recvmsg(guest->fd, &msg, MSG_CMSG_CLOEXEC);

	m->fds = 0;
	if (got <= 0)
		return false;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		m->fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(m->fd, CMSG_DATA(c), m->fds * sizeof(int));
	}
	if (!read_all(guest->fd, (u8 *)&m->header + got, sizeof(m->header) - got))
		return false;
	if (m->header.bytes < sizeof(m->header) ||
	    m->header.bytes - sizeof(m->header) > MAX_BODY)
		return false;
	m->bytes = m->header.bytes - sizeof(m->header);
	return read_all(guest->fd, m->body, m->bytes);
}

bool vfio_user_serve(struct vfio_user *guest)
{
	static struct message m;
	bool alive = receive(guest, &m);
	u32 i;

	if (alive && m.header.command < MSG_COUNT && handlers[m.header.command])
		handlers[m.header.command](guest, &m);
	else if (alive)
		reply(guest, &m, NULL, 0, EOPNOTSUPP);
	for (i = 0; i < m.fds; i++)
		if (m.fd[i] >= 0)
			close(m.fd[i]);
	return alive;
}

int vfio_user_listen(struct vfio_user *guest, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	u32 i;

	guest->fd = -1;
	guest->listen_fd = -1;
	for (i = 0; i < VFIO_USER_VECTORS; i++)
		guest->irq_fd[i] = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	unlink(path);
	guest->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (guest->listen_fd < 0 ||
	    bind(guest->listen_fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(guest->listen_fd, 1))
		return -errno;
	return 0;
}

void vfio_user_accept(struct vfio_user *guest)
{
	guest->fd = accept4(guest->listen_fd, NULL, NULL, SOCK_CLOEXEC);
}

void vfio_user_hang_up(struct vfio_user *guest)
{
	u32 i;

	if (guest->fd >= 0)
		close(guest->fd);
	guest->fd = -1;
	for (i = 0; i < VFIO_USER_VECTORS; i++)
		set_irq_fd(guest, i, -1);
	dma_remove_all(guest->dma);
}

void vfio_user_interrupt(struct vfio_user *guest, u32 vector)
{
	u64 one = 1;

	if (vector < VFIO_USER_VECTORS && guest->irq_fd[vector] >= 0 &&
	    write(guest->irq_fd[vector], &one, sizeof(one)) < 0)
		trace_note("interrupt %u: %s", vector, strerror(errno));
}
