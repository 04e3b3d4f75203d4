// SPDX-License-Identifier: GPL-2.0
/* Which bonds make a LAG, and which member of a bond a packet is sent on. */
#include <rhca/compat.h>

#include "borrowed/bonding.h"
#include "core/rules/lag.h"

/* The kind of LAG for a bonding mode. @bond_mode: BOND_MODE_*. */
static enum rhca_lag_kind kind_of_mode(int bond_mode)
{
	switch (bond_mode) {
	case BOND_MODE_ACTIVEBACKUP:
		return RHCA_LAG_ACTIVE_BACKUP;
	case BOND_MODE_XOR:
	case BOND_MODE_8023AD:
		return RHCA_LAG_ACTIVE_ACTIVE;
	default:
		return RHCA_LAG_NONE;
	}
}

/**
 * rhca_lag_decide - Should one device replace those of the members of a bond?
 * @facts: state of the bond
 *
 * Return: the kind of LAG; RHCA_LAG_NONE unless the bond has exactly two members, both are
 * ports, their devices have no other ports, their partitions are the same, so that tenants stay
 * isolated, and the user has not disabled it.
 */
enum rhca_lag_kind rhca_lag_decide(const struct rhca_lag_facts *facts)
{
	if (facts->num_members != RHCA_LAG_MEMBERS ||
	    facts->num_ports != RHCA_LAG_MEMBERS ||
	    facts->num_outside || facts->partitions_differ || facts->disabled)
		return RHCA_LAG_NONE;
	return kind_of_mode(facts->bond_mode);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_lag_decide);

/**
 * rhca_lag_record_covers - Did a netdev belong to a device that was replaced?
 * @record: what the LAG replaced
 * @ndev: the netdev; the caller has a reference, RTNL or the RCU read side
 */
bool rhca_lag_record_covers(const struct rhca_lag_record *record,
			    const struct net_device *ndev)
{
	u32 i, port;

	for (i = 0; i < record->num_devices; i++)
		for (port = 0; port < record->device[i].num_ports; port++)
			if (rhca_netdev_is(ndev, &record->device[i].netdev[port]))
				return true;
	return false;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_lag_record_covers);

/**
 * rhca_lag_bond_member - Select the member of a bond for a packet
 * @ndev: any netdev
 * @wanted: 0 or 1, the member in the bond's order
 *
 * Context: RCU read side.
 * Return: that member, or the other one while that cannot transmit; NULL if @ndev is no
 * active-active bond of two, or neither can: then send on the bond itself.
 */
struct net_device *rhca_lag_bond_member(const struct net_device *ndev,
					u32 wanted)
{
	struct net_device *member = NULL;
	u32 num;

	if (!netif_is_bond_master(ndev))
		return NULL;
	if (kind_of_mode(rhca_bonding_mode(ndev)) != RHCA_LAG_ACTIVE_ACTIVE)
		return NULL;
	num = rhca_bonding_sender(ndev, wanted, &member);
	return num == RHCA_LAG_MEMBERS ? member : NULL;
}
