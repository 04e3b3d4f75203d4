// SPDX-License-Identifier: GPL-2.0
/* roce_hca_kunit.ko: the suites run when it is loaded. */
#include <linux/module.h>
#include <rhca/compat.h>

RHCA_IMPORT_CORE;
RHCA_IMPORT_KUNIT_SYMBOLS;
MODULE_AUTHOR("The roce-hca authors");
MODULE_DESCRIPTION("KUnit suites of roce_hca");
MODULE_LICENSE("GPL");
