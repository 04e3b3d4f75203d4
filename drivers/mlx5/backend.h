/* SPDX-License-Identifier: GPL-2.0 */
/* A ConnectX adapter as a backend. */
#ifndef RHCA_MLX5_BACKEND_H
#define RHCA_MLX5_BACKEND_H

#include <rhca/backend.h>

extern const struct rhca_backend_ops rhca_mlx5_backend;

#endif
