// SPDX-License-Identifier: GPL-2.0
/* The sections that are under way. */
#include "sw/verbs/section.h"

DEFINE_PER_CPU(struct rhca_section, rhca_sections);
