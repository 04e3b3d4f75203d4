// SPDX-License-Identifier: GPL-2.0
/*
 * Words: to the kernel's log, where "roce-lab --verbose" finds them, and to the runner.
 */
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

void say(const char *format, ...)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	va_list args;

	if (fd < 0)
		return;
	va_start(args, format);
	dprintf(fd, "roce-lab: ");
	va_end(args);
	va_start(args, format);
	vdprintf(fd, format, args);
	va_end(args);
	close(fd);
}

/* NAME=TEXT and a NUL, in one write: several processes report. */
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
	if (write(reports_fd, line, strlen(line) + 1) < 0)
		say("report lost: %s", line);
}

void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

void die_by_text(const char *what)
{
	say("%s", what);
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
