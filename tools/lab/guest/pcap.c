// SPDX-License-Identifier: GPL-2.0
/*
 * What the switch receives from its ports, into a pcap file: each packet once.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/filter.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define SNAP_BYTES	65536

struct pcap_file {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snap, link_type;
};

struct pcap_packet {
	uint32_t seconds, nanoseconds, captured, length;
};

static bool is_port(const struct job *job, int index, const int *ports)
{
	unsigned int i;

	for (i = 0; i < job->hosts * job->devices; i++)
		if (ports[i] == index)
			return true;
	return false;
}

static void capture(const struct job *job, int from, int to)
{
	static char packet[sizeof(struct pcap_packet) + SNAP_BYTES];
	struct pcap_packet *head = (struct pcap_packet *)packet;
	int ports[LAB_MAX_HOSTS * LAB_MAX_DEVICES];
	struct sockaddr_ll source;
	struct timespec now;
	socklen_t size;
	unsigned int i;
	ssize_t got;

	for (i = 0; i < job->hosts * job->devices; i++)
		ports[i] = link_index(port_name(i / job->devices, i % job->devices));
	for (;;) {
		size = sizeof(source);
		got = recvfrom(from, packet + sizeof(*head), SNAP_BYTES, 0,
			       (struct sockaddr *)&source, &size);
		if (got < 0 || source.sll_pkttype == PACKET_OUTGOING ||
		    !is_port(job, source.sll_ifindex, ports))
			continue;
		clock_gettime(CLOCK_REALTIME, &now);
		head->seconds = now.tv_sec;
		head->nanoseconds = now.tv_nsec;
		head->captured = head->length = got;
		if (write(to, packet, sizeof(*head) + got) < 0) {
			say("capture: %s", strerror(errno));
			_exit(1);
		}
	}
}

void capture_start(const struct job *job)
{
	struct pcap_file head = {
		.magic = 0xa1b23c4d, .major = 2, .minor = 4, .snap = SNAP_BYTES,
		.link_type = 1,
	};
	struct sockaddr_ll all = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int from = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	int to = open("/dev/lab/capture", O_WRONLY | O_CLOEXEC), room = 1 << 26;

	if (from < 0 || bind(from, (struct sockaddr *)&all, sizeof(all)) || to < 0)
		die("no capture: %s", strerror(errno));
	setsockopt(from, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	if (write(to, &head, sizeof(head)) != sizeof(head))
		die("%s: %s", job->pcap, strerror(errno));
	if (!fork())
		capture(job, from, to);
}
