// SPDX-License-Identifier: GPL-2.0
/* Copying between the caller's streams and the guest's: each in a thread, as the caller's streams
 * must block, whoever else has them open.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"

#define PIPE_SIZE	(1 << 20)
#define PIECE		(1 << 16)
/* A piece must fit on it, whatever "ulimit -s" is. */
#define STACK_SIZE	(1 << 18)

/* A pipe of a megabyte, if the machine permits it. */
void pipe_make(int *ends)
{
	if (pipe2(ends, O_CLOEXEC))
		die("the machine refuses a pipe: %s", strerror(errno));
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE);
}

/* After an error, whether to try again: another process that has the caller's streams open may have
 * set them to non-blocking.
 */
static bool goes_on(int fd, short event)
{
	struct pollfd waited = { .fd = fd, .events = event };

	if (errno == EAGAIN && poll(&waited, 1, -1) >= 0)
		return true;
	return errno == EINTR;
}

bool write_all(int fd, const char *data, size_t size)
{
	ssize_t done;

	for (; size; data += done, size -= done) {
		done = write(fd, data, size);
		if (done < 0 && !goes_on(fd, POLLOUT))
			return false;
		if (done < 0)
			done = 0;
	}
	return true;
}

/* Framed: preceded by its size, as the guest sees no end of file */
static bool put(struct relay *relay, const char *data, size_t size)
{
	uint32_t head = htonl(size);

	if (relay->framed && size && !write_all(relay->to, (const char *)&head, sizeof(head)))
		return false;
	if (!write_all(relay->to, data, size))
		return false;
	relay->bytes += size;
	return true;
}

static bool copy(struct relay *relay)
{
	static const uint32_t end;
	static const char end_of_file = 4;	/* a pty's default VEOF */
	char piece[PIECE];
	ssize_t got;
	bool ended;

	while ((got = read(relay->from, piece, sizeof(piece))) != 0 ||
	       (relay->terminal && terminal_goes_on(relay->from))) {
		if (got < 0 && (goes_on(relay->from, POLLIN) ||
				(relay->terminal && terminal_comes_back(relay->from))))
			continue;
		if (got < 0 || !put(relay, piece, got))
			return false;
		/* Ended by ^D, but without a line end */
		ended = relay->terminal && (!got || piece[got - 1] != '\n') &&
			terminal_goes_on(relay->from);
		if (ended && !put(relay, &end_of_file, 1))
			return false;
	}
	if (relay->terminal)
		return put(relay, &end_of_file, 1);
	return !relay->framed || write_all(relay->to, (const char *)&end, sizeof(end));
}

/* Until the end, or until there is no reader any more */
static void *run_relay(void *arg)
{
	struct relay *relay = arg;

	if (!copy(relay)) {
		relay->error = errno;
		/* Closing the source notifies the guest, by SIGPIPE. One of the caller's is kept
		 * open, as a terminal must be restored.
		 */
		if (relay->from > 2 && !relay->close_target)
			close(relay->from);
	}
	if (relay->close_target)
		close(relay->to);
	relay->ended = true;
	return NULL;
}

static struct relay *start(const struct relay *what)
{
	struct relay *relay = must_alloc(sizeof(*relay));
	pthread_attr_t small;
	int error;

	*relay = *what;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_SIZE);
	error = pthread_create(&relay->thread, &small, run_relay, relay);
	pthread_attr_destroy(&small);
	if (error)
		die("the machine refuses a thread: %s", strerror(error));
	return relay;
}

struct relay *relay_start(int from, int to, bool close_target)
{
	return start(&(struct relay){ .from = from, .to = to, .close_target = close_target });
}

/* The caller's terminal: to a pty of the guest, which sees no end of file, but characters */
struct relay *relay_start_terminal(int from, int to, bool framed)
{
	return start(&(struct relay){ .from = from, .to = to, .terminal = true, .framed = framed });
}

/* For copy_in() of the guest's channel.c */
struct relay *relay_start_framed(int from, int to)
{
	return start(&(struct relay){ .from = from, .to = to, .framed = true });
}

/* 0, or the error that ended it */
int relay_wait(struct relay *relay)
{
	pthread_join(relay->thread, NULL);
	return relay->error;
}
