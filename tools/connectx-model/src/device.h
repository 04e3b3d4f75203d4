/* SPDX-License-Identifier: GPL-2.0 */
/* One adapter: the state of one PCI function. */
#ifndef CONNECTX_DEVICE_H
#define CONNECTX_DEVICE_H

#include "caps.h"
#include "command.h"
#include "counters.h"
#include "dma.h"
#include "lag.h"
#include "pages.h"
#include "pci.h"
#include "resource.h"
#include "steering.h"
#include "timer.h"
#include "vfio_user.h"
#include "vport.h"
#include "wire.h"

enum hca_state { HCA_DISABLED, HCA_ENABLED, HCA_RUNNING };

/* Faults provoked through the control socket. */
struct faults {
	bool gone;		/* surprise removal: reads return all ones */
	bool hung;		/* commands are accepted but never answered */
	u8 health_syndrome;	/* shown in the health buffer */
};

struct device {
	u32 index;
	struct device *partner;		/* the adapter's other function, or NULL */
	u32 port_number;		/* 1 or 2 when there is one */
	bool has_switch;		/* manages the adapter's switch */
	struct vfio_user guest;
	struct dma dma;
	struct pci pci;
	struct resources objects;
	enum hca_state state;
	u32 issi;			/* version of the interface that the driver has chosen */
	struct command_queue commands;
	struct caps caps;
	struct pages pages;
	struct vport vport;
	struct port port;
	struct lag lag;			/* that of the master is used */
	struct steering steering;
	struct device_counters counters;
	struct congestion congestion;
	struct faults faults;
	u64 command_latency_ns;		/* 0: commands are executed at once */
	u64 flush_ns;			/* time to flush each request of a QP in error */
	struct timer command_timer;
	struct timer poll_timer;	/* polls records updated without a doorbell */
	struct list ready;		/* QPs with something to send */
	struct list error_queues;	/* QPs in error whose queues may still grow */
	u32 gsi_qpn;			/* the QP that answers to number 1 */
};

void device_init(struct device *dev, u32 index);

/* Function level reset: the state as after power on. */
void device_reset(struct device *dev);

/* Do some of the pending work. */
void device_work(struct device *dev);
bool device_has_work(const struct device *dev);

extern const struct vfio_user_ops device_guest_ops;

/* All adapters of this process. */
#define MAX_DEVICES	4
extern struct device *devices[MAX_DEVICES];
extern u32 device_count;

#endif
