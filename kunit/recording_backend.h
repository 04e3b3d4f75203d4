/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A backend that moves nothing and writes down what it is asked.
 */
#ifndef RHCA_KUNIT_RECORDING_BACKEND_H
#define RHCA_KUNIT_RECORDING_BACKEND_H

#include <rhca/backend.h>

enum recorded_call {
	RECORDED_PORT_OPEN,
	RECORDED_PORT_CLOSE,
	RECORDED_QP_CREATE,
	RECORDED_QP_DESTROY,
	RECORDED_QP_MODIFY,
	RECORDED_QP_ENTERED,
	RECORDED_KICK_SEND,
	RECORDED_KICK_RECV,
};

/**
 * struct recorded - One call
 * @call: which
 * @port_num: of port calls
 * @qp: of QP calls
 * @state: the QP's next state, for modify and entered
 * @visible: its state as others saw it during the call
 * @mask: attributes that a modify named
 */
struct recorded {
	enum recorded_call call;
	u32 port_num;
	const struct rhca_qp *qp;
	enum ib_qp_state state;
	enum ib_qp_state visible;
	int mask;
};

extern const struct rhca_backend_ops recording_backend;

void recording_clear(void);
u32 recording_of_qp(const struct ib_qp *qp, struct recorded *to, u32 room);
u32 recording_of_ports(struct recorded *to, u32 room);
void recording_fail_port(u32 port_num, int error);
void recording_fail_qp_create(int error);

#endif
