/* SPDX-License-Identifier: GPL-2.0 */
/* Types, byte order and small helpers used by every file of the model. */
#ifndef CONNECTX_UTIL_H
#define CONNECTX_UTIL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define MIN(a, b)		((a) < (b) ? (a) : (b))
#define MAX(a, b)		((a) > (b) ? (a) : (b))
#define MAC_BYTES		6
#define GID_BYTES		16

/* 0, or a compiler error if the number is not 0. */
#define BUILD_ZERO(number)	((int)sizeof(char[(number) ? -1 : 1]) - 1)

#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

static inline u16 be16_at(const void *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline u32 be32_at(const void *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline u64 be64_at(const void *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void put_be16(void *p, u16 v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_be32(void *p, u32 v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put_be64(void *p, u64 v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

/* Nanoseconds of a monotonic clock. */
u64 now_ns(void);

/* calloc() that ends the program instead of failing. */
void *zalloc(size_t bytes);

/* Small deterministic generator for impairments. */
u32 random_u32(u64 *state);

#endif
