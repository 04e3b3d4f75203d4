// SPDX-License-Identifier: GPL-2.0
/* Hop limit and priority of packets, and the effect of a DCB APP table. */
#include <linux/dcbnl.h>
#include <net/dcbnl.h>

#include "core/device.h"
#include "core/registry.h"
#include "core/rules/qos.h"
#include "lib/hca.h"

/* --- hop limit ---------------------------------------------------------------- */

static const struct ttl_case {
	const char *desc;
	u8 forced;
	enum rhca_encap encap;
	u8 hop_limit;		/* resulting one, for an address vector with 64 */
} ttl_cases[] = {
	{ "off, IPv4",		0,	RHCA_V2_IPV4,	64 },
	{ "off, IPv6",		0,	RHCA_V2_IPV6,	64 },
	{ "off, v1",		0,	RHCA_V1,	64 },
	{ "forced, IPv4",	1,	RHCA_V2_IPV4,	1 },
	{ "forced, IPv6",	255,	RHCA_V2_IPV6,	255 },
	{ "v1 has no TTL",	7,	RHCA_V1,	64 },
};
KUNIT_ARRAY_PARAM_DESC(ttl, ttl_cases, desc);

static void forced_ttl_is_for_v2(struct kunit *test)
{
	const struct ttl_case *c = test->param_value;
	const struct rhca_qos qos = { .ttl = c->forced };
	const struct rhca_flow flow = { .encap = c->encap, .hop_limit = 64 };

	KUNIT_EXPECT_EQ(test, rhca_qos_hop_limit(&qos, &flow), c->hop_limit);
}

/* --- priority ------------------------------------------------------------------ */

static const struct priority_case {
	const char *desc;
	u8 sl;
	u8 tclass;
	u8 app;
	u8 priority;
} priority_cases[] = {
	{ "nothing is set",		0,	0,	0,	0 },
	{ "service level",		3,	0,	0,	3 },
	{ "service level above 7",	13,	0,	0,	5 },
	{ "service level 8 is priority 0", 8,	0xff,	6,	0 },
	{ "traffic class",		0,	0x60,	0,	3 },
	{ "upper bits of the class",	0,	0xff,	0,	7 },
	{ "lower bits of the class",	0,	0x1c,	0,	0 },
	{ "service level before class",	1,	0x60,	0,	1 },
	{ "APP table",			0,	0,	5,	5 },
	{ "class before APP table",	0,	0x60,	5,	3 },
	{ "low class, APP table",	0,	0x1c,	5,	5 },
	{ "service level before both",	2,	0x60,	5,	2 },
};
KUNIT_ARRAY_PARAM_DESC(priority, priority_cases, desc);

static void first_that_is_not_0_decides_priority(struct kunit *test)
{
	const struct priority_case *c = test->param_value;
	struct rhca_qos qos = {};
	struct rhca_flow flow = { .tclass = c->tclass };
	u8 encap;

	for (encap = 0; encap < RHCA_NUM_ENCAPS; encap++) {
		memset(qos.app_priority, 1, sizeof(qos.app_priority));
		qos.app_priority[encap] = c->app;
		flow.encap = encap;
		KUNIT_EXPECT_EQ(test, rhca_qos_priority(&qos, c->sl, &flow), c->priority);
	}
}

/* --- DCB APP table -------------------------------------------------------------- */

#define ETHERTYPE	IEEE_8021QAZ_APP_SEL_ETHERTYPE
#define STREAM		IEEE_8021QAZ_APP_SEL_STREAM
#define DGRAM		IEEE_8021QAZ_APP_SEL_DGRAM
#define ANY		IEEE_8021QAZ_APP_SEL_ANY
#define MAX_APPS	3

static const struct app_case {
	const char *desc;
	struct dcb_app apps[MAX_APPS];	/* selector, priority, protocol */
	u8 v1;
	u8 v2;
} app_cases[] = {
	{ "RoCE v1's EtherType", {{ ETHERTYPE, 3, 0x8915 }}, 3, 0 },
	{ "RoCE v2's port", {{ DGRAM, 4, 4791 }}, 0, 4 },
	{ "the port of any protocol", {{ ANY, 5, 4791 }}, 0, 5 },
	{ "both", {{ ETHERTYPE, 3, 0x8915 }, { DGRAM, 4, 4791 }}, 3, 4 },
	{ "UDP before any", {{ ANY, 6, 4791 }, { DGRAM, 4, 4791 }}, 0, 4 },
	{ "UDP 0 before any", {{ ANY, 6, 4791 }, { DGRAM, 0, 4791 }}, 0, 0 },
	{ "two priorities", {{ DGRAM, 2, 4791 }, { DGRAM, 6, 4791 }}, 0, 6 },
	{ "the port of TCP", {{ STREAM, 4, 4791 }}, 0, 0 },
	{ "others", {{ ETHERTYPE, 3, 0x8906 }, { DGRAM, 4, 4790 },
		     { DGRAM, 5, 0x8915 }}, 0, 0 },
};
KUNIT_ARRAY_PARAM_DESC(app, app_cases, desc);

static void set_apps(struct test_hca *hca, const struct app_case *c,
		     int (*set)(struct net_device *ndev, struct dcb_app *app))
{
	struct dcb_app app;
	u32 i;

	for (i = 0; i < MAX_APPS && c->apps[i].selector; i++) {
		app = c->apps[i];
		KUNIT_ASSERT_EQ(hca->test, 0, set(hca->ndev[0], &app));
	}
}

/* As events arrive, one for each entry */
static void app_table_is_followed(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	const struct app_case *c = test->param_value;
	const u8 *priority = test_port(hca)->qos.app_priority;

	set_apps(hca, c, dcb_ieee_setapp);
	KUNIT_EXPECT_EQ(test, priority[RHCA_V1], c->v1);
	KUNIT_EXPECT_EQ(test, priority[RHCA_V2_IPV4], c->v2);
	KUNIT_EXPECT_EQ(test, priority[RHCA_V2_IPV6], c->v2);
	set_apps(hca, c, dcb_ieee_delapp);
	KUNIT_EXPECT_EQ(test, priority[RHCA_V1], 0);
	KUNIT_EXPECT_EQ(test, priority[RHCA_V2_IPV4], 0);
	KUNIT_EXPECT_EQ(test, priority[RHCA_V2_IPV6], 0);
}

/* The table of another netdev is ignored */
static void app_table_is_the_netdevs_own(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 2);
	const struct rhca_port *ports = test_port(hca);
	struct dcb_app app = { DGRAM, 4, 4791 };

	KUNIT_ASSERT_EQ(test, 0, dcb_ieee_setapp(hca->ndev[1], &app));
	KUNIT_EXPECT_EQ(test, ports[0].qos.app_priority[RHCA_V2_IPV4], 0);
	KUNIT_EXPECT_EQ(test, ports[1].qos.app_priority[RHCA_V2_IPV4], 4);
	KUNIT_EXPECT_EQ(test, 0, dcb_ieee_delapp(hca->ndev[1], &app));
}

static const struct {
	const char *desc;
	bool speaks;
	u8 priority;
} drivers[] = {
	{ "of a driver with DCB operations", true, 5 },
	/* Tables are found by ifindex, and a netdev of another namespace may have the same */
	{ "of a driver without", false, 0 },
};
KUNIT_ARRAY_PARAM_DESC(driver, drivers, desc);

/* The table's contents before the device was created */
static void app_table_is_read_at_first(struct kunit *test)
{
	const typeof(drivers[0]) *c = test->param_value;
	struct net_device *ndev = test_netdev(test, 9);
	const struct dcbnl_rtnl_ops *ops = ndev->dcbnl_ops;
	struct rhca_dev_spec spec = TEST_DEVICE(&rhca_sw_backend, ndev);
	struct dcb_app app = { ETHERTYPE, 5, 0x8915 };
	struct rhca_dev *dev;

	KUNIT_ASSERT_EQ(test, 0, dcb_ieee_setapp(ndev, &app));
	ndev->dcbnl_ops = c->speaks ? ops : NULL;
	KUNIT_EXPECT_EQ(test, 0, rhca_dev_create(&spec));
	dev = test_device_get(test, ndev);
	KUNIT_EXPECT_EQ(test, dev->ports[0].qos.app_priority[RHCA_V1], c->priority);
	ib_unregister_device_and_put(&dev->ibdev);
	ndev->dcbnl_ops = ops;
	KUNIT_EXPECT_EQ(test, 0, dcb_ieee_delapp(ndev, &app));
}

static const struct test_qp_spec qp_spec = { .retries = 3 };

static u32 priority_of_a_send(struct test_hca *hca, struct ib_qp *qp)
{
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct test_sent *sent = test_alloc(hca->test, sizeof(*sent));

	KUNIT_ASSERT_EQ(hca->test, 0, ib_post_send(qp, &wr, NULL));
	KUNIT_ASSERT_TRUE(hca->test, test_sent(hca, sent));
	return sent->priority;
}

/* A connection with neither service level nor traffic class, over v1 */
static void app_table_applies_to_existing_connections(struct kunit *test)
{
	struct test_hca *hca = test_hca_create(test, &rhca_sw_backend, 1);
	struct dcb_app app = { ETHERTYPE, 5, 0x8915 };
	struct ib_qp *qp = test_qp_in(hca, IB_QPT_RC, &qp_spec, IB_QPS_RTS);

	KUNIT_EXPECT_EQ(test, priority_of_a_send(hca, qp), 0);
	KUNIT_ASSERT_EQ(test, 0, dcb_ieee_setapp(hca->ndev[0], &app));
	KUNIT_EXPECT_EQ(test, priority_of_a_send(hca, qp), 5);
	KUNIT_ASSERT_EQ(test, 0, dcb_ieee_delapp(hca->ndev[0], &app));
	KUNIT_EXPECT_EQ(test, priority_of_a_send(hca, qp), 0);
}

TEST_SUITE(rhca_qos,
	   KUNIT_CASE_PARAM(forced_ttl_is_for_v2, ttl_gen_params),
	   KUNIT_CASE_PARAM(first_that_is_not_0_decides_priority, priority_gen_params),
	   KUNIT_CASE_PARAM(app_table_is_followed, app_gen_params),
	   KUNIT_CASE(app_table_is_the_netdevs_own),
	   KUNIT_CASE_PARAM(app_table_is_read_at_first, driver_gen_params),
	   KUNIT_CASE(app_table_applies_to_existing_connections));
