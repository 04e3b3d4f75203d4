/* SPDX-License-Identifier: GPL-2.0 */
/* Values that a process may write where the kernel reads an index or a count. */
#ifndef RHCA_KUNIT_LIB_HOSTILE_H
#define RHCA_KUNIT_LIB_HOSTILE_H

#include <kunit/test.h>

static const u32 hostile_values[] = {
	0, 1, 6, 7, 8, 9, 15, 16, 0xff, 0xfffe, 0xffff, 0x10000,
	0x7fffffff, 0x80000000, 0x80000001, 0xfffffff8, 0xffffffff,
};

static inline void hostile_desc(const u32 *value, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%#x", *value);
}

#endif
