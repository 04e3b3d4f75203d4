// SPDX-License-Identifier: GPL-2.0
/*
 * A host: a process that is pid 1 of its namespaces (network, mounts, processes, IPC, name), sets
 * them up, and reaps children. Hosts share nothing but the wire and files that are written through,
 * so that MPI and UCX cannot bypass RDMA.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static int ready_fd;

char *host_name(unsigned int number)
{
	return text("%c", 'a' + number);
}

/* Index by name or address; -1: not a host of the lab */
int host_number(const char *name)
{
	unsigned int i;

	for (i = 0; i < LAB_MAX_HOSTS; i++)
		if ((!strcmp(name, host_name(i)) || !strcmp(name, address_of(i, 0))) &&
		    !access(text(LAB_RUN "/hosts/%s", host_name(i)), F_OK))
			return i;
	return -1;
}

static void tell_failure(const char *what)
{
	if (write(ready_fd, what, strlen(what)) < 0)
		say("%s", what);
	_exit(1);
}

static char *device_name(const struct job *job, unsigned int host, unsigned int device)
{
	return text("roce%u", host * job->devices + device);
}

static char *all_of(const struct job *job, char *(*each)(unsigned int host))
{
	char *all = "";
	unsigned int i;

	for (i = 0; i < job->hosts; i++)
		all = text("%s%s%s", all, i ? " " : "", each(i));
	return all;
}

static char *first_address(unsigned int host)
{
	return address_of(host, 0);
}

/* Variables that differ between hosts, for all processes started in this one */
static void write_environment(const struct job *job, unsigned int host)
{
	char *devices = "", *first = device_name(job, host, 0), *name = host_name(host), *all;
	unsigned int i;
	int v1 = gid_index(first, "IB/RoCE v1", address_of(host, 0));
	int v2 = gid_index(first, "RoCE v2", address_of(host, 0));

	for (i = 0; i < job->devices; i++)
		devices = text("%s%s%s", devices, i ? " " : "", device_name(job, host, i));
	all = text("ROCE_LAB_HOST=%s\nROCE_LAB_HOSTS=%s\nROCE_LAB_DEVICE=%s\n"
		   "ROCE_LAB_DEVICES=%s\nROCE_LAB_NETDEV=eth0\nROCE_LAB_ADDRESS=%s\n"
		   "ROCE_LAB_ADDRESSES=%s\nROCE_LAB_ADDRESS6=%s\n"
		   "ROCE_LAB_HOSTFILE=" LAB_RUN "/hostfile\n", name, all_of(job, host_name),
		   first, devices, address_of(host, 0), all_of(job, first_address),
		   address6_of(host, 0));
	if (v1 >= 0)
		all = text("%sROCE_LAB_GID_INDEX_V1=%d\n", all, v1);
	if (v2 >= 0)
		all = text("%sROCE_LAB_GID_INDEX_V2=%d\n", all, v2);
	if (!write_file(text(LAB_RUN "/hosts/%s.env", name), "%s", all))
		die("%s: %s", name, strerror(errno));
}

/* Enable or disable link-local addresses of netdevs, including future ones */
static void set_link_local(const struct job *job, bool on)
{
	unsigned int i;

	write_file("/proc/sys/net/ipv6/conf/default/addr_gen_mode", on ? "0" : "1");
	for (i = 0; on && i < job->devices; i++) {
		write_file(text("/proc/sys/net/ipv6/conf/eth%u/addr_gen_mode", i), "0");
		if (job->vlan)
			write_file(text("/proc/sys/net/ipv6/conf/eth%u.%u/addr_gen_mode", i,
					job->vlan), "0");
	}
}

/*
 * If an address is as old as the device, its event may arrive while the device has no default GID
 * yet, or be missed (7.3): then its index would differ from lab to lab. So addresses are added to a
 * netdev one after the other, once its device has a GID table.
 */
static void add_devices(const struct job *job, unsigned int host, struct netlink *outside,
			struct netlink *initial, int outside_ns)
{
	int own_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct netlink route, rdma;
	char *name;
	unsigned int i;
	int index;

	netlink_open(&route, NETLINK_ROUTE);
	netlink_open(&rdma, NETLINK_RDMA);
	loopback_up(&route);
	write_file("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
	write_file("/proc/sys/net/ipv6/conf/all/accept_dad", "0");
	write_file("/proc/sys/net/ipv6/conf/default/router_solicitations", "0");
	write_file("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
	set_link_local(job, false);
	for (i = 0; i < job->devices; i++) {
		name = device_name(job, host, i);
		index = port_add(outside, outside_ns, &route, job, host, i);
		device_add(job, initial, outside_ns, &rdma, own_ns, name, text("eth%u", i));
		device_wait(job, name, address_of(host, i),
			    port_give_addresses(job, &route, index, host, i));
	}
	set_link_local(job, true);
}

static void reap_for_ever(void)
{
	/* A pid 1 does not receive signals that it has no handler for. */
	for (;;)
		if (wait(NULL) < 0)
			pause();
}

static void child_ended(int signal)
{
	(void)signal;
}

static void host_main(const struct job *job, unsigned int host)
{
	int outside_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), pid_file;
	struct netlink outside, initial;
	char *name = host_name(host);
	pid_t pid;

	die_hook = tell_failure;
	netlink_open(&outside, NETLINK_ROUTE);
	netlink_open(&initial, NETLINK_RDMA);
	/* The child later mounts something else over /run. */
	pid_file = open(text(LAB_RUN "/hosts/%s", name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	/* siw supports the initial network namespace only: its one host is there. */
	if (unshare((strcmp(job->driver, "siw") ? CLONE_NEWNET : 0) | CLONE_NEWNS |
		    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWPID))
		die("no namespaces: %s", strerror(errno));
	pid = must_fork();
	if (pid) {
		dprintf(pid_file, "%d", pid);
		_exit(0);
	}
	if (sethostname(name, strlen(name)))
		die("sethostname: %s", strerror(errno));
	files_of_host(job);
	add_devices(job, host, &outside, &initial, outside_ns);
	write_environment(job, host);
	signal(SIGCHLD, child_ended);
	close(reports_fd);
	if (write(ready_fd, "", 1) < 0)
		_exit(1);
	close(ready_fd);
	reap_for_ever();
}

static void start(const struct job *job, unsigned int host, int *ready, pid_t *pid)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die("pipe: %s", strerror(errno));
	*pid = must_fork();
	if (!*pid) {
		close(ends[0]);
		ready_fd = ends[1];
		host_main(job, host);
	}
	close(ends[1]);
	*ready = ends[0];
}

void hosts_start(const struct job *job)
{
	int ready[LAB_MAX_HOSTS];
	pid_t pid[LAB_MAX_HOSTS];
	unsigned int i;
	char *hostfile = "", *said;

	for (i = 0; i < job->hosts; i++) {
		hostfile = text("%s%s\n", hostfile, host_name(i));
		start(job, i, &ready[i], &pid[i]);
	}
	write_file(LAB_RUN "/hostfile", "%s", hostfile);
	for (i = 0; i < job->hosts; i++) {
		waitpid(pid[i], NULL, 0);
		if (!read_all(ready[i], &said))
			die("host %s ended", host_name(i));
		if (*said)
			die("%s", said);
		close(ready[i]);
	}
}

/* The caller's children are in that host. */
void host_enter(const char *name)
{
	static const char * const kinds[] = { "ipc", "uts", "net", "pid", "mnt" };
	char *pid = read_text(text(LAB_RUN "/hosts/%s", name));
	int fd[5];
	size_t i;

	if (!pid)
		die("no host %s: %s", name, strerror(errno));
	for (i = 0; i < 5; i++) {
		fd[i] = open(text(LAB_RUN "/private/proc/%s/ns/%s", pid, kinds[i]),
			     O_RDONLY | O_CLOEXEC);
		if (fd[i] < 0)
			die("host %s: %s", name, strerror(errno));
	}
	for (i = 0; i < 5; i++)
		if (setns(fd[i], 0))
			die("host %s: its %s namespace: %s", name, kinds[i], strerror(errno));
}

void host_environment(const char *name)
{
	char *all = read_text(text(LAB_RUN "/hosts/%s.env", name));
	char **line;

	unsetenv("ROCE_LAB_GID_INDEX_V1");
	unsetenv("ROCE_LAB_GID_INDEX_V2");
	for (line = all ? split(all, "\n") : NULL; line && *line; line++)
		putenv(*line);
}

/* --- memory that its programs may lock: unlimited, or as set by "lab fault" -------- */

static char *memlock_file(const char *name)
{
	return text(LAB_RUN "/hosts/%s.memlock", name);
}

static rlim_t read_memlock(const char *name)
{
	char *said = read_text(memlock_file(name));

	return said ? strtoull(said, NULL, 10) : RLIM_INFINITY;
}

/* For this process and its children */
void host_set_memlock(const char *name)
{
	rlim_t bytes = read_memlock(name);
	struct rlimit limit = { bytes, bytes };

	setrlimit(RLIMIT_MEMLOCK, &limit);
}

static bool parse_size(const char *value, rlim_t *bytes)
{
	static const char units[] = "kmg";
	const char *unit;
	char *end;

	if (!strcmp(value, "unlimited")) {
		*bytes = RLIM_INFINITY;
		return true;
	}
	*bytes = strtoull(value, &end, 10);
	if (end == value || *value == '-')
		return false;
	unit = *end ? strchr(units, *end | 0x20) : NULL;
	if (unit)
		*bytes <<= 10 * (unit - units + 1);
	return !*end || (unit && !end[1]);
}

/* All processes that run there now */
static void limit_running(const char *name, rlim_t bytes)
{
	char *processes = LAB_RUN "/private/proc", *pid = read_text(text(LAB_RUN "/hosts/%s", name));
	char own[64] = "", its[64];
	struct rlimit limit = { bytes, bytes };
	struct dirent *entry;
	DIR *all = opendir(processes);

	if (!all || !pid || readlink(text("%s/%s/ns/ipc", processes, pid), own, sizeof(own) - 1) < 0)
		die("no host %s: %s", name, strerror(errno));
	while ((entry = readdir(all))) {
		memset(its, 0, sizeof(its));
		if (readlink(text("%s/%s/ns/ipc", processes, entry->d_name), its,
			     sizeof(its) - 1) > 0 && !strcmp(own, its))
			prlimit(atoi(entry->d_name), RLIMIT_MEMLOCK, &limit, NULL);
	}
	closedir(all);
}

/* False if it is not a valid size */
bool host_limit_memlock(const char *name, const char *value)
{
	rlim_t bytes;

	if (!parse_size(value, &bytes))
		return false;
	if (!write_file(memlock_file(name), "%llu", (unsigned long long)bytes))
		die("%s: %s", memlock_file(name), strerror(errno));
	limit_running(name, bytes);
	return true;
}
