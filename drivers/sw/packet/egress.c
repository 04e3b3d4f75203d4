// SPDX-License-Identifier: GPL-2.0
/*
 * Where blocks leave by. Whoever cuts a block must count IPv4 identifications as
 * the kernel does, one more for each packet, since the ICRC covers them; an adapter
 * that cuts by itself might not. So by default blocks leave only by devices that
 * pass them whole or have the kernel cut them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/dst.h>

#include "borrowed/gso_cut.h"
#include "sw/packet/egress.h"
#include "sw/verbs/qp/path.h"
#include "sw/packet/route.h"

/* Where blocks leave by, as the user wants it */
enum block_policy {
	BLOCKS_OFF,
	BLOCKS_KNOWN,	/* devices that are known to keep the rule */
	BLOCKS_ANY,	/* all that take UDP segmentation offload */
};

static const char *const policy_names[] = {
	[BLOCKS_OFF]	= "off",
	[BLOCKS_KNOWN]	= "known",
	[BLOCKS_ANY]	= "any",
};

static int wanted = BLOCKS_KNOWN;

static int set_blocks(const char *value, const struct kernel_param *kp)
{
	int found = sysfs_match_string(policy_names, value);
	bool on;

	if (found < 0) {
		if (kstrtobool(value, &on)) {
			pr_err("blocks=%s is not one of off (N), known (Y), any\n",
			       value);
			return -EINVAL;
		}
		found = on ? BLOCKS_KNOWN : BLOCKS_OFF;
	}
	WRITE_ONCE(wanted, found);
	return 0;
}

static int get_blocks(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", policy_names[READ_ONCE(wanted)]);
}

static const struct kernel_param_ops blocks_ops = {
	.set = set_blocks,
	.get = get_blocks,
};
module_param_cb(blocks, &blocks_ops, NULL, 0644);
MODULE_PARM_DESC(blocks, "Packets of one QP travel as one skb: off, known = by devices known to take it, any = by all that offer UDP segmentation (default: known)");

static bool offers_segmentation(const struct net_device *ndev)
{
	netdev_features_t needed = NETIF_F_GSO_UDP_L4 | NETIF_F_HW_CSUM;

	return (READ_ONCE(ndev->features) & needed) == needed;
}

/* Whoever sends asks: a bridge of more ports than this gets single packets */
#define MAX_LOWER	32

/* Non-zero ends the walk: a device below that does not take blocks */
static int refuses(struct net_device *ndev, struct netdev_nested_priv *priv)
{
	u32 *seen = priv->data;

	if (++*seen > MAX_LOWER)
		return 1;
	if (rhca_gso_cut_is_upper(ndev))
		return 0;
	return !rhca_gso_cut_is_known(ndev) || !offers_segmentation(ndev);
}

static bool takes_blocks(struct net_device *ndev)
{
	u32 seen = 0;
	struct netdev_nested_priv priv = { .data = &seen };

	if (READ_ONCE(wanted) == BLOCKS_ANY || rhca_gso_cut_is_known(ndev))
		return offers_segmentation(ndev);
	return rhca_gso_cut_is_upper(ndev) &&
	       !netdev_walk_all_lower_dev_rcu(ndev, refuses, &priv);
}

/*
 * Shall single packets have a UDP checksum? RoCE v2 packets have none (A17.3.2 wants 0 from
 * senders), but what is cut out of a block has one. A receiver's GRO holds packets with a
 * checksum back, to join them, and lets those without pass: they would overtake. So where
 * blocks leave all packets have one, since what passes a block whole need not be the last to
 * see it: a qdisc cuts it, or an adapter to which a bridge leads. What the checksum is, the
 * egress device finds out: a veth pair never does. Acknowledgements that may overtake do
 * without. @ndev: that they leave by. Bottom halves off, RCU read side.
 */
bool rhca_egress_wants_checksum(struct net_device *ndev)
{
	return READ_ONCE(wanted) != BLOCKS_OFF &&
	       !(READ_ONCE(ndev->flags) & IFF_LOOPBACK) && takes_blocks(ndev);
}

/*
 * May packets to a destination travel in blocks? RoCE v1 has no segmentation offload.
 * @lag_member: the member of a LAG that they leave by. Bottom halves off, RCU read side.
 */
bool rhca_egress_takes_blocks(struct rhca_path *path, u32 lag_member)
{
	const struct net_device *ndev = rcu_dereference(path->address.port->ndev);
	struct dst_entry *dst;
	bool allowed;

	if (READ_ONCE(wanted) == BLOCKS_OFF || path->address.flow.encap == RHCA_V1 ||
	    !ndev)
		return false;
	dst = rhca_route_find(path, dev_net(ndev), lag_member);
	if (IS_ERR(dst))
		return false;
	/* IPsec cuts them, a tunnel of the route might not */
	allowed = !dst->lwtstate && takes_blocks(dst->dev);
	dst_release(dst);
	return allowed;
}
