// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles. The kernel's requests have the address that the core resolved. A process's
 * library writes the address itself, and needs only the MAC from the kernel.
 */
#include <linux/etherdevice.h>
#include <linux/mlx5/device.h>
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "address.h"
#include "device.h"

#define HAS_GRH		BIT(30)	/* of grh_gid_fl */
#define GID_INDEX_SHIFT	20
#define ECT_0		BIT(1)	/* in tclass: switches may mark packets instead of dropping them */
#define PRIORITY_SHIFT	1	/* in stat_rate_sl: one bit less than a service level */
#define RATE_SHIFT	4
#define NO_LIMIT	0	/* as a rate */

/* These rates have special numbers; the others are verbs' plus MLX5_STAT_RATE_OFFSET */
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
 * Convert a static rate for an address vector. If the adapter lacks the rate, use the next lower
 * number of verbs that it has, as mlx5_ib does, or no limit if there is none. @rate: enum ib_rate
 * from the user. Returns the adapter's number, 0 for no limit; -EINVAL if verbs have no such rate.
 */
int rhca_mlx5_static_rate(const struct mlx5_core_dev *mdev, u8 rate)
{
	/* An address vector cannot limit to newer rates */
	if (rate == IB_RATE_PORT_CURRENT || rate > IB_RATE_600_GBPS)
		return NO_LIMIT;
	if (rate < IB_RATE_2_5_GBPS)
		return -EINVAL;
	while (rate >= IB_RATE_2_5_GBPS &&
	       !(BIT(number_of(rate)) & MLX5_CAP_GEN(mdev, stat_rate_support)))
		rate--;
	return rate < IB_RATE_2_5_GBPS ? NO_LIMIT : number_of(rate);
}

static int set_av(struct mlx5_av *av, const struct mlx5_core_dev *mdev,
		  const struct rhca_address *address)
{
	const struct rhca_flow *flow = &address->flow;
	int rate = rhca_mlx5_static_rate(mdev, address->static_rate);

	if (rate < 0)
		return rate;
	memset(av, 0, sizeof(*av));
	ether_addr_copy(av->rmac, address->dmac);
	memcpy(av->rgid, flow->dgid.raw, sizeof(av->rgid));
	av->stat_rate_sl = rate << RATE_SHIFT |
			   rhca_address_priority(address) << PRIORITY_SHIFT;
	av->tclass = flow->tclass | (flow->encap == RHCA_V1 ? 0 : ECT_0);
	av->hop_limit = rhca_address_hop_limit(address);
	av->grh_gid_fl = cpu_to_be32(HAS_GRH | flow->flow_label |
				     address->sgid_index << GID_INDEX_SHIFT);
	return 0;
}

int rhca_mlx5_ah_create(struct rhca_ah *base, u32 flags, struct ib_udata *udata)
{
	struct rhca_mlx5_ah *ah = container_of(base, struct rhca_mlx5_ah, base);
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(base->ibah.device);
	struct mlx5_ib_create_ah_resp resp = {};
	int ret;

	ret = set_av(&ah->av, mdev, &base->address) ?:
	      set_av(&ah->ud_av, mdev, &base->ud_address);
	if (ret || !udata)
		return ret;
	if (udata->outlen < offsetofend(typeof(resp), dmac))
		return -EINVAL;
	resp.response_length = min(udata->outlen, sizeof(resp));
	ether_addr_copy(resp.dmac, base->address.dmac);
	return ib_copy_to_udata(udata, &resp, resp.response_length);
}
