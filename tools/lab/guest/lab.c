// SPDX-License-Identifier: GPL-2.0
/*
 * The commands "lab" and "lab-rsh" inside a lab.
 *
 *	lab HOST COMMAND...		run a command on another host
 *	lab --root [HOST] COMMAND...	the same as root of the lab
 *	lab set HOST WHAT [VALUE]	change the wire of a host: loss, delay, rate, up, down
 *	lab unplug HOST			remove its RDMA device, as an unplugged adapter's
 *	lab fault HOST memlock=SIZE	how much memory its programs may lock
 *	lab-rsh [OPTIONS] HOST WORDS	as rsh and ssh have it, for MPI's launchers
 *
 * A process cannot move to another host, whose processes are no descendants of its own
 * PID namespace; the broker (broker.c) starts the command there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker.h"
#include "guest.h"

/* roce-lab itself, as in "roce-lab run" */
#define FAILED	125

extern char **environ;

static int broker = -1;

static void fail(const char *what)
{
	dprintf(2, "lab: %s\n", what);
	_exit(FAILED);
}

static void usage(void)
{
	dprintf(2, "usage: lab HOST COMMAND...             run a command on a host\n"
		"       lab --root [HOST] COMMAND...    the same as root of the lab\n"
		"       lab set HOST loss|delay|rate VALUE\n"
		"       lab set HOST up|down            its cable\n"
		"       lab unplug HOST                 its RDMA device goes\n"
		"       lab fault HOST memlock=SIZE     what its programs may lock, such as\n"
		"                                       64k; unlimited, as it is at first\n");
	_exit(2);
}

static void send_text(const char *what)
{
	size_t left = strlen(what) + 1;
	ssize_t done;

	for (; left; what += done, left -= done) {
		done = send(broker, what, left, MSG_NOSIGNAL);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (done < 0)
			fail(text("the broker: %s", strerror(errno)));
	}
}

static void pass_on(int number)
{
	char order[32];
	int size = snprintf(order, sizeof(order), "signal=%d", number);

	if (send(broker, order, size + 1, MSG_NOSIGNAL) < 0)
		_exit(128 + number);
}

static void pass_signals_on(void)
{
	static const int passed[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_handler = pass_on, .sa_flags = SA_RESTART }, old;
	size_t i;

	for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (!sigaction(passed[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(passed[i], &action, NULL);
}

static void connect_broker(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = BROKER_SOCKET };

	broker = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (broker < 0 || connect(broker, (struct sockaddr *)&name, sizeof(name)))
		fail(text("not in a lab (%s: %s)", BROKER_SOCKET, strerror(errno)));
}

/* The standard streams are passed with the first byte. */
static void send_streams(void)
{
	char control[CMSG_SPACE(3 * sizeof(int))] = {}, byte = 0;
	struct iovec io = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	int streams[3] = { 0, 1, 2 };

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(streams));
	memcpy(CMSG_DATA(head), streams, sizeof(streams));
	if (sendmsg(broker, &msg, MSG_NOSIGNAL) < 0)
		fail(text("its standard streams: %s", strerror(errno)));
}

static int wait_for_end(void)
{
	char *said = next_order(broker);

	if (!said)
		fail("the command's host has ended");
	if (!strncmp(said, "exit=", 5))
		return atoi(said + 5);
	if (!strncmp(said, "signalled=", 10))
		return 128 + atoi(said + 10);
	fail(strchr(said, '=') ? strchr(said, '=') + 1 : said);
	return FAILED;
}

/* host: NULL for the initial namespaces, with the switch */
static int run_on(const char *host, char **argv, bool as_root)
{
	char *folder = getcwd(NULL, 0), **variable;
	mode_t mask = umask(0);

	connect_broker();
	send_streams();
	if (host)
		send_text(text("host=%s", host));
	send_text(text("cwd=%s", folder ? folder : "/"));
	send_text(text("umask=%u", mask));
	send_text(text("root=%d", as_root));
	for (variable = environ; *variable; variable++)
		send_text(text("env=%s", *variable));
	for (; *argv; argv++)
		send_text(text("arg=%s", *argv));
	send_text("");
	pass_signals_on();
	return wait_for_end();
}

static const char *must_be_host(const char *name)
{
	const char *at = strrchr(name, '@');
	int number = host_number(at ? at + 1 : name);

	if (number < 0)
		fail(text("no host %s in this lab (%s)", name,
			  getenv("ROCE_LAB_HOSTS") ? getenv("ROCE_LAB_HOSTS") : "see lab"));
	return host_name(number);
}

/* Current settings of a port's wire: a line each, starting with the initial ones */
static void wire_now(const char *path, struct wire *wire, char **values)
{
	static const char * const names[] = { "loss", "delay", "rate" };
	char *now = read_text(path);
	unsigned int ecn = 0, seed_set = 0, seed = 0, i;
	char **lines;

	if (!now)
		now = read_text(LAB_RUN "/wire");
	lines = split(now ? now : text("0\n0\n0\n0 0 0"), "\n");
	for (i = 0; i < 3; i++) {
		values[i] = lines[i];
		wire_parse(wire, names[i], lines[i]);
	}
	values[3] = lines[3];
	sscanf(lines[3], "%u %u %u", &ecn, &seed_set, &seed);
	wire->ecn = ecn;
	wire->seed_set = seed_set;
	wire->seed = seed * 1000003ull;
}

static void set_port(unsigned int host, unsigned int device, const char *what, const char *value)
{
	char *values[4], *port = port_name(host, device), *path = text(LAB_RUN "/wire.%s", port);
	struct wire wire = {};
	const char *wrong;
	int ret;

	if (!strcmp(what, "up") || !strcmp(what, "down")) {
		ret = port_up(port, !strcmp(what, "up"));
	} else {
		wire_now(path, &wire, values);
		wire.seed += host * LAB_MAX_DEVICES + device;
		wrong = wire_parse(&wire, what, value ? value : "");
		if (wrong)
			fail(wrong);
		values[*what == 'l' ? 0 : *what == 'd' ? 1 : 2] = (char *)value;
		/* This process may be killed meanwhile. */
		write_file(LAB_RUN "/wire.new", "%s\n%s\n%s\n%s\n", values[0], values[1],
			   values[2], values[3]);
		rename(LAB_RUN "/wire.new", path);
		ret = wire_set(port, &wire);
	}
	if (ret)
		fail(strerror(-ret));
}

/* Those of all its devices; one process at a time, until it ends */
static void set_wire(const char *host, const char *what, const char *value)
{
	unsigned int number = host_number(host), device;

	flock(open(LAB_RUN "/wire", O_RDONLY | O_CLOEXEC), LOCK_EX);
	for (device = 0; device < LAB_MAX_DEVICES; device++)
		/* If asked by name for a device that does not exist, the kernel starts modprobe. */
		if (!access(text("/sys/class/net/%s", port_name(number, device)), F_OK))
			set_port(number, device, what, value);
}

static void unplug(const char *host)
{
	struct netlink nl;
	char *device;
	int ret;

	host_enter(host);
	host_environment(host);
	device = getenv("ROCE_LAB_DEVICE");
	netlink_open(&nl, NETLINK_RDMA);
	ret = device_remove(&nl, device);
	if (ret)
		fail(text("%s: %s", device, strerror(-ret)));
}

static void fault(const char *host, const char *what)
{
	const char *value = strchr(what, '=');

	if (!value || strncmp(what, "memlock=", 8))
		fail("memlock=SIZE is the fault that there is");
	if (!host_limit_memlock(host, value + 1))
		fail(text("%s: a size such as 64k, or unlimited", what));
}

/* Changes of the lab itself are made by this program as root in the initial namespaces. */
static int as_operator(char **argv)
{
	char *words[] = { LAB_RUN "/bin/lab", "--operator", argv[1], argv[2], argv[3],
			  argv[3] ? argv[4] : NULL, NULL };

	return run_on(NULL, words, true);
}

static int operate(char **argv)
{
	if (!strcmp(argv[0], "set"))
		set_wire(argv[1], argv[2], argv[3]);
	else if (!strcmp(argv[0], "fault"))
		fault(argv[1], argv[2]);
	else
		unplug(argv[1]);
	return 0;
}

/* As for rsh: options, the host, and words for a shell there */
static int rsh(int argc, char **argv)
{
	char *shell[] = { "/bin/sh", "-c", "", NULL };
	int at, i;

	for (at = 1; at < argc && argv[at][0] == '-'; at++)
		if (strchr("lopFi", argv[at][1]) && !argv[at][2])
			at++;
	if (at + 1 >= argc)
		fail("lab-rsh: a host and a command are needed");
	for (i = at + 1; i < argc; i++)
		shell[2] = text("%s%s%s", shell[2], i > at + 1 ? " " : "", argv[i]);
	return run_on(must_be_host(argv[at]), shell, false);
}

static int run_as_root(int argc, char **argv)
{
	if (argc > 2 && host_number(argv[1]) >= 0)
		return run_on(must_be_host(argv[1]), argv + 2, true);
	if (argc < 2 || !getenv("ROCE_LAB_HOST"))
		usage();
	return run_on(must_be_host(getenv("ROCE_LAB_HOST")), argv + 1, true);
}

int lab_main(int argc, char **argv)
{
	const char *self = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	const char *word = argc > 1 ? argv[1] : "";

	open_missing_streams();
	die_hook = fail;
	if (!strcmp(self, "lab-rsh"))
		return rsh(argc, argv);
	if (!strcmp(word, "--operator") && !geteuid())
		return operate(argv + 2);
	if (!strcmp(word, "--root"))
		return run_as_root(argc - 1, argv + 1);
	if (argc < 3)
		usage();
	if ((!strcmp(word, "set") && argc >= 4) || (!strcmp(word, "fault") && argc == 4) ||
	    (!strcmp(word, "unplug") && argc == 3)) {
		argv[2] = (char *)must_be_host(argv[2]);
		return as_operator(argv);
	}
	return run_on(must_be_host(argv[1]), argv + 2, false);
}
