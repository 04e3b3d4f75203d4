/* SPDX-License-Identifier: GPL-2.0 */
/* Output of the model: traces, and the verdict of --strict. */
#ifndef CONNECTX_TRACE_H
#define CONNECTX_TRACE_H

#include "util.h"

enum trace_topic {
	TRACE_COMMAND	= 1 << 0,
	TRACE_FIELD	= 1 << 1,	/* every field of a command that is not 0 */
	TRACE_WQE	= 1 << 2,
	TRACE_CQE	= 1 << 3,
	TRACE_PACKET	= 1 << 4,
	TRACE_DOORBELL	= 1 << 5,
	TRACE_NOTE	= 1 << 6,
};

extern u32 trace_topics;
extern bool trace_strict;

/* Parse "command,wqe,..." or "all". Return: false on an unknown word. */
bool trace_parse(const char *words);
void trace_open(const char *path);
void trace_line(enum trace_topic topic, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define trace(topic, ...) \
	do { if (trace_topics & (topic)) trace_line((topic), __VA_ARGS__); } while (0)
#define trace_note(...)	trace(TRACE_NOTE, __VA_ARGS__)

/*
 * A driver violated the protocol. Always counted and reported; with --strict the program ends here
 * with the explanation.
 */
void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
u64 violation_count(void);

#endif
