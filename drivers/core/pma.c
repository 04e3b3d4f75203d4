// SPDX-License-Identifier: GPL-2.0
/*
 * Performance management agent, IBTA vol. 1, 16.1: counters of a port in the
 * form that perfquery reads and that ib_core shows in ports/N/counters.
 *
 * Counters are only ever added to. Setting one moves its zero point.
 */
#include <rdma/ib_mad.h>
#include <rdma/ib_pma.h>
#include <rhca/backend.h>
#include <rhca/compat.h>

#include "core/counters.h"
#include "core/device_types.h"
#include "core/pma.h"

#define PMA_VERSION		1
#define ALL_PORTS		0xff	/* PortSelect */
#define ATTRIBUTE_OFFSET	40	/* in struct ib_mad's data */
#define PORT_SELECT		1	/* byte of either attribute */
#define RESPONSE_TIME_CODE	18	/* 4.096 us << 18 = 1 s, as others answer */

/* --- what is counted ------------------------------------------------------ */

/* Every row adds a counter of ours; what has no row is always 0 */
static const struct {
	enum rhca_pma_counter to;
	enum rhca_counter from;
} sources[] = {
	{ RHCA_PMA_LINK_DOWNED,		   RHCA_LINK_DOWNED },
	{ RHCA_PMA_RCV_ERRORS,		   RHCA_RX_ICRC_ENCAPSULATED },
	{ RHCA_PMA_RCV_ERRORS,		   RHCA_RX_DROPPED_TRUNCATED },
	{ RHCA_PMA_RCV_ERRORS,		   RHCA_RX_DROPPED_BAD_LENGTH },
	{ RHCA_PMA_XMIT_DISCARDS,	   RHCA_TX_DROPPED },
	{ RHCA_PMA_XMIT_DISCARDS,	   RHCA_TX_DROPPED_NO_ROUTE },
	{ RHCA_PMA_XMIT_DISCARDS,	   RHCA_TX_DROPPED_NO_NETDEV },
	{ RHCA_PMA_XMIT_DISCARDS,	   RHCA_TX_DROPPED_NO_MEMORY },
	{ RHCA_PMA_XMIT_DISCARDS,	   RHCA_TX_DROPPED_FILTERED },
	{ RHCA_PMA_XMIT_DISCARDS,	   RHCA_TX_DROPPED_STACK },
	{ RHCA_PMA_XMIT_CONSTRAINT_ERRORS, RHCA_TX_DROPPED_BAD_PKEY },
	{ RHCA_PMA_RCV_CONSTRAINT_ERRORS,  RHCA_RX_DROPPED_BAD_PKEY },
	{ RHCA_PMA_VL15_DROPPED,	   RHCA_RX_DROPPED_NO_MAD_BUFFER },
	{ RHCA_PMA_XMIT_DATA,		   RHCA_TX_BYTES },
	{ RHCA_PMA_RCV_DATA,		   RHCA_RX_BYTES },
	{ RHCA_PMA_XMIT_PACKETS,	   RHCA_TX_PACKETS },
	{ RHCA_PMA_RCV_PACKETS,		   RHCA_RX_PACKETS },
	{ RHCA_PMA_MULTICAST_XMIT_PACKETS, RHCA_TX_MULTICAST_PACKETS },
	{ RHCA_PMA_MULTICAST_RCV_PACKETS,  RHCA_RX_MULTICAST_PACKETS },
};

/* Sums are not taken at one moment: a part may be ahead of its whole */
static u64 rest(u64 whole, u64 part)
{
	return whole > part ? whole - part : 0;
}

/**
 * rhca_pma_totals - Our counters as performance management calls them
 * @counters: everything counted on a port, by enum rhca_counter
 * @totals: the same; data in 32-bit words, 16.1.3.5
 */
void rhca_pma_totals(const u64 *counters, struct rhca_pma_values *totals)
{
	u64 *v = totals->value;
	size_t i;

	memset(totals, 0, sizeof(*totals));
	for (i = 0; i < ARRAY_SIZE(sources); i++)
		v[sources[i].to] += counters[sources[i].from];
	v[RHCA_PMA_XMIT_DATA] /= sizeof(u32);
	v[RHCA_PMA_RCV_DATA] /= sizeof(u32);
	v[RHCA_PMA_UNICAST_XMIT_PACKETS] =
		rest(v[RHCA_PMA_XMIT_PACKETS],
		     v[RHCA_PMA_MULTICAST_XMIT_PACKETS]);
	v[RHCA_PMA_UNICAST_RCV_PACKETS] =
		rest(v[RHCA_PMA_RCV_PACKETS],
		     v[RHCA_PMA_MULTICAST_RCV_PACKETS]);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pma_totals);

/* --- what it looks like --------------------------------------------------- */

/* A counter in an attribute; its row is its bit of CounterSelect */
struct field {
	enum rhca_pma_counter counter;
	u16 bit;
	u8 bits;
};

static const struct field counter_select = { .bit = 16, .bits = 16 };

#define FIELD(id, type, member) \
	{ (id), offsetof(struct type, member) * BITS_PER_BYTE, \
	  sizeof_field(struct type, member) * BITS_PER_BYTE }
#define NIBBLE(id, type, member, shift) \
	{ (id), offsetof(struct type, member) * BITS_PER_BYTE + (shift), 4 }

static const struct field port_counters[] = {
	FIELD(RHCA_PMA_SYMBOL_ERROR,
	      ib_pma_portcounters, symbol_error_counter),
	FIELD(RHCA_PMA_LINK_ERROR_RECOVERY,
	      ib_pma_portcounters, link_error_recovery_counter),
	FIELD(RHCA_PMA_LINK_DOWNED,
	      ib_pma_portcounters, link_downed_counter),
	FIELD(RHCA_PMA_RCV_ERRORS,
	      ib_pma_portcounters, port_rcv_errors),
	FIELD(RHCA_PMA_RCV_REMOTE_PHYSICAL_ERRORS,
	      ib_pma_portcounters, port_rcv_remphys_errors),
	FIELD(RHCA_PMA_RCV_SWITCH_RELAY_ERRORS,
	      ib_pma_portcounters, port_rcv_switch_relay_errors),
	FIELD(RHCA_PMA_XMIT_DISCARDS,
	      ib_pma_portcounters, port_xmit_discards),
	FIELD(RHCA_PMA_XMIT_CONSTRAINT_ERRORS,
	      ib_pma_portcounters, port_xmit_constraint_errors),
	FIELD(RHCA_PMA_RCV_CONSTRAINT_ERRORS,
	      ib_pma_portcounters, port_rcv_constraint_errors),
	NIBBLE(RHCA_PMA_LOCAL_LINK_INTEGRITY_ERRORS,
	       ib_pma_portcounters, link_overrun_errors, 0),
	NIBBLE(RHCA_PMA_EXCESSIVE_BUFFER_OVERRUNS,
	       ib_pma_portcounters, link_overrun_errors, 4),
	FIELD(RHCA_PMA_VL15_DROPPED,
	      ib_pma_portcounters, vl15_dropped),
	FIELD(RHCA_PMA_XMIT_DATA,
	      ib_pma_portcounters, port_xmit_data),
	FIELD(RHCA_PMA_RCV_DATA,
	      ib_pma_portcounters, port_rcv_data),
	FIELD(RHCA_PMA_XMIT_PACKETS,
	      ib_pma_portcounters, port_xmit_packets),
	FIELD(RHCA_PMA_RCV_PACKETS,
	      ib_pma_portcounters, port_rcv_packets),
};

static const struct field port_counters_ext[] = {
	FIELD(RHCA_PMA_XMIT_DATA,
	      ib_pma_portcounters_ext, port_xmit_data),
	FIELD(RHCA_PMA_RCV_DATA,
	      ib_pma_portcounters_ext, port_rcv_data),
	FIELD(RHCA_PMA_XMIT_PACKETS,
	      ib_pma_portcounters_ext, port_xmit_packets),
	FIELD(RHCA_PMA_RCV_PACKETS,
	      ib_pma_portcounters_ext, port_rcv_packets),
	FIELD(RHCA_PMA_UNICAST_XMIT_PACKETS,
	      ib_pma_portcounters_ext, port_unicast_xmit_packets),
	FIELD(RHCA_PMA_UNICAST_RCV_PACKETS,
	      ib_pma_portcounters_ext, port_unicast_rcv_packets),
	FIELD(RHCA_PMA_MULTICAST_XMIT_PACKETS,
	      ib_pma_portcounters_ext, port_multicast_xmit_packets),
	FIELD(RHCA_PMA_MULTICAST_RCV_PACKETS,
	      ib_pma_portcounters_ext, port_multicast_rcv_packets),
};

static const struct {
	__be16 id;
	const struct field *fields;
	u8 num_fields;
} attributes[RHCA_PMA_NUM_ATTRIBUTES] = {
	[RHCA_PMA_PORT_COUNTERS] = {
		IB_PMA_PORT_COUNTERS,
		port_counters, ARRAY_SIZE(port_counters) },
	[RHCA_PMA_PORT_COUNTERS_EXT] = {
		IB_PMA_PORT_COUNTERS_EXT,
		port_counters_ext, ARRAY_SIZE(port_counters_ext) },
};

/* Fields are bytes in network order; the two of four bits share one */
static u64 get_field(const struct field *f, const u8 *data)
{
	unsigned int bit;
	u64 value = 0;

	if (f->bits == 4)
		return data[f->bit / 8] >> (4 - f->bit % 8) & 0xf;
	for (bit = f->bit; bit < f->bit + f->bits; bit += 8)
		value = value << 8 | data[bit / 8];
	return value;
}

/* A counter stays at its largest value, 16.1.3.5; 64 bits never get there */
static void put_field(const struct field *f, u64 value, u8 *data)
{
	unsigned int bit;

	value = min(value, GENMASK_ULL(f->bits - 1, 0));
	if (f->bits == 4) {
		data[f->bit / 8] |= value << (4 - f->bit % 8);
		return;
	}
	for (bit = f->bit + f->bits; bit > f->bit; bit -= 8) {
		data[bit / 8 - 1] = value;
		value >>= 8;
	}
}

/**
 * rhca_pma_encode - Write the counters of an attribute
 * @attribute: which
 * @shown: values
 * @data: the attribute: zeroed, but for PortSelect and CounterSelect
 */
void rhca_pma_encode(enum rhca_pma_attribute attribute,
		     const struct rhca_pma_values *shown, u8 *data)
{
	const struct field *f = attributes[attribute].fields;
	u8 i;

	for (i = 0; i < attributes[attribute].num_fields; i++, f++)
		put_field(f, shown->value[f->counter], data);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pma_encode);

/**
 * rhca_pma_set - Set the counters that CounterSelect names
 * @attribute: which attribute was set
 * @data: the attribute
 * @totals: everything counted until now
 * @zero: of this attribute; moved so that a counter shows what it was set to
 */
void rhca_pma_set(enum rhca_pma_attribute attribute, const u8 *data,
		  const struct rhca_pma_values *totals,
		  struct rhca_pma_values *zero)
{
	const struct field *f = attributes[attribute].fields;
	u64 select = get_field(&counter_select, data);
	u8 i;

	for (i = 0; i < attributes[attribute].num_fields; i++, f++)
		if (select & BIT(i))
			zero->value[f->counter] = totals->value[f->counter] -
						  get_field(f, data);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pma_set);

/* --- datagrams ------------------------------------------------------------ */

void rhca_pma_init(struct rhca_pma *pma)
{
	mutex_init(&pma->lock);
}

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

/* One port of a request: set what is to be set, add what it shows then */
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
		shown->value[i] += totals.value[i] - zero->value[i];
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

/* The status, 13.4.7; on success the attribute has been replaced */
static u16 answer(struct rhca_dev *dev, struct ib_mad *mad, bool set)
{
	const struct ib_mad_hdr *hdr = &mad->mad_hdr;
	u8 *data = mad->data + ATTRIBUTE_OFFSET;
	int i;

	if (hdr->base_version != IB_MGMT_BASE_VERSION ||
	    hdr->class_version != PMA_VERSION)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	if (hdr->attr_mod)
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	if (hdr->attr_id == IB_PMA_CLASS_PORT_INFO)
		return answer_class_port_info(set, data);
	for (i = 0; i < RHCA_PMA_NUM_ATTRIBUTES; i++)
		if (hdr->attr_id == attributes[i].id)
			return answer_counters(dev, i, set, data);
	return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
}

/* Responses and other classes pass on to those who wait for them */
static int process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		       const struct ib_wc *wc, const struct ib_grh *grh,
		       const struct ib_mad *in, struct ib_mad *out,
		       size_t *out_size, u16 *out_pkey_index)
{
	bool set = in->mad_hdr.method == IB_MGMT_METHOD_SET;

	if (in->mad_hdr.mgmt_class != IB_MGMT_CLASS_PERF_MGMT ||
	    (!set && in->mad_hdr.method != IB_MGMT_METHOD_GET))
		return IB_MAD_RESULT_SUCCESS;
	*out = *in;
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	out->mad_hdr.status = cpu_to_be16(answer(to_rhca_dev(ibdev), out, set));
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

const struct ib_device_ops rhca_pma_verbs = {
	.process_mad	= process_mad,
};
