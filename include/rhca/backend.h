/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The seam: what the core asks of a datapath. The core owns devices, ports,
 * objects, policy, knobs and names; a backend moves the bytes. The core never
 * knows which backend serves a port.
 */
#ifndef RHCA_BACKEND_H
#define RHCA_BACKEND_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct rhca_port;
struct rhca_qp;

/**
 * struct rhca_backend_ops - What the core asks of a datapath
 * @name: short name for logs and sysfs, "software" for example.
 * @verbs: sizes of verbs objects that embed the core's own as their first
 *	member; optional. A size left 0 is the core's.
 * @port_open: The port's netdev is set; start to accept packets for it. May
 *	sleep. On error nothing stays open and the device is not registered.
 * @port_close: Undo @port_open. May sleep. When it returns no packet of the
 *	port is being handled.
 * @port_speaks: Do packets of this RoCE version come in at the port now? May
 *	sleep. Optional: without it, those that the policy enables do.
 * @qp_create: The core's part of @qp is set up and its number reserved, but no
 *	packet can find it yet. May sleep. On error the backend keeps nothing.
 * @qp_destroy: No packet can find @qp any more and none is being handled. Stop
 *	timers and deferred work, free what @qp_create took. May sleep.
 * @qp_modify: The core has checked and stored the attributes named by @mask;
 *	take them over. Called with qp->modify_lock held, before the core makes
 *	the new state visible. Cannot fail.
 * @qp_entered: @qp->state has become visible; start, drain or flush as the
 *	state asks. Called with qp->modify_lock held.
 * @kick_send: New work was posted to the send queue, or the state asks to
 *	flush it. Any context, also with interrupts off; no core lock held.
 * @kick_recv: The same for the receive queue; only called in state ERR.
 */
struct rhca_backend_ops {
	const char *name;
	const struct ib_device_ops *verbs;

	int (*port_open)(struct rhca_port *port);
	void (*port_close)(struct rhca_port *port);
	bool (*port_speaks)(struct rhca_port *port, enum ib_gid_type type);

	int (*qp_create)(struct rhca_qp *qp);
	void (*qp_destroy)(struct rhca_qp *qp);
	void (*qp_modify)(struct rhca_qp *qp, const struct ib_qp_attr *attr,
			  int mask, enum ib_qp_state next);
	void (*qp_entered)(struct rhca_qp *qp, enum ib_qp_state state);

	void (*kick_send)(struct rhca_qp *qp);
	void (*kick_recv)(struct rhca_qp *qp);
};

#endif
