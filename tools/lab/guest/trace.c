// SPDX-License-Identifier: GPL-2.0
/* The kernel's trace events, as text, to a file of the caller. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define TRACING		"/sys/kernel/tracing"
#define BUFFER_KIB	4096		/* of each processor */
#define LOOK_MS		100

static pid_t tracer;
static volatile sig_atomic_t last;

static void end_when_empty(int number)
{
	(void)number;
	last = 1;
}

static void choose_events(const char *events)
{
	char **event;

	for (event = split(text("%s", events), ", "); *event; event++) {
		int fd = open(TRACING "/set_event", O_WRONLY | O_APPEND | O_CLOEXEC);

		if (fd < 0 || write(fd, *event, strlen(*event)) < 0)
			die("--trace %s: the kernel has no such events (%s)", *event,
			    strerror(errno));
		close(fd);
	}
}

static void copy_events(int from, int to)
{
	struct pollfd wait = { .fd = from, .events = POLLIN };
	static char buffer[65536];
	ssize_t got;

	for (;;) {
		got = read(from, buffer, sizeof(buffer));
		if (got > 0 && !write_whole(to, buffer, got))
			_exit(1);
		if (got > 0 || (got < 0 && errno == EINTR))
			continue;
		if (last)
			_exit(0);
		poll(&wait, 1, LOOK_MS);
	}
}

/* Events so far are written before the lab ends. */
void trace_stop(void)
{
	if (tracer <= 0)
		return;
	write_file(TRACING "/tracing_on", "0");
	kill(tracer, SIGTERM);
	waitpid(tracer, NULL, 0);
}

void trace_start(const struct job *job)
{
	struct sigaction action = { .sa_handler = end_when_empty };
	int from, to = channel_open("trace", O_WRONLY);

	if (mount("trace", TRACING, "tracefs", 0, NULL) && errno != EBUSY)
		die("--trace: this kernel has no trace events (%s)", strerror(errno));
	write_file(TRACING "/buffer_size_kb", "%d", BUFFER_KIB);
	from = open(TRACING "/trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (from < 0 || to < 0)
		die("--trace: %s", strerror(errno));
	choose_events(job->trace);
	tracer = must_fork();
	if (!tracer) {
		sigaction(SIGTERM, &action, NULL);
		copy_events(from, to);
	}
	close(from);
	close(to);
}
