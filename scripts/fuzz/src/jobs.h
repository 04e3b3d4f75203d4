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
 * @at_once: number of parallel jobs, at most MAX_JOBS
 * @limit_s: time limit of each, seconds
 * @run: the job; returns the exit status of its process
 * @ended: is this wait status a correct end?
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
