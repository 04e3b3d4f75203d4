// SPDX-License-Identifier: GPL-2.0
/* Packets that the switch receives from its ports, written to a pcap file: each packet once. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define SNAP_BYTES	65536
#define LOOK_MS		100

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

/* The kernel passes the VLAN tag of a frame separately: insert its four bytes after the addresses.
 */
static size_t put_tag_back(char *frame, size_t size, struct msghdr *msg)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(msg);
	struct tpacket_auxdata aux;
	uint16_t tag[2];

	if (!head || head->cmsg_level != SOL_PACKET || head->cmsg_type != PACKET_AUXDATA ||
	    size < 2 * ETH_ALEN)
		return size;
	memcpy(&aux, CMSG_DATA(head), sizeof(aux));
	if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
		return size;
	tag[0] = htons(ETH_P_8021Q);
	tag[1] = htons(aux.tp_vlan_tci);
	memmove(frame + 2 * ETH_ALEN + sizeof(tag), frame + 2 * ETH_ALEN, size - 2 * ETH_ALEN);
	memcpy(frame + 2 * ETH_ALEN, tag, sizeof(tag));
	return size + sizeof(tag);
}

static pid_t capturer;
static volatile sig_atomic_t last;

static void end_when_empty(int number)
{
	(void)number;
	last = 1;
}

/* Processes that the command left behind may go on sending: only what is queued is still read. */
static void take_no_more(int from)
{
	struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog filter = { 1, &none };

	if (setsockopt(from, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		say("capture: %s", strerror(errno));
}

/* All is written: how many packets had no room in the queue? */
static void end_capture(int from)
{
	struct tpacket_stats stats = {};
	socklen_t size = sizeof(stats);

	getsockopt(from, SOL_PACKET, PACKET_STATISTICS, &stats, &size);
	if (stats.tp_drops)
		report("lost", "%u", stats.tp_drops);
	_exit(0);
}

static void capture(const struct job *job, int from, int to)
{
	static char packet[sizeof(struct pcap_packet) + SNAP_BYTES + 4];
	char *frame = packet + sizeof(struct pcap_packet);
	struct pcap_packet *head = (struct pcap_packet *)packet;
	char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	int ports[LAB_MAX_HOSTS * LAB_MAX_DEVICES];
	struct iovec io = { frame, SNAP_BYTES };
	struct sockaddr_ll source;
	struct timespec now;
	bool ending = false;
	unsigned int i;
	ssize_t got;

	for (i = 0; i < job->hosts * job->devices; i++)
		ports[i] = link_index(port_name(i / job->devices, i % job->devices));
	for (;;) {
		struct msghdr msg = {
			.msg_name = &source, .msg_namelen = sizeof(source),
			.msg_iov = &io, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};

		if (last && !ending) {
			take_no_more(from);
			ending = true;
		}
		got = recvmsg(from, &msg, ending ? MSG_DONTWAIT : 0);
		if (got < 0 && ending && errno == EAGAIN)
			end_capture(from);
		if (got < 0 || !is_port(job, source.sll_ifindex, ports))
			continue;
		clock_gettime(CLOCK_REALTIME, &now);
		got = put_tag_back(frame, got, &msg);
		head->seconds = now.tv_sec;
		head->nanoseconds = now.tv_nsec;
		head->captured = head->length = got;
		if (!write_whole(to, packet, sizeof(*head) + got)) {
			say("capture: %s", strerror(errno));
			_exit(1);
		}
	}
}

/* Packets received are written before the lab ends. */
void capture_stop(void)
{
	if (capturer <= 0)
		return;
	kill(capturer, SIGTERM);
	waitpid(capturer, NULL, 0);
}

void capture_start(const struct job *job)
{
	struct pcap_file head = {
		.magic = 0xa1b23c4d, .major = 2, .minor = 4, .snap = SNAP_BYTES,
		.link_type = 1,
	};
	struct sockaddr_ll all = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int from = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	/* The signal to end may arrive just before it waits. */
	struct timeval look = { .tv_usec = LOOK_MS * 1000 };
	int to = channel_open("capture", O_WRONLY), room = 1 << 26, on = 1;
	struct sigaction action = { .sa_handler = end_when_empty };

	if (from < 0 || to < 0 ||
	    setsockopt(from, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) ||
	    bind(from, (struct sockaddr *)&all, sizeof(all)))
		die("no capture: %s", strerror(errno));
	setsockopt(from, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &look, sizeof(look));
	if (write(to, &head, sizeof(head)) != sizeof(head))
		die("%s: %s", job->pcap, strerror(errno));
	setsockopt(from, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on));
	capturer = must_fork();
	if (!capturer) {
		/* Without SA_RESTART, so that it interrupts a wait. */
		sigaction(SIGTERM, &action, NULL);
		capture(job, from, to);
	}
}
