/* SPDX-License-Identifier: GPL-2.0 */
#include <linux/minmax.h>
#include <linux/types.h>
