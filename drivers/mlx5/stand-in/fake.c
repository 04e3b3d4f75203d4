#include <linux/module.h>
#include <linux/etherdevice.h>
#include <linux/delay.h>
#include <net/addrconf.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm.h>
#include <rhca/compat.h>
#include "core/ah.h"
#include "core/device.h"
#include "core/pma.h"
#include "core/qp.h"

static int force_tclass = -1;
module_param(force_tclass, int, 0644);
#define BE(ib) (to_rhca_dev(ib)->backend)

static void resolve(const struct rdma_ah_attr *ah, u32 qpn, u32 dest, struct rhca_address *a)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(ah);
	bool v2 = grh->sgid_attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;

	memset(a, 0, sizeof(*a));
	a->flow.encap = !v2 ? RHCA_V1 : ipv6_addr_v4mapped((void *)&grh->sgid_attr->gid) ? RHCA_V2_IPV4 : RHCA_V2_IPV6;
	a->flow.dgid = grh->dgid;
	a->flow.tclass = force_tclass >= 0 ? force_tclass : grh->traffic_class;
	a->flow.hop_limit = grh->hop_limit ?: 64;
	a->flow.flow_label = grh->flow_label;
	a->flow.udp_sport = rdma_get_udp_sport(grh->flow_label, qpn, dest);
	a->sgid_index = grh->sgid_index;
	a->sl = rdma_ah_get_sl(ah) & 7;
	ether_addr_copy(a->dmac, ah->roce.dmac);
}
#define QP(i) container_of(i, struct rhca_qp, ibqp)
static int create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct rhca_qp *qp = QP(ibqp);
	struct rhca_dev *d = to_rhca_dev(ibqp->device);
	int ret;

	if (init->qp_type > IB_QPT_UD || init->qp_type < IB_QPT_GSI || init->create_flags)
		return -EOPNOTSUPP;
	mutex_init(&qp->modify_lock);
	qp->dev = d;
	ret = d->backend->qp_create(qp, init, udata);
	if (ret)
		return ret;
	mutex_lock(&d->qps_lock);
	list_add(&qp->entry, &d->qps);
	mutex_unlock(&d->qps_lock);
	return 0;
}
static int destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct rhca_dev *d = to_rhca_dev(ibqp->device);

	mutex_lock(&d->qps_lock);
	list_del(&QP(ibqp)->entry);
	mutex_unlock(&d->qps_lock);
	d->backend->qp_destroy(QP(ibqp), udata);
	return 0;
}
static int modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct rhca_qp *qp = QP(ibqp);
	struct rhca_qp_change change = { .attr = attr, .mask = mask };
	struct rhca_address address;
	int ret;

	mutex_lock(&qp->modify_lock);
	change.from = qp->state;
	change.next = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	change.port = &qp->dev->ports[0];
	ret = -EINVAL;
	if (!ib_modify_qp_is_ok(change.from, change.next, ibqp->qp_type, mask))
		goto out;
	if (mask & IB_QP_AV) {
		resolve(&attr->ah_attr, ibqp->qp_num, attr->dest_qp_num, &address);
		change.address = &address;
	}
	ret = qp->dev->backend->qp_modify(qp, &change, udata);
	if (!ret) {
		qp->state = change.next;
		if (mask & IB_QP_QKEY)
			qp->attr.qkey = attr->qkey;
		qp->port = change.port;
	}
out:
	mutex_unlock(&qp->modify_lock);
	return ret;
}
static int query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_qp_init_attr *init)
{
	*attr = QP(ibqp)->attr;
	memset(init, 0, sizeof(*init));
	BE(ibqp->device)->qp_query(QP(ibqp), attr);
	attr->cur_qp_state = attr->qp_state;
	return 0;
}
static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct rhca_ah *ah = container_of(ibah, struct rhca_ah, ibah);

	resolve(init->ah_attr, 0, 0, &ah->address);
	ah->ud_address = ah->address;
	return BE(ibah->device)->ah_create(ah, init->flags, udata);
}
static int destroy_ah(struct ib_ah *ah, u32 flags) { return 0; }
static int query_port(struct ib_device *d, u32 port, struct ib_port_attr *a)
{
	struct net_device *ndev = to_rhca_dev(d)->ndev;
	bool up = netif_running(ndev) && netif_carrier_ok(ndev);

	a->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	a->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	a->max_mtu = IB_MTU_4096;
	a->active_mtu = min(IB_MTU_4096, iboe_get_mtu(ndev->mtu));
	a->gid_tbl_len = to_rhca_dev(d)->caps.num_gids;
	a->pkey_tbl_len = 1;
	a->max_msg_sz = to_rhca_dev(d)->caps.max_msg_bytes;
	a->ip_gids = true;
	a->port_cap_flags = IB_UVERBS_PCF_CM_SUP;
	return ib_get_eth_speed(d, port, &a->active_speed, &a->active_width);
}
static int immutable(struct ib_device *d, u32 port, struct ib_port_immutable *i)
{
	i->gid_tbl_len = to_rhca_dev(d)->caps.num_gids;
	i->pkey_tbl_len = 1;
	i->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE | RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	i->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}
static enum rdma_link_layer link_layer(struct ib_device *d, u32 port) { return IB_LINK_LAYER_ETHERNET; }
static int query_pkey(struct ib_device *d, u32 port, u16 index, u16 *pkey) { *pkey = 0xffff; return 0; }
static int add_gid(const struct ib_gid_attr *attr, void **ctx) { return BE(attr->device)->gid_set(&to_rhca_dev(attr->device)->ports[0], attr->index, attr); }
static int del_gid(const struct ib_gid_attr *attr, void **ctx) { return BE(attr->device)->gid_set(&to_rhca_dev(attr->device)->ports[0], attr->index, NULL); }
static int attach(struct ib_qp *qp, union ib_gid *gid, u16 lid) { return BE(qp->device)->mcast_attach(QP(qp), gid); }
static int detach(struct ib_qp *qp, union ib_gid *gid, u16 lid) { return BE(qp->device)->mcast_detach(QP(qp), gid); }
static ssize_t fakec_show(struct device *device, struct device_attribute *attr, char *buf)
{
	struct rhca_dev *d = rdma_device_to_drv_device(device, struct rhca_dev, ibdev);
	u64 v[RHCA_NUM_COUNTERS] = {};
	struct rhca_pma_values p = {};
	int len = 0, i, ret = d->backend->counters_read(&d->ports[0].counter_set, v), r2 = d->backend->pma_read(&d->ports[0], &p);

	len = sysfs_emit(buf, "%d %d\n", ret, r2);
	for (i = 0; i < RHCA_NUM_COUNTERS; i++)
		if (v[i])
			len += sysfs_emit_at(buf, len, "%d=%llu ", i, v[i]);
	for (i = 0; i < RHCA_PMA_NUM_COUNTERS; i++)
		if (p.value[i])
			len += sysfs_emit_at(buf, len, "pma%d=%llu ", i, p.value[i]);
	return len + sysfs_emit_at(buf, len, "\n");
}
static DEVICE_ATTR_RO(fakec);
static ssize_t backend_show(struct device *device, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", rdma_device_to_drv_device(device, struct rhca_dev, ibdev)->backend->name);
}
static DEVICE_ATTR_RO(backend);
static struct attribute *attrs[] = { &dev_attr_backend.attr, &dev_attr_fakec.attr, NULL };
static const struct attribute_group group = { .attrs = attrs };

static const struct ib_device_ops ops = {
	.device_group = &group,
	.add_gid = add_gid, .del_gid = del_gid, .get_link_layer = link_layer,
	.get_port_immutable = immutable, .query_pkey = query_pkey, .query_port = query_port,
	.create_qp = create_qp, .destroy_qp = destroy_qp, .modify_qp = modify_qp, .query_qp = query_qp,
	.create_ah = create_ah, .create_user_ah = create_ah, .destroy_ah = destroy_ah,
	.attach_mcast = attach, .detach_mcast = detach,
};
static struct rhca_dev *the_dev;
int rhca_offer_add(struct rhca_offer *offer)
{
	struct net_device *ndev, *found = NULL;
	struct rhca_dev *d;
	int ret;

	rcu_read_lock();
	for_each_netdev_rcu(&init_net, ndev)
		if (offer->covers(offer, ndev) && !found) { dev_hold(ndev); found = ndev; }
	rcu_read_unlock();
	if (!found || !offer->able)
		return -ENODEV;
	d = ib_alloc_device(rhca_dev, ibdev);
	d->offer = offer; d->backend = offer->backend; d->ndev = found;
	d->ports[0].dev = d; d->ports[0].num = 1; d->ports[0].counter_set.port = &d->ports[0];
	INIT_LIST_HEAD(&d->qps);
	mutex_init(&d->qps_lock);
	d->ibdev.node_type = RDMA_NODE_IB_CA;
	d->ibdev.phys_port_cnt = 1;
	addrconf_addr_eui48((u8 *)&d->ibdev.node_guid, found->dev_addr);
	ib_set_device_ops(&d->ibdev, d->backend->verbs);
	ib_set_device_ops(&d->ibdev, &ops);
	ret = d->backend->dev_init(d) ?: d->backend->port_open(&d->ports[0]) ?: ib_device_set_netdev(&d->ibdev, found, 1) ?:
		ib_register_device(&d->ibdev, "roce%d", offer->dma_device);
	if (ret)
		pr_err("fake: %d\n", ret);
	the_dev = d;
	return ret;
}
void rhca_offer_withdraw(struct rhca_offer *offer)
{
	struct rhca_dev *d = the_dev;
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct rhca_qp *qp;

	mutex_lock(&d->qps_lock);
	list_for_each_entry(qp, &d->qps, entry) {
		struct rhca_qp_change c = { .attr = &attr, .mask = IB_QP_STATE, .from = qp->state, .next = IB_QPS_ERR };
		if (qp->state != IB_QPS_RESET)
			d->backend->qp_modify(qp, &c, NULL);
	}
	mutex_unlock(&d->qps_lock);
	d->backend->dev_quiesce(d);
	ib_unregister_device(&d->ibdev);
	d->backend->port_close(&d->ports[0]);
	d->backend->dev_exit(d);
	dev_put(d->ndev);
	ib_dealloc_device(&d->ibdev);
}
