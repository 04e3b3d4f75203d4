// SPDX-License-Identifier: GPL-2.0
/* Destination of a frame from the wire: a queue pair, a group of them, or the netdev. */
#include "datagram.h"
#include "device.h"
#include "ethernet.h"
#include "requester.h"
#include "responder.h"
#include "trace.h"

#define MULTICAST_QPN	0xffffffu

static void to_group(struct device *dev, const struct roce_packet *packet)
{
	struct vport *vport = &dev->vport;
	struct qp *qp;
	u32 i;

	for (i = 0; i < vport->members; i++) {
		if (memcmp(vport->member[i].gid, packet->route.dest_gid, GID_BYTES))
			continue;
		qp = qp_find(dev, vport->member[i].qpn);
		if (qp && qp->service == SERVICE_UD)
			datagram_receive(qp, packet);
	}
}

/*
 * Service and opcode must match, and a connected QP accepts packets of its peer only. That for keys
 * has no peer.
 */
static bool for_this_qp(const struct qp *qp, const struct roce_packet *packet)
{
	bool connected = qp->service == SERVICE_RC || qp->service == SERVICE_UC ||
			 qp->service == SERVICE_XRC;

	if (qp->service == SERVICE_REG_UMR ||
	    (packet->bth.opcode & 0xe0) != qp_transport(qp))
		return false;
	return !connected || !memcmp(packet->route.source_gid, qp->route.dest_gid, GID_BYTES);
}

static void to_qp(struct device *dev, const struct roce_packet *packet)
{
	struct qp *qp = qp_find(dev, packet->bth.dest_qpn);

	if (!qp || (packet->bth.pkey & 0x7fff) != (ROCE_DEFAULT_PKEY & 0x7fff)) {
		dev->counters.rx_no_qp++;
		return;
	}
	if (packet->bth.opcode == ROCE_OPCODE_CNP) {
		congestion_notified(qp);
		return;
	}
	if (!for_this_qp(qp, packet)) {
		dev->counters.rx_no_qp++;
		return;
	}
	if (packet->congestion && qp_is_reliable(qp))
		congestion_seen(qp);
	if (qp_transport(qp) == ROCE_UD)
		datagram_receive(qp, packet);
	else if (roce_opcode(packet->bth.opcode)->traits & OP_RESPONSE)
		requester_receive(qp, packet);
	else
		responder_receive(qp, packet);
}

/* Is the frame for the RoCE engine? This depends on its addresses. */
static bool is_ours(struct device *dev, const struct roce_packet *packet)
{
	if (packet->route.dest_mac[0] & 1)
		return packet->bth.dest_qpn == MULTICAST_QPN;
	return vport_owns(&dev->vport, packet->route.dest_mac);
}

/* In switchdev mode the driver's tables send frames from the wire to the netdev. */
static bool takes_roce(struct device *dev, const u8 *frame, u32 bytes)
{
	struct steering_result result;

	if (!vport_roce_enabled(&dev->vport))
		return false;
	if (!dev->has_switch || !dev->steering.root[FLOW_RDMA_RECEIVE])
		return true;
	steering_walk(dev, FLOW_RDMA_RECEIVE, frame, bytes, &result);
	return !result.other_domain;
}

/* Return: false if the frame is for the network interface. */
static bool receive_roce(struct device *dev, const u8 *frame, u32 bytes)
{
	struct roce_packet packet;

	if (!takes_roce(dev, frame, bytes))
		return false;
	switch (roce_parse(frame, bytes, &packet)) {
	case ROCE_BAD_ICRC:
		dev->counters.rx_icrc_errors++;
		return true;
	case ROCE_MALFORMED:
		dev->counters.rx_malformed++;
		return true;
	case ROCE_NOT:
		return false;
	case ROCE_OK:
		break;
	}
	if (!is_ours(dev, &packet))
		return false;
	count_traffic(&dev->counters, COUNT_RX, COUNT_ROCE, frame, bytes);
	if (packet.bth.dest_qpn == MULTICAST_QPN)
		to_group(dev, &packet);
	else
		to_qp(dev, &packet);
	return true;
}

void receive_frame(struct device *dev, const u8 *frame, u32 bytes, u32 source_td)
{
	struct device *engine = lag_engine(dev);

	if (engine->state == HCA_RUNNING && receive_roce(engine, frame, bytes))
		return;
	if (dev->state == HCA_RUNNING)
		ethernet_receive(dev, frame, bytes, source_td);
}
