// SPDX-License-Identifier: GPL-2.0
/* Address handles, IBTA vol. 1, 11.2.2: resolved here, owned by the backend. */
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>
#include <rhca/backend.h>

#include "core/qp/ah.h"
#include "core/port/device_types.h"

static void put_ud_sgid(struct rhca_ah *ah)
{
	if (ah->ud_sgid)
		rdma_put_gid_attr(ah->ud_sgid);
}

/* ibv_create_ah_from_wc() copies the completion's service level, which is none */
static void ignore_wc_sl(struct rdma_ah_attr *attr)
{
	u8 sl = rdma_ah_get_sl(attr);

	if (sl == RHCA_WC_SL_ROCE_V2_IPV6 || sl == RHCA_WC_SL_ROCE_V2_IPV4)
		rdma_ah_set_sl(attr, 0);
}

static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		     struct ib_udata *udata)
{
	struct rhca_dev *dev = to_rhca_dev(ibah->device);
	struct rhca_ah *ah = to_rhca_ah(ibah);
	int ret;

	if (udata)
		ignore_wc_sl(init->ah_attr);
	ret = rhca_address_resolve(dev, init->ah_attr, &ah->address);
	if (ret)
		return ret;
	ret = rhca_address_resolve_ud(dev, init->ah_attr, &ah->address,
				      &ah->ud_address, &ah->ud_sgid);
	if (ret)
		return ret;
	ret = dev->backend->ah_create(ah, init->flags, udata);
	if (ret)
		put_ud_sgid(ah);
	return ret;
}

static int query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	const struct rhca_address *address = &to_rhca_ah(ibah)->address;

	memset(attr, 0, sizeof(*attr));
	attr->type = ibah->type;
	rdma_ah_set_port_num(attr, address->port->num);
	rdma_ah_set_sl(attr, address->sl);
	rdma_ah_set_static_rate(attr, address->static_rate);
	rdma_ah_set_ah_flags(attr, IB_AH_GRH);
	rdma_ah_set_grh(attr, (union ib_gid *)&address->flow.dgid,
			address->flow.flow_label, address->sgid_index,
			address->flow.hop_limit, address->tclass);
	ether_addr_copy(attr->roce.dmac, address->dmac);
	return 0;
}

static int destroy_ah(struct ib_ah *ibah, u32 flags)
{
	const struct rhca_backend_ops *backend = to_rhca_dev(ibah->device)->backend;
	struct rhca_ah *ah = to_rhca_ah(ibah);

	if (backend->ah_destroy)
		backend->ah_destroy(ah, flags);
	put_ud_sgid(ah);
	return 0;
}

const struct ib_device_ops rhca_ah_verbs = {
	.create_ah	= create_ah,
	.create_user_ah	= create_ah,
	.destroy_ah	= destroy_ah,
	.query_ah	= query_ah,
};
