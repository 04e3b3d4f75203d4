/* SPDX-License-Identifier: GPL-2.0 */
/* Performance management: a port's counters as in management datagrams. */
#ifndef RHCA_CORE_RULES_PMA_H
#define RHCA_CORE_RULES_PMA_H

#include <linux/mutex.h>
#include <linux/types.h>

/* In the order of the bits of CounterSelect, then those that PortCounters lacks */
enum rhca_pma_counter {
	RHCA_PMA_SYMBOL_ERROR,
	RHCA_PMA_LINK_ERROR_RECOVERY,
	RHCA_PMA_LINK_DOWNED,
	RHCA_PMA_RCV_ERRORS,
	RHCA_PMA_RCV_REMOTE_PHYSICAL_ERRORS,
	RHCA_PMA_RCV_SWITCH_RELAY_ERRORS,
	RHCA_PMA_XMIT_DISCARDS,
	RHCA_PMA_XMIT_CONSTRAINT_ERRORS,
	RHCA_PMA_RCV_CONSTRAINT_ERRORS,
	RHCA_PMA_LOCAL_LINK_INTEGRITY_ERRORS,
	RHCA_PMA_EXCESSIVE_BUFFER_OVERRUNS,
	RHCA_PMA_VL15_DROPPED,
	RHCA_PMA_XMIT_DATA,
	RHCA_PMA_RCV_DATA,
	RHCA_PMA_XMIT_PACKETS,
	RHCA_PMA_RCV_PACKETS,
	RHCA_PMA_UNICAST_XMIT_PACKETS,
	RHCA_PMA_UNICAST_RCV_PACKETS,
	RHCA_PMA_MULTICAST_XMIT_PACKETS,
	RHCA_PMA_MULTICAST_RCV_PACKETS,
	RHCA_PMA_NUM_COUNTERS,
};

struct rhca_pma_values {
	u64 value[RHCA_PMA_NUM_COUNTERS];
};

/* Attributes with counters; each has its own zero point */
enum rhca_pma_attribute {
	RHCA_PMA_PORT_COUNTERS,
	RHCA_PMA_PORT_COUNTERS_EXT,
	RHCA_PMA_NUM_ATTRIBUTES,
};

/* Zero points of a port's counters */
struct rhca_pma {
	struct mutex lock;		/* protects: */
	/* Totals when a counter was set, minus the value set: a counter is relative to this */
	struct rhca_pma_values zero[RHCA_PMA_NUM_ATTRIBUTES];
};

int rhca_pma_attribute_of(__be16 id);
void rhca_pma_totals(const u64 *counters, struct rhca_pma_values *totals);
void rhca_pma_encode(enum rhca_pma_attribute attribute,
		     const struct rhca_pma_values *shown, u8 *data);
u64 rhca_pma_shown(u64 total, u64 zero);
void rhca_pma_set(enum rhca_pma_attribute attribute, const u8 *data,
		  const struct rhca_pma_values *totals,
		  struct rhca_pma_values *zero);

#endif
