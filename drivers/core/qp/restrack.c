// SPDX-License-Identifier: GPL-2.0
/*
 * Driver attributes of queue pairs for netlink: a QP's destination and its parameters. The names
 * are an interface, see Documentation/knobs.rst: tools/user/roce-status reads them.
 */
#include <net/netlink.h>
#include <rdma/rdma_netlink.h>
#include <rdma/restrack.h>

#include "core/qp/qp.h"

#define GID_TEXT_BYTES	sizeof("0000:0000:0000:0000:0000:ffff:255.255.255.255")

struct fact {
	const char *name;
	u32 value;
};

static bool put_facts(struct sk_buff *msg, const struct fact *facts, size_t num)
{
	size_t i;

	for (i = 0; i < num; i++)
		if (rdma_nl_put_driver_u32(msg, facts[i].name, facts[i].value))
			return false;
	return true;
}

static bool put_gid(struct sk_buff *msg, const char *name,
		    const union ib_gid *gid)
{
	char text[GID_TEXT_BYTES];

	snprintf(text, sizeof(text), "%pI6c", gid->raw);
	return !rdma_nl_put_driver_string(msg, name, text);
}

/* Header fields of packets to this destination */
static bool put_address(struct sk_buff *msg, const struct rhca_address *address)
{
	const struct rhca_flow *flow = &address->flow;
	const struct fact facts[] = {
		{ "sgid_index",		address->sgid_index },
		{ "sl",			address->sl },
		{ "priority",		rhca_address_priority(address) },
		{ "traffic_class",	flow->tclass },
		{ "hop_limit",		rhca_address_hop_limit(address) },
		{ "flow_label",		flow->flow_label },
	};
	bool v1 = flow->encap == RHCA_V1;

	return put_gid(msg, "sgid", &flow->sgid) &&
	       put_gid(msg, "dgid", &flow->dgid) &&
	       !rdma_nl_put_driver_string(msg, "gid_type", v1 ? "v1" : "v2") &&
	       put_facts(msg, facts, ARRAY_SIZE(facts)) &&
	       (v1 || !rdma_nl_put_driver_u32(msg, "udp_sport",
					      flow->udp_sport)) &&
	       (address->vlan_id == RHCA_NO_VLAN ||
		!rdma_nl_put_driver_u32(msg, "vlan", address->vlan_id));
}

static bool put_rate(struct sk_buff *msg, struct rhca_qp *qp)
{
	const struct rhca_backend_ops *backend = qp->dev->backend;
	u32 mbits = backend->qp_rate ? backend->qp_rate(qp) : 0;

	return !mbits || !rdma_nl_put_driver_u32(msg, "rate", mbits);
}

static bool put_connection(struct sk_buff *msg, struct rhca_qp *qp)
{
	const struct ib_qp_attr *attr = &qp->attr;
	const struct fact facts[] = {
		{ "path_mtu",		ib_mtu_enum_to_int(attr->path_mtu) },
		{ "timeout",		attr->timeout },
		{ "retry_cnt",		attr->retry_cnt },
		{ "rnr_retry",		attr->rnr_retry },
		{ "min_rnr_timer",	attr->min_rnr_timer },
		{ "max_rd_atomic",	attr->max_rd_atomic },
		{ "max_dest_rd_atomic",	attr->max_dest_rd_atomic },
	};

	lockdep_assert_held(&qp->modify_lock);
	/* Reliable QPs have a path MTU, timeouts and retries; UC only the first */
	if (!put_facts(msg, facts, rhca_qp_type_is_reliable(qp->ibqp.qp_type) ?
				   ARRAY_SIZE(facts) : 1))
		return false;
	return put_rate(msg, qp) && put_address(msg, &qp->address);
}

static bool put_port(struct sk_buff *msg, struct rhca_qp *qp)
{
	struct fact facts[] = {
		{ "pkey_index",		qp->attr.pkey_index },
		{ "pkey" },
	};
	u16 pkey;

	if (ib_query_pkey(&qp->dev->ibdev, qp->port->num, qp->attr.pkey_index,
			  &pkey))
		return true;
	facts[1].value = pkey;
	return put_facts(msg, facts, ARRAY_SIZE(facts));
}

static bool put_qp(struct sk_buff *msg, struct rhca_qp *qp)
{
	bool ok = true;

	mutex_lock(&qp->modify_lock);
	if (qp->port)
		ok = put_port(msg, qp);
	if (ok && qp->has_address)
		ok = put_connection(msg, qp);
	mutex_unlock(&qp->modify_lock);
	return ok;
}

int rhca_qp_fill_res(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct nlattr *table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);

	if (!table)
		return -EMSGSIZE;
	if (!put_qp(msg, to_rhca_qp(ibqp))) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}
