/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wire/headers.h is included for the mask of PSNs; its accessors are compiled, but not called here.
 */
#ifndef SHIM_LINUX_BITFIELD_H
#define SHIM_LINUX_BITFIELD_H

#include <linux/types.h>

#define field_shift(mask)	__builtin_ctzll(mask)
#define u8_get_bits(value, mask)	((u8)(((value) & (mask)) >> field_shift(mask)))
#define u8_encode_bits(value, mask)	((u8)(((u64)(value) << field_shift(mask)) & (mask)))
#define be32_get_bits(value, mask)	\
	((u32)((__builtin_bswap32(value) & (mask)) >> field_shift(mask)))
#define be32_encode_bits(value, mask)	\
	__builtin_bswap32((u32)(((u64)(value) << field_shift(mask)) & (mask)))
#define cpu_to_be32(value)	__builtin_bswap32(value)
#define be32_to_cpu(value)	__builtin_bswap32(value)
#define cpu_to_be16(value)	__builtin_bswap16(value)
#define be16_to_cpu(value)	__builtin_bswap16(value)

#endif
