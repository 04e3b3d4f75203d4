// SPDX-License-Identifier: GPL-2.0
/* The current section of each CPU. */
#include <rhca/compat.h>

#include "sw/verbs/section.h"

DEFINE_PER_CPU(struct rhca_section, rhca_sections);
EXPORT_SYMBOL_IF_KUNIT(rhca_sections);
