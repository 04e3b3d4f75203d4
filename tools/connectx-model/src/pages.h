/* SPDX-License-Identifier: GPL-2.0 */
/* Memory that the driver lends to firmware. The model requests it and never uses it. */
#ifndef CONNECTX_PAGES_H
#define CONNECTX_PAGES_H

#include "util.h"

#define BOOT_PAGES	4u
#define INIT_PAGES	64u
#define MAX_PAGES	4096u

struct pages {
	u64 address[MAX_PAGES];
	u32 count;
};

#endif
