/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parallel processes: one that waits leaves the processors to the others, and those that run
 * interact.
 */
#ifndef RHCA_FUZZ_JOBS_H
#define RHCA_FUZZ_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_JOBS	16

/**
 * struct jobs - Numbered jobs, each in a process of its own
 * @at_once: how many run side by side, MAX_JOBS at most
 * @limit_s: seconds that each has
 * @run: the job; returns the exit status of its process
 * @ended: was this wait status a right end?
 */
struct jobs {
	unsigned int at_once;
	int limit_s;
	int (*run)(void *context, uint64_t number);
	bool (*ended)(void *context, uint64_t number, int status);
	void *context;
};

bool jobs_run(const struct jobs *jobs, uint64_t first, uint64_t last);

#endif
