// SPDX-License-Identifier: GPL-2.0
/* The code of the tracepoints. */
#include <linux/bits.h>

#include "lifecycle/slot_wants.h"

#define CREATE_TRACE_POINTS
#include <rhca/trace.h>

EXPORT_TRACEPOINT_SYMBOL_GPL(rhca_mlx5_command);
