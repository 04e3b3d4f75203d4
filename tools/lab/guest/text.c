// SPDX-License-Identifier: GPL-2.0
/*
 * Strings and small files. Nothing is freed: allocations are small and live about as long as their
 * process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

void *must_alloc(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		die("out of memory");
	return memory;
}

pid_t must_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork: %s (of this machine's processes, or its memory)", strerror(errno));
	return pid;
}

char *text(const char *format, ...)
{
	va_list args;
	char *made;

	va_start(args, format);
	if (vasprintf(&made, format, args) < 0)
		die("out of memory");
	va_end(args);
	return made;
}

bool write_file(const char *path, const char *format, ...)
{
	va_list args;
	char *made;
	int fd, size;
	bool good;

	va_start(args, format);
	size = vasprintf(&made, format, args);
	va_end(args);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	good = fd >= 0 && size >= 0 && write(fd, made, size) == size;
	if (fd >= 0)
		close(fd);
	if (size >= 0)
		free(made);
	return good;
}

size_t read_all(int fd, char **into)
{
	size_t size = 0, room = 4096;
	char *data = must_alloc(room);
	ssize_t got;

	while ((got = read(fd, data + size, room - size - 1)) > 0 ||
	       (got < 0 && errno == EINTR)) {
		size += got > 0 ? got : 0;
		if (room - size > 1)
			continue;
		room *= 2;
		data = realloc(data, room);
		if (!data)
			die("out of memory");
	}
	data[size] = 0;
	*into = data;
	return size;
}

/* Continues after signals; false with errno */
bool write_whole(int fd, const void *data, size_t size)
{
	const char *at = data;
	ssize_t done;

	for (; size; at += done, size -= done) {
		done = write(fd, at, size);
		if (done < 0 && errno != EINTR)
			return false;
		if (done < 0)
			done = 0;
	}
	return true;
}

/* A file's text without the last line end, or NULL */
char *read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size;
	char *data;

	if (fd < 0)
		return NULL;
	size = read_all(fd, &data);
	close(fd);
	if (size && data[size - 1] == '\n')
		data[size - 1] = 0;
	return data;
}

/* Lines, after a last one that may have no end */
void append_file(const char *path, const char *what)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	char last = '\n';

	if (fd >= 0 && lseek(fd, -1, SEEK_END) >= 0 && read(fd, &last, 1) == 1 && last != '\n')
		what = text("\n%s", what);
	if (fd < 0 || write(fd, what, strlen(what)) < 0)
		say("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

void make_folders(const char *path, mode_t mode)
{
	char *made = text("%s", path), *slash;

	for (slash = made + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(made, 0755);
		*slash = '/';
	}
	mkdir(made, mode);
	free(made);
}

char **split(char *what, const char *separators)
{
	char **words = must_alloc((strlen(what) + 2) * sizeof(*words));
	char *word;
	int n = 0;

	for (word = strtok(what, separators); word; word = strtok(NULL, separators))
		words[n++] = word;
	return words;
}

/* If a standard stream is closed, the next file opened would get its number. */
void open_missing_streams(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2)
		;
	close(fd);
}
