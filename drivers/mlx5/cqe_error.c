// SPDX-License-Identifier: GPL-2.0
/* Errors as the adapter numbers them, and as verbs do. */
#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>

#include "cqe_error.h"

static const struct {
	u8 syndrome;
	enum ib_wc_status status;
} statuses[] = {
	{ MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR,	IB_WC_LOC_LEN_ERR },
	{ MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,	IB_WC_LOC_QP_OP_ERR },
	{ MLX5_CQE_SYNDROME_LOCAL_PROT_ERR,	IB_WC_LOC_PROT_ERR },
	{ MLX5_CQE_SYNDROME_WR_FLUSH_ERR,	IB_WC_WR_FLUSH_ERR },
	{ MLX5_CQE_SYNDROME_MW_BIND_ERR,	IB_WC_MW_BIND_ERR },
	{ MLX5_CQE_SYNDROME_BAD_RESP_ERR,	IB_WC_BAD_RESP_ERR },
	{ MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR,	IB_WC_LOC_ACCESS_ERR },
	{ MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, IB_WC_REM_INV_REQ_ERR },
	{ MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,	IB_WC_REM_ACCESS_ERR },
	{ MLX5_CQE_SYNDROME_REMOTE_OP_ERR,	IB_WC_REM_OP_ERR },
	{ MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR, IB_WC_RETRY_EXC_ERR },
	{ MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR,	IB_WC_RNR_RETRY_EXC_ERR },
	{ MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR,	IB_WC_REM_ABORT_ERR },
};

/*
 * What verbs say to an error of the adapter's. @syndrome: of a completion, or of a queue pair.
 */
enum ib_wc_status rhca_mlx5_status_of(u8 syndrome)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].syndrome == syndrome)
			return statuses[i].status;
	return IB_WC_GENERAL_ERR;
}
