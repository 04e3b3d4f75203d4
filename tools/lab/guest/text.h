/* SPDX-License-Identifier: GPL-2.0 */
/* Strings and small files, for the guest's programs and for the runner */
#ifndef LAB_TEXT_H
#define LAB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The guest and the runner have one each: in say.c, in run.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void *must_alloc(size_t size);
pid_t must_fork(void);
bool write_file(const char *path, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
char *read_text(const char *path);
size_t read_all(int fd, char **into);
bool write_whole(int fd, const void *data, size_t size);
void append_file(const char *path, const char *text);
void make_folders(const char *path, mode_t mode);
char **split(char *text, const char *separators);
void open_missing_streams(void);

#endif
