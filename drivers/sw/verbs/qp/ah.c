// SPDX-License-Identifier: GPL-2.0
#include <rdma/rdma_user_rxe.h>

#include "sw/verbs/device.h"
#include "sw/verbs/qp/ah.h"
#include "sw/verbs/qp/path.h"

static int create_paths(struct rhca_verbs_ah *ah, gfp_t gfp)
{
	const struct rhca_address *own = &ah->core.address;
	const struct rhca_address *ud = &ah->core.ud_address;
	struct ib_pd *pd = ah->core.ibah.pd;

	ah->path = rhca_path_create(own, pd, gfp);
	if (IS_ERR(ah->path))
		return PTR_ERR(ah->path);
	ah->ud_path = ud->sgid_index == own->sgid_index ?
		rhca_path_get(ah->path) : rhca_path_create(ud, pd, gfp);
	if (IS_ERR(ah->ud_path)) {
		rhca_path_put(ah->path);
		return PTR_ERR(ah->ud_path);
	}
	return 0;
}

static void put_paths(struct rhca_verbs_ah *ah)
{
	rhca_path_put(ah->ud_path);
	rhca_path_put(ah->path);
}

static int number_path(struct rhca_verbs_dev *dev, struct rhca_verbs_ah *ah,
		       struct ib_udata *udata)
{
	struct rxe_create_ah_resp resp = {};
	int ret;

	if (udata->outlen < sizeof(resp))
		return -EINVAL;
	ret = xa_alloc_cyclic_bh(&dev->paths, &ah->number, ah->ud_path,
				 XA_LIMIT(1, RHCA_MAX_AH), &dev->next_path,
				 GFP_KERNEL);
	if (ret < 0)
		return ret == -EBUSY ? -ENOMEM : ret;
	resp.ah_num = ah->number;
	ret = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (ret)
		xa_erase_bh(&dev->paths, ah->number);
	return ret;
}

/* &struct rhca_backend_ops.ah_create */
int rhca_verbs_ah_create(struct rhca_ah *core, u32 flags,
			 struct ib_udata *udata)
{
	struct rhca_verbs_ah *ah = to_verbs_ah(&core->ibah);
	int ret;

	ret = create_paths(ah, flags & RDMA_CREATE_AH_SLEEPABLE ?
			       GFP_KERNEL_ACCOUNT : GFP_ATOMIC);
	if (ret || !udata)
		return ret;
	ret = number_path(to_verbs_dev(core->ibah.device), ah, udata);
	if (ret)
		put_paths(ah);
	return ret;
}

/* &struct rhca_backend_ops.ah_destroy */
void rhca_verbs_ah_destroy(struct rhca_ah *core, u32 flags)
{
	struct rhca_verbs_ah *ah = to_verbs_ah(&core->ibah);

	if (ah->number)
		xa_erase_bh(&to_verbs_dev(core->ibah.device)->paths,
			    ah->number);
	put_paths(ah);
}
