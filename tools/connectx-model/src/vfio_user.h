/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The vfio-user protocol: how a virtual machine monitor accesses a device in another process.
 * Messages over a UNIX socket map guest memory, pass interrupts and carry each access to
 * configuration space and BAR.
 */
#ifndef CONNECTX_VFIO_USER_H
#define CONNECTX_VFIO_USER_H

#include "dma.h"

#define VFIO_USER_VECTORS	32

struct vfio_user_ops {
	void (*config_read)(void *owner, u32 at, u8 *to, u32 bytes);
	void (*config_write)(void *owner, u32 at, const u8 *from, u32 bytes);
	void (*bar_read)(void *owner, u64 at, u8 *to, u32 bytes);
	void (*bar_write)(void *owner, u64 at, const u8 *from, u32 bytes);
	void (*reset)(void *owner);
};

struct vfio_user {
	const struct vfio_user_ops *ops;
	void *owner;
	struct dma *dma;
	u64 bar_bytes;
	int listen_fd;
	int fd;			/* -1: no guest */
	int irq_fd[VFIO_USER_VECTORS];
};

/* Listen on a UNIX socket. Return: 0 or a negative errno. */
int vfio_user_listen(struct vfio_user *guest, const char *path);
void vfio_user_accept(struct vfio_user *guest);

/* Serve one message. Return: false if the guest is gone. */
bool vfio_user_serve(struct vfio_user *guest);
void vfio_user_hang_up(struct vfio_user *guest);
void vfio_user_interrupt(struct vfio_user *guest, u32 vector);

#endif
