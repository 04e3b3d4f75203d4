// SPDX-License-Identifier: GPL-2.0
/*
 * Messages from the runner to init: first the job, then orders. Bytes are passed unchanged, so that
 * any arguments and names are possible.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

struct field {
	const char *name;
	enum { TEXT, NUMBER, FLAG, LIST } kind;
	size_t at;
};

#define FIELD(_name, _kind, _member) { _name, _kind, offsetof(struct job, _member) }

static const struct field fields[] = {
	FIELD("arg", LIST, argv),
	FIELD("env", LIST, env),
	FIELD("rwdir", LIST, rwdirs),
	FIELD("overlay", LIST, overlays),
	FIELD("set", LIST, knobs),
	FIELD("module", LIST, modules),
	FIELD("limit", LIST, limits),
	FIELD("cwd", TEXT, cwd),
	FIELD("host", TEXT, host),
	FIELD("groups", TEXT, groups),
	FIELD("driver", TEXT, driver),
	FIELD("rate", TEXT, rate),
	FIELD("loss", TEXT, loss),
	FIELD("delay", TEXT, delay),
	FIELD("pcap", TEXT, pcap),
	FIELD("trace", TEXT, trace),
	FIELD("user", TEXT, user_name),
	FIELD("home", TEXT, home),
	FIELD("window", TEXT, window),
	FIELD("uid", NUMBER, uid),
	FIELD("gid", NUMBER, gid),
	FIELD("umask", NUMBER, umask),
	FIELD("hosts", NUMBER, hosts),
	FIELD("devices", NUMBER, devices),
	FIELD("mtu", NUMBER, mtu),
	FIELD("vlan", NUMBER, vlan),
	FIELD("tos", NUMBER, tos),
	FIELD("seed", NUMBER, seed),
	FIELD("tos_set", FLAG, tos_set),
	FIELD("seed_set", FLAG, seed_set),
	FIELD("tty_in", FLAG, tty_in),
	FIELD("tty_out", FLAG, tty_out),
	FIELD("tty_err", FLAG, tty_err),
	FIELD("root", FLAG, root),
	FIELD("ecn", FLAG, ecn),
};

static char buffer[65536];
static size_t have, used;

/* The next NUL-ended text, or NULL at the end of the pipe */
char *next_order(int fd)
{
	size_t size = 0, room = 256;
	char *order = must_alloc(room);
	ssize_t got;

	for (;;) {
		if (used == have) {
			got = channel_read(fd, buffer, sizeof(buffer));
			if (got <= 0)
				return NULL;
			have = got;
			used = 0;
		}
		if (size + 1 > room) {
			room *= 2;
			order = realloc(order, room);
			if (!order)
				die("out of memory");
		}
		order[size++] = buffer[used++];
		if (!order[size - 1])
			return order;
	}
}

/* For a child of pid 1 that takes over the orders: pid 1 may have read ahead. */
void orders_forget(void)
{
	have = used = 0;
}

/* The fields of a list follow each other. */
static void append(char ***list, char *value)
{
	static char ***last;
	static size_t count;
	size_t n;

	if (list != last)
		count = 0;
	last = list;
	n = count++;
	/* The list is full when n + 1 is a power of two. */
	if (!(n & (n + 1))) {
		*list = realloc(*list, (2 * n + 2) * sizeof(**list));
		if (!*list)
			die("out of memory");
	}
	(*list)[n] = value;
	(*list)[n + 1] = NULL;
}

static void take(struct job *job, char *order)
{
	char *value = strchr(order, '=');
	size_t i;

	if (!value)
		die("an order without a value: %s", order);
	*value++ = 0;
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		void *at = (char *)job + fields[i].at;

		if (strcmp(fields[i].name, order))
			continue;
		switch (fields[i].kind) {
		case TEXT: *(const char **)at = value; break;
		case NUMBER: *(unsigned int *)at = strtoul(value, NULL, 10); break;
		case FLAG: *(bool *)at = *value == '1'; break;
		case LIST: append(at, value); break;
		}
		return;
	}
	die("runner and guest are of different versions (%s)", order);
}

struct job *job_read(int fd)
{
	struct job *job = must_alloc(sizeof(*job));
	static char *none[] = { NULL };
	char *order;

	job->hosts = job->devices = 1;
	while ((order = next_order(fd)) && *order)
		take(job, order);
	if (!order)
		die("the runner ended before it had told what to do");
	if (!job->env)
		job->env = none;
	if (!job->rwdirs)
		job->rwdirs = none;
	if (!job->overlays)
		job->overlays = none;
	if (!job->knobs)
		job->knobs = none;
	if (!job->modules)
		job->modules = none;
	if (!job->limits)
		job->limits = none;
	if (job->hosts < 1 || job->hosts > LAB_MAX_HOSTS || job->devices < 1 ||
	    job->devices > LAB_MAX_DEVICES || !job->argv || !job->cwd)
		die("a job that cannot be");
	return job;
}
