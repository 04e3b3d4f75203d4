// SPDX-License-Identifier: GPL-2.0
/* A ConnectX adapter in software, for a virtual machine over vfio-user. */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "caps.h"
#include "control.h"
#include "device.h"
#include "trace.h"

#define NS_PER_MS	1000000

static bool once;
static volatile sig_atomic_t told_to_end;
static const char *wires[MAX_DEVICES];
static const char *first_ports[MAX_DEVICES];	/* by the index of the second */
static const char *physical[MAX_DEVICES];	/* by the index of the virtual function */

static const char usage[] =
"usage: connectx-model --device SOCKET[,wire=WIRE][,mac=MAC] ... [option ...]\n"
"\n"
"  --device SOCKET   serve an adapter on this UNIX socket (up to 4 times)\n"
"      port2-of=N          the second port of the adapter that N is the first of\n"
"      virtual             a virtual function\n"
"      virtual-of=N        a virtual function of the adapter that N is the function of\n"
"      switch              the function manages a switch without other functions\n"
"      wire=none           nothing connected (the default)\n"
"      wire=udp:LOCAL:REMOTE   frames in UDP datagrams on 127.0.0.1\n"
"      wire=unix:LOCAL:REMOTE  frames in datagrams of UNIX sockets\n"
"      wire=tap:NAME       a tap device\n"
"      wire=join:N         back to back with adapter N of this process\n"
"  --control PATH    control socket, JSON lines\n"
"  --trace WORDS     command,field,wqe,cqe,packet,doorbell,note or all\n"
"  --trace-file PATH where traces go (default: standard error)\n"
"  --pcap PATH       record all frames\n"
"  --loss PPM, --reorder PPM, --corrupt PPM, --mark PPM   faults of the wire\n"
"  --without WORDS   what the adapters lack (before --device): roce-v1, free-running,\n"
"                    umr-page-size, umr-atomic, umr-offset, atomic-order, lag-affinity,\n"
"                    q-counters, out-of-sequence, retransmissions, errors, traffic,\n"
"                    many-reads\n"
"  --with WORDS      what they have besides (before --device): page-rights,\n"
"                    relaxed-write, relaxed-read, relaxed-umr, ats, small-fence, no-fence,\n"
"                    scatter-cqe, rates, error-reason, short-reads, long-lists,\n"
"                    dcb, extended-atomics, lag-elsewhere\n"
"  --strict          end at the first violation of the protocol by a driver\n"
"  --once            end when the last guest has gone\n";

static bool parse_mac(const char *text, u8 mac[MAC_BYTES])
{
	return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx", &mac[0], &mac[1], &mac[2],
		      &mac[3], &mac[4], &mac[5]) == MAC_BYTES;
}

static void make_virtual(struct device *dev)
{
	dev->pci.is_virtual = true;
	dev->vport.is_virtual = true;
	pci_init(&dev->pci);
	device_reset(dev);
}

static bool device_setting(struct device *dev, const char *setting)
{
	u8 mac[MAC_BYTES];

	if (!strncmp(setting, "wire=", 5)) {
		wires[dev->index] = setting + 5;
		return true;
	}
	if (!strcmp(setting, "virtual")) {
		make_virtual(dev);
		return true;
	}
	if (!strncmp(setting, "virtual-of=", 11)) {
		make_virtual(dev);
		physical[dev->index] = setting + 11;
		return true;
	}
	if (!strcmp(setting, "switch")) {
		dev->has_switch = true;
		device_reset(dev);
		return true;
	}
	if (!strncmp(setting, "port2-of=", 9)) {
		first_ports[dev->index] = setting + 9;
		return true;
	}
	if (!strncmp(setting, "mac=", 4) && parse_mac(setting + 4, mac)) {
		vport_init(&dev->vport, mac);
		return true;
	}
	fprintf(stderr, "connectx-model: %s: not understood\n", setting);
	return false;
}

static bool add_device(char *text)
{
	char *socket = strtok(text, ","), *setting;
	struct device *dev;
	int error;

	if (device_count == MAX_DEVICES || !socket)
		return false;
	dev = zalloc(sizeof(*dev));
	device_init(dev, device_count);
	devices[device_count++] = dev;
	while ((setting = strtok(NULL, ",")) != NULL)
		if (!device_setting(dev, setting))
			return false;
	error = vfio_user_listen(&dev->guest, socket);
	if (error)
		fprintf(stderr, "connectx-model: %s: %s\n", socket, strerror(-error));
	return !error;
}

static struct impairment impairment;

enum { OPT_DEVICE = 1, OPT_CONTROL, OPT_TRACE, OPT_TRACE_FILE, OPT_PCAP, OPT_LOSS, OPT_REORDER,
       OPT_CORRUPT, OPT_MARK, OPT_WITHOUT, OPT_WITH, OPT_STRICT, OPT_ONCE, OPT_HELP };

static const struct option options[] = {
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "trace", required_argument, NULL, OPT_TRACE },
	{ "trace-file", required_argument, NULL, OPT_TRACE_FILE },
	{ "pcap", required_argument, NULL, OPT_PCAP },
	{ "loss", required_argument, NULL, OPT_LOSS },
	{ "reorder", required_argument, NULL, OPT_REORDER },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "mark", required_argument, NULL, OPT_MARK },
	{ "without", required_argument, NULL, OPT_WITHOUT },
	{ "with", required_argument, NULL, OPT_WITH },
	{ "strict", no_argument, NULL, OPT_STRICT },
	{ "once", no_argument, NULL, OPT_ONCE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static bool take_ppm(u32 *ppm)
{
	char *end;

	*ppm = strtoul(optarg, &end, 10);
	return end != optarg && !*end && *ppm <= 1000000;
}

static bool take_option(int option)
{
	switch (option) {
	case OPT_DEVICE:
		return add_device(optarg);
	case OPT_CONTROL:
		return control_listen(optarg);
	case OPT_TRACE:
		return trace_parse(optarg);
	case OPT_TRACE_FILE:
		trace_open(optarg);
		return true;
	case OPT_PCAP:
		return pcap_open(optarg);
	case OPT_LOSS:
		return take_ppm(&impairment.loss_ppm);
	case OPT_REORDER:
		return take_ppm(&impairment.reorder_ppm);
	case OPT_CORRUPT:
		return take_ppm(&impairment.corrupt_ppm);
	case OPT_MARK:
		return take_ppm(&impairment.mark_ppm);
	case OPT_WITHOUT:
	case OPT_WITH:
		return caps_choose(optarg, option == OPT_WITHOUT);
	case OPT_STRICT:
		trace_strict = true;
		return true;
	case OPT_ONCE:
		once = true;
		return true;
	}
	return false;
}

static bool connect_wires(void)
{
	u32 i;

	for (i = 0; i < device_count; i++) {
		devices[i]->port.impairment = impairment;
		if (wires[i] && !port_connect(&devices[i]->port, wires[i]))
			return false;
	}
	return true;
}

/*
 * Join each adapter to the one named for it by an option, or report why not.
 * @named: by index of the joined one; @option: its name
 */
static bool join_named(const char *const *named, const char *option, const char *refusal,
		       bool (*join)(struct device *first, struct device *second))
{
	u32 i, first;

	for (i = 0; i < device_count; i++) {
		if (!named[i])
			continue;
		first = strtoul(named[i], NULL, 10);
		if (first >= device_count || !join(devices[first], devices[i])) {
			fprintf(stderr, "connectx-model: %s=%s: %s\n", option, named[i], refusal);
			return false;
		}
	}
	return true;
}

/* Functions of one adapter have its system image GUID. */
static bool join_function(struct device *first, struct device *second)
{
	if (first->pci.is_virtual)
		return false;
	memcpy(second->vport.adapter_mac, first->vport.mac, MAC_BYTES);
	vport_reset(&second->vport);
	return true;
}

static bool join_devices(void)
{
	return join_named(first_ports, "port2-of", "no such adapter, or taken", lag_pair) &&
	       join_named(physical, "virtual-of", "no such function, or virtual", join_function);
}

/* File descriptors of poll(): for each adapter its guest and its wire, then control. */
#define MAX_FDS	(2 * MAX_DEVICES + 1 + CONTROL_CLIENTS)

static u32 collect(struct pollfd *fds)
{
	struct vfio_user *guest;
	u32 i;

	for (i = 0; i < device_count; i++) {
		guest = &devices[i]->guest;
		fds[2 * i] = (struct pollfd){ .fd = guest->fd >= 0 ? guest->fd : guest->listen_fd,
					      .events = POLLIN };
		fds[2 * i + 1] = (struct pollfd){ .fd = devices[i]->port.fd, .events = POLLIN };
	}
	return 2 * device_count + control_poll(fds + 2 * device_count);
}

static void serve_guest(struct device *dev)
{
	if (dev->guest.fd < 0) {
		vfio_user_accept(&dev->guest);
		return;
	}
	if (vfio_user_serve(&dev->guest))
		return;
	trace_note("dev%u: the guest has gone", dev->index);
	device_reset(dev);
	vfio_user_hang_up(&dev->guest);
}

static bool any_guest(void)
{
	u32 i;

	for (i = 0; i < device_count; i++)
		if (devices[i]->guest.fd >= 0)
			return true;
	return false;
}

/*
 * Return: how long poll() may sleep, in milliseconds. Called last: the work of one adapter sets
 * timers, and sends frames to another one.
 */
static int work(void)
{
	int64_t wait;
	u32 i;

	timers_run();
	for (i = 0; i < device_count; i++)
		device_work(devices[i]);
	for (i = 0; i < device_count; i++)
		if (device_has_work(devices[i]))
			return 0;
	wait = timers_wait_ns();
	return wait < 0 ? -1 : (int)((wait + NS_PER_MS - 1) / NS_PER_MS);
}

static void end(int number)
{
	(void)number;
	told_to_end = 1;
}

/* If there are any, a driver was active. */
static void sum_up(void)
{
	u64 commands = 0;
	u32 i, row;

	for (i = 0; i < device_count; i++)
		for (row = 0; row < COMMAND_ROWS_MAX; row++)
			commands += devices[i]->counters.work.commands[row];
	fprintf(stderr, "connectx-model: %llu commands, %llu violations of the protocol\n",
		(unsigned long long)commands, (unsigned long long)violation_count());
}

static void run(void)
{
	struct pollfd fds[MAX_FDS];
	bool had_guest = false;
	u32 count, i;
	int wait;

	while (!told_to_end && (!once || !had_guest || any_guest())) {
		wait = work();
		count = collect(fds);
		if (poll(fds, count, wait) < 0)
			continue;
		for (i = 0; i < device_count; i++) {
			if (fds[2 * i].revents)
				serve_guest(devices[i]);
			if (fds[2 * i + 1].revents)
				port_readable(&devices[i]->port);
		}
		control_serve(fds + 2 * device_count, count - 2 * device_count);
		had_guest |= any_guest();
	}
}

int main(int argc, char **argv)
{
	const struct sigaction ending = { .sa_handler = end };
	int option;

	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &ending, NULL);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (!take_option(option)) {
			fputs(usage, option == OPT_HELP ? stdout : stderr);
			return option == OPT_HELP ? 0 : 2;
		}
	}
	if (!device_count || optind < argc) {
		fputs(usage, stderr);
		return 2;
	}
	if (!join_devices() || !connect_wires())
		return 1;
	run();
	sum_up();
	return 0;
}
