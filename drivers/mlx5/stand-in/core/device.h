#ifndef D_H
#define D_H
#include <rhca/backend.h>
#include <linux/mutex.h>
#include "core/port.h"
struct rhca_dev { struct ib_device ibdev; const struct rhca_backend_ops *backend; struct rhca_offer *offer; struct rhca_caps caps; void *private;
 struct net_device *ndev; struct list_head qps; struct mutex qps_lock; struct rhca_port ports[1]; };
static inline struct rhca_dev *to_rhca_dev(struct ib_device *d) { return container_of(d, struct rhca_dev, ibdev); }
#endif
