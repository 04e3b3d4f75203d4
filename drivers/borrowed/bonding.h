/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The member of a bond that a packet is sent on.
 *
 * We use:	the private structs of the bonding driver. Their header is public, but the
 *		layout may differ in another build of that driver. The public interface of
 *		bonds does not name the members.
 * Where:	include/net/bonding.h, struct bonding, struct slave, bond_slave_can_tx().
 * Since:	3.19 (the header); looked at in 6.1, 6.12 and 7.3.
 * If it changes: it mostly does not compile. Else packets of a QP are not sent on its
 *		member, or on one that is down.
 * Test:	lag, netfilter-queue.
 */
#ifndef RHCA_BORROWED_BONDING_H
#define RHCA_BORROWED_BONDING_H

#include <linux/netdevice.h>
#include <net/bonding.h>

/* BOND_MODE_* of a bond */
static inline int rhca_bonding_mode(const struct net_device *bond)
{
	return BOND_MODE((const struct bonding *)netdev_priv(bond));
}

/**
 * rhca_bonding_sender - Select the member that a packet is sent on
 * @ndev: the bond
 * @wanted: number of the member, in the bond's order
 * @member: must be NULL; set to that member if it can transmit, else to one that can
 *
 * Context: RCU read side.
 * Return: how many members there are.
 */
static inline u32 rhca_bonding_sender(const struct net_device *ndev, u32 wanted,
				      struct net_device **member)
{
	const struct bonding *bond = netdev_priv(ndev);
	struct list_head *iter;
	struct slave *slave;
	u32 i = 0;

	bond_for_each_slave_rcu(bond, slave, iter) {
		if (bond_slave_can_tx(slave) && (!*member || i == wanted))
			*member = slave->dev;
		i++;
	}
	return i;
}

#endif
