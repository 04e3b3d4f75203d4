/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware commands, one function each. Callers do not know their layouts; only those of congestion
 * control are elsewhere (congestion.c). All sleep, and return 0, the errno for the firmware's
 * status (-EINVAL, -ENOMEM, -EIO ...) or the transport's error. Pages, PDs, multicast groups and
 * GIDs are not here: mlx5_core has functions for their commands.
 */
#ifndef RHCA_MLX5_COMMAND_H
#define RHCA_MLX5_COMMAND_H

#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>

#include "core/counters.h"

int rhca_mlx5_exec(struct mlx5_core_dev *mdev, void *in, int in_bytes, void *out,
		   int out_bytes);

/* Execute a command, given its layout and buffers, one of which is enough without an answer */
#define rhca_mlx5_exec_inout(mdev, command, in, out)			\
	rhca_mlx5_exec(mdev, in, MLX5_ST_SZ_BYTES(command##_in),	\
		       out, MLX5_ST_SZ_BYTES(command##_out))
#define rhca_mlx5_exec_in(mdev, command, in) ({				\
	u32 status_only[MLX5_ST_SZ_DW(command##_out)] = {};		\
									\
	rhca_mlx5_exec_inout(mdev, command, in, status_only);		\
})

struct ib_umem;
struct rhca_mlx5_buffer;
struct rhca_qp_change;

/* Attributes that determine the peer's rights */
#define RHCA_MLX5_ACCESS_MASK	(IB_QP_ACCESS_FLAGS | IB_QP_MAX_DEST_RD_ATOMIC)

#define RHCA_MLX5_NO_USER_INDEX	0xffffff

/*
 * Rights in the address of each page that a request maps a key to, or a command, if the adapter
 * supports them there. The key restricts them.
 */
#define RHCA_MLX5_PAGE_RIGHTS	(MLX5_EN_RD | MLX5_EN_WR)

/* A memory key to create */
struct rhca_mlx5_key_spec {
	u32 pd;			/* number of its protection domain */
	int access;		/* IB_ACCESS_*; local read is always allowed */
	u64 start;		/* first I/O virtual address */
	u64 bytes;		/* length */
	u8 page_shift;		/* size of its pages */
	u32 num_pages;		/* number of, or room for, pages or pieces */
	bool unbounded;		/* maps the bus's whole address space, without pages */
	bool by_requests;	/* created free; requests on a queue fill it */
	bool has_pieces;	/* maps pieces of any length, not pages */
	bool is_window;		/* maps another key */
	bool remote_invalidate;	/* the peer may invalidate it */
	bool translated;	/* addresses may be another device's: use ATS */
	struct ib_umem *umem;	/* pinned memory that it maps, or NULL */
};

/* A completion queue to create */
struct rhca_mlx5_cq_spec {
	const struct rhca_mlx5_buffer *buffer;	/* its memory */
	u8 log_entries;				/* its size */
	u8 cqe_bytes;				/* 64 or 128 */
	u32 uar;				/* of its doorbell */
	u32 eqn;				/* its event queue */
	bool ignore_overrun;			/* the owner guarantees that there is none */
};

/* A shared receive queue to create */
struct rhca_mlx5_srq_spec {
	const struct rhca_mlx5_buffer *buffer;	/* its memory */
	u8 log_entries;		/* its size */
	u8 log_entry_bytes;	/* of one entry */
	u32 pd;			/* number of its protection domain */
	bool is_xrc;		/* it belongs to an XRC domain; the rest is for these */
	u32 xrcd;		/* number of its XRC domain */
	u32 cq;			/* number of the completion queue for receives */
	u32 user_index;		/* its name in completions */
};

/* A queue pair, for creation and modification */
struct rhca_mlx5_qp_spec {
	u8 service;		/* MLX5_QP_ST_* */
	u32 pd;			/* number of its protection domain */
	u32 send_cq;		/* number */
	u32 recv_cq;		/* number */
	u32 srq;		/* number, if @has_srq */
	bool has_srq;		/* it receives from a shared queue */
	u32 xrcd;		/* number of its XRC domain, if @service is MLX5_QP_ST_XRC */
	/* its memory, if any: doorbell record, and receive entries followed by send entries */
	const struct rhca_mlx5_buffer *buffer;
	u8 log_recv;		/* number of receive entries, if @has_recv */
	u8 log_recv_bytes;	/* size of one */
	bool has_recv;		/* it has its own receive queue */
	u8 log_send;		/* number of 64 byte send blocks, if @has_send */
	bool has_send;		/* it has a send queue */
	u32 uar;		/* of its doorbell */
	u32 user_index;		/* its name in completions */
	bool fast_registration;	/* its requests may fill memory keys with lists of pages */
	u8 timestamps;		/* of its completions, MLX5_TIMESTAMP_FORMAT_* */
	u8 received_in_cqe;	/* put small received data into the completion: cs_res, or 0 */
	u8 read_in_cqe;		/* likewise the data of a READ or atomic: cs_req */
	u8 lag_port;		/* port it sends on, from 1; 0: the firmware's choice */
	/* options for connection establishment (ECE): requested (0: all), then granted */
	u32 ece;
};

/* A queue pair's next state */
struct rhca_mlx5_qp_change {
	const struct rhca_mlx5_qp_spec *spec;	/* the queue pair */
	u32 number;		/* its number */
	const struct rhca_qp_change *asked;	/* checked with ib_modify_qp_is_ok() */
	u8 lag_port;		/* port to send on from RTR on; 0: no change */
	int access;		/* IB_ACCESS_* of the peer, if RHCA_MLX5_ACCESS_MASK applies */
	u16 counter_set;	/* its counter set, from INIT on */
	u32 *ece;		/* as in struct rhca_mlx5_qp_spec, or NULL */
};

/*
 * Did a command time out, after a minute? -ETIMEDOUT: without an answer, so the firmware may still
 * execute it. -ECANCELED: before mlx5_core passed it to the firmware, also for lack of a slot. The
 * next command would take as long. Once all slots have timed out, newer kernels reject commands at
 * once (-EAGAIN), which may be retried.
 */
static inline bool rhca_mlx5_is_no_answer(int error)
{
	return error == -ETIMEDOUT || error == -ECANCELED;
}

int rhca_mlx5_alloc_number(struct mlx5_core_dev *mdev, u16 opcode, u32 *number);
int rhca_mlx5_command_on(struct mlx5_core_dev *mdev, u16 opcode, u32 number);
int rhca_mlx5_give_back(struct mlx5_core_dev *mdev, u16 opcode, u32 number);
int rhca_mlx5_give_key_back(struct mlx5_core_dev *mdev, u32 key);

int rhca_mlx5_create_key(struct mlx5_core_dev *mdev,
			 const struct rhca_mlx5_key_spec *spec, u8 variant,
			 u32 *key);

int rhca_mlx5_create_hw_cq(struct mlx5_core_dev *mdev,
			   const struct rhca_mlx5_cq_spec *spec,
			   struct mlx5_core_cq *cq);
int rhca_mlx5_resize_hw_cq(struct mlx5_core_dev *mdev,
			   const struct rhca_mlx5_cq_spec *spec,
			   struct mlx5_core_cq *cq);

int rhca_mlx5_create_hw_srq(struct mlx5_core_dev *mdev,
			    const struct rhca_mlx5_srq_spec *spec, u32 *number);
int rhca_mlx5_arm_hw_srq(struct mlx5_core_dev *mdev, bool is_xrc, u32 number,
			 u16 limit);
int rhca_mlx5_query_hw_srq(struct mlx5_core_dev *mdev, bool is_xrc, u32 number,
			   u16 *limit);
int rhca_mlx5_destroy_hw_srq(struct mlx5_core_dev *mdev, bool is_xrc,
			     u32 number);

int rhca_mlx5_create_hw_qp(struct mlx5_core_dev *mdev,
			   struct rhca_mlx5_qp_spec *spec, u32 *number);
int rhca_mlx5_change_hw_qp(struct mlx5_core_dev *mdev,
			   const struct rhca_mlx5_qp_change *change);
int rhca_mlx5_query_hw_qp(struct mlx5_core_dev *mdev, u32 number,
			  struct ib_qp_attr *attr);
bool rhca_mlx5_hw_qp_has_work(struct mlx5_core_dev *mdev, u32 number,
			      bool has_recv);
/* Why a queue pair failed, from the adapter */
struct rhca_mlx5_qp_error {
	u8 syndrome;		/* as in a completion with error */
	u8 vendor;		/* the vendor's number for it */
	u8 hardware;		/* the hardware's */
	u8 hardware_type;	/* type of that number */
};

int rhca_mlx5_query_qp_error(struct mlx5_core_dev *mdev, u32 number,
			     struct rhca_mlx5_qp_error *error);
int rhca_mlx5_count_into(struct mlx5_core_dev *mdev, u32 number, u16 set);

bool rhca_mlx5_has_counter_sets(const struct mlx5_core_dev *mdev);
int rhca_mlx5_query_counter_set(struct mlx5_core_dev *mdev, u16 set,
				u64 *values);
int rhca_mlx5_query_congestion(struct mlx5_core_dev *mdev, u64 *values);
bool rhca_mlx5_counts_icrc(const struct mlx5_core_dev *mdev);
int rhca_mlx5_query_icrc(struct mlx5_core_dev *mdev, u64 *value);
int rhca_mlx5_query_traffic(struct mlx5_core_dev *mdev, u64 *values);

#endif
