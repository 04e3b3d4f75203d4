// SPDX-License-Identifier: GPL-2.0
/*
 * A stream over SMC, back and forth, every byte compared.
 *
 * usage: smc-bytes server ADDRESS PORT
 *        smc-bytes client ADDRESS PORT KIBIBYTES
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef AF_SMC
#define AF_SMC	43
#endif
#define CHUNK	32768	/* fits into the peer's buffer, so no end waits for itself */

static unsigned char out[CHUNK], in[CHUNK];

static int transfer(int fd, void *data, size_t bytes, int sending)
{
	char *at = data;
	ssize_t n;

	while (bytes) {
		n = sending ? write(fd, at, bytes) : read(fd, at, bytes);
		if (n <= 0)
			return n < 0 ? -1 : 1;
		at += n;
		bytes -= n;
	}
	return 0;
}

/*
 * The kernel is aborting a stream that ended with its device, and drops the socket's lock in
 * between (smc_close_active_abort()). A socket closed at that moment leaks a reference, which keeps
 * its network namespace for ever.
 */
static void let_abort_end(void)
{
	sleep(1);
}

static int serve(int fd)
{
	int peer = accept(fd, NULL, NULL);

	if (peer < 0)
		return perror("accept"), 1;
	while (!transfer(peer, in, CHUNK, 0))
		if (transfer(peer, in, CHUNK, 1))
			break;
	let_abort_end();
	close(peer);
	return 0;
}

static int ask(int fd, long kib)
{
	long chunk, chunks = kib * 1024 / CHUNK;
	size_t i;

	for (chunk = 0; chunk < chunks; chunk++) {
		for (i = 0; i < CHUNK; i++)
			out[i] = i * 7 + i / 251 + chunk;
		if (transfer(fd, out, CHUNK, 1) || transfer(fd, in, CHUNK, 0)) {
			let_abort_end();
			return fprintf(stderr, "ended after %ld chunks\n", chunk), 1;
		}
		if (memcmp(out, in, CHUNK))
			return fprintf(stderr, "chunk %ld differs\n", chunk), 1;
	}
	printf("ok %ld chunks\n", chunk);
	return 0;
}

int main(int argc, char **argv)
{
	int server = argc == 4 && !strcmp(argv[1], "server");
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int fd, one = 1;

	if (!server && argc != 5)
		return fprintf(stderr, "usage: see the source\n"), 2;
	addr.sin_port = htons(atoi(argv[3]));
	inet_pton(AF_INET, argv[2], &addr.sin_addr);
	fd = socket(AF_SMC, SOCK_STREAM, 0);
	if (fd < 0)
		return perror("socket"), 4;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (server) {
		if (bind(fd, (void *)&addr, sizeof(addr)) || listen(fd, 1))
			return perror("listen"), 1;
		return serve(fd);
	}
	if (connect(fd, (void *)&addr, sizeof(addr)))
		return perror("connect"), 1;
	return ask(fd, atol(argv[4]));
}
