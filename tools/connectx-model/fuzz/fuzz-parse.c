// SPDX-License-Identifier: GPL-2.0
/* The parsers alone: a work request, or a frame received from a wire. */
#include <stdlib.h>

#include "../src/device.h"
#include "../src/roce.h"
#include "../src/send_queue.h"

static void parse_wqe(const u8 *data, size_t size)
{
	static const enum qp_service services[] = { SERVICE_RC, SERVICE_UC, SERVICE_UD,
						    SERVICE_XRC, SERVICE_GSI, SERVICE_REG_UMR };
	struct send_op *op = zalloc(sizeof(*op));
	u32 i, total = 0;

	op->wqe_bytes = MIN(size, WQE_MAX_BYTES - 16) & ~15u;
	memcpy(op->wqe, data + 1, MIN(size - 1, op->wqe_bytes));
	if (send_op_parse(op, services[data[0] % ARRAY_SIZE(services)]) &&
	    !send_op_is_local(op)) {
		for (i = 0; i < op->segments; i++)
			total += op->segment[i].bytes;
		if (total != op->bytes)
			abort();
	}
	free(op);
}

static void parse_frame(const u8 *data, size_t size)
{
	u8 *frame = zalloc(size), match[MATCH_BYTES];
	struct roce_packet packet;

	memcpy(frame, data, size);
	if (roce_parse(frame, size, &packet) == ROCE_OK &&
	    (packet.payload < frame || packet.payload + packet.payload_bytes > frame + size))
		abort();
	steering_headers(frame, size, match);
	roce_mark_congestion(frame, size);
	free(frame);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 2)
		return 0;
	if (data[0] & 0x80)
		parse_frame(data + 1, size - 1);
	else
		parse_wqe(data, size);
	return 0;
}
