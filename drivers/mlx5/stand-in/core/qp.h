#ifndef Q_H
#define Q_H
#include <linux/mutex.h>
#include <rhca/backend.h>
#include "core/address.h"
#include "core/port.h"
struct rhca_qp { struct ib_qp ibqp; struct rhca_dev *dev; struct rhca_port *port; struct list_head entry; struct mutex modify_lock; enum ib_qp_state state; struct ib_qp_attr attr; };
static inline bool rhca_qp_is_datagram(const struct rhca_qp *qp) { return qp->ibqp.qp_type == IB_QPT_UD || qp->ibqp.qp_type == IB_QPT_GSI; }
static inline void rhca_qp_event(struct rhca_qp *qp, enum ib_event_type type)
{
	struct ib_event event = { .device = qp->ibqp.device, .element.qp = &qp->ibqp, .event = type };
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}
#endif
