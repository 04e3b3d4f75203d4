// SPDX-License-Identifier: GPL-2.0
/*
 * Counters of ports and of bound QPs: counts of a set remain in the port's totals, in whatever
 * order QP, packets and set are freed.
 */
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include <rhca/compat.h>

#include "core/counters.h"
#include "lib/hca.h"
#include "sw/verbs/qp/qp.h"

/* A device, a QP of it, and an rdma_counter as ib_core has them */
struct bench {
	struct test_hca *hca;		/* the device */
	struct ib_qp *ibqp;		/* the QP */
	struct rhca_verbs_qp *qp;	/* the same */
	struct rhca_port *port;		/* its port */
	struct rdma_counter counter;	/* not bound yet */
};

static const struct test_qp_spec plain = { .retries = 7 };

static struct bench *make_bench(struct kunit *test)
{
	struct bench *b = test_alloc(test, sizeof(*b));

	b->hca = test_hca_create(test, &rhca_sw_backend, 1);
	b->ibqp = test_qp(b->hca, IB_QPT_RC);
	b->qp = ibqp_to_verbs(b->ibqp);
	b->port = test_port(b->hca);
	test_qp_bring_up(b->hca, b->ibqp, &plain, IB_QPS_INIT);
	b->counter.device = b->hca->ibdev;
	b->counter.port = 1;
	b->counter.stats = b->hca->ibdev->ops.counter_alloc_stats(&b->counter);
	KUNIT_ASSERT_NOT_NULL(test, b->counter.stats);
	return b;
}

static void count(struct bench *b, u64 packets)
{
	rcu_read_lock();
	rhca_counter_add(rhca_qp_counters(b->qp), RHCA_RX_PACKETS, packets);
	rcu_read_unlock();
}

static u64 own(struct bench *b)
{
	return test_count(b->hca, RHCA_RX_PACKETS);
}

static u64 total(struct bench *b)
{
	u64 totals[RHCA_NUM_COUNTERS] = {};

	rhca_port_totals(b->port, totals);
	return totals[RHCA_RX_PACKETS];
}

static int bind(struct bench *b)
{
	const struct ib_device_ops *ops = &b->hca->ibdev->ops;

	return rhca_call_counter_bind(ops->counter_bind_qp, &b->counter, b->ibqp, 1);
}

static void unbind(struct bench *b)
{
	rhca_call_counter_unbind(b->hca->ibdev->ops.counter_unbind_qp, b->ibqp, 1);
}

/* As ib_core frees a counter: it reads the values first */
static void release(struct bench *b)
{
	const struct ib_device_ops *ops = &b->hca->ibdev->ops;

	ops->counter_update_stats(&b->counter);
	ops->counter_dealloc(&b->counter);
}

static void free_stats(struct bench *b)
{
	rcu_barrier();
	rdma_free_hw_stats_struct(b->counter.stats);
}

static void end_binding(struct bench *b)
{
	unbind(b);
	release(b);
	free_stats(b);
}

static void expect_counts(struct bench *b, u64 of_port, u64 of_all)
{
	KUNIT_EXPECT_EQ(b->hca->test, own(b), of_port);
	KUNIT_EXPECT_EQ(b->hca->test, total(b), of_all);
}

static void bound_qp_counts_into_its_set(struct kunit *test)
{
	struct bench *b = make_bench(test);

	count(b, 3);
	KUNIT_ASSERT_EQ(test, bind(b), 0);
	KUNIT_EXPECT_NE(test, b->counter.id, 0);
	count(b, 5);
	b->hca->ibdev->ops.counter_update_stats(&b->counter);
	KUNIT_EXPECT_EQ(test, b->counter.stats->value[RHCA_RX_PACKETS], 5);
	expect_counts(b, 3, 8);
	unbind(b);
	count(b, 2);
	expect_counts(b, 5, 10);
	release(b);
	expect_counts(b, 5, 10);
	free_stats(b);
	expect_counts(b, 5, 10);
}

struct late_packet {
	struct rhca_counters __percpu *seen;
	struct completion arrived;
	struct completion released;
	struct completion counted;
};

/* Plays a softirq, which may take its time but does not sleep */
static int count_late(void *data)
{
	struct late_packet *late = data;

	rcu_read_lock();
	complete(&late->arrived);
	while (!completion_done(&late->released))
		cpu_relax();
	rhca_counter_add(late->seen, RHCA_RX_PACKETS, 2);
	rcu_read_unlock();
	kthread_complete_and_exit(&late->counted, 0);
}

/* A packet that looked up the QP before it was unbound is counted afterwards */
static void late_packet_counts_for_the_port(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct late_packet *late = test_alloc(test, sizeof(*late));

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs a second processor");
	init_completion(&late->arrived);
	init_completion(&late->released);
	init_completion(&late->counted);
	KUNIT_ASSERT_EQ(test, bind(b), 0);
	count(b, 5);
	late->seen = b->qp->counters;
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(count_late, late, "late_packet")));
	wait_for_completion(&late->arrived);
	unbind(b);
	release(b);
	complete(&late->released);
	wait_for_completion(&late->counted);
	free_stats(b);
	expect_counts(b, 2, 7);
}

static void qp_is_bound_once(struct kunit *test)
{
	struct bench *b = make_bench(test);
	struct bench other = *b;

	KUNIT_ASSERT_EQ(test, bind(b), 0);
	KUNIT_EXPECT_EQ(test, bind(&other), -EINVAL);
	KUNIT_EXPECT_EQ(test, other.counter.id, 0);
	count(b, 1);
	KUNIT_EXPECT_EQ(test, own(b), 0);
	end_binding(b);
}

static void binding_outlives_a_change_of_port_attributes(struct kunit *test)
{
	struct bench *b = make_bench(test);

	KUNIT_ASSERT_EQ(test, bind(b), 0);
	KUNIT_ASSERT_EQ(test, test_qp_move(b->ibqp, IB_QPS_RESET), 0);
	test_qp_bring_up(b->hca, b->ibqp, &plain, IB_QPS_INIT);
	count(b, 1);
	expect_counts(b, 0, 1);
	end_binding(b);
}

/* ib_core requires optional counters to come last, and to be off */
static void every_counter_has_a_name_and_its_place(struct kunit *test)
{
	struct bench *b = make_bench(test);
	const struct rdma_hw_stats *stats = b->counter.stats;
	bool optional;
	int i, j;

	KUNIT_ASSERT_EQ(test, stats->num_counters, RHCA_FIRST_OF_ADAPTERS);
	for (i = 0; i < stats->num_counters; i++) {
		KUNIT_ASSERT_NOT_NULL_MSG(test, stats->descs[i].name, "counter %d", i);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, stats->descs[i].name, stats->descs[j].name);
		optional = stats->descs[i].flags & IB_STAT_FLAG_OPTIONAL;
		KUNIT_EXPECT_EQ(test, optional, i >= RHCA_FIRST_OPTIONAL);
		KUNIT_EXPECT_EQ(test, test_bit(i, stats->is_disabled), optional);
	}
	rdma_free_hw_stats_struct(b->counter.stats);
}

static int switch_counter(struct bench *b, int index, bool on)
{
	return b->hca->ibdev->ops.modify_hw_stat(b->hca->ibdev, 1, index, on);
}

static void optional_counters_are_enabled_one_by_one(struct kunit *test)
{
	struct bench *b = make_bench(test);

	KUNIT_EXPECT_EQ(test, switch_counter(b, RHCA_RX_PACKETS, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, switch_counter(b, RHCA_FIRST_OF_ADAPTERS, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, switch_counter(b, RHCA_CC_RX_CNP_PKTS, true), 0);
	KUNIT_EXPECT_TRUE(test, rhca_port_counts(b->port, RHCA_CC_RX_CNP_PKTS));
	KUNIT_EXPECT_FALSE(test, rhca_port_counts(b->port, RHCA_CC_RX_CE_PKTS));
	KUNIT_EXPECT_EQ(test, switch_counter(b, RHCA_CC_RX_CNP_PKTS, true), 0);
	KUNIT_EXPECT_EQ(test, switch_counter(b, RHCA_CC_RX_CNP_PKTS, false), 0);
	KUNIT_EXPECT_FALSE(test, rhca_port_counts(b->port, RHCA_CC_RX_CNP_PKTS));
	rdma_free_hw_stats_struct(b->counter.stats);
}

TEST_SUITE(rhca_sw_counters,
	   KUNIT_CASE(bound_qp_counts_into_its_set),
	   KUNIT_CASE(late_packet_counts_for_the_port),
	   KUNIT_CASE(qp_is_bound_once),
	   KUNIT_CASE(binding_outlives_a_change_of_port_attributes),
	   KUNIT_CASE(every_counter_has_a_name_and_its_place),
	   KUNIT_CASE(optional_counters_are_enabled_one_by_one));
