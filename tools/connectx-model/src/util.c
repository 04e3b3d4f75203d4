// SPDX-License-Identifier: GPL-2.0
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

void *zalloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	if (!p) {
		perror("connectx-model: out of memory");
		abort();
	}
	return p;
}

u32 random_u32(u64 *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 32;
}
