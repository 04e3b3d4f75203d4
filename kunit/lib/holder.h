/* SPDX-License-Identifier: GPL-2.0 */
/* A user of a device by the kernel that takes its time to let go of it. */
#ifndef RHCA_KUNIT_HOLDER_H
#define RHCA_KUNIT_HOLDER_H

struct kunit;
struct rhca_dev;

void test_hold(struct kunit *test, struct rhca_dev *dev);
void test_hold_begins(struct kunit *test);
void test_hold_ends(struct kunit *test);

#endif
