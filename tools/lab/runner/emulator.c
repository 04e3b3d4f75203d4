// SPDX-License-Identifier: GPL-2.0
/*
 * "roce-lab run --qemu": the kernel of a distribution in the machine's qemu-system, with KVM if it
 * works. The root and folders that are written through come over 9p, with the caller's rights;
 * channels are ports of a virtio console (../guest/channel.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

#define DEFAULT_PROCESSORS	2
#define KVM_LIMIT_S		5
/* Each is a device on a bus with 32 slots. */
#define MOST_FOLDERS		20

/* "arch" is Debian's and virtme-ng's name, "machine" the kernel's */
static const struct target {
	const char *arch, *machine, *program, *package, *board, *processor, *console, *emulation;
} targets[] = {
	/* When x86 processors are emulated in parallel, they may execute the breakpoints by which
	 * the kernel patches its code after these have been removed.
	 */
	{ "amd64", "x86_64", "qemu-system-x86_64", "qemu-system-x86", "q35", "max", "ttyS0",
	  "tcg,thread=single" },
	{ "arm64", "aarch64", "qemu-system-aarch64", "qemu-system-arm", "virt", "max", "ttyAMA0",
	  "tcg" },
};

static const char * const port_names[N_CHANNELS] = {
	[ORDERS] = "orders", [REPORTS] = "reports", [STDIN] = "stdin", [STDOUT] = "stdout",
	[STDERR] = "stderr", [CAPTURE] = "capture", [TRACE] = "trace",
};

static bool is_native(const struct target *target)
{
	struct utsname name;

	return !uname(&name) && !strcmp(name.machine, target->machine);
}

/* NULL: there is none of that name, or, without a name, of this machine's */
static const struct target *find_target(const char *arch)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(targets); i++)
		if (arch ? !strcmp(arch, targets[i].arch) || !strcmp(arch, targets[i].machine) :
			   is_native(&targets[i]))
			return &targets[i];
	return NULL;
}

static const char *in_path(const char *program)
{
	char **folder = split(text("%s", getenv("PATH") ?: "/usr/bin:/bin"), ":"), *path;

	for (; *folder; folder++) {
		path = realpath(text("%s/%s", *folder, program), NULL);
		if (path && !access(path, X_OK))
			return path;
	}
	return NULL;
}

/* The emulator's path and Debian's name of the architecture; or the reason why there is none. */
const char *emulator_find(const char *wanted, const char **program, const char **arch)
{
	const struct target *target = find_target(wanted);

	if (!target)
		return wanted ? text("--arch %s: there are amd64 and arm64", wanted) :
				"--qemu: for this machine there is no kernel (--arch)";
	*arch = target->arch;
	*program = in_path(target->program);
	if (!*program)
		return text("--qemu: %s is not installed: apt-get install %s", target->program,
			    target->package);
	return NULL;
}

/* A machine that is told to quit before it starts */
static void try_machine(const char *program, const struct target *target)
{
	static const char quit[] = "quit\n";
	int ends[2], nowhere = open("/dev/null", O_RDWR);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pipe(ends) || write(ends[1], quit, strlen(quit)) < 0)
		_exit(127);
	dup2(ends[0], 0);
	dup2(nowhere, 1);
	dup2(nowhere, 2);
	execl(program, target->program, "-accel", "kvm", "-machine", target->board, "-cpu",
	      target->processor, "-nodefaults", "-no-user-config", "-display", "none", "-S",
	      "-monitor", "stdio", NULL);
	_exit(127);
}

/* A /dev/kvm that can be opened may still not provide a processor. */
static bool kvm_answers(const char *program, const struct target *target)
{
	double until_s = now_s() + KVM_LIMIT_S;
	int status = -1;
	pid_t pid;

	if (!is_native(target) || access("/dev/kvm", R_OK | W_OK))
		return false;
	pid = fork();
	if (!pid)
		try_machine(program, target);
	while (pid > 0 && !waitpid(pid, &status, WNOHANG)) {
		if (now_s() > until_s)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	return !status;
}

/* User-Mode Linux exists for x86_64 only: elsewhere --qemu may be omitted. */
bool emulator_is_needed(void)
{
	return !is_native(&targets[0]);
}

static void add(struct arguments *to, const char *option, char *value)
{
	arguments_add(to, (char *)option);
	arguments_add(to, value);
}

/* A comma ends a value unless it is doubled. */
static char *quoted(const char *path)
{
	char *all = must_alloc(2 * strlen(path) + 1), *at = all;

	for (; *path; path++) {
		*at++ = *path;
		if (*path == ',')
			*at++ = ',';
	}
	*at = 0;
	return all;
}

static void add_folder(struct arguments *to, const char *tag, const char *path, bool writable)
{
	add(to, "-fsdev", text("local,id=%s,path=%s,security_model=none,multidevs=remap%s", tag,
			       quoted(path), writable ? "" : ",readonly=on"));
	add(to, "-device", text("virtio-9p-pci,fsdev=%s,mount_tag=%s", tag, tag));
}

static void add_folders(struct arguments *to, const struct options *options,
			const struct message *job)
{
	const char *path = NULL;
	unsigned int n = 0;

	add_folder(to, "root", options->root ?: "/", false);
	while ((path = message_next(job, "rwdir", path)))
		add_folder(to, text("rw%u", n++), path, true);
	if (n > MOST_FOLDERS)
		die("--rwdir: with --qemu %d folders at most are written through", MOST_FOLDERS);
}

static void add_channels(struct arguments *to)
{
	int i;

	add(to, "-device", "virtio-serial-pci");
	for (i = 0; i < N_CHANNELS; i++) {
		add(to, "-chardev", text("socket,id=channel%d,fd=%d", i, FIRST_CHANNEL + i));
		add(to, "-device", text("virtserialport,chardev=channel%d,name=roce-lab.%s", i,
					port_names[i]));
	}
}

static char *command_line(const struct options *options, const struct target *target)
{
	const char **own = options->append;
	char *line;

	line = text("console=%s quiet loglevel=4 panic=-1 log_buf_len=1M fb_tunnels=none nowatchdog "
		    "rcupdate.rcu_cpu_stall_suppress=1 workqueue.watchdog_thresh=0", target->console);
	for (; *own; own++)
		line = text("%s %s", line, *own);
	return line;
}

void emulator_arguments(struct arguments *to, const struct options *options,
			const struct message *job, const char *folder, uint64_t bytes)
{
	const struct target *target = find_target(options->arch);
	const char *why, *arch;

	why = emulator_find(options->arch, &to->program, &arch);
	if (why)
		die("%s", why);
	arguments_add(to, (char *)target->program);
	arguments_add(to, "-nodefaults");
	arguments_add(to, "-no-user-config");
	arguments_add(to, "-no-reboot");
	add(to, "-display", "none");
	add(to, "-machine", (char *)target->board);
	add(to, "-cpu", (char *)target->processor);
	if (!options->disable_kvm && kvm_answers(to->program, target))
		add(to, "-accel", "kvm");
	else
		add(to, "-accel", (char *)target->emulation);
	add(to, "-smp", text("%u", options->cpus ?: DEFAULT_PROCESSORS));
	add(to, "-m", text("%" PRIu64 "M", (uint64_t)(bytes / MIB)));
	add(to, "-kernel", text("%s/vmlinuz", folder));
	add(to, "-initrd", text("%s/initrd", folder));
	add(to, "-append", command_line(options, target));
	add(to, "-serial", "file:/dev/fd/1");
	add_channels(to);
	add_folders(to, options, job);
}
