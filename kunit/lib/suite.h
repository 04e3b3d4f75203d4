/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_KUNIT_LIB_SUITE_H
#define RHCA_KUNIT_LIB_SUITE_H

#include <kunit/test.h>

/* A suite whose cases need nothing done before each */
#define TEST_SUITE(suite_name, cases)				\
	static struct kunit_suite cases##_suite = {		\
		.name = suite_name,				\
		.test_cases = cases,				\
	};							\
	kunit_test_suite(cases##_suite)

#endif
