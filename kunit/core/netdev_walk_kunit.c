// SPDX-License-Identifier: GPL-2.0
/* Netdevs that work is to be done for later: they may go meanwhile. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "core/rules/netdev_id.h"
#include "lib/hca.h"
#include "core/rules/netdev_walk.h"

#define NUM_NETDEVS	2
/* More than the second that the link watch may take */
#define MAX_TRIES	100
#define TRY_MS		20

/* A walk has no other way to say who began it */
static struct net_device *netdevs[NUM_NETDEVS];
static int references[NUM_NETDEVS];
static int num_visited;
static int num_held_for_later;

static int index_of(const struct net_device *ndev)
{
	int i;

	for (i = 0; i < NUM_NETDEVS; i++)
		if (netdevs[i] == ndev)
			return i;
	return -ENOENT;
}

static bool is_ours(const struct net_device *ndev)
{
	return index_of(ndev) >= 0;
}

/* For one of them: of the other, which waits, nothing is held */
static void visit(struct net_device *ndev)
{
	int other = !index_of(ndev);

	num_visited++;
	num_held_for_later += netdev_refcnt_read(netdevs[other]) -
			      references[other];
}

/* Return: nobody has taken references or given them back since they were read */
static bool references_are_the_same(void)
{
	int i;

	for (i = 0; i < NUM_NETDEVS; i++)
		if (netdev_refcnt_read(netdevs[i]) != references[i])
			return false;
	return true;
}

/* The link watch has references of new netdevs, and gives them back at its leisure */
static bool walk_undisturbed(void)
{
	int i;

	num_visited = 0;
	num_held_for_later = 0;
	for (i = 0; i < NUM_NETDEVS; i++)
		references[i] = netdev_refcnt_read(netdevs[i]);
	rhca_netdev_walk(is_ours, visit);
	return references_are_the_same();
}

static void walk_holds_only_where_it_is(struct kunit *test)
{
	int i, tries = MAX_TRIES;

	for (i = 0; i < NUM_NETDEVS; i++)
		netdevs[i] = test_netdev(test, i + 1);
	while (!walk_undisturbed() && --tries)
		msleep(TRY_MS);
	KUNIT_EXPECT_GT(test, tries, 0);
	KUNIT_EXPECT_EQ(test, num_visited, NUM_NETDEVS);
	KUNIT_EXPECT_EQ(test, num_held_for_later, 0);
}

static void noted_netdev_is_found_while_it_is_there(struct kunit *test)
{
	struct rhca_netdev_id id, none, elsewhere;
	struct net_device *ndev = test_netdev(test, 1);

	rhca_netdev_note(&id, ndev);
	rhca_netdev_note(&none, NULL);
	elsewhere = id;
	elsewhere.net_cookie++;
	KUNIT_EXPECT_PTR_EQ(test, rhca_netdev_get(&id), ndev);
	dev_put(ndev);
	KUNIT_EXPECT_NULL(test, rhca_netdev_get(&none));
	KUNIT_EXPECT_NULL(test, rhca_netdev_get(&elsewhere));
	test_netdev_remove(test, ndev);
	KUNIT_EXPECT_NULL(test, rhca_netdev_get(&id));
}

static struct kunit_case netdev_walk_cases[] = {
	KUNIT_CASE(walk_holds_only_where_it_is),
	KUNIT_CASE(noted_netdev_is_found_while_it_is_there),
	{}
};

TEST_SUITE("rhca_netdev_walk", netdev_walk_cases);
