// SPDX-License-Identifier: GPL-2.0
/* Messages: to the kernel's log, where "roce-lab --verbose" finds them, and to the runner. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "guest.h"

int reports_fd = -1;
void (*die_hook)(const char *text);

static void log_line(const char *level, const char *line)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	dprintf(fd, "%sroce-lab: %s", level, line);
	close(fd);
}

void say(const char *format, ...)
{
	va_list args;
	char *line;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	log_line("", line ? line : "out of memory");
	free(line);
}

/* NAME=TEXT and a NUL; in one write unless it is long, as several processes report. */
void report(const char *name, const char *format, ...)
{
	va_list args;
	char *value, *line;

	if (reports_fd < 0)
		return;
	va_start(args, format);
	if (vasprintf(&value, format, args) < 0)
		value = "out of memory";
	va_end(args);
	line = text("%s=%s", name, value);
	if (!write_whole(reports_fd, line, strlen(line) + 1))
		say("report lost: %s", name);
}

/* An emulator would discard data that has not left its ports: the runner ends that one. */
void power_off(void)
{
	sync();
	if (!emulated || reports_fd < 0)
		reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

void die_by_text(const char *what)
{
	/* Also on the console: before there are channels the runner sees nothing else. */
	log_line("<2>", what);
	report("error", "%s", what);
	power_off();
}

void die(const char *format, ...)
{
	va_list args;
	char *what;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		what = "out of memory";
	va_end(args);
	if (die_hook)
		die_hook(what);
	die_by_text(what);
}
