// SPDX-License-Identifier: GPL-2.0
#include "trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_VIOLATION	3

u32 trace_topics;
bool trace_strict;
static FILE *out;
static u64 violations;

static const struct {
	const char *word;
	u32 topics;
} words[] = {
	{ "command", TRACE_COMMAND }, { "field", TRACE_FIELD }, { "wqe", TRACE_WQE },
	{ "cqe", TRACE_CQE }, { "packet", TRACE_PACKET }, { "doorbell", TRACE_DOORBELL },
	{ "note", TRACE_NOTE }, { "all", ~0u },
};

bool trace_parse(const char *list)
{
	size_t i, length;

	for (; *list; list += length + (list[length] == ',')) {
		length = strcspn(list, ",");
		for (i = 0; i < ARRAY_SIZE(words); i++)
			if (strlen(words[i].word) == length &&
			    !memcmp(words[i].word, list, length))
				break;
		if (i == ARRAY_SIZE(words))
			return false;
		trace_topics |= words[i].topics;
	}
	return true;
}

void trace_open(const char *path)
{
	out = fopen(path, "w");
	if (!out) {
		perror(path);
		exit(1);
	}
	setvbuf(out, NULL, _IOLBF, 1 << 16);
}

static void line(const char *word, const char *format, va_list arguments)
{
	static u64 start;
	u64 now = now_ns();

	if (!start)
		start = now;
	if (!out)
		out = stderr;
	fprintf(out, "%10.6f %-8s ", (now - start) / 1e9, word);
	vfprintf(out, format, arguments);
	fputc('\n', out);
}

void trace_line(enum trace_topic topic, const char *format, ...)
{
	va_list arguments;
	size_t i;

	for (i = 0; words[i].topics != (u32)topic && i < ARRAY_SIZE(words) - 1; i++)
		;
	va_start(arguments, format);
	line(words[i].word, format, arguments);
	va_end(arguments);
}

void violation(const char *format, ...)
{
	va_list arguments;

	violations++;
	va_start(arguments, format);
	line("VIOLATION", format, arguments);
	va_end(arguments);
	if (!trace_strict)
		return;
	fprintf(stderr, "connectx-model: --strict: protocol violation by the driver: ");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	fflush(NULL);
	_Exit(EXIT_VIOLATION);
}

u64 violation_count(void)
{
	return violations;
}
