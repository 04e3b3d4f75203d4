// SPDX-License-Identifier: GPL-2.0
/*
 * Channels to the runner. In User-Mode Linux each channel is a device that is a pipe of the machine
 * outside. In an emulator each is a port of a virtio console, which can be opened only once, loses
 * data that has not left it when the machine ends, and has no end of file: the command gets a pipe,
 * a process copies between pipe and port, and the runner is told how many bytes to expect.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define PORTS		"/sys/class/virtio-ports"
#define PIECE		32768		/* maximum that a port accepts at once */
#define LOOK_US		1000
#define PORT_WAIT_US	30000000

static struct stream {
	const char *name;
	bool in;
	int end;			/* the command's end of its pipe */
	pid_t copier;
} streams[] = {
	{ .name = "stdin", .in = true }, { .name = "stdout" }, { .name = "stderr" },
	{ .name = "capture" }, { .name = "trace" },
};

#define N_STREAMS	(sizeof(streams) / sizeof(streams[0]))

static uint64_t *sent;			/* of each stream, bytes */
static volatile sig_atomic_t last;

/* --- ports ---------------------------------------------------------------- */

static char *port_path(const char *name)
{
	char *wanted = text("roce-lab.%s", name), *path = NULL, *is;
	DIR *ports = opendir(PORTS);
	struct dirent *port;

	while (ports && !path && (port = readdir(ports))) {
		is = read_text(text(PORTS "/%s/name", port->d_name));
		if (is && !strcmp(is, wanted))
			path = text("/dev/%s", port->d_name);
	}
	if (ports)
		closedir(ports);
	return path;
}

static int port_open(const char *name, int flags)
{
	int left = PORT_WAIT_US / LOOK_US, fd;
	char *path;

	/* The kernel learns of them after its driver has been loaded. */
	do {
		path = port_path(name);
		fd = path ? open(path, flags | O_CLOEXEC) : -1;
		if (fd >= 0)
			return fd;
		usleep(LOOK_US);
	} while (left--);
	die("the emulator has no port %s", name);
}

/* The emulator reports that its end of a port is open after the port itself. */
ssize_t channel_read(int fd, void *into, size_t size)
{
	ssize_t got;

	while ((got = read(fd, into, size)) < 0 ? errno == EINTR : !got && emulated)
		if (!got)
			usleep(LOOK_US);
	return got;
}

/* --- to the command ------------------------------------------------------- */

static void read_whole(int port, void *into, size_t size)
{
	ssize_t got;

	for (; size; into = (char *)into + got, size -= got) {
		got = channel_read(port, into, size);
		if (got < 0)
			_exit(1);
	}
}

/* Pieces, each preceded by its size; size 0 is the end. */
static void copy_in(int port, int to)
{
	static char piece[PIECE];
	uint32_t size;
	size_t now;

	for (;;) {
		read_whole(port, &size, sizeof(size));
		size = ntohl(size);
		if (!size)
			_exit(0);
		for (; size; size -= now) {
			now = size < sizeof(piece) ? size : sizeof(piece);
			read_whole(port, piece, now);
			if (!write_whole(to, piece, now))
				_exit(1);
		}
	}
}

/* --- to the runner -------------------------------------------------------- */

static void end_when_empty(int number)
{
	(void)number;
	last = 1;
}

/* Wait until there is room; when the reader ends, the pipe's writers get SIGPIPE. */
static void wait_for_port(int port, short events)
{
	struct pollfd wait = { .fd = port, .events = events };

	if (poll(&wait, 1, -1) > 0 && wait.revents & POLLHUP)
		_exit(0);
}

static void send_out(int port, const char *data, size_t size, uint64_t *count)
{
	ssize_t done;

	for (; size; data += done, size -= done) {
		done = write(port, data, size);
		if (done < 0 && errno != EAGAIN && errno != EINTR)
			_exit(1);
		if (done <= 0) {
			wait_for_port(port, POLLOUT);
			done = 0;
		}
		*count += done;
	}
}

static ssize_t copy_piece(int from, int port, size_t most, uint64_t *count)
{
	static char piece[PIECE];
	ssize_t got = read(from, piece, most < sizeof(piece) ? most : sizeof(piece));

	if (got > 0)
		send_out(port, piece, got, count);
	return got;
}

/* Processes that continue to write to it are not waited for. */
static void copy_rest(int from, int port, uint64_t *count)
{
	ssize_t got;
	int left;

	if (ioctl(from, FIONREAD, &left))
		_exit(1);
	for (; left > 0; left -= got) {
		got = copy_piece(from, port, left, count);
		if (got <= 0)
			_exit(1);
	}
	_exit(0);
}

/* Copy until SIGTERM, and then the rest in the pipe. */
static void copy_out(int from, int port, uint64_t *count)
{
	struct pollfd fds[] = { { .fd = from, .events = POLLIN }, { .fd = port } };
	sigset_t open;

	sigemptyset(&open);
	while (!last) {
		if (ppoll(fds, 2, NULL, &open) < 0)
			continue;
		if (fds[1].revents & POLLHUP)
			_exit(0);
		if (fds[0].revents)
			copy_piece(from, port, PIECE, count);
	}
	copy_rest(from, port, count);
}

static void wait_for_runner(int port)
{
	struct pollfd wait = { .fd = port };

	while (poll(&wait, 1, 0) > 0 && wait.revents & POLLHUP)
		usleep(LOOK_US);
}

static void begin_out(int from, int port, uint64_t *count)
{
	struct sigaction action = { .sa_handler = end_when_empty };
	sigset_t blocked;

	/* It is delivered during ppoll() only. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGTERM, &action, NULL);
	wait_for_runner(port);
	copy_out(from, port, count);
}

/* --- all channels --------------------------------------------------------- */

static void start_stream(struct stream *stream, const struct job *job, uint64_t *count)
{
	int port = port_open(stream->name, stream->in ? O_RDONLY : O_WRONLY | O_NONBLOCK);
	int ends[2], other;

	if (pipe2(ends, O_CLOEXEC))
		die("no pipe: %s", strerror(errno));
	stream->end = ends[!stream->in];
	other = ends[stream->in];
	/* Opening "/dev/stderr" opens it once more. */
	if (fchown(stream->end, job->uid, job->gid) || fchmod(stream->end, 0666))
		say("a pipe of the command's: %s", strerror(errno));
	stream->copier = must_fork();
	if (!stream->copier) {
		if (stream->in) {
			copy_in(port, other);
		} else {
			close(stream->end);
			begin_out(other, port, count);
		}
	}
	close(other);
	close(port);
}

/* In an emulator: the streams of the command, for channel_open() */
void channels_start(const struct job *job)
{
	size_t i;

	if (!emulated)
		return;
	sent = mmap(NULL, N_STREAMS * sizeof(*sent), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sent == MAP_FAILED)
		die("no memory");
	for (i = 0; i < N_STREAMS; i++)
		start_stream(&streams[i], job, &sent[i]);
}

/* Let data written to them leave, and tell the runner how much it was. */
void channels_finish(void)
{
	size_t i;

	for (i = 0; emulated && i < N_STREAMS; i++) {
		if (streams[i].in)
			continue;
		kill(streams[i].copier, SIGTERM);
		while (waitpid(streams[i].copier, NULL, 0) < 0 && errno == EINTR)
			;
		report("sent", "%s %" PRIu64, streams[i].name, sent[i]);
	}
}

int channel_open(const char *name, int flags)
{
	size_t i;
	int fd;

	for (i = 0; emulated && i < N_STREAMS; i++)
		if (!strcmp(streams[i].name, name))
			return fcntl(streams[i].end, F_DUPFD_CLOEXEC, 3);
	if (emulated)
		return port_open(name, flags);
	fd = open(text("/dev/lab/%s", name), flags | O_CLOEXEC);
	if (fd < 0)
		die("/dev/lab/%s: %s", name, strerror(errno));
	return fd;
}
