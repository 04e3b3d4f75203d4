/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FABRIC_SIM_TOPO_H
#define FABRIC_SIM_TOPO_H

#include <linux/types.h>

void topo_make(void);
u32 topo_route(u32 node, u32 host, u32 hash);
u32 topo_hops(u32 a, u32 b);
double topo_bottleneck(u32 to);
void topo_link_event(u32 up);
void topo_routes_event(u32 up);

#endif
