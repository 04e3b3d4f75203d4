// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: of requests and errors in a set that queue pairs count into, of
 * congestion and of packets in the port.
 */
#include "command.h"
#include "core/port.h"
#include "counters.h"
#include "device.h"

#define OCTETS_PER_WORD	4	/* the performance class counts data in words */

const enum rhca_counter rhca_mlx5_counters[RHCA_MLX5_NUM_COUNTERS] = {
	RHCA_RX_PACKETS,
	RHCA_RX_BYTES,
	RHCA_RX_MULTICAST_PACKETS,
	RHCA_TX_PACKETS,
	RHCA_TX_BYTES,
	RHCA_TX_MULTICAST_PACKETS,
	RHCA_RX_WRITE_REQUESTS,
	RHCA_RX_READ_REQUESTS,
	RHCA_RX_ATOMIC_REQUESTS,
	RHCA_DUPLICATE_REQUEST,
	RHCA_OUT_OF_SEQUENCE,
	RHCA_OUT_OF_BUFFER,
	RHCA_PACKET_SEQ_ERR,
	RHCA_IMPLIED_NAK_SEQ_ERR,
	RHCA_LOCAL_ACK_TIMEOUT_ERR,
	RHCA_RNR_NAK_RETRY_ERR,
	RHCA_REQ_CQE_ERROR,
	RHCA_REQ_CQE_FLUSH_ERROR,
	RHCA_REQ_REMOTE_ACCESS_ERRORS,
	RHCA_REQ_REMOTE_INVALID_REQUEST,
	RHCA_REQ_TRANSPORT_RETRIES_EXCEEDED,
	RHCA_RESP_CQE_ERROR,
	RHCA_RESP_CQE_FLUSH_ERROR,
	RHCA_RESP_LOCAL_LENGTH_ERROR,
	RHCA_RESP_REMOTE_ACCESS_ERRORS,
	RHCA_NP_ECN_MARKED_ROCE_PACKETS,
	RHCA_RP_CNP_IGNORED,
};

static struct mlx5_core_dev *mdev_of(const struct rhca_port *port)
{
	return rhca_mlx5_mdev(&port->dev->ibdev);
}

/* Queue pairs of the port count into the function's set, see qp.c */
int rhca_mlx5_counters_open(struct rhca_counter_set *set)
{
	return 0;
}

void rhca_mlx5_counters_close(struct rhca_counter_set *set, const u64 *shown)
{
}

static void take_traffic(const struct rhca_mlx5_traffic *traffic, u64 *values)
{
	values[RHCA_RX_PACKETS] = traffic->rx.packets +
				  traffic->rx_multicast.packets;
	values[RHCA_RX_BYTES] = traffic->rx.octets +
				traffic->rx_multicast.octets;
	values[RHCA_RX_MULTICAST_PACKETS] = traffic->rx_multicast.packets;
	values[RHCA_TX_PACKETS] = traffic->tx.packets +
				  traffic->tx_multicast.packets;
	values[RHCA_TX_BYTES] = traffic->tx.octets +
				traffic->tx_multicast.octets;
	values[RHCA_TX_MULTICAST_PACKETS] = traffic->tx_multicast.packets;
}

int rhca_mlx5_counters_read(struct rhca_counter_set *set, u64 *values)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(&set->port->dev->ibdev);
	struct rhca_mlx5_traffic traffic;
	int ret;

	ret = rhca_mlx5_query_counter_set(hca->mdev, hca->counter_set, values);
	if (ret)
		return ret;
	ret = rhca_mlx5_query_congestion(hca->mdev, values);
	if (ret)
		return ret;
	ret = rhca_mlx5_query_traffic(hca->mdev, &traffic);
	if (!ret)
		take_traffic(&traffic, values);
	return ret;
}

int rhca_mlx5_pma_read(struct rhca_port *port, struct rhca_pma_values *values)
{
	struct rhca_mlx5_traffic traffic;
	u64 *value = values->value;
	int ret;

	ret = rhca_mlx5_query_traffic(mdev_of(port), &traffic);
	if (ret)
		return ret;
	value[RHCA_PMA_XMIT_DATA] = (traffic.tx.octets +
				     traffic.tx_multicast.octets) /
				    OCTETS_PER_WORD;
	value[RHCA_PMA_RCV_DATA] = (traffic.rx.octets +
				    traffic.rx_multicast.octets) /
				   OCTETS_PER_WORD;
	value[RHCA_PMA_XMIT_PACKETS] = traffic.tx.packets +
				       traffic.tx_multicast.packets;
	value[RHCA_PMA_RCV_PACKETS] = traffic.rx.packets +
				      traffic.rx_multicast.packets;
	value[RHCA_PMA_UNICAST_XMIT_PACKETS] = traffic.tx.packets;
	value[RHCA_PMA_UNICAST_RCV_PACKETS] = traffic.rx.packets;
	value[RHCA_PMA_MULTICAST_XMIT_PACKETS] = traffic.tx_multicast.packets;
	value[RHCA_PMA_MULTICAST_RCV_PACKETS] = traffic.rx_multicast.packets;
	return 0;
}
