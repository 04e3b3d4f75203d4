/* SPDX-License-Identifier: GPL-2.0 */
/* Capabilities that the adapter announces: no more than is modelled. */
#ifndef CONNECTX_CAPS_H
#define CONNECTX_CAPS_H

#include "ifc.h"

#define CAP_BYTES	4096u

enum cap_type {
	CAP_GENERAL = 0x0, CAP_ETHERNET = 0x1, CAP_PAGING = 0x2, CAP_ATOMIC = 0x3, CAP_ROCE = 0x4,
	CAP_FLOW_TABLE = 0x7, CAP_SWITCH_FLOW_TABLE = 0x8, CAP_SWITCH = 0x9,
	CAP_QOS = 0xc, CAP_TYPES = 0xd,
};

struct caps {
	u8 maximum[CAP_TYPES][CAP_BYTES];
	u8 current[CAP_TYPES][CAP_BYTES];
};

/* In atomic_operations: compare-and-swap, fetch-and-add; those of other sizes. */
enum { ATOMICS_OF_VERBS = 0x3, ATOMICS_EXTENDED = 0xc };

/* Values in SET_ROCE_ADDRESS and, as a bit each, in roce_cap. */
enum roce_version { ROCE_V1 = 0, ROCE_V2 = 2 };

/*
 * Comma-separated words for features that adapters created from now on lack, or have in addition.
 * Return: false if one is unknown.
 */
bool caps_choose(const char *words, bool without);
bool caps_have_roce(const struct caps *caps, u32 version);

/*
 * @port_number: of an adapter with two ports; 0 for one with a single port
 * @has_switch: the function manages the adapter's switch, see steering.h
 */
void caps_init(struct caps *caps, u32 port_number, bool has_switch, bool is_virtual);
bool caps_known(const struct caps *caps, u32 type);

/* Does the adapter have all that is wanted? */
bool caps_within(const struct caps *caps, u32 type, const u8 *wanted, u32 bytes);

#define CAP(dev, field)	GET(cmd_hca_cap, (dev)->caps.current[CAP_GENERAL], field)

#endif
