// SPDX-License-Identifier: GPL-2.0
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "eq.h"
#include "roce.h"
#include "trace.h"

#define SOCKET_BUFFER_BYTES	(16 << 20)
#define MIN_FRAME		60u
#define WORK_FRAMES		64u
#define MAX_WAITING		8192u
#define RETRY_NS		500000ull
#define PORT_EVENT_DOWN		1
#define PORT_EVENT_ACTIVE	4
#define DEFAULT_MTU		1522u

static FILE *pcap;

bool pcap_open(const char *path)
{
	static const u32 header[6] = { 0xa1b2c3d4, 0x00040002, 0, 0, 65535, 1 };

	pcap = fopen(path, "wb");
	if (!pcap) {
		perror(path);
		return false;
	}
	fwrite(header, sizeof(header), 1, pcap);
	fflush(pcap);
	return true;
}

static void record(const u8 *frame, u32 bytes)
{
	struct timespec ts;
	u32 header[4];

	if (!pcap)
		return;
	clock_gettime(CLOCK_REALTIME, &ts);
	header[0] = ts.tv_sec;
	header[1] = ts.tv_nsec / 1000;
	header[2] = header[3] = bytes;
	fwrite(header, sizeof(header), 1, pcap);
	fwrite(frame, bytes, 1, pcap);
	fflush(pcap);
}

static void send_waiting(struct timer *timer);

void port_init(struct port *port, struct device *dev)
{
	*port = (struct port){ .dev = dev, .fd = -1, .link_up = true, .mtu = DEFAULT_MTU,
			       .trust = TRUST_VLAN,
			       .random = dev->index + 1 };
	list_init(&port->incoming);
	list_init(&port->outgoing);
	timer_init(&port->retry, send_waiting);
}

bool port_is_up(const struct port *port)
{
	return port->link_up && port->enabled;
}

static void enlarge_buffers(int fd)
{
	int bytes = SOCKET_BUFFER_BYTES;

	/* The forced variant needs privilege; the other is the best one without. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static bool connect_udp(struct port *port, const char *where)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	u32 local, remote;

	if (sscanf(where, "%u:%u", &local, &remote) != 2)
		return false;
	port->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	address.sin_port = htons(local);
	if (port->fd < 0 || bind(port->fd, (struct sockaddr *)&address, sizeof(address)))
		return false;
	address.sin_port = htons(remote);
	memcpy(&port->peer, &address, sizeof(address));
	port->peer_bytes = sizeof(address);
	enlarge_buffers(port->fd);
	return true;
}

static bool connect_unix(struct port *port, const char *where)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *colon = strchr(where, ':');

	if (!colon || (size_t)(colon - where) >= sizeof(address.sun_path) ||
	    strlen(colon + 1) >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, where, colon - where);
	unlink(address.sun_path);
	port->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (port->fd < 0 || bind(port->fd, (struct sockaddr *)&address, sizeof(address)))
		return false;
	memset(address.sun_path, 0, sizeof(address.sun_path));
	strcpy(address.sun_path, colon + 1);
	memcpy(&port->peer, &address, sizeof(address));
	port->peer_bytes = sizeof(address);
	enlarge_buffers(port->fd);
	return true;
}

static bool connect_tap(struct port *port, const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };

	if (strlen(name) >= IFNAMSIZ)
		return false;
	strcpy(request.ifr_name, name);
	port->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	return port->fd >= 0 && !ioctl(port->fd, TUNSETIFF, &request);
}

static bool connect_join(struct port *port, const char *number)
{
	u32 other = strtoul(number, NULL, 10);

	if (other >= device_count || devices[other] == port->dev)
		return false;
	port->joined = devices[other];
	devices[other]->port.joined = port->dev;
	return true;
}

static bool connect_none(struct port *port, const char *nothing)
{
	(void)port;
	(void)nothing;
	return true;
}

static const struct {
	const char *word;
	bool (*connect)(struct port *port, const char *rest);
} kinds[] = {
	{ "udp:", connect_udp }, { "unix:", connect_unix }, { "tap:", connect_tap },
	{ "join:", connect_join }, { "none", connect_none },
};

bool port_connect(struct port *port, const char *description)
{
	size_t i, length;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		length = strlen(kinds[i].word);
		if (strncmp(description, kinds[i].word, length))
			continue;
		if (kinds[i].connect(port, description + length))
			return true;
		fprintf(stderr, "connectx-model: wire %s: %s\n", description,
			errno ? strerror(errno) : "not understood");
		return false;
	}
	fprintf(stderr, "connectx-model: unknown wire %s\n", description);
	return false;
}

/* Frames that an adapter sends to itself do not appear on the wire. */
static void count_wire(struct port *port, enum traffic_direction direction, u32 bytes)
{
	port->wire_packets[direction]++;
	port->wire_bytes[direction] += bytes;
}

static void queue_from(struct port *port, const u8 *data, u32 bytes, u32 source_td)
{
	struct frame *frame = zalloc(sizeof(*frame) + bytes);

	frame->bytes = bytes;
	frame->source_td = source_td;
	memcpy(frame->data, data, bytes);
	list_append(&port->incoming, &frame->link);
}

static void queue_incoming(struct port *port, const u8 *data, u32 bytes)
{
	queue_from(port, data, bytes, 0);
}

/* Return: false if the frame must wait for room. */
static bool write_frame(struct port *port, const u8 *frame, u32 bytes)
{
	ssize_t sent;

	if (port->peer_bytes)
		sent = sendto(port->fd, frame, bytes, MSG_DONTWAIT,
			      (struct sockaddr *)&port->peer, port->peer_bytes);
	else
		sent = write(port->fd, frame, bytes);
	if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS))
		return false;
	port->dev->counters.wire_tx_errors += sent < 0;
	return true;
}

/* A datagram socket holds few frames for a slow reader: the rest is queued here. */
static void put_on_wire(struct port *port, const u8 *data, u32 bytes)
{
	struct frame *frame;

	if (port->joined) {
		count_wire(&port->joined->port, COUNT_RX, bytes);
		queue_incoming(&port->joined->port, data, bytes);
		return;
	}
	if (port->fd < 0 || (!port->waiting && write_frame(port, data, bytes)))
		return;
	if (port->waiting == MAX_WAITING) {
		port->dev->counters.wire_tx_errors++;
		return;
	}
	frame = zalloc(sizeof(*frame) + bytes);
	frame->bytes = bytes;
	memcpy(frame->data, data, bytes);
	list_append(&port->outgoing, &frame->link);
	port->waiting++;
	if (!port->retry.at_ns)
		timer_set(&port->retry, now_ns() + RETRY_NS);
}

static void send_waiting(struct timer *timer)
{
	struct port *port = container_of(timer, struct port, retry);
	struct frame *frame;

	while (port->waiting) {
		frame = list_first(&port->outgoing, struct frame, link);
		if (!write_frame(port, frame->data, frame->bytes)) {
			timer_set(&port->retry, now_ns() + RETRY_NS);
			return;
		}
		list_unlink(&frame->link);
		free(frame);
		port->waiting--;
	}
}

static bool happens(struct port *port, u32 ppm)
{
	return ppm && random_u32(&port->random) % PPM < ppm;
}

struct path {
	struct port *port;
	void (*deliver)(struct port *port, const u8 *frame, u32 bytes);
};

/* A frame that is to be overtaken waits until the next one was sent. */
static bool hold_back(const struct path *path, const u8 *data, u32 bytes)
{
	struct port *port = path->port;

	if (port->held || !happens(port, port->impairment.reorder_ppm))
		return false;
	port->held = zalloc(sizeof(*port->held) + bytes);
	port->held->bytes = bytes;
	memcpy(port->held->data, data, bytes);
	port->deliver_held = path->deliver;
	return true;
}

static void impair(const struct path *path, const u8 *frame, u32 bytes)
{
	struct port *port = path->port;
	const struct impairment *impairment = &port->impairment;
	struct frame *held = port->held;
	u8 copy[ROCE_MAX_FRAME + 1];

	if (happens(port, impairment->loss_ppm)) {
		port->dev->counters.impaired_lost++;
		return;
	}
	if (bytes < sizeof(copy)) {
		memcpy(copy, frame, bytes);
		frame = copy;
		if (happens(port, impairment->corrupt_ppm)) {
			copy[random_u32(&port->random) % bytes] ^= 1 << random_u32(&port->random) % 8;
			port->dev->counters.impaired_corrupted++;
		}
		if (happens(port, impairment->mark_ppm))
			roce_mark_congestion(copy, bytes);
	}
	if (hold_back(path, frame, bytes)) {
		port->dev->counters.impaired_reordered++;
		return;
	}
	path->deliver(port, frame, bytes);
	if (happens(port, impairment->duplicate_ppm)) {
		port->dev->counters.impaired_duplicated++;
		path->deliver(port, frame, bytes);
	}
	if (held) {
		port->held = NULL;
		port->deliver_held(port, held->data, held->bytes);
		free(held);
	}
}

static void send_out(struct port *port, const u8 *frame, u32 bytes)
{
	struct path path = { port, put_on_wire };

	count_wire(port, COUNT_TX, bytes);
	record(frame, bytes);
	impair(&path, frame, bytes);
}

static void send_back(struct port *port, const u8 *frame, u32 bytes)
{
	struct path path = { port, queue_incoming };

	record(frame, bytes);
	impair(&path, frame, bytes);
}

/* Does the driver want to receive frames that it sends to itself? */
static bool loops_back(struct device *dev, const u8 *frame)
{
	const u8 *c = dev->vport.context;

	if (frame[0] & 1)
		return !GET(nic_vport_context, c, disable_mc_local_lb);
	return !GET(nic_vport_context, c, disable_uc_local_lb);
}

void port_send_ethernet(struct device *dev, const u8 *frame, u32 bytes,
			const struct frame_source *source)
{
	struct port *port = lag_egress(dev, source->affinity);
	u8 padded[MIN_FRAME] = { 0 };

	if (bytes < MIN_FRAME) {
		memcpy(padded, frame, bytes);
		frame = padded;
		bytes = MIN_FRAME;
	}
	count_traffic(&dev->counters, COUNT_TX, COUNT_ETHERNET, frame, bytes);
	if (!port_is_up(port))
		return;
	if (loops_back(dev, frame)) {
		queue_from(&dev->port, frame, bytes, source->td);
		if (!(frame[0] & 1) && vport_is_listed(&dev->vport, frame))
			return;
	}
	send_out(port, frame, bytes);
}

static void trace_frame(const char *direction, struct device *dev, const u8 *frame, u32 bytes)
{
	struct roce_packet packet;
	const struct roce_opcode_row *row;

	if (!(trace_topics & TRACE_PACKET))
		return;
	if (roce_parse(frame, bytes, &packet)) {
		trace_line(TRACE_PACKET, "dev%u %s %u bytes", dev->index, direction, bytes);
		return;
	}
	row = roce_opcode(packet.bth.opcode);
	trace_line(TRACE_PACKET, "dev%u %s %s QP %#x psn %#x%s payload %u syndrome %#x",
		   dev->index, direction, row ? row->name : "CNP", packet.bth.dest_qpn,
		   packet.bth.psn, packet.bth.ack_request ? " ack" : "", packet.payload_bytes,
		   packet.bth.syndrome);
}

void port_send_roce(struct device *dev, u32 affinity, const u8 *frame, u32 bytes)
{
	struct port *port = lag_egress(dev, affinity);
	bool own = vport_owns(&dev->vport, frame), group = frame[0] & 1;

	trace_frame("sends", port->dev, frame, bytes);
	count_traffic(&dev->counters, COUNT_TX, COUNT_ROCE, frame, bytes);
	if (!port_is_up(port))
		return;
	if (own || (group && dev->vport.members))
		send_back(port, frame, bytes);
	if (!own)
		send_out(port, frame, bytes);
}

static void arrived(struct port *port, const u8 *frame, u32 bytes, u32 source_td)
{
	if (!port_is_up(port))
		return;
	trace_frame("gets", port->dev, frame, bytes);
	receive_frame(port->dev, frame, bytes, source_td);
}

void port_readable(struct port *port)
{
	static u8 frame[WIRE_MAX_FRAME];
	ssize_t bytes;
	u32 i;

	for (i = 0; i < WORK_FRAMES; i++) {
		bytes = read(port->fd, frame, sizeof(frame));
		if (bytes <= 0)
			return;
		if (bytes < (ssize_t)MIN_FRAME) {
			memset(frame + bytes, 0, MIN_FRAME - bytes);
			bytes = MIN_FRAME;
		}
		count_wire(port, COUNT_RX, bytes);
		record(frame, bytes);
		arrived(port, frame, bytes, 0);
	}
}

void port_work(struct port *port)
{
	struct frame *frame;
	u32 i;

	for (i = 0; i < WORK_FRAMES && !list_empty(&port->incoming); i++) {
		frame = list_first(&port->incoming, struct frame, link);
		list_unlink(&frame->link);
		arrived(port, frame->data, frame->bytes, frame->source_td);
		free(frame);
	}
}

static void tell_change(struct port *port, bool before)
{
	u8 data[EQE_DATA_BYTES] = { [8] = 1 << 4 };
	bool up = port_is_up(port);

	if (up != before)
		event_raise(port->dev, EVENT_PORT_CHANGE,
			    up ? PORT_EVENT_ACTIVE : PORT_EVENT_DOWN, data);
}

void port_set_link(struct port *port, bool up)
{
	bool before = port_is_up(port);

	port->link_up = up;
	tell_change(port, before);
}

void port_enable(struct port *port, bool enabled)
{
	bool before = port_is_up(port);

	port->enabled = enabled;
	tell_change(port, before);
}
