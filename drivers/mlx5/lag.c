// SPDX-License-Identifier: GPL-2.0
/*
 * Link aggregation. When the netdevs of an adapter's functions become the ports of a bond,
 * mlx5_core decides whether they are a LAG, unbinds their RDMA functions and binds one, whose RoCE
 * engine has all ports. We set it up to receive from all ports, and assign each queue pair the port
 * to send on while that one's link is up.
 */
#include <linux/mlx5/driver.h>
#include <linux/mlx5/fs.h>
#include <linux/netdevice.h>
#include <rhca/compat.h>

#include "device.h"
#include "lag.h"

static int is_of_function(struct net_device *lower,
			  struct netdev_nested_priv *function)
{
	return lower->dev.parent == function->data;
}

/* Is a netdev the bond above an aggregated function? RCU read side. */
bool rhca_mlx5_lag_covers(const struct rhca_mlx5 *hca,
			  const struct net_device *ndev)
{
	struct netdev_nested_priv function = { .data = hca->mdev->device };

	return netif_is_bond_master(ndev) &&
	       netdev_walk_all_lower_dev_rcu((struct net_device *)ndev,
					     is_of_function, &function);
}

/*
 * Receive from all ports of a LAG. May sleep. Returns 0, even without a LAG; or an error, with
 * nothing left allocated.
 */
int rhca_mlx5_lag_init(struct rhca_mlx5 *hca)
{
	struct mlx5_flow_table_attr table = { .max_fte = 1 };
	struct mlx5_flow_namespace *space;
	int ret;

	atomic_set(&hca->lag_assigned, 0);
	if (!hca->lag_ports)
		return 0;
	space = mlx5_get_flow_namespace(hca->mdev, MLX5_FLOW_NAMESPACE_LAG);
	if (!space)
		return -EOPNOTSUPP;
	ret = mlx5_cmd_create_vport_lag(hca->mdev);
	if (ret)
		return ret;
	ret = rhca_mlx5_lag_demux_create(hca->mdev, space, &table,
					 &hca->lag_demux);
	if (ret)
		mlx5_cmd_destroy_vport_lag(hca->mdev);
	return ret;
}

/* Undo rhca_mlx5_lag_init() */
void rhca_mlx5_lag_exit(struct rhca_mlx5 *hca)
{
	if (!hca->lag_ports)
		return;
	rhca_mlx5_lag_demux_destroy(hca->mdev, hca->lag_demux);
	mlx5_cmd_destroy_vport_lag(hca->mdev);
}

/*
 * Number of ports to spread queue pairs over, which would else all send on one; 0 without a LAG, or
 * if the adapter's tables select the port by each packet's hash, as they do for queue pairs without
 * a port. The LAG may be another host's, of which a function is not informed.
 */
static u8 num_ports(const struct rhca_mlx5 *hca)
{
	struct mlx5_core_dev *mdev = hca->mdev;

	if (hca->lag_ports)
		return mlx5_lag_mode_is_hash(mdev) &&
		       MLX5_CAP_PORT_SELECTION(mdev, port_select_flow_table_bypass) ?
		       0 : hca->lag_ports;
	if (mlx5_lag_is_lacp_owner(mdev) || MLX5_CAP_GEN(mdev, num_lag_ports) < 2 ||
	    !MLX5_CAP_GEN(mdev, lag_tx_port_affinity))
		return 0;
	return MLX5_CAP_GEN(mdev, num_lag_ports);
}

/*
 * Assign the port that a new queue pair sends on, round-robin, as mlx5_ib does. Any context.
 * Returns the port, from 1; 0 leaves it to the adapter, as always for QP1.
 */
u8 rhca_mlx5_lag_assign(struct rhca_mlx5 *hca, enum ib_qp_type type)
{
	u8 ports = num_ports(hca);

	if (!ports || type == IB_QPT_GSI)
		return 0;
	return (u32)atomic_inc_return(&hca->lag_assigned) % ports + 1;
}

/*
 * The port that the bond's policy selects for a connection. Any context. Returns the port, from 1;
 * 0 if ib_core did not ask the bond (it does for kernel users only), or it cannot be changed.
 */
u8 rhca_mlx5_lag_port_of(struct rhca_mlx5 *hca, const struct ib_qp_attr *attr,
			 int mask)
{
	if (!num_ports(hca) || !(mask & IB_QP_AV) || !attr->xmit_slave ||
	    !MLX5_CAP_GEN(hca->mdev, init2_lag_tx_port_affinity))
		return 0;
	return mlx5_lag_get_slave_port(hca->mdev, attr->xmit_slave);
}
