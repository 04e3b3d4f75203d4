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
#include "core/gid_watch.h"
#include "core/pkey.h"
#include "core/pma.h"
#include "core/qos.h"

struct rhca_dev;

/**
 * struct rhca_port - A port of a device
 * @dev: its device
 * @num: its number, from 1
 * @ndev: its netdev; NULL once that is being unregistered
 * @gid_types: RoCE versions that netdev and backend can and roce_mode has, a bit for
 *	each enum ib_gid_type
 * @made_on: @ndev when the port was made: to compare, not to follow
 * @net: likewise its namespace
 * @ndev_tracker: for the reference that @ndev holds
 * @second: a netdev that packets leave and arrive by as well (LAG over equal-cost
 *	routes), or NULL; goes with @ndev
 * @second_tracker: for its reference
 * @next_member: the LAG member that the next QP sits on, modulo their number
 * @gids: copy of the GID table, for packets to QP1
 * @gid_watch: keeps the GID table up to date where ib_core does not
 * @qos: forced values, priorities
 * @pkeys: partitions that it belongs to
 * @state: as last told to the users
 * @pkey_violations: P_Keys that did not match
 * @qkey_violations: Q_Keys that did not match, since the last reset
 * @link_downed: how often the link went down
 * @counter_set: what all QPs count into that are not bound to a counter
 * @retired: what counter sets had when they went, by enum rhca_counter; under the
 *	device's @counters_lock
 * @pma: zero points of ports/N/counters
 * @private: the backend's own
 */
struct rhca_port {
	struct rhca_dev *dev;
	u32 num;
	struct net_device __rcu *ndev;
	unsigned long gid_types;
	const struct net_device *made_on;
	const struct net *net;
	netdevice_tracker ndev_tracker;
	struct net_device __rcu *second;
	netdevice_tracker second_tracker;
	atomic_t next_member;
	struct rhca_qos qos;
	struct rhca_gid_table gids;
	struct rhca_gid_watch gid_watch;
	struct rhca_pkeys pkeys;
	enum ib_port_state state;
	atomic_t pkey_violations;
	atomic_t qkey_violations;
	atomic_t link_downed;
	struct rhca_counter_set counter_set;
	u64 retired[RHCA_NUM_COUNTERS];
	struct rhca_pma pma;
	void *private;
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
u32 rhca_port_num_gids(const struct rhca_port *port);
void rhca_port_event(struct rhca_port *port, enum ib_event_type type);
void rhca_port_update(struct rhca_port *port, bool mtu_changed);

/* Is it the port's netdev, or one of two? */
static inline bool rhca_port_uses(const struct rhca_port *port,
				  const struct net_device *ndev)
{
	return rcu_access_pointer(port->ndev) == ndev ||
	       rcu_access_pointer(port->second) == ndev;
}

/* Does the port have GIDs of this type? */
static inline bool rhca_port_has_gid_type(const struct rhca_port *port,
					  enum ib_gid_type type)
{
	return port->gid_types & BIT(type);
}

extern const struct attribute_group rhca_port_group;
extern const struct ib_device_ops rhca_port_verbs;

#endif
