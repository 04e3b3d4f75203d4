/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow tables: a packet's headers have the layout of the driver's match parameters, so matching is
 * a comparison under a mask, whatever the field.
 */
#ifndef CONNECTX_STEERING_H
#define CONNECTX_STEERING_H

#include "ifc.h"
#include "resource.h"

struct device;

#define MATCH_BYTES		IFC_BYTES(fte_match_param)
#define MAX_DESTINATIONS	64
#define FLOW_TABLE_TYPES	16

/* The tables of the switch are stored, but never walked: it has just two ports. */
enum flow_table_type {
	FLOW_NIC_RECEIVE = 0, FLOW_SWITCH = 4, FLOW_RDMA_RECEIVE = 7,
};

/* The switch's ports: its manager, and the wire. */
enum switch_port { SWITCH_MANAGER = 0, SWITCH_UPLINK = 0xffff };

enum flow_action {
	FLOW_ALLOW = 0x1, FLOW_DROP = 0x2, FLOW_FORWARD = 0x4, FLOW_COUNT = 0x8,
};

enum flow_destination_type {
	DESTINATION_VPORT = 0x0, DESTINATION_TABLE = 0x1, DESTINATION_TIR = 0x2,
	DESTINATION_COUNTER = 0xf,
};

struct flow_destination {
	u8 type;
	u32 id;
};

struct flow_entry {
	u32 index;
	u32 action;
	u32 tag;
	u32 group;
	u32 destinations;
	struct flow_destination destination[MAX_DESTINATIONS];
	u8 value[MATCH_BYTES];
};

struct flow_group {
	struct object object;
	u32 table;
	u32 first, last;		/* flow indices */
	u8 mask[MATCH_BYTES];
};

struct flow_table {
	struct object object;
	u8 type;
	u8 level;
	u32 log_size;
	bool miss_to_table;
	u32 miss_table;
	bool miss_to_other_domain;	/* of RoCE: to the network interface */
	bool lag_demux;
	struct flow_entry **entry;	/* sorted by index */
	u32 entries;
};

struct flow_counter {
	struct object object;
	u64 packets;
	u64 bytes;
};

struct steering {
	u32 root[FLOW_TABLE_TYPES];	/* 0: none */
};

/* Headers of a frame, in the layout of fte_match_param. */
void steering_headers(const u8 *frame, u32 bytes, u8 match[MATCH_BYTES]);

/* Result of walking through the tables. */
struct steering_result {
	u32 tirs;
	u32 tir[MAX_DESTINATIONS];
	u32 tag;
	bool other_domain;	/* it is for the other domain than that of these tables */
};

void steering_walk(struct device *dev, u32 type, const u8 *frame, u32 bytes,
		   struct steering_result *result);
void flow_table_destroy(struct object *object);

#endif
