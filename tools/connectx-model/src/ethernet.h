/* SPDX-License-Identifier: GPL-2.0 */
/* The network interface: send and receive queues, and the objects that lead to them. */
#ifndef CONNECTX_ETHERNET_H
#define CONNECTX_ETHERNET_H

#include "cq.h"
#include "ifc.h"
#include "recv_queue.h"

enum ethernet_state { ETHERNET_RESET = 0, ETHERNET_READY = 1, ETHERNET_ERROR = 3 };

struct sq {
	struct object object;
	struct device *dev;
	struct ring ring;
	u32 log_count;
	u64 doorbell;
	u16 consumed;
	u8 state;
	u32 pd;
	struct object *pd_object;
	struct object *uar;
	struct cq *cq;
	u32 user_index;
	bool reserved_lkey;
	struct tis *tis;	/* or NULL */
	u8 context[IFC_BYTES(sqc)];
};

struct rq {
	struct object object;
	struct device *dev;
	struct recv_queue queue;
	u8 state;
	struct object *pd_object;
	struct cq *cq;
	u32 user_index;
	bool keep_vlan;
	u32 counter_set;
	u8 context[IFC_BYTES(rqc)];
};

struct tir {
	struct object object;
	struct object *td;
	u8 context[IFC_BYTES(tirc)];
};

struct tis {
	struct object object;
	struct object *td;
	u32 affinity;		/* see lag_egress() */
};

#define RQT_MAX		2048u

struct rqt {
	struct object object;
	u32 count;
	u32 rqn[RQT_MAX];
};

struct sq *sq_find(struct device *dev, u32 number);
struct rq *rq_find(struct device *dev, u32 number);

void sq_doorbell(struct sq *sq);

/* A frame from the wire that is not RoCE, or not addressed to our RoCE. */
void ethernet_receive(struct device *dev, const u8 *frame, u32 bytes, u32 source_td);
void sq_destroy(struct object *object);
void rq_destroy(struct object *object);
void tir_destroy(struct object *object);
void tis_destroy(struct object *object);

#endif
