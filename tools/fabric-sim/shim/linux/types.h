/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's types, for its pure units in a program. */
#ifndef SHIM_LINUX_TYPES_H
#define SHIM_LINUX_TYPES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;

#define U8_MAX		((u8)~0)
#define U16_MAX		((u16)~0)
#define U32_MAX		((u32)~0)
#define S32_MAX		((s32)(U32_MAX >> 1))
#define U64_MAX		((u64)~0)

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define fallthrough	__attribute__((__fallthrough__))
#define __packed	__attribute__((__packed__))
#define READ_ONCE(x)	(x)
#define WRITE_ONCE(x, value)	((x) = (value))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define BIT(n)		(1UL << (n))
#define GENMASK(high, low)	((~0UL << (low)) & (~0UL >> (63 - (high))))

#endif
