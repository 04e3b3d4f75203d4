/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles, IBTA vol. 1, 11.2.2. */
#ifndef RHCA_CORE_QP_AH_H
#define RHCA_CORE_QP_AH_H

#include <rdma/ib_verbs.h>

#include "core/port/address.h"

/**
 * struct rhca_ah - Address handle; a backend embeds it
 * @ibah: ib_core's part
 * @address: the destination with the source GID that the handle names
 * @ud_address: the same with the GID type that ud_gid_type asks for, for datagrams
 *	of processes; may be @address
 * @ud_sgid: the source GID of @ud_address, where that is another one: its entry in
 *	the table is not given to another GID while there is the handle; or NULL
 */
struct rhca_ah {
	struct ib_ah ibah;
	struct rhca_address address;
	struct rhca_address ud_address;
	const struct ib_gid_attr *ud_sgid;
};

static inline struct rhca_ah *to_rhca_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct rhca_ah, ibah);
}

extern const struct ib_device_ops rhca_ah_verbs;

#endif
