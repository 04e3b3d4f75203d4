// SPDX-License-Identifier: GPL-2.0
/*
 * Management datagrams that the driver itself answers: those to the performance management agent,
 * IBTA vol. 1, 16.1.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rhca/backend.h>

#include "core/counters.h"
#include "core/port/device_types.h"
#include "core/rules/pma.h"

#define PMA_VERSION		1
#define ALL_PORTS		0xff	/* PortSelect */
#define ATTRIBUTE_OFFSET	40	/* in struct ib_mad's data */
#define PORT_SELECT		1	/* byte of either attribute */
#define RESPONSE_TIME_CODE	18	/* 4.096 us << 18 = 1 s, as other drivers */

static int read_totals(struct rhca_port *port, struct rhca_pma_values *totals)
{
	const struct rhca_backend_ops *backend = port->dev->backend;
	u64 counters[RHCA_NUM_COUNTERS];
	int ret;

	if (backend->pma_read) {
		ret = backend->pma_read(port, totals);
		totals->value[RHCA_PMA_LINK_DOWNED] =
			atomic_read(&port->link_downed);
		return ret;
	}
	ret = rhca_port_totals(port, counters);
	if (!ret)
		rhca_pma_totals(counters, totals);
	return ret;
}

/* Handle one port of a request: set counters, then add up those to be shown */
static int visit_port(struct rhca_port *port, enum rhca_pma_attribute attribute,
		      const u8 *set, struct rhca_pma_values *shown)
{
	struct rhca_pma_values *zero = &port->pma.zero[attribute];
	struct rhca_pma_values totals = {};
	int i, ret;

	mutex_lock(&port->pma.lock);
	ret = read_totals(port, &totals);
	if (!ret && set)
		rhca_pma_set(attribute, set, &totals, zero);
	for (i = 0; !ret && i < RHCA_PMA_NUM_COUNTERS; i++)
		shown->value[i] += rhca_pma_shown(totals.value[i], zero->value[i]);
	mutex_unlock(&port->pma.lock);
	return ret;
}

static u16 answer_counters(struct rhca_dev *dev,
			   enum rhca_pma_attribute attribute, bool set, u8 *data)
{
	const u8 *given = set ? data : NULL;
	struct rhca_pma_values shown = {};
	u8 which = data[PORT_SELECT];
	u32 num;

	if (which != ALL_PORTS && !rhca_port_of(dev, which))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	for (num = 1; num <= dev->num_ports; num++) {
		if (which != ALL_PORTS && which != num)
			continue;
		if (visit_port(rhca_port_of(dev, num), attribute, given,
			       &shown))
			return IB_MGMT_MAD_STATUS_BUSY;
	}
	memset(data + sizeof(u32), 0, sizeof_field(struct ib_pma_mad, data) -
	       sizeof(u32));
	rhca_pma_encode(attribute, &shown, data);
	return 0;
}

static u16 answer_class_port_info(bool set, u8 *data)
{
	struct ib_class_port_info *info = (struct ib_class_port_info *)data;

	if (set)	/* nothing in it can be set: there are no traps */
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	memset(data, 0, sizeof_field(struct ib_pma_mad, data));
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = PMA_VERSION;
	info->capability_mask = IB_PMA_CLASS_CAP_ALLPORTSELECT |
				IB_PMA_CLASS_CAP_EXT_WIDTH;
	ib_set_cpi_resp_time(info, RESPONSE_TIME_CODE);
	return 0;
}

/* Returns the status, 13.4.7; on success the attribute is replaced */
static u16 answer(struct rhca_dev *dev, struct ib_mad *mad, bool set)
{
	const struct ib_mad_hdr *hdr = &mad->mad_hdr;
	u8 *data = mad->data + ATTRIBUTE_OFFSET;
	int attribute;

	if (hdr->base_version != IB_MGMT_BASE_VERSION ||
	    hdr->class_version != PMA_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (hdr->attr_mod)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	if (hdr->attr_id == IB_PMA_CLASS_PORT_INFO)
		return answer_class_port_info(set, data);
	attribute = rhca_pma_attribute_of(hdr->attr_id);
	if (attribute < 0)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	return answer_counters(dev, attribute, set, data);
}

/* Responses and other classes are passed on to other agents */
static int process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *wc, const struct ib_grh *grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index)
{
	bool set = in->mad_hdr.method == IB_MGMT_METHOD_SET;
	u16 status;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (!set && in->mad_hdr.method != IB_MGMT_METHOD_GET))
		return IB_MAD_RESULT_SUCCESS;
	*out = *in;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	status = answer(to_rhca_dev(ibdev), out, set);
	/* For sysfs, without @wc, ib_core ignores the status: the counter would seem to be 0 */
	if (status == IB_MGMT_MAD_STATUS_BUSY && !wc)
		return IB_MAD_RESULT_FAILURE;
	out->mad_hdr.status = cpu_to_be16(status);
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

const struct ib_device_ops rhca_mad_verbs = {
	.process_mad	= process_mad,
};
