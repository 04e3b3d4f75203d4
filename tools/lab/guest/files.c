// SPDX-License-Identifier: GPL-2.0
/*
 * The caller's files as seen by a program of the lab: the host's root unchanged, read-only; folders
 * that are written through on top of that; memory where each host has its own files.
 *
 * The root is hostfs itself and not an overlay: each file of a lower layer that was once accessed
 * would hold a descriptor of the host.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

#define PRIVATE		LAB_RUN "/private"

/* Each host has its own of these, in memory. */
static const struct own_folder {
	const char *path, *options;
} own_folders[] = {
	{ "/tmp", "mode=1777" },
	{ "/var/tmp", "mode=1777" },
	{ "/run", "mode=755" },
	{ "/dev/shm", "mode=1777" },
};

#define N_OWN_FOLDERS	(sizeof(own_folders) / sizeof(own_folders[0]))

static bool is_folder(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

static void must_mount(const char *what, const char *where, const char *type,
		       unsigned long flags, const char *options)
{
	/* Likewise: /sys of the initial network namespace */
	if (mount(what, where, type, flags, options) && errno != EBUSY)
		die("cannot mount %s at %s: %s", type ? type : what ? what : "root", where, strerror(errno));
}

static void make_device_links(void)
{
	if (symlink("/proc/self/fd", "/dev/fd") || symlink("fd/0", "/dev/stdin") ||
	    symlink("fd/1", "/dev/stdout") || symlink("fd/2", "/dev/stderr"))
		say("/dev: %s", strerror(errno));
}

void files_first(void)
{
	must_mount("proc", "/proc", "proc", 0, NULL);
	must_mount("dev", "/dev", "devtmpfs", 0, NULL);
	open_missing_streams();
	must_mount("sys", "/sys", "sysfs", 0, NULL);
	must_mount("run", "/run", "tmpfs", 0, "mode=755");
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	must_mount("pts", "/dev/pts", "devpts", 0, "ptmxmode=666,mode=620,gid=5");
	make_device_links();
	mkdir(LAB_RUN, 0755);
	mkdir(LAB_RUN "/hosts", 0755);
	mkdir(PRIVATE, 0700);
	mkdir(PRIVATE "/proc", 0755);
	must_mount("proc", PRIVATE "/proc", "proc", 0, NULL);
	must_mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL);
}

/* A layer in memory over a folder of the host. Its name may contain commas and colons, so the
 * layers are mounted in places of their own. Returns the folder with the merged layers.
 */
static char *overlay(const char *path, unsigned int number)
{
	char *layer = text(PRIVATE "/layer%u", number), *below = text("%s/below", layer);
	char *merged = text("%s/merged", layer), *upper = text("%s/upper", layer);
	struct stat st;

	make_folders(upper, 0755);
	/* The merged folder has its owner and mode. */
	if (stat(path, &st) || chown(upper, st.st_uid, st.st_gid) || chmod(upper, st.st_mode & 07777))
		say("%s: %s", path, strerror(errno));
	make_folders(text("%s/work", layer), 0755);
	make_folders(below, 0755);
	make_folders(merged, 0755);
	must_mount(path, below, NULL, MS_BIND, NULL);
	must_mount("overlay", merged, "overlay", 0,
		   text("lowerdir=%s,upperdir=%s,workdir=%s/work", below, upper, layer));
	return merged;
}

/* Mount a folder of the host unchanged, at a place in the guest */
static void mount_writable(unsigned int number, const char *path, const char *place)
{
	int error;

	if (!emulated) {
		must_mount("host", place, "hostfs", 0, path);
		return;
	}
	error = mount_by_virtio(text("rw%u", number), place, true);
	if (error)
		die("%s does not come by 9p: %s", path, strerror(error));
}

/* Writable folders; put_writable() mounts them in each host. */
void files_writable(const struct job *job)
{
	unsigned int i;

	for (i = 0; job->rwdirs[i]; i++) {
		char *place = text(PRIVATE "/rw%u", i);

		mkdir(place, 0755);
		mount_writable(i, job->rwdirs[i], place);
	}
	for (i = 0; job->overlays[i]; i++)
		overlay(job->overlays[i], i);
	must_mount(overlay("/etc", i), "/etc", NULL, MS_BIND, NULL);
}

/* The modules of one kernel; the first ones given are kept. */
static void add_modules_of(const char *tree, const char *folder, const char *release)
{
	char *from = text("%s/%s", folder, release), *to = text("%s/%s", tree, release);

	if (*release == '.' || !is_folder(from) || mkdir(to, 0755))
		return;
	must_mount(from, to, NULL, MS_BIND, NULL);
}

static void add_modules(const char *tree, const char *folder)
{
	DIR *releases = opendir(folder);
	struct dirent *release;

	while (releases && (release = readdir(releases)))
		add_modules_of(tree, folder, release->d_name);
	if (releases)
		closedir(releases);
}

/* The folder that modprobe searches: the lab's modules for its kernel, in addition to the host's.
 * Not an overlay, for the same reason as with the root.
 */
void files_modules(const char *packed)
{
	static const char where[] = "/lib/modules", tree[] = PRIVATE "/modules";

	if (!is_folder(packed) || !is_folder(where))
		return;
	mkdir(tree, 0755);
	must_mount("modules", tree, "tmpfs", 0, "mode=755");
	add_modules(tree, packed);
	add_modules(tree, where);
	must_mount(tree, where, NULL, MS_BIND | MS_REC, NULL);
}

static bool is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	return !strncmp(path, folder, size) && (!path[size] || path[size] == '/');
}

static bool is_below_own(const char *path)
{
	size_t i;

	for (i = 0; i < N_OWN_FOLDERS; i++)
		if (is_below(path, own_folders[i].path))
			return true;
	return false;
}

static void put(const char *from, const char *path, bool below_own)
{
	if (is_below_own(path) != below_own)
		return;
	if (below_own)
		make_folders(path, 0755);
	must_mount(from, path, NULL, MS_BIND, NULL);
}

/* Outer folders first, as both lists are sorted; of one that is in both the overlay is on top. */
static void put_writable(const struct job *job, bool below_own)
{
	char **through = job->rwdirs, **memory = job->overlays;

	while (*through || *memory) {
		if (*through && (!*memory || strcmp(*through, *memory) <= 0)) {
			put(text(PRIVATE "/rw%td", through - job->rwdirs), *through, below_own);
			through++;
		} else {
			put(text(PRIVATE "/layer%td/merged", memory - job->overlays), *memory,
			    below_own);
			memory++;
		}
	}
}

static void mount_own_folders(void)
{
	int lab = open(LAB_RUN, O_PATH | O_CLOEXEC);
	size_t i;

	for (i = 0; i < N_OWN_FOLDERS; i++)
		if (is_folder(own_folders[i].path))
			must_mount("own", own_folders[i].path, "tmpfs", MS_NOSUID * (i != 2),
				   own_folders[i].options);
	mkdir(LAB_RUN, 0755);
	must_mount(text("/proc/self/fd/%d", lab), LAB_RUN, NULL, MS_BIND | MS_REC, NULL);
	close(lab);
}

/* perftest does not start if it cannot determine the clock rate, nor Debian 12's "ps -ef" if a
 * processor has no core.
 */
static void describe_processors(void)
{
	char *info = read_text("/proc/cpuinfo"), *path = "/run/cpuinfo", **line;

	if (!info || strstr(info, "cpu MHz"))
		return;
	for (line = split(info, "\n"); *line; line++) {
		append_file(path, text("%s\n", *line));
		if (!strncmp(*line, "processor", 9))
			append_file(path, text("core id\t\t%s\ncpu MHz\t\t: 2000.000\n",
					       strchrnul(*line, ':')));
	}
	must_mount(path, "/proc/cpuinfo", NULL, MS_BIND, NULL);
}

static void mount_kernel_filesystems(void)
{
	must_mount("proc", "/proc", "proc", 0, NULL);
	must_mount("sys", "/sys", "sysfs", 0, NULL);
	must_mount("config", "/sys/kernel/config", "configfs", 0, NULL);
	must_mount("debug", "/sys/kernel/debug", "debugfs", 0, NULL);
	if (is_folder("/sys/kernel/tracing"))
		mount("trace", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (is_folder("/sys/fs/cgroup"))
		mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL);
}

/* In the host's namespaces, as its pid 1 */
void files_of_host(const struct job *job)
{
	put_writable(job, false);
	mount_own_folders();
	put_writable(job, true);
	mount_kernel_filesystems();
	describe_processors();
	mkdir("/run/lock", 01777);
	if (job->uid) {
		char *path = text("/run/user/%u", job->uid);

		make_folders(path, 0700);
		if (chown(path, job->uid, job->gid))
			say("%s: %s", path, strerror(errno));
	}
}

static void write_hosts(const struct job *job)
{
	char *hosts = read_text("/etc/hosts"), *line;
	unsigned int host, device;

	unlink("/etc/hosts");
	for (host = 0; host < job->hosts; host++)
		for (device = 0; device < job->devices; device++) {
			line = device ? text("%s-%u", host_name(host), device + 1) :
					host_name(host);
			/* A name has an IPv4 address only, as many servers listen on IPv4 only. */
			append_file("/etc/hosts", text("%s %s\n%s %s-v6\n",
						       address_of(host, device), line,
						       address6_of(host, device), line));
		}
	/* Later, as the first one of a name counts. */
	append_file("/etc/hosts", hosts ? text("%s\n", hosts) : "127.0.0.1 localhost\n");
}

static bool has_entry(const char *path, unsigned int id)
{
	char *all = read_text(path), *line, *field;
	char **lines = all ? split(all, "\n") : NULL;

	for (; lines && (line = *lines); lines++) {
		field = strchr(line, ':');
		field = field ? strchr(field + 1, ':') : NULL;
		if (field && strtoul(field + 1, NULL, 10) == id)
			return true;
	}
	return false;
}

/* Names of the lab are resolved, others are unknown at once. */
void files_etc(const struct job *job)
{
	write_hosts(job);
	unlink("/etc/resolv.conf");
	write_file("/etc/resolv.conf", "# A lab has no way out to a network.\n");
	unlink("/etc/nsswitch.conf");
	write_file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\n"
		   "hosts: files\nservices: files\nprotocols: files\nnetworks: files\n");
	if (!has_entry("/etc/passwd", job->uid))
		append_file("/etc/passwd", text("%s:x:%u:%u::%s:/bin/sh\n", job->user_name,
						job->uid, job->gid, job->home));
	if (!has_entry("/etc/group", job->gid))
		append_file("/etc/group", text("%s:x:%u:\n", job->user_name, job->gid));
}
