/* SPDX-License-Identifier: GPL-2.0 */
/* Device state of the software HCA, and its limits. */
#ifndef RHCA_SW_VERBS_DEVICE_H
#define RHCA_SW_VERBS_DEVICE_H

#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "core/device.h"

struct rhca_transport_ops;

/* What query_device reports and create_* enforces */
#define RHCA_MAX_QP		65536
#define RHCA_MAX_QP_WR		16384
#define RHCA_MAX_SGE		32
#define RHCA_MAX_INLINE		512	/* bytes; the space of RHCA_MAX_SGE entries */
#define RHCA_MAX_CQ		65536
#define RHCA_MAX_CQE		4194303	/* as ConnectX */
#define RHCA_MAX_MR		(1 << 20)
#define RHCA_MAX_MW		(1 << 20)
#define RHCA_MAX_MR_BYTES	(1ULL << 39)	/* page lists stay below 2 GiB */
#define RHCA_MAX_FAST_REG_PAGES	65536	/* of one fast registration, as ConnectX */
#define RHCA_MAX_PD		65536
#define RHCA_MAX_AH		65536
#define RHCA_MAX_SRQ		65536
#define RHCA_MAX_SRQ_WR		16384
#define RHCA_MAX_MCAST_GROUPS	8192	/* of a device */
#define RHCA_MAX_MCAST_GROUP_QPS	256	/* of one group: copies of a packet */
#define RHCA_MAX_MCAST_QPS	65536	/* attachments */
#define RHCA_MAX_RD_ATOMIC	128	/* responder resources of a QP, as rdma_rxe */
#define RHCA_MAX_MSG_BYTES	(1U << 31)	/* IBTA vol. 1, 9.3.3.1.3 */
#define RHCA_ACK_DELAY_CODE	15	/* 4.096 us << 15 = 134 ms, as ConnectX */

/* Objects that are limited but not numbered by ib_core */
enum rhca_limited {
	RHCA_LIMIT_PD,
	RHCA_LIMIT_CQ,
	RHCA_LIMIT_SRQ,
	RHCA_LIMIT_QP,
	RHCA_NUM_LIMITS,
};

struct rhca_verbs_dev {
	struct rhca_dev *core;		/* the core's part */
	const struct rhca_transport_ops *transport;	/* the datapath of its QPs */
	struct xarray keys;		/* regions and windows by the upper 24 bits of the key */
	struct xarray paths;		/* of address handles, by number in the user ABI */
	u32 next_key;			/* next number for @keys */
	u32 next_path;			/* next number for @paths */
	struct delayed_work cq_errors;	/* moves the QPs of CQs in error to ERR */
	atomic_t num_on_demand;		/* regions with on-demand paging */
	atomic_t num_objects[RHCA_NUM_LIMITS];	/* counts of limited objects */
};

static inline struct rhca_verbs_dev *to_verbs_dev(struct ib_device *ibdev)
{
	return to_rhca_dev(ibdev)->private;
}

/* Count an object to be created. Returns false if there are @max already */
static inline bool rhca_limit_take(struct rhca_verbs_dev *dev, enum rhca_limited which, int max)
{
	return atomic_add_unless(&dev->num_objects[which], 1, max);
}

static inline void rhca_limit_give(struct rhca_verbs_dev *dev, enum rhca_limited which)
{
	atomic_dec(&dev->num_objects[which]);
}

#endif
