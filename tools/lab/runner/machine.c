// SPDX-License-Identifier: GPL-2.0
/* The kernel of a lab, in User-Mode Linux or an emulator: its process, its pipes, its shutdown */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

#define MOST_DESCRIPTORS 65536

#ifndef SYS_close_range
#define SYS_close_range	436
#endif

/* Channels that the guest reads */
static const bool guest_reads[N_CHANNELS] = { [ORDERS] = true, [STDIN] = true };

static const char * const usual_arguments[] = {
	"rootfstype=hostfs", "rootflags=/", "ro", "init=/proc/self/cwd/init",
	"quiet", "loglevel=4", "panic=-1", "log_buf_len=1M",
	/* Hosts only see their own devices, and netdevs that were created explicitly. */
	"ib_core.netns_mode=0", "fb_tunnels=none", "bonding.max_bonds=0", "dummy.numdummies=0",
	"kunit.enable=0",
	/* If the machine outside is busy, it is no fault of the kernel. */
	"rcupdate.rcu_cpu_stall_suppress=1", "nowatchdog", "workqueue.watchdog_thresh=0",
	"con=null", "con0=null,fd:1", "ssl=null",
};

void arguments_add(struct arguments *arguments, char *word)
{
	if (arguments->n == ARRAY_SIZE(arguments->words) - 1)
		die("too many words for the kernel");
	arguments->words[arguments->n++] = word;
}

static void kernel_arguments(struct arguments *to, const struct options *options, uint64_t bytes)
{
	unsigned int cpus = processors(options->cpus);
	const char **own = options->append;
	size_t i;

	to->program = "./linux";
	arguments_add(to, "linux");
	arguments_add(to, text("mem=%lluK", (unsigned long long)bytes >> 10));
	arguments_add(to, text("ncpus=%u", cpus));
	arguments_add(to, cpus > 1 ? "seccomp=on" : "seccomp=auto");
	for (i = 0; i < ARRAY_SIZE(usual_arguments); i++)
		arguments_add(to, (char *)usual_arguments[i]);
	/* The kernel's management console is not used, so it has no folder for its socket. Without
	 * our patch it tries to create one: if none can be created, it logs that and continues.
	 */
	arguments_add(to, options->kernel ? "uml_dir=/proc/self/" : "uml_dir=");
	if (options->debug)
		arguments_add(to, "kasan_multi_shot");
	for (; *own; own++)
		arguments_add(to, (char *)*own);
}

/* A debugger that is attached stops at the kernel's first instruction by "tcatch exec". */
static void wait_for_tracer(void)
{
	char *status;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	while ((status = read_text("/proc/self/status")) && strstr(status, "\nTracerPid:\t0\n")) {
		free(status);
		usleep(50000);
	}
}

/* Descriptors from FIRST_CHANNEL on, and the log in place of the caller's output */
static void place_descriptors(const int *theirs, int log)
{
	int moved[N_CHANNELS + 1], i, fd;

	/* Move it away from descriptors that are needed */
	for (i = 0; i <= N_CHANNELS; i++) {
		moved[i] = fcntl(i ? theirs[i - 1] : log, F_DUPFD, FIRST_CHANNEL + N_CHANNELS + 1);
		if (moved[i] < 0) {
			dprintf(log, "cannot start the kernel: open files: %s\n", strerror(errno));
			_exit(127);
		}
	}
	dup2(open("/dev/null", O_RDWR), 0);
	dup2(moved[0], 1);
	dup2(moved[0], 2);
	for (i = 0; i < N_CHANNELS; i++)
		dup2(moved[i + 1], FIRST_CHANNEL + i);
	if (syscall(SYS_close_range, FIRST_CHANNEL + N_CHANNELS, ~0u, 0))
		for (fd = FIRST_CHANNEL + N_CHANNELS; fd < MOST_DESCRIPTORS; fd++)
			close(fd);
}

struct start {
	const char *folder, *temporary;
	const struct arguments *arguments;
	const int *theirs;
	int log;
	pid_t runner;
	bool traced;
};

static void become_kernel(const struct start *start)
{
	char *variables[] = { text("TMPDIR=%s", start->temporary ?: "/tmp"), NULL };

	/* It ends with the runner, whatever ends that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != start->runner)
		_exit(127);
	setsid();
	place_descriptors(start->theirs, start->log);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (start->traced)
		wait_for_tracer();
	/* Never without variables: the kernel finds the end of its stack by them. */
	if (!chdir(start->folder))
		execve(start->arguments->program, start->arguments->words, variables);
	dprintf(1, "cannot start the kernel: %s in %s: %s\n", start->arguments->program,
		start->folder, strerror(errno));
	_exit(127);
}

/* An emulator needs sockets. */
static void make_pipes(struct machine *machine, int *theirs, bool sockets)
{
	int ends[2], i;

	for (i = 0; i < N_CHANNELS; i++) {
		if (!sockets)
			pipe_make(ends);
		else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			die("the machine refuses a socket: %s", strerror(errno));
		machine->ends[i] = ends[guest_reads[i]];
		theirs[i] = ends[!guest_reads[i]];
	}
}

static void must(const char *why)
{
	if (why)
		die("%s", why);
}

void machine_start(struct machine *machine, const struct options *options,
		   const struct message *job)
{
	int theirs[N_CHANNELS], log[2], i;
	struct arguments arguments = {};
	char *folder, *temporary = NULL;
	struct start start;
	uint64_t bytes;

	must(place_find(options, &folder));
	must(place_root(options->root));
	must(memory_size(options->memory, options->debug, &bytes));
	if (options->qemu) {
		emulator_arguments(&arguments, options, job, folder, bytes);
	} else {
		must(memory_folder(bytes, options->kernel, &temporary));
		kernel_arguments(&arguments, options, bytes);
	}
	raise_limits();
	make_pipes(machine, theirs, options->qemu);
	pipe_make(log);
	start = (struct start){
		.folder = folder, .temporary = temporary, .theirs = theirs, .log = log[1],
		.arguments = &arguments, .runner = getpid(), .traced = options->gdb,
	};
	machine->pid = fork();
	if (machine->pid < 0)
		die("this machine lets it start no process: %s", strerror(errno));
	if (!machine->pid)
		become_kernel(&start);
	for (i = 0; i < N_CHANNELS; i++)
		close(theirs[i]);
	close(log[1]);
	machine->log = log[0];
}

/* All of it: the processes of the guest are in the kernel's process group. */
void machine_kill(struct machine *machine)
{
	if (machine->pid <= 0)
		return;
	if (kill(-machine->pid, SIGKILL))
		kill(machine->pid, SIGKILL);
	while (waitpid(machine->pid, NULL, 0) < 0 && errno == EINTR)
		;
	machine->pid = 0;
}
