/* SPDX-License-Identifier: GPL-2.0 */
/* The control socket: one JSON object per line, for requests and answers. */
#ifndef CONNECTX_CONTROL_H
#define CONNECTX_CONTROL_H

#include <poll.h>

#include "util.h"

#define CONTROL_CLIENTS	4

/* Return: false with a message on stderr. */
bool control_listen(const char *path);

/* Add the sockets to poll. Return: how many. */
u32 control_poll(struct pollfd *fds);
void control_serve(const struct pollfd *fds, u32 count);

#endif
