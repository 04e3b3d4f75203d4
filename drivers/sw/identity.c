// SPDX-License-Identifier: GPL-2.0
/* A device of the software HCA: its setup, its attributes, and its protection domains. */
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rhca/compat.h>

#include "core/mcast.h"
#include "sw/identity.h"
#include "sw/verbs/device.h"
#include "sw/verbs/memory/odp.h"
#include "sw/verbs/qp/qp_state.h"

#define UVERBS_ABI_VERSION	2	/* of rdma/rdma_user_rxe.h */

/*
 * No real vendor, like rdma_rxe's: the IEEE assigns no OUI with these bits. rdma-core's tests take
 * 0 for a device that was not queried.
 */
#define VENDOR_ID		0xffffff

/* Charged to the user that fills them */
#define TABLE_FLAGS		(XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | \
				 XA_FLAGS_ACCOUNT)

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	*attr = (struct ib_device_attr) {
		.fw_ver			= 1ULL << 32,
		.sys_image_guid		= ibdev->node_guid,
		.max_mr_size		= RHCA_MAX_MR_BYTES,
		.page_size_cap		= ~(u64)(SZ_4K - 1),
		.vendor_id		= VENDOR_ID,
		.max_qp			= RHCA_MAX_QP,
		.max_qp_wr		= RHCA_MAX_QP_WR,
		.device_cap_flags	= IB_DEVICE_BAD_PKEY_CNTR |
					  IB_DEVICE_BAD_QKEY_CNTR |
					  IB_DEVICE_CHANGE_PHY_PORT |
					  IB_DEVICE_UD_AV_PORT_ENFORCE |
					  IB_DEVICE_PORT_ACTIVE_EVENT |
					  IB_DEVICE_SYS_IMAGE_GUID |
					  IB_DEVICE_RC_RNR_NAK_GEN |
					  IB_DEVICE_SRQ_RESIZE |
					  IB_DEVICE_MEM_MGT_EXTENSIONS |
					  IB_DEVICE_MEM_WINDOW |
					  IB_DEVICE_MEM_WINDOW_TYPE_2B |
					  RHCA_CAP_ATOMIC_WRITE | RHCA_CAP_FLUSH,
		.kernel_cap_flags	= IBK_ALLOW_USER_UNREG,
		.max_send_sge		= RHCA_MAX_SGE,
		.max_recv_sge		= RHCA_MAX_SGE,
		.max_sge_rd		= RHCA_MAX_SGE,
		.max_cq			= RHCA_MAX_CQ,
		.max_cqe		= RHCA_MAX_CQE,
		.max_mr			= RHCA_MAX_MR,
		.max_mw			= RHCA_MAX_MW,
		.max_pd			= RHCA_MAX_PD,
		.max_qp_rd_atom		= RHCA_MAX_RD_ATOMIC,
		.max_res_rd_atom	= RHCA_MAX_RD_ATOMIC * RHCA_MAX_QP,
		.max_qp_init_rd_atom	= RHCA_MAX_RD_ATOMIC,
		.atomic_cap		= IB_ATOMIC_HCA,
		.max_mcast_grp		= RHCA_MAX_MCAST_GROUPS,
		.max_mcast_qp_attach	= RHCA_MAX_MCAST_GROUP_QPS,
		.max_total_mcast_qp_attach = RHCA_MAX_MCAST_QPS,
		.max_ah			= RHCA_MAX_AH,
		.max_srq		= RHCA_MAX_SRQ,
		.max_srq_wr		= RHCA_MAX_SRQ_WR,
		.max_srq_sge		= RHCA_MAX_SGE,
		.max_fast_reg_page_list_len = RHCA_MAX_FAST_REG_PAGES,
		.max_pkeys		= RHCA_NUM_PKEYS,
		.local_ca_ack_delay	= RHCA_ACK_DELAY_CODE,
	};
	rhca_odp_query(attr);
	return 0;
}

static void get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "1.0.0");
}

/* Protection domains, IBTA vol. 1, 10.2.3, have no state: objects compare the pointer */
static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return rhca_limit_take(to_verbs_dev(ibpd->device), RHCA_LIMIT_PD,
			       RHCA_MAX_PD) ? 0 : -ENOMEM;
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	rhca_limit_give(to_verbs_dev(ibpd->device), RHCA_LIMIT_PD);
	return 0;
}

/* Set up the software HCA's part of a device. Returns 0 or -ENOMEM, with nothing allocated. */
int rhca_verbs_dev_init(struct rhca_dev *core,
			const struct rhca_transport_ops *transport)
{
	struct rhca_verbs_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	dev->core = core;
	dev->transport = transport;
	INIT_DELAYED_WORK(&dev->cq_errors, rhca_cq_errors_work);
	xa_init_flags(&dev->keys, TABLE_FLAGS);
	xa_init_flags(&dev->paths, TABLE_FLAGS);
	core->private = dev;
	core->caps = (struct rhca_caps) {
		.max_qp_wr	= RHCA_MAX_QP_WR,
		.max_send_sge	= RHCA_MAX_SGE,
		.max_recv_sge	= RHCA_MAX_SGE,
		.max_inline	= RHCA_MAX_INLINE,
		.max_rd_atomic	= RHCA_MAX_RD_ATOMIC,
		.max_msg_bytes	= RHCA_MAX_MSG_BYTES,
		.num_gids	= RHCA_NUM_GIDS,
		.num_pkeys	= RHCA_NUM_PKEYS,
		.gid_types	= BIT(IB_GID_TYPE_ROCE) |
				  BIT(IB_GID_TYPE_ROCE_UDP_ENCAP),
	};
	core->ibdev.num_comp_vectors = num_online_cpus();
	core->ibdev.uverbs_cmd_mask |=
		BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
		BIT_ULL(IB_USER_VERBS_CMD_REQ_NOTIFY_CQ);
	return 0;
}

/* Undo rhca_verbs_dev_init(). @core: the device, without objects. */
void rhca_verbs_dev_exit(struct rhca_dev *core)
{
	struct rhca_verbs_dev *dev = core->private;
	unsigned long i = 0;

	cancel_delayed_work_sync(&dev->cq_errors);
	WARN_ON_ONCE(memchr_inv(dev->num_objects, 0, sizeof(dev->num_objects)) ||
		     atomic_read(&dev->num_on_demand) ||
		     xa_find(&dev->keys, &i, ULONG_MAX, XA_PRESENT) ||
		     xa_find(&dev->paths, &i, ULONG_MAX, XA_PRESENT));
	xa_destroy(&dev->keys);
	xa_destroy(&dev->paths);
	kfree(dev);
}

/* Identity of the in-tree driver, for its user library */
const struct ib_device_ops rhca_identity_verbs = {
	.owner			= THIS_MODULE,
	.driver_id		= RDMA_DRIVER_RXE,
	.uverbs_abi_ver		= UVERBS_ABI_VERSION,
	.alloc_pd		= alloc_pd,
	.dealloc_pd		= dealloc_pd,
	.get_dev_fw_str		= get_dev_fw_str,
	.query_device		= query_device,
	.size_ib_pd		= sizeof(struct ib_pd),
};
