// SPDX-License-Identifier: GPL-2.0
/*
 * How a lab accesses the caller's root. User-Mode Linux has it by hostfs from the start. In an
 * emulator ("roce-lab run --qemu") the first root is an initramfs with this program and the modules
 * of a distribution's kernel, and the caller's root comes over 9p.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest.h"

#define ORDER		"/modules/order"
/* The maximum that the emulator takes from a queue of this size at a time */
#define BY_VIRTIO	"trans=virtio,version=9p2000.L,msize=512000"

bool emulated;

/* Lines of a file and its parameters, in the order of dependencies */
static void insert_modules(void)
{
	char *all = read_text(ORDER), **line, *parameters;

	for (line = split(all ? all : text("%s", ""), "\n"); *line; line++) {
		parameters = strchr(*line, ' ');
		if (parameters)
			*parameters++ = 0;
		module_insert(text("/modules/%s", *line), parameters ? parameters : "");
	}
}

/* Mount the emulator's @tag at @where; 0 or the error */
int mount_by_virtio(const char *tag, const char *where, bool writable)
{
	/* Attributes of files not written here are cached; those written through are read at each
	 * open.
	 */
	const char *options = writable ? BY_VIRTIO ",cache=mmap" : BY_VIRTIO ",cache=loose";

	return mount(tag, where, "9p", writable ? 0 : MS_RDONLY, options) ? errno : 0;
}

static void move_to_root(void)
{
	int error;

	mkdir("/host", 0755);
	error = mount_by_virtio("root", "/host", false);
	if (error)
		die("the root does not come by 9p: %s", strerror(error));
	if (chdir("/host") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		die("cannot move to the root: %s", strerror(errno));
}

/* The folder with modules/, by a path that works once /proc is mounted; NULL if it is not found. */
const char *boot(void)
{
	static char programs[PATH_MAX];
	ssize_t size;

	emulated = !access(ORDER, R_OK);
	if (emulated) {
		int initramfs = open("/", O_PATH | O_CLOEXEC);

		mkdir("/dev", 0755);
		if (mount("dev", "/dev", "devtmpfs", 0, NULL))
			say("/dev: %s", strerror(errno));
		insert_modules();
		move_to_root();
		return text("/proc/self/fd/%d", initramfs);
	}
	size = readlink("/proc/self/cwd", programs, sizeof(programs) - 1);
	return size > 0 ? programs : NULL;
}
