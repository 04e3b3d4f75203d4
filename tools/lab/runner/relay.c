// SPDX-License-Identifier: GPL-2.0
/* Copying between the caller's streams and the guest's: each in a thread, since the caller's
 * are to block, whoever else has them open.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runner.h"

#define PIPE_SIZE	(1 << 20)
#define PIECE		(1 << 16)

/* A pipe that takes a megabyte, where the machine lets it. */
void pipe_make(int *ends)
{
	if (pipe2(ends, O_CLOEXEC))
		die("the machine refuses a pipe: %s", strerror(errno));
	fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE);
}

bool write_all(int fd, const char *data, size_t size)
{
	ssize_t done;

	for (; size; data += done, size -= done) {
		done = write(fd, data, size);
		if (done < 0 && errno != EINTR)
			return false;
		if (done < 0)
			done = 0;
	}
	return true;
}

static bool copy(const struct relay *relay)
{
	char piece[PIECE];
	ssize_t got;

	while ((got = read(relay->from, piece, sizeof(piece))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 || !write_all(relay->to, piece, got))
			return false;
	}
	return write_all(relay->to, relay->at_end, strlen(relay->at_end));
}

/* Until the end, or until nobody reads any more */
static void *run_relay(void *arg)
{
	struct relay *relay = arg;

	/* Closing the source is what tells the guest, by SIGPIPE. */
	if (!copy(relay) && !relay->close_target)
		close(relay->from);
	if (relay->close_target)
		close(relay->to);
	return NULL;
}

struct relay *relay_start(int from, int to, const char *at_end, bool close_target)
{
	struct relay *relay = must_alloc(sizeof(*relay));
	int error;

	*relay = (struct relay){ .from = from, .to = to, .at_end = at_end,
				 .close_target = close_target };
	error = pthread_create(&relay->thread, NULL, run_relay, relay);
	if (error)
		die("the machine refuses a thread: %s", strerror(error));
	return relay;
}

void relay_wait(struct relay *relay)
{
	pthread_join(relay->thread, NULL);
}
