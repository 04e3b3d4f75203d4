/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire of a hostile host: a packet socket. A system call for each frame would cost more than
 * the target's work for it, so frames are sent in batches with sendmmsg(), and received with
 * recvmmsg().
 */
#ifndef RHCA_FUZZ_WIRE_H
#define RHCA_FUZZ_WIRE_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire;

/**
 * struct wire_sent - Frames sent on a wire since it was opened
 * @packets: accepted by the netdev; each segment of a block counts
 * @clean: of these, packets that certainly reach the driver of the target
 * @blocks: of UDP segmentation
 */
struct wire_sent {
	uint64_t packets;
	uint64_t clean;
	uint64_t blocks;
};

int wire_open(struct wire **wire, const char *netns, const char *netdev, struct wire_sent *sent);
int wire_listen(struct wire *wire, uint8_t qpn_low);

uint8_t *wire_room(struct wire *wire);
void wire_add(struct wire *wire, const struct virtio_net_hdr *vnet, size_t length,
	      unsigned int packets, bool clean);
void wire_flush(struct wire *wire);

/* @frame is valid until the next call; @segment: 0, or the size of a block's segments */
typedef void (*wire_handler)(void *context, uint8_t *frame, size_t length, size_t segment);
unsigned int wire_receive(struct wire *wire, wire_handler handler, void *context);

#endif
