// SPDX-License-Identifier: GPL-2.0
/* Which bonds make a LAG, and which member a packet is sent on. */
#include <net/bonding.h>

#include "core/rules/lag.h"
#include "lib/hca.h"

/* A bond of that mode, its members, and how many are our ports */
#define BOND(mode, members, ports)	\
	.bond_mode = BOND_MODE_##mode, .num_members = (members), .num_ports = (ports)

static const struct decision_case {
	const char *desc;
	struct rhca_lag_facts facts;
	enum rhca_lag_kind kind;
} decision_cases[] = {
	{ "round robin", { BOND(ROUNDROBIN, 2, 2) }, RHCA_LAG_NONE },
	{ "active-backup", { BOND(ACTIVEBACKUP, 2, 2) }, RHCA_LAG_ACTIVE_BACKUP },
	{ "xor", { BOND(XOR, 2, 2) }, RHCA_LAG_ACTIVE_ACTIVE },
	{ "broadcast", { BOND(BROADCAST, 2, 2) }, RHCA_LAG_NONE },
	{ "802.3ad", { BOND(8023AD, 2, 2) }, RHCA_LAG_ACTIVE_ACTIVE },
	{ "tlb", { BOND(TLB, 2, 2) }, RHCA_LAG_NONE },
	{ "alb", { BOND(ALB, 2, 2) }, RHCA_LAG_NONE },
	{ "no such mode", { .bond_mode = 17, .num_members = 2, .num_ports = 2 }, RHCA_LAG_NONE },
	{ "no member", { BOND(XOR, 0, 0) }, RHCA_LAG_NONE },
	{ "one member", { BOND(XOR, 1, 1) }, RHCA_LAG_NONE },
	{ "three members", { BOND(XOR, 3, 3) }, RHCA_LAG_NONE },
	{ "a third member that is no port", { BOND(XOR, 3, 2) }, RHCA_LAG_NONE },
	{ "one member is no port", { BOND(XOR, 2, 1) }, RHCA_LAG_NONE },
	{ "a device has another port", { BOND(8023AD, 2, 2), .num_outside = 1 }, RHCA_LAG_NONE },
	{ "partitions differ", { BOND(8023AD, 2, 2), .partitions_differ = true }, RHCA_LAG_NONE },
	{ "disabled by the user", { BOND(ACTIVEBACKUP, 2, 2), .disabled = true }, RHCA_LAG_NONE },
};
KUNIT_ARRAY_PARAM_DESC(decision, decision_cases, desc);

static void bond_of_two_ports_decides(struct kunit *test)
{
	const struct decision_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_lag_decide(&c->facts), c->kind);
}

static const struct member_case {
	const char *desc;
	u32 flow_label;
	u32 qp_member;
	u32 member;
} member_cases[] = {
	{ "no label, first QP", 0, 0, 0 },
	{ "no label, second QP", 0, 1, 1 },
	{ "no label, third QP", 0, 2, 0 },
	{ "no label, QP number wrapped", 0, U32_MAX, 1 },
	{ "even label", 2, 1, 0 },
	{ "odd label", 1, 0, 1 },
	{ "largest label", 0xfffff, 0, 1 },
};
KUNIT_ARRAY_PARAM_DESC(member, member_cases, desc);

static void flow_label_decides_before_the_qp_number(struct kunit *test)
{
	const struct member_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, rhca_lag_member_of(c->flow_label, c->qp_member), c->member);
}

static void record_covers_its_netdevs_only(struct kunit *test)
{
	struct rhca_lag_record two = {
		.num_devices = 2,
		.device = {
			{ .name = "roce0", .num_ports = 1 },
			{ .name = "roce1", .num_ports = 2 },
		},
	};
	static const struct rhca_lag_record none;
	struct net_device *ndev[4];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ndev); i++) {
		ndev[i] = test_netdev(test, i + 1);
		rhca_netdev_note(&two.device[i / 2].netdev[i % 2], ndev[i]);
	}
	KUNIT_EXPECT_TRUE(test, rhca_lag_record_covers(&two, ndev[0]));
	KUNIT_EXPECT_FALSE(test, rhca_lag_record_covers(&two, ndev[1]));
	KUNIT_EXPECT_TRUE(test, rhca_lag_record_covers(&two, ndev[2]));
	KUNIT_EXPECT_TRUE(test, rhca_lag_record_covers(&two, ndev[3]));
	KUNIT_EXPECT_FALSE(test, rhca_lag_record_covers(&none, ndev[0]));
	/* A netdev with this index in another namespace is a different one */
	two.device[0].netdev[0].net_cookie++;
	KUNIT_EXPECT_FALSE(test, rhca_lag_record_covers(&two, ndev[0]));
}

TEST_SUITE(rhca_lag,
	   KUNIT_CASE_PARAM(bond_of_two_ports_decides, decision_gen_params),
	   KUNIT_CASE_PARAM(flow_label_decides_before_the_qp_number, member_gen_params),
	   KUNIT_CASE(record_covers_its_netdevs_only));
