/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CRC-32 of Ethernet (reflected, polynomial 0x04c11db7), also while copying, in vector registers if
 * the CPU can multiply in them.
 */
#ifndef RHCA_WIRE_CRC32_H
#define RHCA_WIRE_CRC32_H

#include <linux/types.h>

/*
 * Maximum bytes between rhca_crc32_begin() and rhca_crc32_end(), which may disable preemption: some
 * 20 us at 128 bits.
 */
#define RHCA_CRC32_MAX		65536

int rhca_crc32_init(void);
int rhca_crc32_choose(const char *name);
const char *rhca_crc32_name(void);

bool rhca_crc32_begin(unsigned int bytes);
void rhca_crc32_end(bool vectors);
u32 rhca_crc32(bool vectors, u32 crc, const void *data, unsigned int bytes);
u32 rhca_crc32_masked(bool vectors, u32 crc, const void *data,
		      unsigned int bytes);
u32 rhca_crc32_copy(bool vectors, u32 crc, void *to, const void *from,
		    unsigned int bytes);

#endif
