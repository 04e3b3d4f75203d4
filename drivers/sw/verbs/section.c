// SPDX-License-Identifier: GPL-2.0
/* The current section of each CPU. */
#include <rhca/compat.h>

#include "sw/verbs/section.h"

/* With 32 bits 0 is later than what jiffies are in the first five minutes */
DEFINE_PER_CPU(struct rhca_section, rhca_sections) = { .until = INITIAL_JIFFIES };
EXPORT_SYMBOL_IF_KUNIT(rhca_sections);
