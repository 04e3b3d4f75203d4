/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Recognise routes with IPsec, which packets must not bypass.
 *
 * We use:	fields of a dst_entry. If a policy demands IPsec and there is no state for it,
 *		the kernel returns a route whose output is dst_discard_out(), which drops
 *		packets without an error. A route with transformations has ->xfrm, one
 *		that queues until there is a state DST_XFRM_QUEUE, and one with a lightweight
 *		tunnel ->lwtstate.
 * Where:	net/xfrm/xfrm_policy.c, xfrm_lookup_route(), make_blackhole() and
 *		xfrm_create_dummy_bundle(); ipv4_blackhole_route(), ip6_blackhole_route().
 * Since:	before 6.1; looked at in 6.12 and 7.3.
 * If it changes: packets are sent in clear on VLANs and bonds, or are dropped without
 *		being counted.
 * Test:	ipsec.
 */
#ifndef RHCA_BORROWED_IPSEC_ROUTE_H
#define RHCA_BORROWED_IPSEC_ROUTE_H

#include <net/dst.h>

/* Does a route discard packets silently? */
static inline bool rhca_route_discards(const struct dst_entry *dst)
{
	return READ_ONCE(dst->output) == dst_discard_out;
}

/* Do packets on this route get an Ethernet header and nothing else? */
static inline bool rhca_route_is_plain(const struct dst_entry *dst)
{
	return !dst_xfrm(dst) && !(dst->flags & DST_XFRM_QUEUE) && !dst->lwtstate;
}

#endif
