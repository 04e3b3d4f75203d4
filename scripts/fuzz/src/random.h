/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decisions of a fuzzer. A case is a seed and a number, and has its own generator, so it can be
 * repeated without earlier cases.
 */
#ifndef RHCA_FUZZ_RANDOM_H
#define RHCA_FUZZ_RANDOM_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct rng {
	uint64_t state;
};

/* splitmix64: all states are good, so seeds need no warm-up */
static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline struct rng rng_of_case(uint64_t seed, uint64_t number)
{
	struct rng rng = { seed };

	rng.state = rng_next(&rng) + number * 0xd1342543de82ef95ull;
	return rng;
}

/* 0 .. limit - 1 */
static inline uint32_t rng_below(struct rng *rng, uint32_t limit)
{
	return (rng_next(rng) >> 32) * limit >> 32;
}

static inline bool rng_percent(struct rng *rng, uint32_t percent)
{
	return rng_below(rng, 100) < percent;
}

/* Values at which arithmetic of 8, 16, 24, 31 and 32 bits goes wrong, or any */
static inline uint32_t rng_evil(struct rng *rng)
{
	static const uint32_t evil[] = {
		0, 1, 2, 3, 4, 7, 8, 63, 64, 127, 128, 255, 256, 1023, 1024, 1025,
		4095, 4096, 4097, 0x7fff, 0x8000, 0xffff, 0x7fffff, 0x800000, 0x800001,
		0xfffffe, 0xffffff, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe,
		0xffffffff,
	};
	uint32_t at = rng_below(rng, 2 * sizeof(evil) / sizeof(evil[0]));

	return at < sizeof(evil) / sizeof(evil[0]) ? evil[at] : (uint32_t)rng_next(rng);
}

static inline void rng_fill(struct rng *rng, void *to, size_t bytes)
{
	uint8_t *at = to;

	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint64_t word = rng_next(rng);

		memcpy(at, &word, 8);
	}
	while (bytes--)
		*at++ = rng_next(rng);
}

#endif
