// SPDX-License-Identifier: GPL-2.0
/* The adapter as a backend of the core. Its operations are here or in the object's file. */
#include <linux/delay.h>
#include <linux/if_vlan.h>
#include <linux/mlx5/vport.h>
#include <linux/module.h>
#include <rdma/ib_cache.h>
#include <rdma/mlx5-abi.h>
#include <rhca/compat.h>

#include "address.h"
#include "backend.h"
#include "congestion.h"
#include "context.h"
#include "core/mcast.h"
#include "core/port/port.h"
#include "core/rules/pkey.h"
#include "counters.h"
#include "cq.h"
#include "device.h"
#include "events.h"
#include "identity.h"
#include "mkey.h"
#include "poll.h"
#include "qp.h"
#include "srq.h"
#include "uar.h"
#include "wire/encap.h"
#include "wqe.h"
#include "xrc.h"

#define FLUSH_MS	20	/* for the firmware to start, and between checks */
#define FLUSH_MAX_MS	2000	/* in total: it may not count what it flushes */
#define FIRMWARE_PORT	1	/* a function has one */

/* As in mlx5_ib: either version needs both address families */
static unsigned long gid_types_of(const struct mlx5_core_dev *mdev)
{
	const u8 both = MLX5_ROCE_L3_TYPE_IPV4_CAP | MLX5_ROCE_L3_TYPE_IPV6_CAP;
	u8 versions = MLX5_CAP_ROCE(mdev, roce_version);
	unsigned long types = 0;

	if ((MLX5_CAP_ROCE(mdev, l3_type) & both) != both)
		return 0;
	if (versions & MLX5_ROCE_VERSION_1_CAP)
		types |= BIT(IB_GID_TYPE_ROCE);
	if (versions & MLX5_ROCE_VERSION_2_CAP)
		types |= BIT(IB_GID_TYPE_ROCE_UDP_ENCAP);
	return types;
}

static void set_caps(const struct mlx5_core_dev *mdev, struct rhca_caps *caps)
{
	struct ib_device_attr attr = {};

	rhca_mlx5_describe(mdev, &attr);
	/* Blocks or receives; the attribute is what any request fits. Queues' sizes are checked */
	caps->max_qp_wr = BIT(MLX5_CAP_GEN(mdev, log_max_qp_sz));
	caps->max_send_sge = attr.max_send_sge;
	caps->max_recv_sge = attr.max_recv_sge;
	caps->max_inline = MLX5_CAP_GEN(mdev, max_wqe_sz_sq);
	caps->max_rd_atomic = min(attr.max_qp_rd_atom, 128);
	caps->max_msg_bytes = 1U << MLX5_CAP_GEN(mdev, log_max_msg);
	caps->num_gids = min_t(u16, RHCA_NUM_GIDS,
			       MLX5_CAP_ROCE(mdev, roce_address_table_size));
	caps->num_pkeys = 1;
	caps->gid_types = gid_types_of(mdev);
	caps->any_net = true;
}

/* As mlx5_ib: ibstat and inventories identify adapters by these */
static void name_board(const struct mlx5_core_dev *mdev, struct rhca_dev *dev)
{
	snprintf(dev->hca_type, sizeof(dev->hca_type), "MT%u",
		 mdev->pdev->device);
	strscpy(dev->board_id, mdev->board_id, sizeof(dev->board_id));
}

/*
 * Use the adapter's own GUIDs, as any driver does. A virtual function without one keeps the core's,
 * made from the MAC: programs identify devices by it.
 */
static int take_guids(struct rhca_mlx5 *hca)
{
	u64 node, system;
	int ret;

	ret = rhca_mlx5_query_node_guid(hca->mdev, &node);
	if (ret)
		return ret;
	ret = mlx5_query_nic_vport_system_image_guid(hca->mdev, &system);
	if (ret)
		return ret;
	if (node)
		hca->ibdev->node_guid = cpu_to_be64(node);
	hca->system_guid = cpu_to_be64(system);
	return 0;
}

static int dev_init(struct rhca_dev *dev)
{
	/* The offer that is used */
	struct rhca_mlx5 *hca = container_of(dev->offer, struct rhca_mlx5, offer);
	struct ib_device *ibdev = &dev->ibdev;
	int ret;

	dev->private = hca;
	ret = rhca_mlx5_device_init(hca, ibdev);
	if (ret)
		return ret;
	ret = take_guids(hca);
	if (ret) {
		rhca_mlx5_device_exit(hca);
		return ret;
	}
	set_caps(hca->mdev, &dev->caps);
	name_board(hca->mdev, dev);
	rhca_mlx5_congestion_add_files(ibdev);
	ibdev->dev.parent = hca->mdev->device;
	ibdev->num_comp_vectors = rhca_mlx5_num_vectors(hca->mdev);
	/* Adaptive interrupt moderation for kernel users */
	ibdev->use_cq_dim = MLX5_CAP_GEN(hca->mdev, cq_moderation);
	ibdev->driver_def = rhca_mlx5_uapi;
	return 0;
}

static void dev_exit(struct rhca_dev *dev)
{
	rhca_mlx5_device_exit(dev->private);
}

static void wait_until_flushed(struct rhca_mlx5_qp *qp, void *data)
{
	struct rhca_mlx5 *hca = rhca_mlx5_of(qp->base.ibqp.device);
	const unsigned long *end = data;

	while (!rhca_mlx5_is_dead(hca) && time_before(jiffies, *end) &&
	       rhca_mlx5_hw_qp_has_work(hca->mdev, qp->numbered.number,
					qp->spec.has_recv))
		msleep(FLUSH_MS);
}

/*
 * A process may poll for ever if it gets no completions. The command only starts the flush, and
 * there is no event at its end: poll for it.
 */
static void dev_quiesce(struct rhca_dev *dev)
{
	unsigned long end = jiffies + msecs_to_jiffies(FLUSH_MAX_MS);

	msleep(FLUSH_MS);
	rhca_mlx5_for_each_qp(dev->private, RHCA_MLX5_ANY_QP, wait_until_flushed, &end);
}

/* From here on the firmware takes RoCE packets: other receivers see none */
static int port_open(struct rhca_port *port)
{
	return mlx5_nic_vport_enable_roce(rhca_mlx5_mdev(&port->dev->ibdev));
}

static void port_close(struct rhca_port *port)
{
	mlx5_nic_vport_disable_roce(rhca_mlx5_mdev(&port->dev->ibdev));
}

/* RoCE v1 has a GRH instead of IP; the adapter's own driver uses 0 */
static u8 l3_type_of(const struct ib_gid_attr *attr)
{
	if (attr->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return 0;
	return rhca_gid_is_ipv4(&attr->gid) ? MLX5_ROCE_L3_TYPE_IPV4 :
					      MLX5_ROCE_L3_TYPE_IPV6;
}

static int gid_set(struct rhca_port *port, const struct ib_gid_attr *attr,
		   bool add)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(&port->dev->ibdev);
	bool is_v2 = attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
	u8 version = is_v2 ? MLX5_ROCE_VERSION_2 : MLX5_ROCE_VERSION_1;
	u16 vlan = VLAN_N_VID;
	u8 mac[ETH_ALEN];
	int ret;

	/* An empty entry has a version too: of v1, not each adapter takes it */
	if (!add)
		return mlx5_core_roce_gid_set(mdev, attr->index, version,
					      is_v2 ? MLX5_ROCE_L3_TYPE_IPV6 : 0,
					      NULL, NULL, false, 0, FIRMWARE_PORT);
	ret = rdma_read_gid_l2_fields(attr, &vlan, mac);
	if (ret)
		return ret;
	return mlx5_core_roce_gid_set(mdev, attr->index, version,
				      l3_type_of(attr), attr->gid.raw, mac,
				      vlan < VLAN_N_VID, vlan, FIRMWARE_PORT);
}

/* On Ethernet the firmware has one fixed P_Key */
static int pkeys_check(struct rhca_port *port,
		       const struct rhca_pkey_table *table)
{
	if (!rhca_pkeys_has_partitions(table))
		return 0;
	ibdev_warn_ratelimited(&port->dev->ibdev,
			       "port %u: the adapter has no P_Key but 0xffff on Ethernet; separate tenants by VLANs, or unload roce_hca_mlx5 for a software device\n",
			       port->num);
	return -EOPNOTSUPP;
}

/*
 * If the command times out the core drops the attachment, but the adapter may still make it: then
 * the QP receives from the group that its owner requested, until it is destroyed, as below.
 */
static int mcast_attach(struct rhca_mcast_attachment *attachment)
{
	struct rhca_qp *qp = attachment->qp;

	return mlx5_core_attach_mcg(rhca_mlx5_mdev(qp->ibqp.device),
				    (union ib_gid *)attachment->gid,
				    rhca_mlx5_qp_of(qp)->numbered.number);
}

/*
 * If the command fails, destroying the QP detaches it as well. An adapter that refuses to destroy a
 * QP in a group would hold it, and the driver its memory.
 */
static void mcast_detach(struct rhca_mcast_attachment *attachment)
{
	struct rhca_qp *qp = attachment->qp;
	struct rhca_mlx5 *hca = rhca_mlx5_of(qp->ibqp.device);
	int ret;

	ret = mlx5_core_detach_mcg(hca->mdev, (union ib_gid *)attachment->gid,
				   rhca_mlx5_qp_of(qp)->numbered.number);
	if (ret)
		ibdev_dbg(qp->ibqp.device, "QP %#x stays in %pI6c: error %d\n",
			  qp->ibqp.qp_num, attachment->gid->raw, ret);
}

static const struct ib_device_ops mlx5_verbs = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_MLX5,
	.uverbs_abi_ver		= MLX5_IB_UVERBS_ABI_VERSION,

	.alloc_mr		= rhca_mlx5_alloc_mr,
	.alloc_mw		= rhca_mlx5_alloc_mw,
	.alloc_pd		= rhca_mlx5_alloc_pd,
	.alloc_ucontext		= rhca_mlx5_alloc_ucontext,
	.alloc_xrcd		= rhca_mlx5_alloc_xrcd,
	.create_cq		= rhca_mlx5_create_cq,
	RHCA_CREATE_USER_CQ(rhca_mlx5_create_cq)
	.create_srq		= rhca_mlx5_create_srq,
	.dealloc_mw		= rhca_mlx5_dealloc_mw,
	.dealloc_pd		= rhca_mlx5_dealloc_pd,
	.dealloc_ucontext	= rhca_mlx5_dealloc_ucontext,
	.dealloc_xrcd		= rhca_mlx5_dealloc_xrcd,
	.dereg_mr		= rhca_mlx5_dereg_mr,
	.destroy_cq		= rhca_mlx5_destroy_cq,
	.destroy_srq		= rhca_mlx5_destroy_srq,
	.disassociate_ucontext	= rhca_mlx5_disassociate_ucontext,
	.get_dev_fw_str		= rhca_mlx5_get_dev_fw_str,
	.get_dma_mr		= rhca_mlx5_get_dma_mr,
	.map_mr_sg		= rhca_mlx5_map_mr_sg,
	.mmap			= rhca_mlx5_mmap,
	.mmap_free		= rhca_mlx5_mmap_free,
	.modify_cq		= rhca_mlx5_modify_cq,
	.modify_srq		= rhca_mlx5_modify_srq,
	.poll_cq		= rhca_mlx5_poll_cq,
	.post_recv		= rhca_mlx5_post_recv,
	.post_send		= rhca_mlx5_post_send,
	.post_srq_recv		= rhca_mlx5_post_srq_recv,
	RHCA_PRE_DESTROY_CQ(rhca_mlx5_pre_destroy_cq)
	.query_device		= rhca_mlx5_query_device,
	.query_srq		= rhca_mlx5_query_srq,
	.query_ucontext		= rhca_mlx5_query_ucontext,
	.reg_user_mr		= rhca_mlx5_reg_user_mr,
	.reg_user_mr_dmabuf	= rhca_mlx5_reg_user_mr_dmabuf,
	.req_notify_cq		= rhca_mlx5_req_notify_cq,
	.rereg_user_mr		= rhca_mlx5_rereg_user_mr,
	.rhca_resize_cq		= rhca_mlx5_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, rhca_mlx5_ah, base.ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, rhca_mlx5_cq, ibcq),
	.size_ib_mw		= sizeof(struct ib_mw),
	INIT_RDMA_OBJ_SIZE(ib_pd, rhca_mlx5_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, rhca_mlx5_qp, base.ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, rhca_mlx5_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, rhca_mlx5_ucontext, ibucontext),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, rhca_mlx5_xrcd, ibxrcd),
};

const struct rhca_backend_ops rhca_mlx5_backend = {
	.name		= "mlx5",
	.verbs		= &mlx5_verbs,
	.dev_init	= dev_init,
	.dev_exit	= dev_exit,
	.dev_quiesce	= dev_quiesce,
	.port_open	= port_open,
	.port_close	= port_close,
	.gid_set	= gid_set,
	.pkeys_check	= pkeys_check,
	.qp_create	= rhca_mlx5_qp_create,
	.qp_destroy	= rhca_mlx5_qp_destroy,
	.qp_modify	= rhca_mlx5_qp_modify,
	.qp_query	= rhca_mlx5_qp_query,
	.qp_count	= rhca_mlx5_qp_count,
	.ah_create	= rhca_mlx5_ah_create,
	.mcast_attach	= mcast_attach,
	.mcast_detach	= mcast_detach,
	.has_counter	= rhca_mlx5_has_counter,
	.counters_open	= rhca_mlx5_counters_open,
	.counters_close	= rhca_mlx5_counters_close,
	.counters_read	= rhca_mlx5_counters_read,
	.counters_bind	= rhca_mlx5_counters_bind,
	.pma_read	= rhca_mlx5_pma_read,
};
