/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles of the software HCA: paths, and their numbers in the user ABI. */
#ifndef RHCA_SW_VERBS_QP_AH_H
#define RHCA_SW_VERBS_QP_AH_H

#include "core/qp/ah.h"

struct rhca_path;

struct rhca_verbs_ah {
	struct rhca_ah core;		/* the core's part */
	struct rhca_path *path;		/* to @core.address */
	struct rhca_path *ud_path;	/* to @core.ud_address; may be @path */
	u32 number;			/* number in the user ABI, 0 for kernel users */
};

static inline struct rhca_verbs_ah *to_verbs_ah(struct ib_ah *ibah)
{
	return container_of(to_rhca_ah(ibah), struct rhca_verbs_ah, core);
}

int rhca_verbs_ah_create(struct rhca_ah *core, u32 flags,
			 struct ib_udata *udata);
void rhca_verbs_ah_destroy(struct rhca_ah *core, u32 flags);

#endif
