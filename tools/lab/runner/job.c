// SPDX-License-Identifier: GPL-2.0
/*
 * The message to the guest: the command, its caller, the caller's files, the hosts and their wire.
 * Bytes are passed unchanged, as names of files need not be text.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner.h"

#define BIN		"/run/roce-lab/bin"
#define HOSTFILE	"/run/roce-lab/hostfile"

/* Folders that lead to processes of the machine outside */
static const char * const left_out[] = { "SSH_AUTH_SOCK", "SSH_AGENT_PID", "DISPLAY",
					 "WAYLAND_DISPLAY", "XAUTHORITY" };
/* Each host of a lab has its own of these. */
static const char * const own_folders[] = { "/tmp", "/var/tmp", "/run", "/dev/shm" };
/* The guest's own, or in memory: they are not replaced. */
static const char * const not_written[] = { "/proc", "/sys", "/dev", "/etc" };

/* --- the message ------------------------------------------------------------ */

static void put(struct message *message, const char *data, size_t size)
{
	if (message->size + size > message->room) {
		message->room = 2 * (message->size + size);
		message->data = realloc(message->data, message->room);
		if (!message->data)
			die("out of memory");
	}
	memcpy(message->data + message->size, data, size);
	message->size += size;
}

void message_add(struct message *message, const char *name, const char *value)
{
	put(message, name, strlen(name));
	put(message, "=", 1);
	put(message, value, strlen(value) + 1);
}

/* The value of the next field of that name after @after, the value of another one, or NULL for the
 * first; returns NULL if there is none.
 */
const char *message_next(const struct message *message, const char *name, const char *after)
{
	const char *end = message->data + message->size, *at = message->data;
	size_t size = strlen(name);

	if (after)
		at = after + strlen(after) + 1;
	for (; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, size) && at[size] == '=')
			return at + size + 1;
	return NULL;
}

static void add_number(struct message *message, const char *name, unsigned long value)
{
	message_add(message, name, text("%lu", value));
}

/* --- folders ---------------------------------------------------------------- */

static bool is_below(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	return !strncmp(path, folder, size) && (!path[size] || path[size] == '/');
}

static bool is_below_one(const char *path, const char * const *folders, size_t n)
{
	while (n--)
		if (is_below(path, folders[n]))
			return true;
	return false;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_same(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static char *here(void)
{
	char *folder = getcwd(NULL, 0);

	if (!folder && errno == ENOENT)
		die("the current folder does not exist any more (--cwd names another)");
	if (!folder)
		die("the current folder: %s", strerror(errno));
	return folder;
}

static char *current_folder(const struct options *options)
{
	const char *named = getenv("PWD");
	char *folder;

	if (options->root)
		return text("%s", options->cwd ?: "/");
	if (options->cwd) {
		if (!is_folder(options->cwd))
			die("--cwd %s: no such folder", options->cwd);
		return *options->cwd == '/' ? text("%s", options->cwd) :
		       text("%s/%s", here(), options->cwd);
	}
	folder = here();
	/* The shell's name for it, if it was reached through a symbolic link */
	return named && *named == '/' && is_same(named, folder) ? text("%s", named) : folder;
}

char *real_folder(const char *option, const char *given)
{
	char *path = realpath(given, NULL);

	if (!path || !is_folder(path))
		die("%s %s: no such folder", option, given);
	return path;
}

static bool can_be_put(const char *path)
{
	if (!strcmp(path, "/") || !strcmp(path, "/run"))
		return false;
	return is_below(path, "/dev/shm") ||
	       !is_below_one(path, not_written, ARRAY_SIZE(not_written));
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

/* Real paths, each once, outer ones first. @cwd: one more that is written through, or NULL if the
 * folders are in memory.
 */
static void add_folders(struct message *message, const char *name, const char *option,
			const char **given, const char *cwd)
{
	char **paths, *path;
	size_t n = 0, i;

	while (given[n])
		n++;
	paths = must_alloc((n + 1) * sizeof(*paths));
	for (n = 0; *given; given++) {
		path = real_folder(option, *given);
		if (can_be_put(path))
			paths[n++] = path;
		else if (cwd || !is_below(path, "/etc"))	/* in memory in any case */
			die("%s %s: it cannot be written%s", option, *given, cwd ? " through" : "");
	}
	path = cwd ? realpath(cwd, NULL) : NULL;
	if (path && can_be_put(path))
		paths[n++] = path;
	qsort(paths, n, sizeof(*paths), compare);
	for (i = 0; i < n; i++)
		if (!i || strcmp(paths[i], paths[i - 1]))
			message_add(message, name, paths[i]);
}

/* --- variables -------------------------------------------------------------- */

static bool is_written(const struct message *message, const char *path)
{
	static const char * const names[] = { "rwdir", "overlay" };
	const char *real = realpath(path, NULL), *folder;
	size_t i;

	for (i = 0; real && i < ARRAY_SIZE(names); i++)
		for (folder = NULL; (folder = message_next(message, names[i], folder));)
			if (is_below(real, folder))
				return true;
	return false;
}

/* A folder for temporary files that is a different one inside, or read-only */
static bool is_other_inside(const struct message *message, const char *variable)
{
	static const char * const names[] = { "TMPDIR=", "TMP=", "TEMP=" };
	const char *value = strchr(variable, '=') + 1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return !*value || is_below_one(value, own_folders, ARRAY_SIZE(own_folders)) ||
			       (*value == '/' && !is_written(message, value));
	return false;
}

static bool is_left_out(const struct message *message, const char *variable)
{
	size_t i;

	if (!strchr(variable, '=') || !strncmp(variable, "DBUS_", 5) ||
	    is_other_inside(message, variable))
		return true;
	for (i = 0; i < ARRAY_SIZE(left_out); i++)
		if (!strncmp(variable, left_out[i], strlen(left_out[i])) &&
		    variable[strlen(left_out[i])] == '=')
			return true;
	return false;
}

/* Settings for MPI's launchers: how to start programs on other hosts, and that RDMA is used */
struct variable {
	const char *name, *value;
	enum { ALWAYS, SEVERAL_HOSTS, ROOT } when;
};

static const struct variable mpi_variables[] = {
	{ "OMPI_MCA_plm_rsh_agent", BIN "/lab-rsh", ALWAYS },
	{ "PRTE_MCA_plm_ssh_agent", BIN "/lab-rsh", ALWAYS },
	{ "HYDRA_LAUNCHER", "rsh", ALWAYS },
	{ "HYDRA_LAUNCHER_EXEC", BIN "/lab-rsh", ALWAYS },
	/* There are more ranks than processors. */
	{ "OMPI_MCA_rmaps_base_oversubscribe", "1", ALWAYS },
	{ "OMPI_MCA_hwloc_base_binding_policy", "none", ALWAYS },
	{ "PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", ALWAYS },
	{ "OMPI_ALLOW_RUN_AS_ROOT", "1", ROOT },
	{ "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", ROOT },
	{ "OMPI_MCA_orte_default_hostfile", HOSTFILE, SEVERAL_HOSTS },
	{ "PRTE_MCA_prte_default_hostfile", HOSTFILE, SEVERAL_HOSTS },
	{ "HYDRA_HOST_FILE", HOSTFILE, SEVERAL_HOSTS },
	/* Debian disables UCX, and Open MPI uses it for some adapters only. */
	{ "OMPI_MCA_pml", "ucx", SEVERAL_HOSTS },
	{ "OMPI_MCA_osc", "ucx", SEVERAL_HOSTS },
	{ "OMPI_MCA_opal_common_ucx_devices", "any", SEVERAL_HOSTS },
	{ "OMPI_MCA_opal_common_ucx_tls", "any", SEVERAL_HOSTS },
};

static bool is_root_inside(const struct options *options)
{
	return options->user && !strcmp(options->user, "root");
}

static void add_environment(struct message *message, const struct options *options)
{
	const bool holds[] = { [ALWAYS] = true, [SEVERAL_HOSTS] = options->hosts > 1,
			       [ROOT] = !getuid() || is_root_inside(options) };
	const struct variable *variable;
	char **each;

	for (each = environ; *each; each++)
		if (!is_left_out(message, *each) && strncmp(*each, "PATH=", 5))
			message_add(message, "env", *each);
	message_add(message, "env", text("PATH=" BIN ":%s", getenv("PATH") ?: "/usr/bin:/bin"));
	for (variable = mpi_variables; variable < mpi_variables + ARRAY_SIZE(mpi_variables);
	     variable++)
		if (holds[variable->when] && !getenv(variable->name))
			message_add(message, "env", text("%s=%s", variable->name, variable->value));
}

/* --- the caller ------------------------------------------------------------- */

#define LETTERS	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

static bool is_name(const char *name)
{
	return *name && strchr(LETTERS, *name) && !name[strspn(name, LETTERS "0123456789.-")];
}

/* From the file alone, as a static program has no other ways of finding users. For unknown users
 * the guest adds a line to its own file: with permitted characters, and no other user's name.
 */
static void add_user(struct message *message, const struct options *options)
{
	const char *name = getenv("LOGNAME") ?: "", *home = getenv("HOME") ?: "";
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd *entry;
	bool good = is_name(name);

	if (*home != '/' || strpbrk(home, ":\n"))
		home = "/";
	while (users && (entry = fgetpwent(users))) {
		good &= strcmp(entry->pw_name, name) != 0;
		if (entry->pw_uid == getuid()) {
			name = text("%s", entry->pw_name);
			home = text("%s", entry->pw_dir);
			good = true;
			break;
		}
	}
	if (users)
		fclose(users);
	if (!good)
		name = "user";
	if (options->user && !is_root_inside(options) && strcmp(options->user, name))
		die("--user %s: there are root, and %s, who you are", options->user, name);
	message_add(message, "user", name);
	message_add(message, "home", home);
	add_number(message, "root", is_root_inside(options));
}

static void add_ids(struct message *message)
{
	gid_t groups[NGROUPS_MAX > 1024 ? 1024 : NGROUPS_MAX];
	int n = getgroups(ARRAY_SIZE(groups), groups), i;
	char *all = "";
	mode_t mask = umask(077);

	umask(mask);
	for (i = 0; i < n; i++)
		all = text("%s%s%u", all, i ? "," : "", groups[i]);
	add_number(message, "uid", getuid());
	add_number(message, "gid", getgid());
	message_add(message, "groups", all);
	add_number(message, "umask", mask);
}

/* By number, which are the same in the guest. Locked memory has no limit here. */
static void add_limits(struct message *message)
{
	struct rlimit limit;
	int number;

	for (number = 0; number < RLIM_NLIMITS; number++)
		if (number != RLIMIT_MEMLOCK && !getrlimit(number, &limit))
			message_add(message, "limit", text("%d:%llu:%llu", number,
							   (unsigned long long)limit.rlim_cur,
							   (unsigned long long)limit.rlim_max));
}

/* --- the whole message ------------------------------------------------------ */

static void add_wire(struct message *message, const struct options *options)
{
	const struct { const char *name, *value; } given[] = {
		{ "loss", options->loss }, { "delay", options->delay },
		{ "rate", options->rate }, { "pcap", options->pcap },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(given); i++)
		if (given[i].value)
			message_add(message, given[i].name, given[i].value);
	add_number(message, "ecn", options->ecn);
	add_number(message, "mtu", options->mtu);
	add_number(message, "vlan", options->vlan);
	add_number(message, "tos", options->tos);
	add_number(message, "tos_set", options->tos_given);
	add_number(message, "seed", options->seed);
	add_number(message, "seed_set", options->seed_given);
}

static bool is_module_file(const char *module)
{
	const char *dot = strrchr(module, '.');

	return strchr(module, '/') || (dot && !strcmp(dot, ".ko"));
}

/* A file, or else the name of a module that the lab has */
static void add_modules(struct message *message, const char **modules)
{
	char *path;

	for (; *modules; modules++) {
		if (!is_module_file(*modules)) {
			message_add(message, "module", *modules);
			continue;
		}
		path = realpath(*modules, NULL);
		if (!path || access(path, R_OK))
			die("--module %s: it cannot be read", *modules);
		message_add(message, "module", path);
	}
}

static void add_terminal(struct message *message, const struct terminal *terminal)
{
	char *window = terminal_window(terminal);

	add_number(message, "tty_in", terminal->foreground);
	add_number(message, "tty_out", terminal->is[1]);
	add_number(message, "tty_err", terminal->is[2]);
	if (window)
		message_add(message, "window", window);
}

void job_write(struct message *message, const struct options *options,
	       const struct terminal *terminal)
{
	char *cwd = current_folder(options), **word;
	const char **each;

	message_add(message, "cwd", cwd);
	add_ids(message);
	add_limits(message);
	add_user(message, options);
	add_number(message, "hosts", options->hosts);
	add_number(message, "devices", options->devices);
	message_add(message, "driver", options->driver);
	add_wire(message, options);
	add_terminal(message, terminal);
	for (each = options->set; *each; each++)
		message_add(message, "set", *each);
	if (options->trace)
		message_add(message, "trace", options->trace);
	add_modules(message, options->module);
	if (!options->root)
		add_folders(message, "rwdir", "--rwdir", options->rwdir, cwd);
	add_folders(message, "overlay", "--overlay-rwdir", options->overlay_rwdir, NULL);
	add_environment(message, options);
	for (word = options->command; *word; word++)
		message_add(message, "arg", *word);
	put(message, "", 1);
}
