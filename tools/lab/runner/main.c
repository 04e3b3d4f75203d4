// SPDX-License-Identifier: GPL-2.0
/* The command line of roce-lab */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"

static const char usage[] =
	"usage: roce-lab run [OPTION...] [--] COMMAND [ARGUMENT...]\n"
	"       roce-lab shell [OPTION...]\n"
	"       roce-lab check\n"
	"       roce-lab --version\n"
	"\n"
	"Runs a command in a User-Mode Linux of its own, as who you are, with your files: hosts a,\n"
	"b, c ... on one switch, each with an RDMA device. Inside, \"lab b COMMAND...\" runs one on b.\n"
	"\n";

double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* This program's file; without /proc, the name it was called by */
char *self_path(void)
{
	return realpath("/proc/self/exe", NULL) ?:
	       realpath((const char *)getauxval(AT_EXECFN), NULL) ?: text("./roce-lab");
}

static int help(FILE *to)
{
	/* As in say() */
	if (to == stderr)
		signal(SIGPIPE, SIG_IGN);
	fputs(usage, to);
	if (to == stdout)
		options_help();
	return to == stdout ? 0 : STATUS_FAILED;
}

static int start(char **words, bool shell)
{
	static char *command[2];
	struct options options;

	find_listener();
	options_parse(&options, words);
	if (shell && *options.command)
		die("shell takes no command: roce-lab run does");
	if (!shell && !*options.command)
		die("run what? (roce-lab --help)");
	if (shell) {
		command[0] = getenv("SHELL");
		if (!command[0] || !*command[0])
			command[0] = "/bin/sh";
		options.command = command;
	}
	return run(&options);
}

static bool asks_for_help(const char *word)
{
	return word && (!strcmp(word, "-h") || !strcmp(word, "--help"));
}

static int act(char **words)
{
	const char *word = *words;

	if (!word)
		return help(stderr);
	if (asks_for_help(word) || !strcmp(word, "help") || asks_for_help(words[1]))
		return help(stdout);
	if (!strcmp(word, "--version"))
		return puts(place_version()) < 0;
	if (!strcmp(word, "run") || !strcmp(word, "shell"))
		return start(words + 1, *word == 's');
	if (!strcmp(word, "check") && !words[1])
		return check();
	die("no command %s (roce-lab --help)", word);
}

int main(int argc, char **argv)
{
	int status;

	open_missing_streams();
	/* If it is ignored, there is nobody to wait for. */
	signal(SIGCHLD, SIG_DFL);
	status = act(argc ? argv + 1 : argv);
	if ((fflush(stdout) || ferror(stdout)) && !status) {
		say("standard output: %s", strerror(errno));
		status = STATUS_FAILED;
	}
	if (close(2) && !status)
		status = STATUS_FAILED;
	/* Threads that wait for the caller's input do not end by themselves. */
	_exit(status);
}
