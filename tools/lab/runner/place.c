// SPDX-License-Identifier: GPL-2.0
/* Places of the parts of a lab: a kernel, its modules and its pid 1 */
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner.h"

/* The folder that contains base/ and version, as built or installed */
static const char *library(void)
{
	const char *named = getenv("ROCE_LAB_FOLDER");

	return named && *named ? named :
	       text("%s/../lib/roce-lab", dirname(text("%s", self_path())));
}

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

static double changed_s(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_mtim.tv_sec + st.st_mtim.tv_nsec / 1e9;
}

/* For a kernel that the user built: the folder that tools/lab/build has put beside it */
static const char *own_kernel(const char *folder, char **place)
{
	char *beside = text("%s/roce-lab", folder), *kernel, *driver;
	const char *whole = realpath(folder, NULL) ?: folder;

	*place = exists(beside) ? beside : text("%s", folder);
	kernel = text("%s/linux", *place);
	driver = text("%s/modules/roce_hca.ko", *place);
	if (!exists(kernel) || !exists(driver))
		return text("--kernel %s: the modules for it are missing: \"tools/lab/build "
			    "--kernel %s\" in the work tree builds them", folder, whole);
	if (changed_s(kernel) > changed_s(driver))
		return text("--kernel %s: the kernel is newer than the modules for it: "
			    "\"tools/lab/build --kernel %s\" in the work tree", folder, whole);
	return NULL;
}

static const char *packed_kernel(bool debug, char **place)
{
	*place = text("%s/%s", library(), debug ? "debug" : "base");
	if (exists(text("%s/linux", *place)))
		return NULL;
	if (debug)
		return "there is no debug kernel here: it is in roce-lab-debug, and "
		       "\"make lab-debug\" in the work tree builds it";
	return "there is no kernel here; \"make lab\" in the work tree builds it";
}

static const char *emulated_kernel(const char *wanted, char **place)
{
	const char *program, *arch, *why = emulator_find(wanted, &program, &arch);

	if (why)
		return why;
	*place = text("%s/qemu-%s", library(), arch);
	if (exists(text("%s/vmlinuz", *place)) && exists(text("%s/initrd", *place)))
		return NULL;
	return text("there is no kernel for --qemu of %s here: \"tools/lab/build --qemu %s\" in the "
		    "work tree builds it", arch, arch);
}

static const char *why_not_usable(const char *folder)
{
	static const char * const names[] = { "linux", "init", "modules/lab_channel.ko" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (access(text("%s/%s", folder, names[i]), R_OK))
			return text("%s/%s cannot be read", folder, names[i]);
	if (access(text("%s/linux", folder), X_OK))
		return text("%s/linux cannot be executed: is the file system mounted noexec?",
			    folder);
	return NULL;
}

/* The folder with linux, init and modules/; for an emulator, with vmlinuz and initrd. With NULL for
 * options: the default one.
 */
const char *place_find(const struct options *options, char **folder)
{
	bool qemu = options ? options->qemu : emulator_is_needed();
	const char *why;

	if (!qemu && exists("/run/roce-lab/hosts"))
		return "this is a lab, in which no other one runs";
	if (qemu)
		why = emulated_kernel(options ? options->arch : NULL, folder);
	else if (options && options->kernel)
		why = own_kernel(options->kernel, folder);
	else
		why = packed_kernel(options && options->debug, folder);
	if (!why && !qemu)
		why = why_not_usable(*folder);
	if (!why)
		*folder = realpath(*folder, NULL) ?: *folder;
	return why;
}

/* Is there all of a root that a lab mounts its own on, or reads? NULL for root: the caller's */
const char *place_root(const char *root)
{
	static const char * const folders[] = { "/dev", "/etc", "/run", "/sys" };
	size_t i;

	if (!exists("/proc/self/cwd"))
		return "/proc is not mounted: mount it (docker run does)";
	for (i = 0; i < ARRAY_SIZE(folders); i++)
		if (!exists(text("%s%s", root ?: "", folders[i])))
			return text("there is no folder %s: create it, empty, in this root or "
				    "container image", folders[i]);
	return NULL;
}

/* Written by "make lab": a name and a value per line */
const char *place_version(void)
{
	return read_text(text("%s/version", library())) ?:
	       "roce-lab without the version that \"make lab\" writes down";
}
