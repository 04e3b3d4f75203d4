// SPDX-License-Identifier: GPL-2.0
/*
 * Performance management, IBTA vol. 1, 16.1: counters of a port in the form that perfquery reads
 * and ib_core shows in ports/N/counters.
 *
 * Counters only increase. Setting one moves its zero point.
 */
#include <rdma/ib_pma.h>
#include <rhca/compat.h>
#include <rhca/counter.h>

#include "core/rules/pma.h"

/* --- what is counted ------------------------------------------------------ */

/* Each row adds a counter of ours; a counter without a row is always 0 */
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
	{ RHCA_PMA_XMIT_DISCARDS,	   RHCA_TX_DROPPED_TOO_LONG },
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

/* Counters are not read atomically: a part may exceed its total */
static u64 rest(u64 whole, u64 part)
{
	return whole > part ? whole - part : 0;
}

/**
 * rhca_pma_totals - Convert our counters to those of performance management
 * @counters: totals of a port, by enum rhca_counter
 * @totals: the result; data in 32-bit words, 16.1.3.5
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
RHCA_EXPORT(rhca_pma_totals);

/* --- encoding -------------------------------------------------------------- */

/* A counter in an attribute; its row is its bit in CounterSelect */
struct field {
	enum rhca_pma_counter counter;
	u16 bit;
	u8 bits;
};

static const struct field counter_select = { .bit = 16, .bits = 16 };

#define FIELD(id, type, member) \
	{ (id), offsetof(struct type, member) * BITS_PER_BYTE, \
	  sizeof_field(struct type, member) * BITS_PER_BYTE }
#define COUNTER(id, member)	FIELD(id, ib_pma_portcounters, member)
#define NIBBLE(id, member, shift) \
	{ (id), offsetof(struct ib_pma_portcounters, member) * BITS_PER_BYTE + (shift), 4 }
#define EXT_COUNTER(id, member)	FIELD(id, ib_pma_portcounters_ext, member)

static const struct field port_counters[] = {
	COUNTER(RHCA_PMA_SYMBOL_ERROR, symbol_error_counter),
	COUNTER(RHCA_PMA_LINK_ERROR_RECOVERY, link_error_recovery_counter),
	COUNTER(RHCA_PMA_LINK_DOWNED, link_downed_counter),
	COUNTER(RHCA_PMA_RCV_ERRORS, port_rcv_errors),
	COUNTER(RHCA_PMA_RCV_REMOTE_PHYSICAL_ERRORS, port_rcv_remphys_errors),
	COUNTER(RHCA_PMA_RCV_SWITCH_RELAY_ERRORS, port_rcv_switch_relay_errors),
	COUNTER(RHCA_PMA_XMIT_DISCARDS, port_xmit_discards),
	COUNTER(RHCA_PMA_XMIT_CONSTRAINT_ERRORS, port_xmit_constraint_errors),
	COUNTER(RHCA_PMA_RCV_CONSTRAINT_ERRORS, port_rcv_constraint_errors),
	NIBBLE(RHCA_PMA_LOCAL_LINK_INTEGRITY_ERRORS, link_overrun_errors, 0),
	NIBBLE(RHCA_PMA_EXCESSIVE_BUFFER_OVERRUNS, link_overrun_errors, 4),
	COUNTER(RHCA_PMA_VL15_DROPPED, vl15_dropped),
	COUNTER(RHCA_PMA_XMIT_DATA, port_xmit_data),
	COUNTER(RHCA_PMA_RCV_DATA, port_rcv_data),
	COUNTER(RHCA_PMA_XMIT_PACKETS, port_xmit_packets),
	COUNTER(RHCA_PMA_RCV_PACKETS, port_rcv_packets),
};

static const struct field port_counters_ext[] = {
	EXT_COUNTER(RHCA_PMA_XMIT_DATA, port_xmit_data),
	EXT_COUNTER(RHCA_PMA_RCV_DATA, port_rcv_data),
	EXT_COUNTER(RHCA_PMA_XMIT_PACKETS, port_xmit_packets),
	EXT_COUNTER(RHCA_PMA_RCV_PACKETS, port_rcv_packets),
	EXT_COUNTER(RHCA_PMA_UNICAST_XMIT_PACKETS, port_unicast_xmit_packets),
	EXT_COUNTER(RHCA_PMA_UNICAST_RCV_PACKETS, port_unicast_rcv_packets),
	EXT_COUNTER(RHCA_PMA_MULTICAST_XMIT_PACKETS, port_multicast_xmit_packets),
	EXT_COUNTER(RHCA_PMA_MULTICAST_RCV_PACKETS, port_multicast_rcv_packets),
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

/* The attribute with this ID, or -ENOENT for one without counters. */
int rhca_pma_attribute_of(__be16 id)
{
	int i;

	for (i = 0; i < RHCA_PMA_NUM_ATTRIBUTES; i++)
		if (attributes[i].id == id)
			return i;
	return -ENOENT;
}

/* Fields are big-endian bytes; the two of four bits share one */
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

/* Counters saturate, 16.1.3.5; 64-bit ones never get there */
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

/* Encode the counters of an attribute, which is zeroed except PortSelect and CounterSelect */
void rhca_pma_encode(enum rhca_pma_attribute attribute,
		     const struct rhca_pma_values *shown, u8 *data)
{
	const struct field *f = attributes[attribute].fields;
	u8 i;

	for (i = 0; i < attributes[attribute].num_fields; i++, f++)
		put_field(f, shown->value[f->counter], data);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_pma_encode);

/*
 * The value that a counter shows. Totals are not read atomically: one that is below its value at
 * the time the counter was set shows 0.
 */
u64 rhca_pma_shown(u64 total, u64 zero)
{
	s64 since = total - zero;

	return since > 0 ? since : 0;
}

/*
 * Set the counters selected by CounterSelect of @data. @totals: everything counted until now.
 * @zero: moved so that a counter shows the value set.
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
