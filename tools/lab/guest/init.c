// SPDX-License-Identifier: GPL-2.0
/*
 * pid 1 of a lab. User-Mode Linux finds it through the runner's current folder, which has the lab's
 * programs, whatever its name: the root is the host's, and there /proc/self/cwd is a link to it
 * until the guest mounts a /proc of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker.h"
#include "guest.h"
#include "run.h"

static void install_launcher(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	const char *path = LAB_RUN "/bin/lab";
	size_t size;
	char *all;

	mkdir(LAB_RUN "/bin", 0755);
	to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	if (from < 0 || to < 0)
		die("%s: %s", path, strerror(errno));
	size = read_all(from, &all);
	if (write(to, all, size) != (ssize_t)size || symlink("lab", LAB_RUN "/bin/lab-rsh"))
		die("%s: %s", path, strerror(errno));
	free(all);
	close(from);
	close(to);
}

static void set_wires(const struct job *job)
{
	struct wire wire = { .ecn = job->ecn, .seed_set = job->seed_set };
	const struct { const char *what, *value; } given[] = {
		{ "loss", job->loss }, { "delay", job->delay }, { "rate", job->rate },
	};
	unsigned int i, host, device;
	const char *wrong;
	int ret;

	for (i = 0; i < 3; i++) {
		wrong = given[i].value ? wire_parse(&wire, given[i].what, given[i].value) : NULL;
		if (wrong)
			die("--%s %s: %s", given[i].what, given[i].value, wrong);
	}
	for (host = 0; host < job->hosts; host++)
		for (device = 0; device < job->devices; device++) {
			/* Each port has its own sequence */
			wire.seed = job->seed * 1000003ull + host * LAB_MAX_DEVICES + device;
			ret = wire_set(port_name(host, device), &wire);
			if (ret)
				die("the switch's port to %s: %s", host_name(host),
				    strerror(-ret));
		}
	write_file(LAB_RUN "/wire", "%s\n%s\n%s\n%d %d %u\n", job->loss ? job->loss : "0",
		   job->delay ? job->delay : "0", job->rate ? job->rate : "0", job->ecn,
		   job->seed_set, job->seed);
}

/* A switch sends nothing itself: random loss and captures only concern the hosts' packets. */
static void silence(const char *netdev)
{
	write_file(text("/proc/sys/net/ipv6/conf/%s/disable_ipv6", netdev), "1");
}

static void silence_switches(const struct job *job)
{
	unsigned int host, device;

	for (device = 0; device < job->devices; device++) {
		silence(text("sw%u", device));
		for (host = 0; host < job->hosts; host++)
			silence(port_name(host, device));
	}
}

static void set_limits(void)
{
	write_file("/proc/sys/kernel/core_pattern", "core");
	write_file("/proc/sys/kernel/dmesg_restrict", "0");
	write_file("/proc/sys/kernel/yama/ptrace_scope", "0");
	/* Raise it to the maximum: a caller's limit may exceed the kernel's initial one. */
	write_file("/proc/sys/fs/nr_open", "%u", INT_MAX & -64);
}

/* The kernel passes words of its command line that it does not know. */
static bool is_init(const char *name)
{
	const char *slash = getpid() == 1 ? strrchr(name, '/') : NULL;

	return slash && !strcmp(slash, "/init");
}

int main(int argc, char **argv)
{
	const char *programs;
	struct job *job;
	unsigned int i;
	int orders;

	if (!is_init(argv[0]))
		return lab_main(argc, argv);
	programs = boot();
	files_first();
	if (!programs)
		die("hostfs shows no /proc/self/cwd");
	if (!emulated)
		module_insert(text("%s/modules/lab_channel.ko", programs), "");
	reports_fd = channel_open("reports", O_WRONLY);
	orders = channel_open("orders", O_RDONLY);
	job = job_read(orders);
	channels_start(job);
	install_launcher();
	files_writable(job);
	files_etc(job);
	files_modules(text("%s/lib/modules", programs));
	set_limits();
	modules_load(text("%s/modules", programs), job);
	for (i = 0; i < job->devices; i++)
		switch_add(i, job->mtu);
	hosts_start(job);
	silence_switches(job);
	set_wires(job);
	if (job->pcap)
		capture_start(job);
	if (job->trace)
		trace_start(job);
	modules_insert(programs, job->modules);
	broker_start();
	report("ready", "1");
	run_job(job, orders);
	power_off();
}
