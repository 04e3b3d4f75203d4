/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What IPsec makes of a route: no route may bypass it.
 *
 * We use:	marks on a dst_entry. Where a policy demands IPsec and has no state for it,
 *		the kernel hands out a route whose output is dst_discard_out(), so that what
 *		is sent vanishes without an error. One with transformations has ->xfrm, one
 *		that queues until there are states DST_XFRM_QUEUE, and one into a tunnel of
 *		the route itself ->lwtstate.
 * Where:	net/xfrm/xfrm_policy.c, xfrm_lookup_route(), make_blackhole() and
 *		xfrm_create_dummy_bundle(); ipv4_blackhole_route(), ip6_blackhole_route().
 * Since:	before 6.1; looked at in 6.12 and 7.3.
 * If it changes: packets leave in clear on VLANs and bonds, or vanish without being
 *		counted as refused.
 * Test:	ipsec.
 */
#ifndef RHCA_BORROWED_IPSEC_ROUTE_H
#define RHCA_BORROWED_IPSEC_ROUTE_H

#include <net/dst.h>

/* Does a route swallow what is sent by it? */
static inline bool rhca_route_swallows(const struct dst_entry *dst)
{
	return READ_ONCE(dst->output) == dst_discard_out;
}

/* Is nothing done to packets on this route but that they get an Ethernet header? */
static inline bool rhca_route_is_plain(const struct dst_entry *dst)
{
	return !dst_xfrm(dst) && !(dst->flags & DST_XFRM_QUEUE) && !dst->lwtstate;
}

#endif
