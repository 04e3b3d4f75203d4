// SPDX-License-Identifier: GPL-2.0
#include "steering.h"

#include <stdlib.h>

#include "device.h"

#define MAX_HOPS		64u
#define ETHERTYPE_VLAN		0x8100u
#define ETHERTYPE_IPV4		0x0800u
#define ETHERTYPE_IPV6		0x86ddu
#define PROTOCOL_TCP		6u
#define PROTOCOL_UDP		17u

/* Group masks select blocks of match parameters; only these are filled in here. */
#define OUTER(match)	AT(fte_match_param, match, outer_headers)
#define SET_OUTER(match, field, value) \
	SET(fte_match_set_lyr_2_4, OUTER(match), field, value)

static void ports(const u8 *l4, u32 room, u8 protocol, u8 *match)
{
	if (room < 14)
		return;
	if (protocol == PROTOCOL_TCP) {
		SET_OUTER(match, tcp_sport, be16_at(l4));
		SET_OUTER(match, tcp_dport, be16_at(l4 + 2));
		SET_OUTER(match, tcp_flags, be16_at(l4 + 12) & 0x1ff);
	} else if (protocol == PROTOCOL_UDP) {
		SET_OUTER(match, udp_sport, be16_at(l4));
		SET_OUTER(match, udp_dport, be16_at(l4 + 2));
	}
}

static void ipv4(const u8 *ip, u32 room, u8 *match)
{
	u32 header = room >= 20 ? (ip[0] & 0xf) * 4u : 0;

	if (header < 20 || header > room)
		return;
	SET_OUTER(match, ip_version, 4);
	SET_OUTER(match, ip_protocol, ip[9]);
	SET_OUTER(match, ip_dscp, ip[1] >> 2);
	SET_OUTER(match, ip_ecn, ip[1] & 3);
	SET_OUTER(match, ttl_hoplimit, ip[8]);
	SET_OUTER(match, ipv4_ihl, ip[0] & 0xf);
	SET_OUTER(match, frag, !!(be16_at(ip + 6) & 0x3fff));
	memcpy(AT(fte_match_set_lyr_2_4, OUTER(match), src_ipv4_src_ipv6) + 12, ip + 12, 4);
	memcpy(AT(fte_match_set_lyr_2_4, OUTER(match), dst_ipv4_dst_ipv6) + 12, ip + 16, 4);
	if (!(be16_at(ip + 6) & 0x1fff))
		ports(ip + header, room - header, ip[9], match);
}

static void ipv6(const u8 *ip, u32 room, u8 *match)
{
	u32 traffic_class;

	if (room < 40)
		return;
	traffic_class = be32_at(ip) >> 20 & 0xff;
	SET_OUTER(match, ip_version, 6);
	SET_OUTER(match, ip_protocol, ip[6]);
	SET_OUTER(match, ip_dscp, traffic_class >> 2);
	SET_OUTER(match, ip_ecn, traffic_class & 3);
	SET_OUTER(match, ttl_hoplimit, ip[7]);
	memcpy(AT(fte_match_set_lyr_2_4, OUTER(match), src_ipv4_src_ipv6), ip + 8, 16);
	memcpy(AT(fte_match_set_lyr_2_4, OUTER(match), dst_ipv4_dst_ipv6), ip + 24, 16);
	ports(ip + 40, room - 40, ip[6], match);
}

void steering_headers(const u8 *frame, u32 bytes, u8 match[MATCH_BYTES])
{
	u32 at = 12;
	u16 ethertype;

	memset(match, 0, MATCH_BYTES);
	if (bytes < 18)
		return;
	SET_OUTER(match, dmac_47_16, be32_at(frame));
	SET_OUTER(match, dmac_15_0, be16_at(frame + 4));
	SET_OUTER(match, smac_47_16, be32_at(frame + 6));
	SET_OUTER(match, smac_15_0, be16_at(frame + 10));
	ethertype = be16_at(frame + at);
	if (ethertype == ETHERTYPE_VLAN) {
		SET_OUTER(match, cvlan_tag, 1);
		SET_OUTER(match, first_vid, be16_at(frame + at + 2) & 0xfff);
		SET_OUTER(match, first_prio, frame[at + 2] >> 5);
		at += 4;
		ethertype = be16_at(frame + at);
	}
	SET_OUTER(match, ethertype, ethertype);
	at += 2;
	if (ethertype == ETHERTYPE_IPV4)
		ipv4(frame + at, bytes - at, match);
	else if (ethertype == ETHERTYPE_IPV6)
		ipv6(frame + at, bytes - at, match);
}

static bool matches(struct device *dev, const struct flow_entry *entry, const u8 *match)
{
	const struct flow_group *group = find_object(struct flow_group, dev, OBJ_FLOW_GROUP,
						     entry->group);
	u32 i;

	if (!group)
		return false;
	for (i = 0; i < MATCH_BYTES; i++)
		if ((match[i] ^ entry->value[i]) & group->mask[i])
			return false;
	return true;
}

static void count(struct device *dev, u32 id, u32 bytes)
{
	struct flow_counter *counter = find_object(struct flow_counter, dev, OBJ_FLOW_COUNTER, id);

	if (counter) {
		counter->packets++;
		counter->bytes += bytes;
	}
}

/* Return: the table to continue with, or 0. */
static u32 act(struct device *dev, const struct flow_entry *entry, u32 bytes,
	       struct steering_result *result)
{
	const struct flow_destination *destination;
	u32 i, next = 0;

	result->tag = entry->tag;
	for (i = 0; i < entry->destinations; i++) {
		destination = &entry->destination[i];
		if (destination->type == DESTINATION_TIR && result->tirs < MAX_DESTINATIONS)
			result->tir[result->tirs++] = destination->id;
		else if (destination->type == DESTINATION_TABLE)
			next = destination->id;
		else if (destination->type == DESTINATION_COUNTER)
			count(dev, destination->id, bytes);
	}
	return entry->action & FLOW_DROP ? 0 : next;
}

void steering_walk(struct device *dev, u32 type, const u8 *frame, u32 bytes,
		   struct steering_result *result)
{
	u32 id = dev->steering.root[type], hops, i;
	struct flow_table *table;
	u8 match[MATCH_BYTES];

	*result = (struct steering_result){ 0 };
	steering_headers(frame, bytes, match);
	if (dev->has_switch && bytes >= 2 * MAC_BYTES)
		SET(fte_match_param, match, misc_parameters.source_port,
		    vport_owns(&dev->vport, frame + MAC_BYTES) ? SWITCH_MANAGER : SWITCH_UPLINK);
	for (hops = 0; hops < MAX_HOPS; hops++) {
		table = find_object(struct flow_table, dev, OBJ_FLOW_TABLE, id);
		if (!table)
			return;
		for (i = 0; i < table->entries; i++)
			if (matches(dev, table->entry[i], match))
				break;
		result->other_domain = i == table->entries && table->miss_to_other_domain;
		if (i < table->entries)
			id = act(dev, table->entry[i], bytes, result);
		else
			id = table->miss_to_table ? table->miss_table : 0;
	}
}

void flow_table_destroy(struct object *object)
{
	struct flow_table *table = container_of(object, struct flow_table, object);

	while (table->entries)
		free(table->entry[--table->entries]);
	free(table->entry);
	free(table);
}
