// SPDX-License-Identifier: GPL-2.0
/* The code of the tracepoints. */
#include <linux/bits.h>

#define CREATE_TRACE_POINTS
#include <rhca/trace.h>
