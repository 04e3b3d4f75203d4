/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel interfaces of the driver's pure units, apart from types: very few. */
#ifndef SHIM_RHCA_COMPAT_H
#define SHIM_RHCA_COMPAT_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

#define VISIBLE_IF_KUNIT	static
#define EXPORT_SYMBOL_IF_KUNIT(symbol)

#endif
