/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_FUZZ_CHURN_H
#define RHCA_FUZZ_CHURN_H

#include <stdbool.h>
#include <stdint.h>

/* Shared with the parent, which outlives its children */
struct totals {
	uint64_t cases;
	uint64_t killed;
	uint64_t requests;	/* send requests offered */
	uint64_t receives;
	uint64_t completions;
	uint64_t objects;
	uint64_t honest;
};

extern struct totals *totals;

/* Be hostile process @number of @seed, and exit. @wild: any call may fail */
void run_case(const char *const names[2], const int gid_index[2], uint64_t seed, uint64_t number,
	      bool wild);

#endif
