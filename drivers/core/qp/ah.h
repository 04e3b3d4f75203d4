/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles, IBTA vol. 1, 11.2.2. */
#ifndef RHCA_CORE_QP_AH_H
#define RHCA_CORE_QP_AH_H

#include <rdma/ib_verbs.h>

#include "core/port/address.h"

/*
 * Without an LRH a received datagram has no service level. In its place ConnectX tells a process
 * which headers are in the 40 bytes before the payload, and UCX reads that.
 */
#define RHCA_WC_SL_ROCE_V1	0x0	/* a GRH */
#define RHCA_WC_SL_ROCE_V2_IPV6	0x9
#define RHCA_WC_SL_ROCE_V2_IPV4	0xa

/* Address handle; a backend embeds it */
struct rhca_ah {
	struct ib_ah ibah;
	struct rhca_address address;		/* with the handle's own source GID */
	struct rhca_address ud_address;		/* with the type of ud_gid_type */
	const struct ib_gid_attr *ud_sgid;	/* held if it is another GID; or NULL */
};

static inline struct rhca_ah *to_rhca_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct rhca_ah, ibah);
}

extern const struct ib_device_ops rhca_ah_verbs;

#endif
