// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's log, for the runner, which searches it for faults. syslog(2) would omit records
 * cleared by "dmesg -C"; /dev/kmsg has all records that the kernel still has. Faults older than
 * those are shown by the kernel's taint flags.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define RECORD		16384		/* more than the longest one */
/* More than the kernel keeps: processes that continue to write to it are not waited for. */
#define MOST		(8 << 20)
#define PREFIX		64
/* Bits of Documentation/admin-guide/tainted-kernels.rst: bad page, die, warn */
#define FAULTS		(1 << 5 | 1 << 7 | 1 << 9)

static char *log_text;
static size_t have, room;

static void need_room(size_t size)
{
	if (room - have >= size)
		return;
	room = 2 * (have + size);
	log_text = realloc(log_text, room);
	if (!log_text)
		die("out of memory");
}

static void begin_line(unsigned int priority, unsigned long long us)
{
	have += snprintf(log_text + have, PREFIX, "<%u>[%5llu.%06llu] ", priority, us / 1000000,
			 us % 1000000);
}

/* PRIORITY,NUMBER,MICROSECONDS,...;TEXT, then lines of variables; as in dmesg --raw. In a text the
 * kernel writes unprintable characters as \xNN, including line ends.
 */
static void add_record(const char *record)
{
	const char *at = strchr(record, ';');
	unsigned long long us;
	unsigned int priority, byte;

	if (!at || sscanf(record, "%u,%*u,%llu", &priority, &us) != 2)
		return;
	/* The shortest text of a line end is \x0a. */
	need_room(strlen(at) * PREFIX / 4 + 2 * PREFIX);
	begin_line(priority, us);
	for (at++; *at && *at != '\n'; at++) {
		byte = (unsigned char)*at;
		if (!strncmp(at, "\\x", 2) && sscanf(at + 2, "%2x", &byte) == 1)
			at += 3;
		log_text[have++] = byte ? byte : ' ';
		if (byte == '\n')
			begin_line(priority, us);
	}
	log_text[have++] = '\n';
}

static void read_log(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	static char record[RECORD];
	ssize_t got;

	if (fd < 0)
		return;
	while (have < MOST) {
		got = read(fd, record, sizeof(record) - 1);
		/* Some were overwritten before they were read. */
		if (got < 0 && (errno == EPIPE || errno == EINTR))
			continue;
		if (got <= 0)
			break;
		record[got] = 0;
		add_record(record);
	}
	close(fd);
}

void report_log(void)
{
	char *taint = read_text("/proc/sys/kernel/tainted");

	read_log();
	if (have)
		report("log", "%.*s", (int)have, log_text);
	if (taint && strtoul(taint, NULL, 10) & FAULTS)
		report("tainted", "1");
}
