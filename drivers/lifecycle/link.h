/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_LIFECYCLE_LINK_H
#define RHCA_LIFECYCLE_LINK_H

struct rhca_backend_ops;

int rhca_link_init(const struct rhca_backend_ops *backend);
void rhca_link_exit(void);

#endif
