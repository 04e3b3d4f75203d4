// SPDX-License-Identifier: GPL-2.0
/* Setup of a function for an RDMA device, and its capabilities. */
#include <rdma/mlx5-abi.h>
#include <rdma/uverbs_ioctl.h>

#include "device.h"
#include "events.h"
#include "fatal.h"
#include "identity.h"
#include "key_cache.h"
#include "key_list.h"
#include "lag.h"
#include "umr_queue.h"
#include "xrc.h"

#define MELLANOX_OUI	0x0002c9
#define TIMESTAMP_MASK	S64_MAX		/* completions have timestamps of 63 bits */

/* Adapters need different fences for a change of a key */
static u8 key_fence_of(const struct mlx5_core_dev *mdev)
{
	switch (MLX5_CAP_GEN(mdev, umr_fence)) {
	case MLX5_CAP_UMR_FENCE_NONE:
		return MLX5_FENCE_MODE_NONE;
	case MLX5_CAP_UMR_FENCE_SMALL:
		return MLX5_FENCE_MODE_INITIATOR_SMALL;
	default:
		return MLX5_FENCE_MODE_STRONG_ORDERING;
	}
}

/*
 * Set up a function for an RDMA device. May sleep. Returns 0 or an error, with nothing left
 * allocated.
 */
int rhca_mlx5_device_init(struct rhca_mlx5 *hca, struct ib_device *ibdev)
{
	int ret;

	atomic_set(&hca->key_variant, 0);
	hca->ibdev = ibdev;
	hca->key_fence = key_fence_of(hca->mdev);
	hca->end_of_list = rhca_mlx5_end_of_list(hca->mdev);
	mutex_init(&hca->xrc_lock);
	rhca_mlx5_key_cache_init(hca);
	ret = mlx5_alloc_bfreg(hca->mdev, &hca->doorbells, false, false);
	if (ret)
		goto err_exit_xrc;
	ret = rhca_mlx5_umr_queue_create(hca);
	if (ret)
		goto err_free_doorbells;
	ret = rhca_mlx5_events_init(hca);
	if (ret)
		goto err_exit_umr;
	ret = rhca_mlx5_lag_init(hca);
	if (ret)
		goto err_exit_events;
	ret = rhca_mlx5_fatal_init(hca);
	if (ret)
		goto err_exit_lag;
	return 0;

err_exit_lag:
	rhca_mlx5_lag_exit(hca);
err_exit_events:
	rhca_mlx5_events_exit(hca);
err_exit_umr:
	rhca_mlx5_umr_queue_destroy(hca);
err_free_doorbells:
	mlx5_free_bfreg(hca->mdev, &hca->doorbells);
err_exit_xrc:
	rhca_mlx5_xrc_exit(hca);
	return ret;
}

/* Undo rhca_mlx5_device_init() after the RDMA device is torn down. */
void rhca_mlx5_device_exit(struct rhca_mlx5 *hca)
{
	rhca_mlx5_fatal_exit(hca);
	rhca_mlx5_lag_exit(hca);
	rhca_mlx5_xrc_exit(hca);
	rhca_mlx5_events_exit(hca);
	rhca_mlx5_key_cache_exit(hca);
	rhca_mlx5_umr_queue_destroy(hca);
	mlx5_free_bfreg(hca->mdev, &hca->doorbells);
}

/* One limit for all kinds: a READ is limited to 512 bytes, and a datagram has an address */
static u32 max_send_sge(const struct mlx5_core_dev *mdev)
{
	u32 bytes = MLX5_CAP_GEN(mdev, max_wqe_sz_sq) -
		    sizeof(struct mlx5_wqe_ctrl_seg) -
		    sizeof(struct mlx5_wqe_datagram_seg);

	return min_t(u32, bytes / sizeof(struct mlx5_wqe_data_seg),
		     MLX5_MAX_SGE_RD);
}

/* A request of the kernel that registers memory also sets the key's page size */
static bool has_registration(const struct mlx5_core_dev *mdev)
{
	return !MLX5_CAP_GEN(mdev, umr_modify_entity_size_disabled);
}

static void describe_queues(const struct mlx5_core_dev *mdev,
			    struct ib_device_attr *attr)
{
	attr->max_qp = 1 << MLX5_CAP_GEN(mdev, log_max_qp);
	/* The limit is in blocks, and a request of the kernel that registers memory has three */
	attr->max_qp_wr = (1 << MLX5_CAP_GEN(mdev, log_max_qp_sz)) / 4;
	attr->max_send_sge = max_send_sge(mdev);
	attr->max_recv_sge = MLX5_CAP_GEN(mdev, max_wqe_sz_rq) /
			     sizeof(struct mlx5_wqe_data_seg);
	attr->max_sge_rd = attr->max_send_sge;
	/* A READ into more pieces is slower than one into a key that maps them */
	if (has_registration(mdev))
		attr->max_sgl_rd = MLX5_CAP_GEN(mdev, max_sgl_for_optimized_performance);
	attr->max_cq = 1 << MLX5_CAP_GEN(mdev, log_max_cq);
	attr->max_cqe = (1 << MLX5_CAP_GEN(mdev, log_max_cq_sz)) - 1;
	attr->max_srq = 1 << MLX5_CAP_GEN(mdev, log_max_srq);
	attr->max_srq_wr = (1 << MLX5_CAP_GEN(mdev, log_max_srq_sz)) - 1;
	attr->max_srq_sge = rhca_mlx5_max_srq_sge(mdev);
	/* The core has one limit for both ways */
	attr->max_qp_rd_atom = 1 << min(MLX5_CAP_GEN(mdev, log_max_ra_req_qp),
					MLX5_CAP_GEN(mdev, log_max_ra_res_qp));
	attr->max_qp_init_rd_atom = attr->max_qp_rd_atom;
	attr->max_res_rd_atom = attr->max_qp_rd_atom * attr->max_qp;
	if (MLX5_CAP_GEN(mdev, cq_moderation)) {
		attr->cq_caps.max_cq_moderation_count = MLX5_MAX_CQ_COUNT;
		attr->cq_caps.max_cq_moderation_period = MLX5_MAX_CQ_PERIOD;
	}
}

/*
 * Verbs need compare-and-swap and fetch-and-add of eight bytes, with the result in the host's byte
 * order, which mlx5_core has requested if the adapter supports it.
 */
static bool has_atomics(const struct mlx5_core_dev *mdev)
{
	const u32 both = MLX5_ATOMIC_OPS_CMP_SWAP | MLX5_ATOMIC_OPS_FETCH_ADD;

	return MLX5_CAP_GEN(mdev, atomic) &&
	       MLX5_CAP_ATOMIC(mdev, atomic_req_8B_endianness_mode) &&
	       (MLX5_CAP_ATOMIC(mdev, atomic_operations) & both) == both &&
	       MLX5_CAP_ATOMIC(mdev, atomic_size_qp) &
	       MLX5_ATOMIC_CAPS_ATOMIC_SIZE_QP_8_BYTES;
}

/* Requests can bind windows if they can change a key with an inline list */
static bool has_windows(const struct mlx5_core_dev *mdev)
{
	return MLX5_CAP_GEN(mdev, imaicl);
}

static void describe_rest(const struct mlx5_core_dev *mdev,
			  struct ib_device_attr *attr)
{
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = ~(u64)(MLX5_ADAPTER_PAGE_SIZE - 1);
	attr->max_mr = 1 << MLX5_CAP_GEN(mdev, log_max_mkey);
	if (has_windows(mdev))
		attr->max_mw = attr->max_mr;
	attr->max_pd = 1 << MLX5_CAP_GEN(mdev, log_max_pd);
	attr->max_ah = INT_MAX;
	attr->max_fast_reg_page_list_len = rhca_mlx5_key_list_max(mdev);
	attr->atomic_cap = has_atomics(mdev) ? IB_ATOMIC_HCA : IB_ATOMIC_NONE;
	attr->max_mcast_grp = 1 << MLX5_CAP_GEN(mdev, log_max_mcg);
	attr->max_mcast_qp_attach = MLX5_CAP_GEN(mdev, max_qp_mcg);
	attr->max_total_mcast_qp_attach = attr->max_mcast_qp_attach *
					  attr->max_mcast_grp;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = MLX5_CAP_GEN(mdev, local_ca_ack_delay);
}

/* Fill in the adapter's limits. @attr: as verbs have them. */
void rhca_mlx5_describe(const struct mlx5_core_dev *mdev,
			struct ib_device_attr *attr)
{
	describe_queues(mdev, attr);
	describe_rest(mdev, attr);
	attr->timestamp_mask = TIMESTAMP_MASK;
	attr->hca_core_clock = MLX5_CAP_GEN(mdev, device_frequency_khz);
}

static u32 kernel_cap_flags(const struct mlx5_core_dev *mdev)
{
	return (has_windows(mdev) ? IBK_SG_GAPS_REG : 0) |
	       (mlx5_core_is_vf(mdev) ? IBK_VIRTUAL_FUNCTION : 0);
}

static u64 cap_flags(const struct mlx5_core_dev *mdev)
{
	u64 flags = IB_DEVICE_CHANGE_PHY_PORT | IB_DEVICE_PORT_ACTIVE_EVENT |
		    IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN;

	if (has_registration(mdev))
		flags |= IB_DEVICE_MEM_MGT_EXTENSIONS;
	if (has_windows(mdev))
		flags |= IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
	if (MLX5_CAP_GEN(mdev, xrc))
		flags |= IB_DEVICE_XRC;
	return flags;
}

/* All zero: raw packets, which the answer is about, are not supported */
static int answer_query_device(struct ib_udata *udata)
{
	struct mlx5_ib_query_device_resp resp = {};

	if (!udata || !udata->outlen)
		return 0;
	if (udata->outlen < offsetofend(typeof(resp), response_length))
		return -EINVAL;
	resp.response_length = min(udata->outlen, sizeof(resp));
	return ib_copy_to_udata(udata, &resp, resp.response_length);
}

int rhca_mlx5_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			   struct ib_udata *udata)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibdev);

	if (udata && udata->inlen &&
	    !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	*attr = (struct ib_device_attr) {
		.fw_ver		= (u64)fw_rev_maj(mdev) << 32 |
				  (u32)fw_rev_min(mdev) << 16 |
				  fw_rev_sub(mdev),
		.sys_image_guid	= rhca_mlx5_of(ibdev)->system_guid,
		.vendor_id	= MELLANOX_OUI,
		.vendor_part_id	= mdev->pdev->device,
		.hw_ver		= mdev->pdev->revision,
		.device_cap_flags = cap_flags(mdev),
		.kernel_cap_flags = kernel_cap_flags(mdev),
	};
	rhca_mlx5_describe(mdev, attr);
	return answer_query_device(udata);
}

void rhca_mlx5_get_dev_fw_str(struct ib_device *ibdev, char *text)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibdev);

	snprintf(text, IB_FW_VERSION_NAME_MAX, "%d.%d.%04d",
		 fw_rev_maj(mdev), fw_rev_min(mdev), fw_rev_sub(mdev));
}
