// SPDX-License-Identifier: GPL-2.0
/* roce-lab check: what this machine permits, and a remedy for each thing that it does not */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runner.h"

enum verdict { GOOD, NOTE, BAD };

/* The line to be printed is returned in *line. */
typedef enum verdict (*check_fn)(const char **line);

static enum verdict check_machine(const char **line)
{
	struct utsname name = {};
	int major = 0, minor = 0;

	uname(&name);
	if (strcmp(name.sysname, "Linux") ||
	    (strcmp(name.machine, "x86_64") && strcmp(name.machine, "aarch64"))) {
		*line = text("%s on %s: roce-lab runs on Linux on x86_64, and by QEMU on aarch64",
			     name.sysname, name.machine);
		return BAD;
	}
	sscanf(name.release, "%d.%d", &major, &minor);
	if (major > 5 || (major == 5 && minor >= 10)) {
		*line = text("Linux %s on %s", name.release, name.machine);
		return GOOD;
	}
	*line = text("Linux %s on %s, older than 5.10", name.release, name.machine);
	return BAD;
}

static enum verdict check_root(const char **line)
{
	*line = place_root(NULL);
	if (*line)
		return BAD;
	*line = "/dev, /etc, /proc, /run and /sys are there";
	return GOOD;
}

static enum verdict check_kernel(const char **line)
{
	char *folder;

	*line = place_find(NULL, &folder);
	if (*line)
		return BAD;
	*line = text("the kernel of the lab is in %s", folder);
	return GOOD;
}

static enum verdict check_processors(const char **line)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	if (seccomp_allowed() || emulator_is_needed()) {
		*line = text("processors: %d", n);
		return GOOD;
	}
	*line = text("processors: %d, of which a lab has one, since seccomp is forbidden here "
		     "(docker run --security-opt seccomp=unconfined)", n);
	return NOTE;
}

static enum verdict check_memory(const char **line)
{
	const char *who, *why;
	uint64_t bytes;

	why = memory_size(NULL, false, &bytes);
	if (why) {
		*line = text("%s: raise the limit (ulimit, docker run --memory)", why);
		return BAD;
	}
	*line = text("memory for the guest: %llu MiB of %llu MiB that this process may have",
		     bytes / MIB, memory_limit(&who) / MIB);
	return GOOD;
}

static enum verdict check_memory_place(const char **line)
{
	char *folder = NULL;
	uint64_t bytes;

	*line = memory_size(NULL, false, &bytes);
	if (!*line && !emulator_is_needed())
		*line = memory_folder(bytes, false, &folder);
	if (*line)
		return BAD;
	if (emulator_is_needed()) {
		*line = "the memory is the emulator's";
		return GOOD;
	}
	*line = text("the memory is a file in %s", folder ?: "no folder (memfd_create)");
	return GOOD;
}

static enum verdict check_temporary(const char **line)
{
	char *path;
	int fd = temporary_file(&path);

	if (fd < 0) {
		*line = "the kernel's log is not kept after a fault, since no folder for temporary "
			"files can be written (TMPDIR may name one)";
		return NOTE;
	}
	close(fd);
	unlink(path);
	*strrchr(path, '/') = 0;
	*line = text("the kernel's log is kept in %s after a fault", path);
	return GOOD;
}

static enum verdict check_open_files(const char **line)
{
	struct rlimit limit = {};

	getrlimit(RLIMIT_NOFILE, &limit);
	*line = text("open files: up to %llu", (unsigned long long)limit.rlim_max);
	if (limit.rlim_max >= 256)
		return GOOD;
	*line = text("%s: raise it (ulimit -Hn, docker run --ulimit nofile=4096)", *line);
	return BAD;
}

static bool has_provider(const char *folder)
{
	DIR *files = opendir(text("%s/libibverbs", folder));
	struct dirent *file;
	bool found = false;

	while (files && !found && (file = readdir(files)))
		found = !strncmp(file->d_name, "librxe-rdmav", 12);
	if (files)
		closedir(files);
	return found;
}

static bool has_provider_below(const char *folder)
{
	DIR *files = opendir(folder);
	struct dirent *file;
	bool found = has_provider(folder);

	/* Debian's is in the folder of the architecture. */
	while (files && !found && (file = readdir(files)))
		found = *file->d_name != '.' && has_provider(text("%s/%s", folder, file->d_name));
	if (files)
		closedir(files);
	return found;
}

/* NULL if libibverbs finds the provider of the software devices */
const char *provider_missing(void)
{
	static const char * const folders[] = { "/usr/lib", "/usr/lib64", "/usr/local/lib",
						"/usr/local/lib64" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(folders); i++)
		if (has_provider_below(folders[i]))
			return NULL;
	return "no provider rxe for libibverbs: install ibverbs-providers (Debian, Ubuntu) or "
	       "libibverbs (Fedora), unless your program has one built in";
}

static enum verdict check_provider(const char **line)
{
	*line = provider_missing();
	if (*line)
		return NOTE;
	*line = "libibverbs has the provider rxe, which drives the lab's devices";
	return GOOD;
}

/* Its output, without the last line end */
static char *run_lab(int *status)
{
	/* Of commands, a lab certainly has this one. */
	char *words[] = { self_path(), "run", "--timeout", "120", "--",
			  "lab", "set", "a", "up", NULL };
	int ends[2], null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	size_t size;
	char *said;
	pid_t pid;

	pipe_make(ends);
	pid = fork();
	if (!pid) {
		dup2(null, 0);
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		execv(words[0], words);
		dprintf(1, "%s: %s\n", words[0], strerror(errno));
		_exit(STATUS_FAILED);
	}
	close(ends[1]);
	close(null);
	if (pid < 0) {
		*status = STATUS_FAILED << 8;
		return text("this machine lets it start no process: %s", strerror(errno));
	}
	read_all(ends[0], &said);
	close(ends[0]);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	size = strlen(said);
	if (size && said[size - 1] == '\n')
		said[size - 1] = 0;
	return said;
}

/* Start a lab, in a process of its own: this shows anything that is forbidden. */
static enum verdict check_boot(const char **line)
{
	double began_s = now_s();
	int status = STATUS_FAILED << 8;
	char *said = run_lab(&status), *last = strrchr(said, '\n');

	if (!status) {
		*line = text("a lab ran a command, in %.1f s", now_s() - began_s);
		return GOOD;
	}
	*line = text("a lab does not run: %s", last ? last + 1 : *said ? said :
		     text("status %d", WIFEXITED(status) ? WEXITSTATUS(status) : status));
	return BAD;
}

static const check_fn checks[] = {
	check_machine, check_root, check_kernel, check_processors, check_memory, check_memory_place,
	check_temporary, check_open_files, check_provider, check_boot,
};

int check(void)
{
	static const char * const words[] = { [GOOD] = "ok", [NOTE] = "note", [BAD] = "NO" };
	enum verdict verdict;
	const char *line;
	int status = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(checks); i++) {
		verdict = checks[i](&line);
		printf("%-4s %s\n", words[verdict], line);
		fflush(stdout);
		status |= verdict == BAD;
	}
	return status;
}
