// SPDX-License-Identifier: GPL-2.0
#include "vport.h"

void vport_init(struct vport *vport, const u8 mac[MAC_BYTES])
{
	memcpy(vport->mac, mac, MAC_BYTES);
	memcpy(vport->adapter_mac, mac, MAC_BYTES);
	vport_reset(vport);
}

static u64 guid_of(const u8 mac[MAC_BYTES])
{
	u64 guid = be32_at(mac) >> 8;

	guid = guid << 16 | 0xfffe;
	return guid << 24 | (be32_at(mac + 2) & 0xffffff);
}

void vport_reset(struct vport *vport)
{
	struct vport fresh = { .admin_state = 1, .is_virtual = vport->is_virtual };
	u8 *c = vport->context;

	memcpy(fresh.mac, vport->mac, MAC_BYTES);
	memcpy(fresh.adapter_mac, vport->adapter_mac, MAC_BYTES);
	*vport = fresh;
	SET(nic_vport_context, c, mtu, 1500);
	SET(nic_vport_context, c, system_image_guid, guid_of(vport->adapter_mac));
	SET(nic_vport_context, c, port_guid, guid_of(vport->mac));
	if (vport->is_virtual)
		return;
	SET(nic_vport_context, c, node_guid, guid_of(vport->mac));
	memcpy(AT(nic_vport_context, c, permanent_address) + 2, vport->mac, MAC_BYTES);
}

const struct roce_address *vport_roce_address(const struct vport *vport, u8 index)
{
	return vport->address[index].valid ? &vport->address[index] : NULL;
}

bool vport_roce_enabled(const struct vport *vport)
{
	return GET(nic_vport_context, vport->context, roce_en);
}

static bool in_list(const struct vport_list *list, const u8 mac[MAC_BYTES])
{
	u32 i;

	for (i = 0; i < list->count; i++)
		if (!memcmp(list->entry[i] + 2, mac, MAC_BYTES))
			return true;
	return false;
}

bool vport_is_listed(const struct vport *vport, const u8 mac[MAC_BYTES])
{
	return in_list(&vport->list[mac[0] & 1 ? VPORT_MULTICAST : VPORT_UNICAST], mac);
}

bool vport_takes(const struct vport *vport, const u8 mac[MAC_BYTES])
{
	const u8 *c = vport->context;
	bool group = mac[0] & 1;

	if (GET(nic_vport_context, c, promisc_all) ||
	    (group && GET(nic_vport_context, c, promisc_mc)) ||
	    (!group && GET(nic_vport_context, c, promisc_uc)))
		return true;
	return vport_is_listed(vport, mac);
}

bool vport_owns(const struct vport *vport, const u8 mac[MAC_BYTES])
{
	u32 i;

	for (i = 0; i < ROCE_ADDRESSES; i++)
		if (vport->address[i].valid && !memcmp(vport->address[i].mac, mac, MAC_BYTES))
			return true;
	return false;
}

bool vport_attach(struct vport *vport, const u8 gid[GID_BYTES], u32 qpn)
{
	struct group_member *member = &vport->member[vport->members];

	if (vport->members == VPORT_GROUP_MEMBERS)
		return false;
	memcpy(member->gid, gid, GID_BYTES);
	member->qpn = qpn;
	vport->members++;
	return true;
}

bool vport_detach(struct vport *vport, const u8 gid[GID_BYTES], u32 qpn)
{
	u32 i;

	for (i = 0; i < vport->members; i++) {
		if (vport->member[i].qpn == qpn &&
		    !memcmp(vport->member[i].gid, gid, GID_BYTES)) {
			vport->member[i] = vport->member[--vport->members];
			return true;
		}
	}
	return false;
}

void vport_detach_all(struct vport *vport, u32 qpn)
{
	u32 i = 0;

	while (i < vport->members) {
		if (vport->member[i].qpn == qpn)
			vport->member[i] = vport->member[--vport->members];
		else
			i++;
	}
}
