// SPDX-License-Identifier: GPL-2.0
/*
 * Modules: the driver, those named by the caller, and the kernel's own that the lab has for its
 * users (users of RDMA in the kernel), in lib/modules beside pid 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "guest.h"

void module_insert(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	if (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST)
		die("the kernel does not take %s%s%s: %s (roce-lab --verbose shows its log)",
		    strrchr(path, '/') + 1, *parameters ? " with " : "", parameters,
		    strerror(errno));
	close(fd);
}

/* The kernel ignores parameters that a module does not have. */
static void check_knobs(char **knobs)
{
	for (; *knobs; knobs++) {
		char *name = split(text("%s", *knobs), "=")[0];

		if (!name || access(text("/sys/module/roce_hca/parameters/%s", name), F_OK))
			die("--set %s: roce_hca has no parameter of that name", *knobs);
	}
}

/* One of the kernel's own, which a distribution need not have. */
static void insert_driver(const char *folder, const char *name)
{
	char *path = text("%s/%s.ko", folder, name);

	if (access(path, F_OK))
		die("this kernel comes without the driver %s", name);
	module_insert(path, "");
}

void modules_load(const char *folder, const struct job *job)
{
	char *parameters = "";
	char **knob;

	if (!strcmp(job->driver, "rxe"))
		return insert_driver(folder, "rdma_rxe");
	if (!strcmp(job->driver, "siw"))
		return insert_driver(folder, "siw");
	if (strcmp(job->driver, "roce"))
		die("no driver %s", job->driver);
	/* In a capture a block of packets would be one packet, longer than the MTU. */
	if (job->pcap)
		parameters = "blocks=off";
	for (knob = job->knobs; *knob; knob++)
		parameters = text("%s%s%s", parameters, *parameters ? " " : "", *knob);
	module_insert(text("%s/roce_hca.ko", folder), parameters);
	check_knobs(job->knobs);
}

/* As for modprobe, a dash in a name is an underscore. */
static bool is_module(const char *path, const char *name)
{
	const char *file = strrchr(path, '/');
	char c;

	for (file = file ? file + 1 : path; *name; file++, name++) {
		c = *file == '-' ? '_' : *file;
		if (c != (*name == '-' ? '_' : *name))
			return false;
	}
	return !strcmp(file, ".ko");
}

/* From a line of modules.dep: a module, and its dependencies, to be loaded last to first */
static void insert_with_needs(const char *folder, char *line)
{
	char **paths = split(line, ": ");
	size_t n = 0;

	while (paths[n])
		n++;
	while (n--)
		module_insert(text("%s/%s", folder, paths[n]), "");
}

static void insert_by_name(const char *folder, const char *name)
{
	char *all = read_text(text("%s/modules.dep", folder));
	char **line = all ? split(all, "\n") : NULL;

	for (; line && *line; line++) {
		char *path = text("%s", *line);

		path[strcspn(path, ":")] = 0;
		if (is_module(path, name))
			return insert_with_needs(folder, *line);
	}
	die("--module %s: this lab has no module of that name (it is no FILE.ko, either)", name);
}

/* Named by the caller: absolute paths of files, or names */
void modules_insert(const char *programs, char **modules)
{
	struct utsname kernel;

	uname(&kernel);
	for (; *modules; modules++)
		if (**modules == '/')
			module_insert(*modules, "");
		else
			insert_by_name(text("%s/lib/modules/%s", programs, kernel.release), *modules);
}
