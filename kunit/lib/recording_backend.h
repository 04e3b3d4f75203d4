/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A complete backend that transfers no data, records its calls, and fails on request: for tests of
 * the core without a real one.
 */
#ifndef RHCA_KUNIT_LIB_RECORDING_BACKEND_H
#define RHCA_KUNIT_LIB_RECORDING_BACKEND_H

#include <rhca/backend.h>

#include "core/port/address.h"

enum recorded_call {
	RECORDED_DEV_INIT,
	RECORDED_DEV_EXIT,
	RECORDED_DEV_QUIESCE,
	RECORDED_PORT_OPEN,
	RECORDED_PORT_QUIESCE,
	RECORDED_PORT_CLOSE,
	RECORDED_GID_SET,
	RECORDED_PKEYS_CHECK,
	RECORDED_QP_CREATE,
	RECORDED_QP_DESTROY,
	RECORDED_QP_MODIFY,
	RECORDED_QP_READDRESS,
	RECORDED_QP_COUNT,
	RECORDED_AH_CREATE,
	RECORDED_AH_DESTROY,
	RECORDED_MCAST_ATTACH,
	RECORDED_MCAST_DETACH,
	RECORDED_COUNTERS_OPEN,
	RECORDED_COUNTERS_CLOSE,
	RECORDED_COUNTERS_READ,
	RECORDED_COUNTERS_BIND,
	RECORDED_COUNTERS_ENABLE,
	RECORDED_NUM_CALLS,
};

/* One call */
struct recorded {
	enum recorded_call call;	/* which */
	u32 port_num;			/* of calls about a port */
	bool has_netdev;		/* likewise: it has its netdev */
	const struct rhca_qp *qp;	/* of calls about a QP */
	enum ib_qp_state from;		/* state at the start of a modify */
	enum ib_qp_state state;		/* state after it */
	int mask;			/* attributes it sets */
	/* destination of it, a readdress or an address handle */
	struct rhca_address address;
};

extern const struct rhca_backend_ops recording_backend;

void recording_clear(void);
u32 recording_of(unsigned long calls, const struct ib_qp *qp, struct recorded *to, u32 room);
u32 recording_num(enum recorded_call call);
void recording_fail(enum recorded_call call, int error);
void recording_limit_gid_types(unsigned long types);
void recording_fail_port(u32 port_num, int error);
void recording_move_netdevs(bool move);
void recording_set_state(struct ib_qp *qp, enum ib_qp_state state);
void recording_count(struct rhca_counter_set *set, enum rhca_counter which, u64 n);

#endif
