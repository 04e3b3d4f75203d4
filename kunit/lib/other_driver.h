/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A device of another driver, which does nothing but being on a netdev.
 */
#ifndef RHCA_KUNIT_OTHER_DRIVER_H
#define RHCA_KUNIT_OTHER_DRIVER_H

struct kunit;
struct net_device;
struct test_other;

struct test_other *test_other_comes(struct kunit *test, struct net_device *ndev);
void test_other_goes(struct kunit *test, struct test_other *other);
void test_other_when_asked(void (*now)(void *data), void *data);

#endif
