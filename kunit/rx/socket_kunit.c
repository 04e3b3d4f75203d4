// SPDX-License-Identifier: GPL-2.0
/* Sockets of UDP port 4791, one for each VRF. */
#include <kunit/test.h>
#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "core/device.h"
#include "core/registry.h"
#include "lib/hca.h"

static void release(void *data)
{
	sock_release(data);
}

/* Another socket has the port on one netdev: an unbound socket cannot bind to it then */
static void take_number(struct kunit *test, int ifindex)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(4791) };
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_INET, SOCK_DGRAM,
						  IPPROTO_UDP, &sock));
	test_at_end(test, release, sock);
	KUNIT_ASSERT_EQ(test, 0, sock_bindtoindex(sock->sk, ifindex, true));
	KUNIT_ASSERT_EQ(test, 0, kernel_bind(sock, (void *)&any, sizeof(any)));
}

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *ndev)
{
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops vrf_netdev_ops = { .ndo_start_xmit = drop };
static const struct l3mdev_ops vrf_ops = {};

static void remove_vrf(void *data)
{
	unregister_netdev(data);
	free_netdev(data);
}

/* A netdev that claims to be a VRF */
static struct net_device *add_vrf(struct kunit *test)
{
	struct net_device *ndev = alloc_etherdev(0);

	KUNIT_ASSERT_NOT_NULL(test, ndev);
	eth_hw_addr_random(ndev);
	ndev->netdev_ops = &vrf_netdev_ops;
	ndev->l3mdev_ops = &vrf_ops;
	ndev->priv_flags |= IFF_L3MDEV_MASTER;
	KUNIT_ASSERT_EQ(test, 0, register_netdev(ndev));
	test_at_end(test, remove_vrf, ndev);
	return ndev;
}

/* Use this suite's own names: another suite's device may still be ending in the background */
static void make_device(struct kunit *test, const char *name, struct net_device *ndev)
{
	struct rhca_dev_spec spec = TEST_DEVICE(&rhca_sw_backend, ndev);

	spec.name = name;
	KUNIT_ASSERT_EQ(test, 0, rhca_dev_create(&spec));
}

static bool speaks_v2(const struct rhca_dev *dev)
{
	return dev->backend->port_speaks((struct rhca_port *)&dev->ports[0],
					 IB_GID_TYPE_ROCE_UDP_ENCAP);
}

/* Binding is retried 2 s after the port was opened, by a timer: the flush does not wait for that */
static void new_vrf_waits_for_no_retry(struct kunit *test)
{
	struct net_device *vrf, *ndev = test_netdev(test, 1);
	unsigned long begun = jiffies;

	take_number(test, init_net.loopback_dev->ifindex);
	make_device(test, TEST_NAME "_none", ndev);
	KUNIT_ASSERT_FALSE(test, speaks_v2(test_device_of(ndev)));
	vrf = add_vrf(test);
	make_device(test, TEST_NAME "_vrf", vrf);
	__flush_workqueue(system_long_wq);
	if (time_after(jiffies, begun + 2 * HZ))
		kunit_mark_skipped(test, "too slow: it may have been the timer");
	KUNIT_EXPECT_TRUE(test, speaks_v2(test_device_of(vrf)));
	test_device_remove(vrf);
	test_device_remove(ndev);
}

TEST_SUITE(rhca_socket,
	   KUNIT_CASE(new_vrf_waits_for_no_retry));
