// SPDX-License-Identifier: GPL-2.0
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "packet.h"
#include "wire.h"

#define BATCH		64
#define BATCH_BYTES	(512 << 10)
#define RECEIVES	32
#define RECEIVE_BYTES	(MAX_FRAME + 4096)

struct queued {
	struct virtio_net_hdr vnet;
	struct iovec parts[2];
	unsigned int packets;
	bool clean;
};

struct wire {
	int fd;
	struct wire_sent *sent;
	unsigned int count;		/* frames queued in @out */
	size_t used;
	struct queued queued[BATCH];
	struct mmsghdr out_headers[BATCH];
	uint8_t out[BATCH_BYTES];
	struct virtio_net_hdr vnets[RECEIVES];
	struct iovec in_parts[RECEIVES][2];
	struct mmsghdr in_headers[RECEIVES];
	uint8_t in[RECEIVES][RECEIVE_BYTES];
};

static int open_socket(const char *netdev)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW, 0), one = 1, room = 32 << 20;

	address.sll_ifindex = if_nametoindex(netdev);
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (void *)&address, sizeof(address)))
		return -errno;
	return fd;
}

/* On @netdev, which may be in the network namespace of the file @netns */
int wire_open(struct wire **wire, const char *netns, const char *netdev, struct wire_sent *sent)
{
	int here = open("/proc/self/ns/net", O_RDONLY), there = -1, fd;

	*wire = calloc(1, sizeof(**wire));
	if (!*wire)
		return -ENOMEM;
	if (netns) {
		there = open(netns, O_RDONLY);
		if (there < 0 || setns(there, CLONE_NEWNET))
			return -errno;
	}
	fd = open_socket(netdev);
	if (fd >= 0 && netns && setns(here, CLONE_NEWNET))
		return -errno;
	close(here);
	if (netns)
		close(there);
	(*wire)->fd = fd;
	(*wire)->sent = sent;
	return fd < 0 ? fd : 0;
}

#define ETHERNET	14
#define IPV4		20
#define IPV6		40	/* and GRH */
#define UDP		8
#define QPN_LOW		7	/* in the BTH */

/*
 * Receive only RoCE packets to QPs whose number ends in @qpn_low: several hosts of our kind may
 * share the netdev, and need not see each other's packets.
 */
int wire_listen(struct wire *wire, uint8_t qpn_low)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x8915, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0800, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x86dd, 4, 7),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETHERNET + IPV6 + QPN_LOW),
		BPF_STMT(BPF_JMP | BPF_JA, 3),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETHERNET + IPV4 + UDP + QPN_LOW),
		BPF_STMT(BPF_JMP | BPF_JA, 1),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, ETHERNET + IPV6 + UDP + QPN_LOW),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, qpn_low, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0x7fffffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = { sizeof(steps) / sizeof(steps[0]), steps };

	return setsockopt(wire->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ? -errno : 0;
}

/* Buffer for the next frame, MAX_FRAME bytes; wire_add() queues it */
uint8_t *wire_room(struct wire *wire)
{
	if (wire->count == BATCH || wire->used + MAX_FRAME > BATCH_BYTES)
		wire_flush(wire);
	return wire->out + wire->used;
}

/* Queue the frame built in wire_room(), which counts as @packets, for wire_flush() */
void wire_add(struct wire *wire, const struct virtio_net_hdr *vnet, size_t length,
	      unsigned int packets, bool clean)
{
	struct queued *queued = &wire->queued[wire->count];

	*queued = (struct queued){ .vnet = *vnet, .packets = packets, .clean = clean };
	queued->parts[0] = (struct iovec){ &queued->vnet, sizeof(queued->vnet) };
	queued->parts[1] = (struct iovec){ wire->out + wire->used, length };
	wire->out_headers[wire->count++].msg_hdr = (struct msghdr){
		.msg_iov = queued->parts, .msg_iovlen = 2,
	};
	wire->used += length;
}

static void count_sent(struct wire *wire, const struct queued *queued)
{
	wire->sent->packets += queued->packets;
	wire->sent->clean += queued->clean;
	wire->sent->blocks += queued->packets > 1;
}

/* Send queued frames. Those that the socket refuses, such as invalid blocks, are skipped. */
void wire_flush(struct wire *wire)
{
	unsigned int at = 0;
	int taken;

	while (at < wire->count) {
		taken = sendmmsg(wire->fd, wire->out_headers + at, wire->count - at, 0);
		if (taken < 0)
			at++;
		for (; taken > 0; taken--)
			count_sent(wire, &wire->queued[at++]);
	}
	wire->count = 0;
	wire->used = 0;
}

static void prepare_to_receive(struct wire *wire)
{
	for (int i = 0; i < RECEIVES; i++) {
		wire->in_parts[i][0] = (struct iovec){ &wire->vnets[i], sizeof(wire->vnets[i]) };
		wire->in_parts[i][1] = (struct iovec){ wire->in[i], RECEIVE_BYTES };
		wire->in_headers[i].msg_hdr = (struct msghdr){
			.msg_iov = wire->in_parts[i], .msg_iovlen = 2,
		};
	}
}

/* Pass received frames to @handler, at most RECEIVES; returns their number */
unsigned int wire_receive(struct wire *wire, wire_handler handler, void *context)
{
	const struct virtio_net_hdr *vnet;
	int count, i;
	size_t bytes;

	prepare_to_receive(wire);
	count = recvmmsg(wire->fd, wire->in_headers, RECEIVES, MSG_DONTWAIT, NULL);
	for (i = 0; i < count; i++) {
		vnet = &wire->vnets[i];
		bytes = wire->in_headers[i].msg_len;
		if (bytes >= sizeof(*vnet) + ETHERNET)
			handler(context, wire->in[i], bytes - sizeof(*vnet),
				vnet->gso_type == VIRTIO_NET_HDR_GSO_NONE ? 0 : vnet->gso_size);
	}
	return count < 0 ? 0 : count;
}
