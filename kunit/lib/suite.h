/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_KUNIT_LIB_SUITE_H
#define RHCA_KUNIT_LIB_SUITE_H

#include <kunit/test.h>

/* Each case is between @begins and @ends, which may be NULL */
#define TEST_SUITE_WITH(suite_name, cases, begins, ends)	\
	static struct kunit_suite cases##_suite = {		\
		.name = suite_name,				\
		.init = begins, .exit = ends,			\
		.test_cases = cases,				\
	};							\
	kunit_test_suite(cases##_suite)

#define TEST_SUITE(suite_name, cases)	TEST_SUITE_WITH(suite_name, cases, NULL, NULL)

#endif
