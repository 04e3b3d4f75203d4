/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Firmware commands, one function each. Beyond here nobody knows their layout, but for
 * those of congestion control (congestion.c).
 * All of them sleep, and return 0, what the firmware's status stands for (-EINVAL,
 * -ENOMEM, -EIO ...) or the transport's error. Pages, PDs, multicast groups and
 * GIDs are commands that mlx5_core has functions for.
 */
#ifndef RHCA_MLX5_COMMAND_H
#define RHCA_MLX5_COMMAND_H

#include <linux/mlx5/cq.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/qp.h>
#include <rdma/ib_verbs.h>

#include "core/counters.h"

struct ib_umem;
struct rhca_mlx5_buffer;
struct rhca_qp_change;

/* Attributes that the peer's rights depend on */
#define RHCA_MLX5_ACCESS_MASK	(IB_QP_ACCESS_FLAGS | IB_QP_MAX_DEST_RD_ATOMIC)

#define RHCA_MLX5_NO_USER_INDEX	0xffffff

/*
 * In the address of each page that a request has a key translate to, and a command where
 * the adapter knows them there. The key restricts them.
 */
#define RHCA_MLX5_PAGE_RIGHTS	(MLX5_EN_RD | MLX5_EN_WR)

/* A memory key to create */
struct rhca_mlx5_key_spec {
	u32 pd;			/* number of its protection domain */
	int access;		/* IB_ACCESS_*; local read is always allowed */
	u64 start;		/* first I/O virtual address */
	u64 bytes;		/* length */
	u8 page_shift;		/* size of its pages */
	u32 num_pages;		/* how many there are, or is room for; or pieces */
	bool unbounded;		/* all of the bus's address space: it has no pages */
	bool by_requests;	/* begins free; requests on a queue fill it */
	bool has_pieces;	/* it translates to pieces of any length, not to pages */
	bool is_window;		/* it translates to another key */
	bool remote_invalidate;	/* the peer may free it */
	bool translated;	/* addresses may be of another device: ask the host (ATS) */
	struct ib_umem *umem;	/* pinned memory that it translates to, or NULL */
};

/* A completion queue to create */
struct rhca_mlx5_cq_spec {
	const struct rhca_mlx5_buffer *buffer;	/* its memory */
	u8 log_entries;				/* its size */
	u8 cqe_bytes;				/* 64 or 128 */
	u32 uar;				/* where its doorbell is rung */
	u32 eqn;				/* event queue that it raises */
	bool ignore_overrun;			/* the owner promises to keep up */
};

/* A shared receive queue to create */
struct rhca_mlx5_srq_spec {
	const struct rhca_mlx5_buffer *buffer;	/* its memory */
	u8 log_entries;		/* its size */
	u8 log_entry_bytes;	/* of one entry */
	u32 pd;			/* number of its protection domain */
	bool is_xrc;		/* it belongs to an XRC domain; the rest is for such a one */
	u32 xrcd;		/* number of its XRC domain */
	u32 cq;			/* number of the completion queue of what arrives */
	u32 user_index;		/* what completions call it */
};

/* A queue pair, as creation and modification name it */
struct rhca_mlx5_qp_spec {
	u8 service;		/* MLX5_QP_ST_* */
	u32 pd;			/* number of its protection domain */
	u32 send_cq;		/* number */
	u32 recv_cq;		/* number */
	u32 srq;		/* number, where @has_srq */
	bool has_srq;		/* receives come from a shared queue */
	u32 xrcd;		/* number of its XRC domain, where @service is MLX5_QP_ST_XRC */
	/* its memory, if any: a doorbell record; receive entries, then send entries */
	const struct rhca_mlx5_buffer *buffer;
	u8 log_recv;		/* number of receive entries, where @has_recv */
	u8 log_recv_bytes;	/* size of one */
	bool has_recv;		/* it has a receive queue of its own */
	u8 log_send;		/* number of 64 byte blocks of sends, where @has_send */
	bool has_send;		/* it has a send queue */
	u32 uar;		/* where its doorbell is rung */
	u32 user_index;		/* what completions call it */
	bool fast_registration;	/* its requests may fill memory keys by lists of pages */
	u8 timestamps;		/* of its completions, MLX5_TIMESTAMP_FORMAT_* */
	u8 received_in_cqe;	/* small data that arrives is in its completion: cs_res, or 0 */
	u8 read_in_cqe;		/* likewise what a READ or an atomic operation brings: cs_req */
	u8 lag_port;		/* by which it sends, from 1; 0: the firmware's choice */
	/* options of connection establishment: asked for (0: all), and then those that it has */
	u32 ece;
};

/* A queue pair's next state */
struct rhca_mlx5_qp_change {
	const struct rhca_mlx5_qp_spec *spec;	/* the queue pair */
	u32 number;		/* its number */
	const struct rhca_qp_change *asked;	/* legal by ib_modify_qp_is_ok() */
	u8 lag_port;		/* by which it is to send from RTR on; 0: as it is */
	int access;		/* IB_ACCESS_* of the peer, where @mask has what it depends on */
	u16 counter_set;	/* what it counts into, from INIT on */
	u32 *ece;		/* as in struct rhca_mlx5_qp_spec, or NULL */
};

/*
 * A minute has passed: without an answer (-ETIMEDOUT), and the firmware may execute the
 * command yet; or without mlx5_core coming to hand it over (-ECANCELED, also where there was
 * no slot for it), and the firmware has never seen it. The next one would take as long. Once
 * a minute has passed for all slots, newer kernels refuse commands at once (-EAGAIN), which
 * may be tried again.
 */
static inline bool rhca_mlx5_is_silence(int error)
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
/* Why a queue pair failed, as the adapter tells */
struct rhca_mlx5_qp_error {
	u8 syndrome;		/* as of a completion in error */
	u8 vendor;		/* the vendor's number for it */
	u8 hardware;		/* the hardware's */
	u8 hardware_type;	/* what kind of number that is */
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
