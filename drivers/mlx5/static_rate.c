// SPDX-License-Identifier: GPL-2.0
/* The rate that an address vector may not exceed, as the adapter numbers rates. */
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <rdma/ib_verbs.h>

#include "static_rate.h"

#define NO_LIMIT	0

/* These have numbers of their own; the others are MLX5_STAT_RATE_OFFSET above verbs' */
static const u8 own_numbers[] = {
	[IB_RATE_56_GBPS]	= 1,
	[IB_RATE_25_GBPS]	= 2,
	[IB_RATE_100_GBPS]	= 3,
	[IB_RATE_200_GBPS]	= 4,
	[IB_RATE_50_GBPS]	= 5,
	[IB_RATE_400_GBPS]	= 6,
};

static u8 number_of(u8 rate)
{
	if (rate < ARRAY_SIZE(own_numbers) && own_numbers[rate])
		return own_numbers[rate];
	return rate + MLX5_STAT_RATE_OFFSET;
}

/*
 * What an address vector names for a rate. Where the adapter does not have the rate, it is the
 * next lower one of verbs' numbers that it has, as mlx5_ib has it; so no limit where it has
 * none. @rate: enum ib_rate, as the user of the address says. Returns the adapter's number of
 * the rate, 0 for no limit; -EINVAL for no rate of verbs.
 */
int rhca_mlx5_static_rate(const struct mlx5_core_dev *mdev, u8 rate)
{
	/* Rates that came later are more than an address vector can limit */
	if (rate == IB_RATE_PORT_CURRENT || rate > IB_RATE_600_GBPS)
		return NO_LIMIT;
	if (rate < IB_RATE_2_5_GBPS)
		return -EINVAL;
	while (rate >= IB_RATE_2_5_GBPS &&
	       !(BIT(number_of(rate)) & MLX5_CAP_GEN(mdev, stat_rate_support)))
		rate--;
	return rate < IB_RATE_2_5_GBPS ? NO_LIMIT : number_of(rate);
}
