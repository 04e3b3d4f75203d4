// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of processes and protection domains. From the answers libmlx5 learns the sizes for the
 * layout of its queues.
 */
#include <linux/mlx5/driver.h>
#include <linux/sched/task.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/uverbs_std_types.h>
#include <rhca/compat.h>

#include "context.h"
#include "device.h"

#define UVERBS_MODULE_NAME roce_hca_mlx5
#include <rdma/uverbs_named_ioctl.h>

/*
 * Copy the library's part of a verb once to @request, where the process cannot change it. @request:
 * all zero; fields that an older library lacks stay so. @least: size in the oldest library. Process
 * context of the owner. Returns 0; -EINVAL for less than @least; -EOPNOTSUPP if the library
 * requests something unknown; -EFAULT.
 */
int rhca_mlx5_take_request(struct ib_udata *udata, void *request, size_t bytes,
			   size_t least)
{
	if (udata->inlen < least)
		return -EINVAL;
	if (udata->inlen > bytes &&
	    !ib_is_udata_cleared(udata, bytes, udata->inlen - bytes))
		return -EOPNOTSUPP;
	return ib_copy_from_udata(request, udata, min(udata->inlen, bytes));
}

/* After this error libmlx5 retries without DEVX */
static int check_request(struct ib_device *ibdev,
			 const struct mlx5_ib_alloc_ucontext_req_v2 *req)
{
	if (req->flags & ~MLX5_IB_ALLOC_UCTX_DEVX || req->comp_mask ||
	    req->reserved0 || req->reserved1 || req->reserved2)
		return -EOPNOTSUPP;
	if (req->flags & MLX5_IB_ALLOC_UCTX_DEVX)
		return -EOPNOTSUPP;
	if (!(req->lib_caps & MLX5_LIB_CAP_DYN_UAR)) {
		ibdev_info_ratelimited(ibdev,
				       "libmlx5 is too old: rdma-core 29 or newer is needed\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

static struct rhca_mlx5_ucontext *to_context(struct ib_ucontext *ibucontext)
{
	return container_of(ibucontext, struct rhca_mlx5_ucontext, ibucontext);
}

static void describe(struct ib_ucontext *ibucontext,
		     struct mlx5_ib_alloc_ucontext_resp *resp)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibucontext->device);

	resp->cqe_version = to_context(ibucontext)->cqe_version;
	resp->qp_tab_size = 1 << MLX5_CAP_GEN(mdev, log_max_qp);
	resp->cache_line_size = cache_line_size();
	resp->max_sq_desc_sz = MLX5_CAP_GEN(mdev, max_wqe_sz_sq);
	resp->max_rq_desc_sz = MLX5_CAP_GEN(mdev, max_wqe_sz_rq);
	resp->max_send_wqebb = 1 << MLX5_CAP_GEN(mdev, log_max_qp_sz);
	resp->max_recv_wr = 1 << MLX5_CAP_GEN(mdev, log_max_qp_sz);
	resp->max_srq_recv_wr = 1 << MLX5_CAP_GEN(mdev, log_max_srq_sz);
	resp->num_ports = 1;
	resp->log_uar_size = MLX5_CAP_GEN(mdev, uar_4k) ? MLX5_ADAPTER_PAGE_SHIFT :
							  PAGE_SHIFT;
	/* Only those that processes may use */
	resp->num_uars_per_page = MLX5_CAP_GEN(mdev, uar_4k) ?
				  MLX5_CAP_GEN(mdev, num_of_uars_per_page) : 1;
	resp->eth_min_inline = MLX5_USER_INLINE_MODE_NONE;
	resp->cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
			      MLX5_USER_CMDS_SUPP_UHW_CREATE_AH;
	/* Offset in the page of rhca_mlx5_mmap() */
	if (rhca_mlx5_offers_clock()) {
		resp->hca_core_clock_offset =
			offset_in_page(offsetof(struct mlx5_init_seg,
						internal_timer_h));
		resp->comp_mask |=
			MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
	}
	if (mdev->clock_info)
		resp->clock_info_versions = BIT(MLX5_IB_CLOCK_INFO_V1);
	if (rhca_mlx5_has_real_time(mdev))
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS;
	if (MLX5_CAP_GEN(mdev, ece_support))
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE;
	/* Without write combining BlueFlame costs more than it saves */
	if (rhca_mlx5_write_combining(mdev))
		resp->bf_reg_size = 1 << MLX5_CAP_GEN(mdev, log_bf_reg_size);
}

static int alloc_ucontext(struct ib_ucontext *ibucontext, struct ib_udata *udata)
{
	struct rhca_mlx5_ucontext *context = to_context(ibucontext);
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibucontext->device);
	struct mlx5_ib_alloc_ucontext_req_v2 req = {};
	struct mlx5_ib_alloc_ucontext_resp resp = {};
	int ret;

	ret = rhca_mlx5_take_request(udata, &req, sizeof(req),
				     offsetof(typeof(req), max_cqe_version));
	if (ret)
		return ret;
	ret = check_request(ibucontext->device, &req);
	if (ret)
		return ret;
	mutex_init(&context->records_lock);
	INIT_LIST_HEAD(&context->records);
	xa_init(&context->uars);
	context->cqe_version = min_t(u8, MLX5_CAP_GEN(mdev, cqe_version),
				     req.max_cqe_version);
	describe(ibucontext, &resp);
	resp.response_length = min(udata->outlen, sizeof(resp));
	return ib_copy_to_udata(udata, &resp, resp.response_length);
}

/*
 * After an error ib_core frees the context without putting its task if the request was an ioctl, up
 * to 7.3 at least, and puts it if it was a write. libmlx5 tries DEVX first, so every process would
 * be leaked. Without a task neither path puts one, see borrowed.rst.
 */
static void forget_task(struct rdma_restrack_entry *res)
{
	if (!res->task)
		return;
	put_task_struct(res->task);
	res->task = NULL;
}

int rhca_mlx5_alloc_ucontext(struct ib_ucontext *ibucontext,
			     struct ib_udata *udata)
{
	int ret = alloc_ucontext(ibucontext, udata);

	if (ret)
		forget_task(&ibucontext->res);
	return ret;
}

/* Another process shares the context, and gets the same answer */
int rhca_mlx5_query_ucontext(struct ib_ucontext *ibucontext,
			     struct uverbs_attr_bundle *attrs)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {};

	describe(ibucontext, &resp);
	resp.response_length = sizeof(resp);
	return uverbs_copy_to_struct_or_zero(attrs,
					     MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX,
					     &resp, sizeof(resp));
}

/*
 * By now all queues are freed with their pages of doorbell records, except those of queues that the
 * adapter holds, whose memory is leaked: drop these from the list.
 */
void rhca_mlx5_dealloc_ucontext(struct ib_ucontext *ibucontext)
{
	struct rhca_mlx5_ucontext *context = to_context(ibucontext);

	list_del_init(&context->records);
	xa_destroy(&context->uars);
	mutex_destroy(&context->records_lock);
}

/* ib_core zaps the mappings; a process holds nothing else */
void rhca_mlx5_disassociate_ucontext(struct ib_ucontext *ibucontext)
{
}

int rhca_mlx5_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct mlx5_core_dev *mdev = rhca_mlx5_mdev(ibpd->device);
	struct rhca_mlx5_pd *pd = to_rhca_mlx5_pd(ibpd);
	struct mlx5_ib_alloc_pd_resp resp = {};
	int ret;

	ret = mlx5_core_alloc_pd(mdev, &pd->number);
	if (ret || !udata)
		return ret;
	resp.pdn = pd->number;
	ret = ib_copy_to_udata(udata, &resp, min(udata->outlen, sizeof(resp)));
	if (ret)
		mlx5_core_dealloc_pd(mdev, pd->number);
	return ret;
}

/*
 * With a lost queue or key the PD is lost too; an error would make ib_core keep it for ever. So it
 * would a PD of the kernel, whose user does not try again.
 */
int rhca_mlx5_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	const struct rhca_mlx5_pd *pd = to_rhca_mlx5_pd(ibpd);
	int ret = mlx5_core_dealloc_pd(rhca_mlx5_mdev(ibpd->device),
				       pd->number);

	return pd->has_leaked || !udata ? 0 : ret;
}

#define QUERY_PD_HANDLER	UVERBS_HANDLER(MLX5_IB_METHOD_PD_QUERY)

/* Another process imports the PD: its libmlx5 needs the number */
static int QUERY_PD_HANDLER(struct uverbs_attr_bundle *attrs)
{
	struct ib_pd *ibpd =
		uverbs_attr_get_obj(attrs, MLX5_IB_ATTR_QUERY_PD_HANDLE);
	u32 number = to_rhca_mlx5_pd(ibpd)->number;

	return uverbs_copy_to(attrs, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &number,
			      sizeof(number));
}

DECLARE_UVERBS_NAMED_METHOD(MLX5_IB_METHOD_PD_QUERY,
			    UVERBS_ATTR_IDR(MLX5_IB_ATTR_QUERY_PD_HANDLE,
					    UVERBS_OBJECT_PD, UVERBS_ACCESS_READ,
					    UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_PD_RESP_PDN,
						UVERBS_ATTR_TYPE(u32),
						UA_MANDATORY));

ADD_UVERBS_METHODS(rhca_mlx5_pd_methods, UVERBS_OBJECT_PD,
		   &UVERBS_METHOD(MLX5_IB_METHOD_PD_QUERY));

/* The member known to all versions of libmlx5 that use this */
#define RESP_STRUCT \
	UVERBS_ATTR_STRUCT(struct mlx5_ib_alloc_ucontext_resp, dump_fill_mkey)

ADD_UVERBS_ATTRIBUTES_SIMPLE(rhca_mlx5_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX,
						 RESP_STRUCT, UA_MANDATORY));

const struct uapi_definition rhca_mlx5_context_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &rhca_mlx5_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_PD, &rhca_mlx5_pd_methods),
	{}
};
