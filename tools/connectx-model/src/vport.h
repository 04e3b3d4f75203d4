/* SPDX-License-Identifier: GPL-2.0 */
/* The function's identity on its port: MAC, address table, filters, groups. */
#ifndef CONNECTX_VPORT_H
#define CONNECTX_VPORT_H

#include "ifc.h"
#include "roce.h"

#define ROCE_ADDRESSES		256
#define VPORT_LIST		128
#define VPORT_GROUP_MEMBERS	64

struct roce_address {
	bool valid;
	enum roce_l3 l3;
	u8 gid[GID_BYTES];
	u8 mac[MAC_BYTES];
	bool vlan_valid;
	u16 vlan;
	u8 raw[32];		/* as set, for queries */
};

struct vport_list {
	u32 count;
	u8 entry[VPORT_LIST][8];
};

struct group_member {
	u8 gid[GID_BYTES];
	u32 qpn;
};

enum vport_list_type { VPORT_UNICAST, VPORT_MULTICAST, VPORT_VLANS, VPORT_LISTS };

struct vport {
	u8 mac[MAC_BYTES];
	u8 adapter_mac[MAC_BYTES];	/* of its first port */
	bool is_virtual;		/* it has no MAC and no node GUID until set */
	u8 context[IFC_BYTES(nic_vport_context)];
	struct vport_list list[VPORT_LISTS];
	struct roce_address address[ROCE_ADDRESSES];
	struct group_member member[VPORT_GROUP_MEMBERS];
	u32 members;
	u8 admin_state;
};

void vport_init(struct vport *vport, const u8 mac[MAC_BYTES]);

void vport_reset(struct vport *vport);

/* The entry of the address table, or NULL if it is empty. */
const struct roce_address *vport_roce_address(const struct vport *vport, u8 index);
bool vport_roce_enabled(const struct vport *vport);

/* Did the driver list @mac as one of the network interface's own? */
bool vport_is_listed(const struct vport *vport, const u8 mac[MAC_BYTES]);

/* Likewise, or does it accept everything? */
bool vport_takes(const struct vport *vport, const u8 mac[MAC_BYTES]);

/* Is @mac one of the RoCE source addresses, so that frames to it loop back? */
bool vport_owns(const struct vport *vport, const u8 mac[MAC_BYTES]);
bool vport_attach(struct vport *vport, const u8 gid[GID_BYTES], u32 qpn);
bool vport_detach(struct vport *vport, const u8 gid[GID_BYTES], u32 qpn);
void vport_detach_all(struct vport *vport, u32 qpn);

#endif
