// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile processes, several at a time (--jobs). Each writes send and receive requests,
 * and arbitrary data, to the rings that it shares with the kernel, while two of its
 * threads create, use and destroy QPs, CQs, SRQs, regions, windows and address handles of
 * two devices without coordination. Some are killed meanwhile. An honest connection of
 * another process between the same devices must not be affected.
 *
 * A case is one such process. The decisions of each thread depend only on the seed and the
 * number of the case, but their interleaving does not, so a case that found something may
 * have to be repeated: --case K --repeat N. With --wild the cases' memory allocations fail as
 * debugfs says, those of the honest process do not.
 */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "churn.h"
#include "honest.h"
#include "jobs.h"
#include "random.h"

#define CASES_A_ROUND	16
#define CASE_LIMIT_S	300	/* for the debug kernel, on a shared machine */

/* --- rounds ------------------------------------------------------------------------- */

struct options {
	const char *names[2];
	int gid_index[2];
	uint64_t seed, requests, first, last, repeat;
	unsigned int jobs;
	double seconds;
	bool one_range;
	bool wild;
};

/* A quarter of the processes is killed, within a time in which most others end */
static bool is_killed(const struct options *options, uint64_t number, uint32_t *after_us)
{
	struct rng rng = rng_of_case(~options->seed, number);
	bool killed = rng_percent(&rng, 25);

	*after_us = 1 + rng_below(&rng, rng_percent(&rng, 50) ? 50000 : 500000);
	return killed;
}

static void kill_later(uint32_t after_us)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value = { .tv_nsec = after_us * 1000 } };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL))
		kill(getpid(), SIGKILL);
}

/* For kernels with fault injection */
static void let_allocations_fail(void)
{
	int fd = open("/proc/self/make-it-fail", O_WRONLY);

	if (fd >= 0 && write(fd, "1", 1) == 1)
		close(fd);
}

static int start_case(void *context, uint64_t number)
{
	const struct options *options = context;
	uint32_t after_us;

	if (is_killed(options, number, &after_us))
		kill_later(after_us);
	if (options->wild)
		let_allocations_fail();
	run_case(options->names, options->gid_index, options->seed, number, options->wild);
	return 0;
}

/* A case ends by itself or is killed. */
static bool case_ended(void *context, uint64_t number, int status)
{
	uint32_t after_us;

	totals->cases++;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && is_killed(context, number, &after_us)) {
		totals->killed++;
		return true;
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	printf("case %llu: expected exit status 0, got wait status %#x\n",
	       (unsigned long long)number, status);
	return false;
}

/* Some at a time, so that processes, and threads of one, run in parallel. */
static bool round_of_cases(const struct options *options, struct honest *honest, uint64_t first,
			   uint64_t last)
{
	struct jobs jobs = {
		.at_once = options->jobs, .limit_s = CASE_LIMIT_S,
		.run = start_case, .ended = case_ended, .context = (void *)options,
	};
	bool well = jobs_run(&jobs, first, last);
	const char *what;

	if (!honest_exchange(honest, &what)) {
		printf("honest connection: its %s failed\n", what);
		return false;
	}
	totals->honest++;
	return well;
}

static volatile sig_atomic_t told_to_end;

static void end_soon(int signal)
{
	(void)signal;
	told_to_end = 1;
}

static bool run(const struct options *options, struct honest *honest)
{
	time_t began = time(NULL);
	uint64_t first = 0, n;

	if (options->one_range) {
		for (n = 0; n < options->repeat; n++)
			if (!round_of_cases(options, honest, options->first, options->last))
				return false;
		return true;
	}
	do {
		if (!round_of_cases(options, honest, first, first + CASES_A_ROUND - 1)) {
			printf("one of these cases: --seed %llu --case %llu-%llu\n",
			       (unsigned long long)options->seed, (unsigned long long)first,
			       (unsigned long long)first + CASES_A_ROUND - 1);
			return false;
		}
		first += CASES_A_ROUND;
	} while (!told_to_end && (options->requests ? totals->requests < options->requests :
				  time(NULL) - began < options->seconds));
	return true;
}

static void report(uint64_t seed, bool well)
{
	printf("seed %llu: %llu cases (%llu killed), %llu send requests, %llu receive requests,"
	       " %llu completions, %llu objects, %llu honest exchanges\n",
	       (unsigned long long)seed, (unsigned long long)totals->cases,
	       (unsigned long long)totals->killed, (unsigned long long)totals->requests,
	       (unsigned long long)totals->receives, (unsigned long long)totals->completions,
	       (unsigned long long)totals->objects, (unsigned long long)totals->honest);
	printf("%s hostile process: honest traffic, and every case came to its end\n",
	       well ? "ok  " : "FAIL");
}

static void usage(void)
{
	fputs("usage: process [--seed N] [--seconds S | --requests N | --case K[-L] [--repeat N]]\n"
	      "               [--jobs N] [--wild] A INDEX_A B INDEX_B\n", stderr);
	exit(2);
}

static const struct option long_options[] = {
	{ "seed", 1, NULL, 'S' }, { "seconds", 1, NULL, 't' }, { "requests", 1, NULL, 'r' },
	{ "case", 1, NULL, 'c' }, { "repeat", 1, NULL, 'n' }, { "jobs", 1, NULL, 'j' },
	{ "wild", 0, NULL, 'w' }, {}
};

static void parse(struct options *options, int argc, char **argv)
{
	int option;
	char *end;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		switch (option) {
		case 'S': options->seed = strtoull(optarg, NULL, 0); break;
		case 't': options->seconds = atof(optarg); break;
		case 'r': options->requests = strtoull(optarg, NULL, 0); break;
		case 'j': options->jobs = strtoul(optarg, NULL, 0); break;
		case 'n': options->repeat = strtoull(optarg, NULL, 0); break;
		case 'w': options->wild = true; break;
		case 'c':
			options->first = strtoull(optarg, &end, 0);
			options->last = *end == '-' ? strtoull(end + 1, NULL, 0) : options->first;
			options->one_range = true;
			break;
		default: usage();
		}
	}
	if (argc - optind != 4 || !options->jobs || options->jobs > MAX_JOBS)
		usage();
	for (int i = 0; i < 2; i++) {
		options->names[i] = argv[optind++];
		options->gid_index[i] = atoi(argv[optind++]);
	}
}

int main(int argc, char **argv)
{
	struct options options = { .seed = time(NULL), .seconds = 10, .repeat = 1, .jobs = 4 };
	struct honest honest;
	const char *what = "";
	bool well;
	int ret;

	parse(&options, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, end_soon);
	printf("seed %llu\n", (unsigned long long)options.seed);
	totals = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ret = honest_open(&honest, options.names, options.gid_index);
	if (ret || !honest_exchange(&honest, &what)) {
		printf("FAIL hostile process: cannot begin: %s\n", ret ? strerror(-ret) : what);
		return 1;
	}
	well = run(&options, &honest);
	report(options.seed, well);
	honest_close(&honest);
	return !well;
}
