/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CPU support for the CRC-32: whether vector registers may be used, and the widest that can
 * multiply.
 */
#ifndef RHCA_WIRE_CRC32_ARCH_H
#define RHCA_WIRE_CRC32_ARCH_H

#include <linux/linkage.h>
#include <linux/types.h>

#ifdef CONFIG_X86_64
#include <asm/cpufeature.h>
#include <asm/fpu/api.h>
#include <asm/processor.h>

#define RHCA_CRC32_VARIANT(bits)					\
asmlinkage u32 rhca_crc32_##bits(u64 first, const void *from,		\
				 unsigned long bytes);			\
asmlinkage u32 rhca_crc32_copy_##bits(u64 first, void *to,		\
				      const void *from,			\
				      unsigned long bytes)

RHCA_CRC32_VARIANT(128);
RHCA_CRC32_VARIANT(256);
RHCA_CRC32_VARIANT(512);

#ifdef CONFIG_UML
/*
 * The kernel is a program here: its host thread, and the frame of a signal that interrupts it, save
 * its registers.
 */
#define rhca_cpu_keeps(features)	true

static inline bool rhca_cpu_prefers_ymm(void)
{
	return false;
}

#define RHCA_CRC32_WORTH	16
#else
#include <asm/fpu/types.h>

#define rhca_cpu_keeps(features)	cpu_has_xfeatures(features, NULL)

/* Some CPUs lower a core's clock for a while when it uses 512 bits */
static inline bool rhca_cpu_prefers_ymm(void)
{
#ifdef X86_FEATURE_PREFER_YMM
	return boot_cpu_has(X86_FEATURE_PREFER_YMM);
#else
	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL ||
	    boot_cpu_data.x86 != 6)
		return false;
	switch (boot_cpu_data.x86_model) {
	case 0x55:			/* Skylake, Cascade Lake, Cooper Lake */
	case 0x6a: case 0x6c:		/* Ice Lake, servers */
	case 0x7d: case 0x7e: case 0x9d: /* Ice Lake */
	case 0x8c: case 0x8d:		/* Tiger Lake */
		return true;
	default:
		return false;
	}
#endif
}

/* Saving a process's vector registers costs as much as this many bytes */
#define RHCA_CRC32_WORTH	128
#endif

static inline bool rhca_cpu_multiplies_128(void)
{
	return boot_cpu_has(X86_FEATURE_PCLMULQDQ) &&
	       boot_cpu_has(X86_FEATURE_SSSE3) &&
	       boot_cpu_has(X86_FEATURE_XMM4_1);
}

static inline bool rhca_cpu_multiplies_256(void)
{
	return rhca_cpu_multiplies_128() && boot_cpu_has(X86_FEATURE_AVX2) &&
	       boot_cpu_has(X86_FEATURE_VPCLMULQDQ) &&
	       rhca_cpu_keeps(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM);
}

static inline bool rhca_cpu_multiplies_512(void)
{
	return rhca_cpu_multiplies_256() &&
	       boot_cpu_has(X86_FEATURE_AVX512F) &&
	       rhca_cpu_keeps(XFEATURE_MASK_AVX512);
}

static inline bool rhca_vectors_begin(void)
{
	if (!irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	return true;
}

static inline void rhca_vectors_end(void)
{
	kernel_fpu_end();
}

/* Fastest first */
#define RHCA_CRC32_VARIANTS						\
	{ "512", rhca_cpu_multiplies_512, rhca_cpu_prefers_ymm,		\
	  rhca_crc32_512, rhca_crc32_copy_512 },			\
	{ "256", rhca_cpu_multiplies_256, NULL,				\
	  rhca_crc32_256, rhca_crc32_copy_256 },			\
	{ "128", rhca_cpu_multiplies_128, NULL,				\
	  rhca_crc32_128, rhca_crc32_copy_128 },

#else
#define RHCA_CRC32_WORTH	0
#define RHCA_CRC32_VARIANTS

static inline bool rhca_vectors_begin(void)
{
	return false;
}

static inline void rhca_vectors_end(void)
{
}
#endif
#endif
