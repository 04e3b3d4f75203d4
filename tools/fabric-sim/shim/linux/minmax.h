/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_MINMAX_H
#define SHIM_LINUX_MINMAX_H

#include <linux/types.h>

#define min(a, b)	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b)	({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b)	({ type a_ = (a); type b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b)	({ type a_ = (a); type b_ = (b); a_ > b_ ? a_ : b_; })
#define min3(a, b, c)	({ __typeof__(c) c_ = (c); __typeof__(a) m_ = min(a, b); min(m_, c_); })
#define max3(a, b, c)	({ __typeof__(c) c_ = (c); __typeof__(a) m_ = max(a, b); max(m_, c_); })
#define clamp_t(type, x, low, high)	({ type x_ = (x); type l_ = (low); type h_ = (high); \
					   x_ < l_ ? l_ : x_ > h_ ? h_ : x_; })
#define clamp(x, low, high)	clamp_t(__typeof__(x), x, low, high)

#endif
