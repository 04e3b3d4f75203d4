/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A port: one netdev, its link state, its GID table and its counters.
 */
#ifndef RHCA_CORE_PORT_H
#define RHCA_CORE_PORT_H

#include <linux/netdevice.h>
#include <linux/seqlock.h>
#include <rdma/ib_verbs.h>

#include "core/counters.h"
#include "core/gid.h"
#include "core/pkey.h"
#include "core/pma.h"
#include "core/qos.h"

struct rhca_dev;
struct rhca_qp_handle;

/**
 * struct rhca_port - A port of a device
 * @dev: its device
 * @num: its number, from 1
 * @ndev: its netdev; NULL once that is being unregistered
 * @net: namespace of @ndev when the port was made: to compare, not to follow
 * @ndev_tracker: for the reference that @ndev holds
 * @second: a netdev that packets leave and arrive by as well (LAG over equal-cost
 *	routes), or NULL; goes with @ndev
 * @second_tracker: for its reference
 * @next_member: the LAG member that the next QP sits on, modulo their number
 * @gsi: QP1 of this port, or NULL
 * @gids: copy of the GID table, for packets to QP1
 * @qos: forced values, priorities
 * @pkeys: partitions that it belongs to
 * @state: as last told to the users
 * @pkey_violations: P_Keys that did not match
 * @qkey_violations: Q_Keys that did not match, since the last reset
 * @counters: per CPU; of all QPs that are not bound to a counter
 * @retired: what counter sets had when they went; under the lock of the device's
 *	@counter_sets
 * @optional: optional counters that are on, from RHCA_FIRST_OPTIONAL
 * @pma: zero points of ports/N/counters
 * @datapath: the backend's own
 */
struct rhca_port {
	struct rhca_dev *dev;
	u32 num;
	struct net_device __rcu *ndev;
	const struct net *net;
	netdevice_tracker ndev_tracker;
	struct net_device __rcu *second;
	netdevice_tracker second_tracker;
	atomic_t next_member;
	struct rhca_qp_handle __rcu *gsi;
	struct rhca_qos qos;
	struct rhca_gid_table gids;
	struct rhca_pkeys pkeys;
	enum ib_port_state state;
	atomic_t pkey_violations;
	atomic_t qkey_violations;
	struct rhca_counters __percpu *counters;
	struct rhca_counters retired;
	unsigned long optional;
	struct rhca_pma pma;
	void *datapath;
};

int rhca_port_init(struct rhca_port *port, struct rhca_dev *dev, u32 num,
		   struct net_device *ndev,
		   const struct rhca_pkey_table *pkeys);
void rhca_port_set_second(struct rhca_port *port, struct net_device *ndev);
void rhca_port_exit(struct rhca_port *port);
void rhca_port_release_netdev(struct rhca_port *port);
struct net_device *rhca_port_get_netdev(struct rhca_port *port);
struct net *rhca_port_get_net(struct rhca_port *port);
enum ib_mtu rhca_port_mtu(struct rhca_port *port);
void rhca_port_event(struct rhca_port *port, enum ib_event_type type);
void rhca_port_update(struct rhca_port *port, bool mtu_changed);

/* Is it the port's netdev, or one of two? */
static inline bool rhca_port_uses(const struct rhca_port *port,
				  const struct net_device *ndev)
{
	return rcu_access_pointer(port->ndev) == ndev ||
	       rcu_access_pointer(port->second) == ndev;
}

/* GIDs that the port offers; two netdevs share the table, as on adapters */
static inline u32 rhca_port_num_gids(const struct rhca_port *port)
{
	return rcu_access_pointer(port->second) ? RHCA_NUM_GIDS / 2 :
						  RHCA_NUM_GIDS;
}

static inline void rhca_port_count(struct rhca_port *port,
				   enum rhca_counter which)
{
	rhca_counter_inc(port->counters, which);
}

/* Under static_branch_unlikely(&rhca_optional_key) */
static inline bool rhca_port_counts(const struct rhca_port *port,
				    enum rhca_counter optional)
{
	return test_bit(optional - RHCA_FIRST_OPTIONAL, &port->optional);
}

extern const struct ib_device_ops rhca_port_verbs;

#endif
