// SPDX-License-Identifier: GPL-2.0
/*
 * The MAC of a multicast GID.
 */
#include <kunit/test.h>
#include <linux/etherdevice.h>

#include "core/mcast_join.h"

struct mac_case {
	const char *desc;
	union ib_gid gid;
	u8 mac[ETH_ALEN];
};

/* Annex A16.5.1, RFC 2464 section 7, RFC 1112 section 6.4 */
static const struct mac_case mac_cases[] = {
	{ "IPv6",
	  { .raw = { 0xff, 0x15, [13] = 0x12, 0x34, 0x56 } },
	  { 0x33, 0x33, 0x00, 0x12, 0x34, 0x56 } },
	{ "IPv6, all of the low 32 bits",
	  { .raw = { 0xff, 0x02, [11] = 0x01, 0xff, 0xab, 0xcd, 0xef } },
	  { 0x33, 0x33, 0xff, 0xab, 0xcd, 0xef } },
	{ "rdma_cm's form of IPv4 for v1 is an IPv6 group",
	  { .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 9, 1, 2 } },
	  { 0x33, 0x33, 239, 9, 1, 2 } },
	{ "IPv4",
	  { .raw = { [10] = 0xff, 0xff, 239, 9, 1, 2 } },
	  { 0x01, 0x00, 0x5e, 9, 1, 2 } },
	{ "IPv4, only the low 23 bits",
	  { .raw = { [10] = 0xff, 0xff, 224, 0x81, 2, 3 } },
	  { 0x01, 0x00, 0x5e, 0x01, 2, 3 } },
};
KUNIT_ARRAY_PARAM_DESC(mac, mac_cases, desc);

static void group_maps_to_mac(struct kunit *test)
{
	const struct mac_case *c = test->param_value;
	u8 mac[ETH_ALEN] = {};

	rhca_mcast_mac(&c->gid, mac);
	KUNIT_EXPECT_MEMEQ(test, mac, c->mac, ETH_ALEN);
}

static struct kunit_case mcast_join_tests[] = {
	KUNIT_CASE_PARAM(group_maps_to_mac, mac_gen_params),
	{}
};

static struct kunit_suite mcast_join_suite = {
	.name = "rhca_mcast_join",
	.test_cases = mcast_join_tests,
};
kunit_test_suite(mcast_join_suite);
