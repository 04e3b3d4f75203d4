/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RHCA_KUNIT_LIB_SUITE_H
#define RHCA_KUNIT_LIB_SUITE_H

#include <kunit/test.h>

/* A suite of these cases, each run between @begins and @ends, which may be NULL */
#define TEST_SUITE_WITH(suite, begins, ends, ...)				\
	static struct kunit_case suite##_cases[] = { __VA_ARGS__, {} };		\
	static struct kunit_suite suite##_suite = {				\
		.name = #suite,							\
		.init = begins, .exit = ends,					\
		.test_cases = suite##_cases,					\
	};									\
	kunit_test_suite(suite##_suite)

#define TEST_SUITE(suite, ...)	TEST_SUITE_WITH(suite, NULL, NULL, __VA_ARGS__)

/* Run the steps of a table row one after the other, until one fails; @take uses @s */
#define test_steps(test, row, s, take) ({					\
	typeof((row)->step[0]) const *s = (row)->step;				\
										\
	for (; s < (row)->step + ARRAY_SIZE((row)->step) && s->act &&		\
	       (test)->status != KUNIT_FAILURE; s++)				\
		take;								\
	if ((test)->status == KUNIT_FAILURE)					\
		kunit_err(test, "step %d of \"%s\"", (int)(s - (row)->step), (row)->desc);	\
})

#endif
