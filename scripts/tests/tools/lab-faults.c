// SPDX-License-Identifier: GPL-2.0
/*
 * Registers a megabyte with the first device and prints whether that worked. With an argument it
 * then waits for the device's asynchronous events, until it is removed.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#define BYTES	(1 << 20)

static int wait_until_gone(struct ibv_context *context)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(context, &event)) {
		puts(event.event_type == IBV_EVENT_DEVICE_FATAL ? "IBV_EVENT_DEVICE_FATAL" :
								  "another event");
		ibv_ack_async_event(&event);
		if (event.event_type == IBV_EVENT_DEVICE_FATAL)
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	void *memory = malloc(BYTES);

	(void)argv;
	if (!pd || !memory)
		return 1;
	puts(ibv_reg_mr(pd, memory, BYTES, 0) ? "registered" : "refused");
	fflush(stdout);
	return argc > 1 ? wait_until_gone(context) : 0;
}
