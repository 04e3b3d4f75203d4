// SPDX-License-Identifier: GPL-2.0
/*
 * Address handles, IBTA vol. 1, 11.2.2, and the paths behind them.
 */
#include <linux/if_vlan.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_user_rxe.h>
#include <rdma/uverbs_ioctl.h>

#include "core/ah.h"
#include "core/device.h"
#include "core/policy.h"

#define DEFAULT_HOP_LIMIT	64	/* where the address vector says 0 */

static void free_path(struct rhca_path *path)
{
	dst_cache_destroy(&path->second_route);
	dst_cache_destroy(&path->route);
	kfree(path);
}

static void free_path_after_readers(struct rcu_head *rcu)
{
	free_path(container_of(rcu, struct rhca_path, rcu));
}

/* The netdev of the source GID, which may have gone since it was looked up */
static int take_netdev(struct rhca_path *path, const struct ib_gid_attr *sgid)
{
	struct net_device *ndev;
	int ret = -ENODEV;

	rcu_read_lock();
	ndev = rcu_dereference(sgid->ndev);
	if (ndev) {
		path->ifindex = ndev->ifindex;
		path->vlan_id = is_vlan_dev(ndev) ? vlan_dev_vlan_id(ndev) :
						    RHCA_NO_VLAN;
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

static void take_attr(struct rhca_path *path, const struct rdma_ah_attr *attr,
		      const struct ib_gid_attr *sgid)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	path->flow = (struct rhca_flow) {
		.encap		= rhca_encap_of(sgid->gid_type, &sgid->gid),
		.sgid		= sgid->gid,
		.dgid		= grh->dgid,
		.tclass		= rhca_without_ecn(grh->traffic_class),
		.hop_limit	= grh->hop_limit ?: DEFAULT_HOP_LIMIT,
		.flow_label	= grh->flow_label & IB_GRH_FLOWLABEL_MASK,
	};
	path->tclass = grh->traffic_class;
	path->sgid_index = sgid->index;
	path->sl = rdma_ah_get_sl(attr);
	ether_addr_copy(path->dmac, attr->roce.dmac);
}

/* Caches that were not set up are empty ones: they may be destroyed */
static int init_routes(struct rhca_path *path, gfp_t gfp)
{
	int ret = dst_cache_init(&path->route, gfp);

	if (ret || !rcu_access_pointer(path->port->second))
		return ret;
	return dst_cache_init(&path->second_route, gfp);
}

static struct rhca_path *new_path(struct rhca_dev *dev, struct ib_pd *pd,
				  const struct rdma_ah_attr *attr,
				  const struct ib_gid_attr *sgid, gfp_t gfp)
{
	struct rhca_path *path = kzalloc(sizeof(*path), gfp);
	int ret;

	if (!path)
		return ERR_PTR(-ENOMEM);
	refcount_set(&path->refs, 1);
	path->port = rhca_port_of(dev, rdma_ah_get_port_num(attr));
	path->pd = pd;
	ret = init_routes(path, gfp);
	if (!ret)
		ret = take_netdev(path, sgid);
	if (ret) {
		free_path(path);
		return ERR_PTR(ret);
	}
	take_attr(path, attr, sgid);
	return path;
}

/**
 * rhca_path_copy - The same path once more, to be changed and published
 * @old: a path that somebody holds
 *
 * Context: may sleep.
 * Return: a path with one reference and no route yet, or an error.
 */
struct rhca_path *rhca_path_copy(const struct rhca_path *old)
{
	struct rhca_path *path = kmemdup(old, sizeof(*old), GFP_KERNEL);
	int ret;

	if (!path)
		return ERR_PTR(-ENOMEM);
	refcount_set(&path->refs, 1);
	memset(&path->route, 0, sizeof(path->route));
	memset(&path->second_route, 0, sizeof(path->second_route));
	ret = init_routes(path, GFP_KERNEL);
	if (ret) {
		free_path(path);
		return ERR_PTR(ret);
	}
	return path;
}

static bool is_ipv4(const union ib_gid *gid)
{
	return ipv6_addr_v4mapped((const struct in6_addr *)gid->raw);
}

/* RoCE v2 carries IPv4 or IPv6, not one address of each */
static bool families_agree(const struct ib_gid_attr *sgid_attr,
			   const union ib_gid *dgid)
{
	return sgid_attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP ||
	       is_ipv4(&sgid_attr->gid) == is_ipv4(dgid);
}

static int check_attr(struct rhca_dev *dev, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;	/* RoCE has no LIDs: a GRH is a must, A16.4 */
	if (!rhca_port_of(dev, rdma_ah_get_port_num(attr)) || !grh->sgid_attr)
		return -EINVAL;
	if (!families_agree(grh->sgid_attr, &grh->dgid))
		return -EINVAL;
	return 0;
}

/**
 * rhca_path_create - Resolve an address vector
 * @dev: the device
 * @pd: protection domain of the handle or QP
 * @attr: from ib_core, which has looked up the source GID and the MAC
 * @gfp: GFP_KERNEL where the caller may sleep: per-CPU memory is scarce without
 *
 * Context: any that @gfp allows.
 * Return: a path with one reference; -EINVAL for an address that RoCE cannot
 * express, -ENODEV when the GID's netdev has gone, -ENOMEM.
 */
struct rhca_path *rhca_path_create(struct rhca_dev *dev, struct ib_pd *pd,
				   const struct rdma_ah_attr *attr, gfp_t gfp)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	int ret;

	ret = check_attr(dev, attr);
	if (ret)
		return ERR_PTR(ret);
	return new_path(dev, pd, attr, grh->sgid_attr, gfp);
}

/**
 * rhca_path_put - Drop a reference
 * @path: the path, or NULL
 *
 * Context: any.
 */
void rhca_path_put(struct rhca_path *path)
{
	if (path && refcount_dec_and_test(&path->refs))
		call_rcu(&path->rcu, free_path_after_readers);
}

/**
 * rhca_path_get_number - The path of a user's address handle
 * @dev: the device
 * @pd: protection domain of the QP that asks
 * @number: from the work request
 *
 * Return: a referenced path, or NULL when there is none with that number or it
 * belongs to another protection domain.
 */
struct rhca_path *rhca_path_get_number(struct rhca_dev *dev, struct ib_pd *pd,
				       u32 number)
{
	struct rhca_path *path;

	rcu_read_lock();
	path = xa_load(&dev->paths, number);
	if (path && (path->pd != pd || !refcount_inc_not_zero(&path->refs)))
		path = NULL;
	rcu_read_unlock();
	return path;
}

/* Is the type of the handle's GID what ud_gid_type asks for? */
static bool ud_type_fits(enum ib_gid_type type)
{
	switch (rhca_policy.ud_gid_type) {
	case RHCA_UD_GID_V1:
		return type == IB_GID_TYPE_ROCE;
	case RHCA_UD_GID_V2:
		return type == IB_GID_TYPE_ROCE_UDP_ENCAP;
	default:
		return true;
	}
}

/* The entry with the same GID and netdev and the other type */
static const struct ib_gid_attr *sibling_gid(struct rhca_dev *dev,
					     const struct ib_gid_attr *attr)
{
	enum ib_gid_type other = attr->gid_type == IB_GID_TYPE_ROCE ?
		IB_GID_TYPE_ROCE_UDP_ENCAP : IB_GID_TYPE_ROCE;
	const struct ib_gid_attr *found;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rcu_dereference(attr->ndev);
	found = rdma_find_gid_by_port(&dev->ibdev, &attr->gid, other,
				      attr->port_num, ndev);
	rcu_read_unlock();
	return found;
}

/* Where ud_gid_type asks for a GID that there is not, the handle's own serves */
static struct rhca_path *ud_path_of(struct rhca_dev *dev,
				    struct rhca_path *path,
				    const struct rdma_ah_attr *attr, gfp_t gfp)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	const struct ib_gid_attr *sibling;
	struct rhca_path *ud_path;

	if (ud_type_fits(grh->sgid_attr->gid_type))
		return rhca_path_get(path);
	sibling = sibling_gid(dev, grh->sgid_attr);
	if (IS_ERR(sibling))
		return rhca_path_get(path);
	ud_path = families_agree(sibling, &grh->dgid) ?
		new_path(dev, path->pd, attr, sibling, gfp) :
		rhca_path_get(path);
	rdma_put_gid_attr(sibling);
	return ud_path;
}

static int number_path(struct rhca_dev *dev, struct rhca_ah *ah,
		       struct ib_udata *udata)
{
	struct rxe_create_ah_resp resp = {};
	int ret;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	ret = xa_alloc_cyclic_bh(&dev->paths, &ah->number, ah->ud_path,
				 XA_LIMIT(1, RHCA_MAX_AH), &dev->next_path,
				 GFP_KERNEL);
	if (ret < 0)
		return ret == -EBUSY ? -ENOMEM : ret;
	resp.ah_num = ah->number;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		xa_erase_bh(&dev->paths, ah->number);
	return ret;
}

static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	struct rhca_dev *dev = to_rhca_dev(ibah->device);
	struct rhca_ah *ah = to_rhca_ah(ibah);
	gfp_t gfp = init->flags & RDMA_CREATE_AH_SLEEPABLE ?
			GFP_KERNEL_ACCOUNT : GFP_ATOMIC;
	int ret;

	ah->path = rhca_path_create(dev, ibah->pd, init->ah_attr, gfp);
	if (IS_ERR(ah->path))
		return PTR_ERR(ah->path);
	ah->ud_path = ud_path_of(dev, ah->path, init->ah_attr, gfp);
	if (IS_ERR(ah->ud_path)) {
		ret = PTR_ERR(ah->ud_path);
		goto err_put_path;
	}
	if (udata) {
		ret = number_path(dev, ah, udata);
		if (ret)
			goto err_put_ud_path;
	}
	return 0;

err_put_ud_path:
	rhca_path_put(ah->ud_path);
err_put_path:
	rhca_path_put(ah->path);
	return ret;
}

static int query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct rhca_path *path = to_rhca_ah(ibah)->path;

	memset(attr, 0, sizeof(*attr));
	attr->type = ibah->type;
	rdma_ah_set_port_num(attr, path->port->num);
	rdma_ah_set_sl(attr, path->sl);
	rdma_ah_set_ah_flags(attr, IB_AH_GRH);
	rdma_ah_set_grh(attr, (union ib_gid *)&path->flow.dgid,
			path->flow.flow_label, path->sgid_index,
			path->flow.hop_limit, path->tclass);
	ether_addr_copy(attr->roce.dmac, path->dmac);
	return 0;
}

static int destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct rhca_dev *dev = to_rhca_dev(ibah->device);
	struct rhca_ah *ah = to_rhca_ah(ibah);

	if (ah->number)
		xa_erase_bh(&dev->paths, ah->number);
	rhca_path_put(ah->ud_path);
	rhca_path_put(ah->path);
	return 0;
}

const struct ib_device_ops rhca_ah_verbs = {
	.create_ah	= create_ah,
	.create_user_ah	= create_ah,
	.destroy_ah	= destroy_ah,
	.query_ah	= query_ah,

	INIT_RDMA_OBJ_SIZE(ib_ah, rhca_ah, ibah),
};
