// SPDX-License-Identifier: GPL-2.0
/* Limits of the machine outside: memory, folders for files, others */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runner.h"

/* With less the guest runs out of memory before it has started. */
#define LEAST_MEMORY		(192 * MIB)
#define DEFAULT_MEMORY		(1024 * MIB)
/* KASAN needs an eighth more, and delays freeing. */
#define DEBUG_MEMORY		(2048 * MIB)
#define DEFAULT_PROCESSORS	2
#define CGROUPS			"/sys/fs/cgroup"

/* Missing in headers of the oldest machine that this is built on */
#ifndef MFD_EXEC
#define MFD_EXEC		0x10u
#endif

/* --- available memory ------------------------------------------------------- */

struct least {
	uint64_t bytes;
	const char *who;
};

static void limit_by(struct least *least, uint64_t bytes, const char *who)
{
	if (bytes < least->bytes)
		*least = (struct least){ bytes, who };
}

/* The folder of this process in cgroup2, or in the memory controller of cgroup v1 */
static char *own_cgroup(void)
{
	char *all = read_text("/proc/self/cgroup"), *folder = CGROUPS, *parts, *path, **line;

	for (line = split(all ?: text("%s", ""), "\n"); *line; line++) {
		parts = strchr(*line, ':');
		path = parts ? strchr(parts + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = 0;
		if (strstr(parts, "memory"))
			return text(CGROUPS "/memory%s", path);
		if (!parts[1])
			folder = text(CGROUPS "%s", path);
	}
	return folder;
}

static void limit_by_cgroups(struct least *least, const char *folder)
{
	static const char * const names[] = { "memory.max", "memory.limit_in_bytes" };
	char *at, *value;
	size_t i;

	for (at = text("%s", folder); !strncmp(at, CGROUPS, strlen(CGROUPS)); at = dirname(at))
		for (i = 0; i < ARRAY_SIZE(names); i++) {
			value = read_text(text("%s/%s", at, names[i]));
			if (value && isdigit(*value))
				limit_by(least, strtoull(value, NULL, 10),
					 "this container or machine has");
		}
}

static void limit_by_rlimit(struct least *least, int number, const char *who)
{
	struct rlimit limit;

	if (!getrlimit(number, &limit) && limit.rlim_max != RLIM_INFINITY)
		limit_by(least, limit.rlim_max, who);
}

/* The minimum of what the machine, the cgroups above this process and its own limits leave: bytes,
 * and the limit's name. The guest's memory is a file mapped by one process.
 */
uint64_t memory_limit(const char **who)
{
	char *info = read_text("/proc/meminfo"), *total = info ? strstr(info, "MemTotal:") : NULL;
	struct least least = { 1ull << 62, "this machine has" };

	if (total)
		limit_by(&least, strtoull(total + strlen("MemTotal:"), NULL, 10) << 10,
			 "this container or machine has");
	/* In a container the path may be the machine's, while the folder is the root. */
	limit_by_cgroups(&least, own_cgroup());
	limit_by_cgroups(&least, CGROUPS);
	limit_by_cgroups(&least, CGROUPS "/memory");
	limit_by_rlimit(&least, RLIMIT_AS, "\"ulimit -Hv\" leaves");
	limit_by_rlimit(&least, RLIMIT_FSIZE, "\"ulimit -Hf\" leaves");
	*who = least.who;
	return least.bytes;
}

/* 512M and the like, in bytes, or 0; a plain number is in MiB, as in virtme-ng. */
static uint64_t parse_size(const char *value)
{
	uint64_t size = isdigit(*value) ? strtoull(value, (char **)&value, 10) : 0;
	int shift = 20;

	switch (toupper(*value)) {
	case 'K': shift = 10; value++; break;
	case 'G': shift = 30; value++; break;
	case 'M': value++; break;
	}
	value += toupper(*value) == 'I';
	value += toupper(*value) == 'B';
	return *value || size > UINT64_MAX >> shift ? 0 : size << shift;
}

static const char *needs(uint64_t bytes, const char *who, uint64_t has)
{
	return text("a lab needs %" PRIu64 " MiB of memory, and %s %" PRIu64 " MiB",
		    (uint64_t)(bytes / MIB), who, (uint64_t)(has / MIB));
}

/* Bytes for the guest, which allocates them as it needs them */
const char *memory_size(const char *asked, bool debug, uint64_t *bytes)
{
	const char *who;
	uint64_t limit = memory_limit(&who), most = debug ? DEBUG_MEMORY : DEFAULT_MEMORY, size;

	size = asked ? parse_size(asked) : most < limit / 4 * 3 ? most : limit / 4 * 3;
	if (asked && !size)
		return text("--memory %s: such as 512M or 2G", asked);
	if (asked && size < LEAST_MEMORY)
		return text("a lab needs %llu MiB, and --memory says %llu MiB",
			    LEAST_MEMORY / MIB, size / MIB);
	if (asked && limit < size)
		return needs(size, who, limit);
	if (size < LEAST_MEMORY)
		return needs(LEAST_MEMORY, who, limit);
	*bytes = size / MIB * MIB;
	return NULL;
}

/* --- its place -------------------------------------------------------------- */

/* 0, or the error if a page of that file cannot be executed. */
static int try_to_execute(int fd)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *mapped;

	if (ftruncate(fd, page))
		return errno;
	mapped = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return errno;
	munmap(mapped, page);
	return 0;
}

/* Whether the kernel of a lab may use a memfd, a file in no folder, as its memory */
static bool memory_without_folder(void)
{
	int fd = syscall(SYS_memfd_create, "roce-lab", MFD_CLOEXEC | MFD_EXEC);
	bool good;

	/* Before Linux 6.3 all can be executed. */
	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_memfd_create, "roce-lab", MFD_CLOEXEC);
	if (fd < 0)
		return false;
	good = !try_to_execute(fd);
	close(fd);
	return good;
}

static int nameless_file(const char *folder)
{
	char *path = text("%s/roce-lab-XXXXXX", folder);
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);
	return fd;
}

/* NULL, or the reason why the guest's memory cannot be a file in that folder */
static const char *why_not_there(const char *folder, uint64_t bytes)
{
	int fd = nameless_file(folder), error;
	struct statvfs stat;
	uint64_t room;

	if (fd < 0)
		return text("%s: %s", folder, strerror(errno));
	error = try_to_execute(fd);
	close(fd);
	if (error == EPERM || error == EACCES)
		return text("%s is mounted noexec", folder);
	if (error || statvfs(folder, &stat))
		return text("%s: %s", folder, strerror(error ?: errno));
	room = (uint64_t)stat.f_bavail * stat.f_frsize;
	return room < bytes ? text("%s has room for %llu MiB", folder, room / MIB) : NULL;
}

static const char *temporary_name(void)
{
	const char *named = getenv("TMPDIR");

	return named && *named ? named : "/tmp";
}

/* Folder in which the kernel creates the file for its memory, which is invisible to others. NULL:
 * our kernel needs none; one that the user built may.
 */
const char *memory_folder(uint64_t bytes, bool own_kernel, char **folder)
{
	const char *folders[] = { "/dev/shm", temporary_name(), "/var/tmp" };
	const char *why, *all = "";
	size_t i;

	*folder = NULL;
	if (!own_kernel && memory_without_folder())
		return NULL;
	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		why = why_not_there(folders[i], bytes);
		if (!why) {
			*folder = text("%s", folders[i]);
			return NULL;
		}
		all = text("%s%s%s", all, *all ? "; " : "", why);
	}
	return text("no place for %llu MiB of memory: %s (TMPDIR may name another)", bytes / MIB,
		    all);
}

/* A file for the kernel's log, which is kept; < 0: there is no folder for it. */
int temporary_file(char **path)
{
	const char *folders[] = { temporary_name(), "/tmp", "/var/tmp", "." };
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(folders); i++) {
		*path = text("%s/roce-lab-XXXXXX.log", folders[i]);
		fd = mkostemps(*path, 4, O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

/* --- the rest --------------------------------------------------------------- */

/* User-Mode Linux has several processors in seccomp mode only. A profile that forbids the system
 * call also rejects this harmless query.
 */
bool seccomp_allowed(void)
{
	uint32_t action = SECCOMP_RET_TRAP;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

unsigned int processors(unsigned int asked)
{
	bool allowed = seccomp_allowed();

	if (asked > 1 && !allowed)
		die("--cpus %u: this machine forbids seccomp, without which a lab has one "
		    "processor", asked);
	return asked ?: allowed ? DEFAULT_PROCESSORS : 1;
}

/* hostfs holds a descriptor of this machine for each file that the guest has open; its kernel is one
 * process, whose time is that of all commands; the others are limits of its memory.
 */
void raise_limits(void)
{
	static const int numbers[] = { RLIMIT_NOFILE, RLIMIT_CPU, RLIMIT_AS, RLIMIT_FSIZE };
	struct rlimit limit;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!getrlimit(numbers[i], &limit)) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit(numbers[i], &limit);
		}
}
