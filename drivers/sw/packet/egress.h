/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_SW_PACKET_EGRESS_H
#define RHCA_SW_PACKET_EGRESS_H

#include <linux/types.h>

struct rhca_path;

bool rhca_egress_wants_checksum(struct net_device *ndev);
bool rhca_egress_takes_blocks(struct rhca_path *path, u32 lag_member);

#endif
