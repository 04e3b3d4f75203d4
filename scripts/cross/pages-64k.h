/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Debian has no kernel of arm64 with pages of 64 KiB. After the configuration of the one with 4 KiB
 * this turns its headers into those of such a kernel, enough to compile.
 */
#undef CONFIG_ARM64_4K_PAGES
#undef CONFIG_PAGE_SIZE_4KB
#undef CONFIG_PAGE_SHIFT
#undef CONFIG_PGTABLE_LEVELS
#undef CONFIG_ARM64_LPA2
#define CONFIG_ARM64_64K_PAGES	1
#define CONFIG_PAGE_SIZE_64KB	1
#define CONFIG_PAGE_SHIFT	16
#define CONFIG_PGTABLE_LEVELS	3
