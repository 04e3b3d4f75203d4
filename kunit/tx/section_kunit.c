// SPDX-License-Identifier: GPL-2.0
/*
 * How much is sent with bottom halves off: at most 64 packets, and with PREEMPT_RT at most 64 KiB,
 * whatever is pending and for any number of QPs. And how much is sent in a process's time.
 */
#include <linux/interrupt.h>
#include <linux/sched/task.h>

#include "lib/course.h"
#include "sw/rx/receive.h"
#include "sw/verbs/section.h"

#define MOST_PACKETS	64
#ifdef CONFIG_PREEMPT_RT
#define MOST_BYTES	(64 * 1024)
#else
#define MOST_BYTES	(MOST_PACKETS * 4096)
#endif
#define FIRST_PSN	1
#define REQUESTS	8
#define QPS		8

static const struct test_qp_spec spec = {
	.access = IB_ACCESS_REMOTE_READ, .rq_psn = FIRST_PSN, .sq_psn = FIRST_PSN,
	.responder_resources = 4, .retries = 7,
};

static const struct section_case {
	const char *desc;
	u32 mtu;
} section_cases[] = {
	{ "small packets", TEST_MTU_BYTES },
	{ "large packets", 4096 },
};
KUNIT_ARRAY_PARAM_DESC(section, section_cases, desc);

/* Both bounds apply */
static u32 most_of(u32 mtu)
{
	return min(MOST_PACKETS, MOST_BYTES / mtu);
}

/* Each case has its own thread, so this ends with the case */
static struct test_hca *setup(struct kunit *test)
{
	struct test_hca *hca;

	KUNIT_ASSERT_EQ(test, 0, set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id())));
	hca = test_hca_create(test, &rhca_sw_backend, 1);
	return hca;
}

static struct ib_qp *ready_qp(struct test_hca *hca, enum ib_qp_type type, u32 mtu)
{
	struct ib_qp *qp = test_qp_in(hca, type, &spec, IB_QPS_RTS);

	to_sw_qp(ibqp_to_verbs(qp))->base.mtu_bytes = mtu;
	return qp;
}

/* A list of WRITEs of the whole buffer; of UC, as RC has a window */
static void post_writes(struct test_hca *hca, struct ib_qp *qp)
{
	struct ib_sge sge = test_sge(hca, 0, TEST_BUFFER_BYTES);
	struct ib_rdma_wr wr[REQUESTS] = {};
	u32 i;

	for (i = 0; i < REQUESTS; i++) {
		wr[i].wr.opcode = IB_WR_RDMA_WRITE;
		wr[i].wr.sg_list = &sge;
		wr[i].wr.num_sge = 1;
		wr[i].wr.next = i + 1 < REQUESTS ? &wr[i + 1].wr : NULL;
	}
	KUNIT_ASSERT_EQ(hca->test, 0, ib_post_send(qp, &wr[0].wr, NULL));
}

static void post_sends_no_more_than_a_section(struct kunit *test)
{
	const struct section_case *c = test->param_value;
	struct test_hca *hca = setup(test);
	struct ib_qp *qp = ready_qp(hca, IB_QPT_UC, c->mtu);

	local_bh_disable();
	post_writes(hca, qp);
	KUNIT_EXPECT_EQ(test, test_num_sent(hca), most_of(c->mtu));
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(hca) > most_of(c->mtu)));
}

/* --- tasklets ---------------------------------------------------------------- */

/* Runs between two runs of the tasklet that sends */
struct between {
	struct tasklet_struct task;	/* queued after it in the CPU's list */
	struct test_hca *hca;		/* where it sends */
	u32 seen;			/* packets sent when @task ran last */
	u32 most;			/* packets sent between two runs, at most */
	u32 runs;			/* number of runs */
};

static void count_between(struct tasklet_struct *task)
{
	struct between *b = container_of(task, struct between, task);
	u32 sent = test_num_sent(b->hca);

	b->most = max(b->most, sent - b->seen);
	if (sent == b->seen)
		return;
	b->seen = sent;
	b->runs++;
	tasklet_schedule(task);
}

/* Each QP has work for a turn, and for another one after that */
static void expect_most_of_tasklet(struct test_hca *hca, u32 mtu)
{
	struct kunit *test = hca->test;
	struct between *b = test_alloc(test, sizeof(*b));
	struct ib_qp *qps[QPS];
	u32 i;

	b->hca = hca;
	tasklet_setup(&b->task, count_between);
	for (i = 0; i < QPS; i++)
		qps[i] = ready_qp(hca, IB_QPT_UC, mtu);
	local_bh_disable();
	for (i = 0; i < QPS; i++)
		post_writes(hca, qps[i]);
	b->seen = test_num_sent(hca);
	tasklet_schedule(&b->task);
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, test_becomes(b->runs >= QPS));
	tasklet_kill(&b->task);
	KUNIT_EXPECT_LE(test, b->most, most_of(mtu));
}

static void tasklet_sends_no_more_than_a_section(struct kunit *test)
{
	const struct section_case *c = test->param_value;

	expect_most_of_tasklet(setup(test), c->mtu);
}

/* As a preempted thread, with PREEMPT_RT */
static void set_section_owner(const struct task_struct *owner)
{
	local_bh_disable();
	this_cpu_ptr(&rhca_sections)->owner = owner;
	local_bh_enable();
}

static void tasklet_that_preempts_a_section_sends_no_more(struct kunit *test)
{
	const struct section_case *c = test->param_value;
	struct test_hca *hca = setup(test);

	set_section_owner(&init_task);
	expect_most_of_tasklet(hca, c->mtu);
	set_section_owner(NULL);
}

/* --- answers ----------------------------------------------------------------- */

/* Requests to several QPs, in one list from an adapter's driver */
static void answers_are_no_more_than_a_section(struct kunit *test)
{
	const struct section_case *c = test->param_value;
	struct test_hca *hca = setup(test);
	struct bench b = { .hca = hca, .spec = spec };
	LIST_HEAD(list);
	u32 i;

	for (i = 0; i < QPS; i++) {
		b.qp = ready_qp(hca, IB_QPT_RC, c->mtu);
		if (!i)
			test_mr(hca, b.qp, TEST_BUFFER_BYTES, spec.access | IB_ACCESS_LOCAL_WRITE);
		list_add_tail(&test_request(&b, &(struct request) {
			READ_REQUEST, .length = TEST_BUFFER_BYTES })->list, &list);
	}
	local_bh_disable();
	rhca_receive_list(&list, RHCA_V1);
	KUNIT_EXPECT_EQ(test, test_num_sent(hca), most_of(c->mtu));
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(hca) ==
					     QPS * TEST_BUFFER_BYTES / c->mtu));
}

/* --- a process's time ----------------------------------------------------------- */

static const struct spared_case {
	const char *desc;
	int prio;
	unsigned int flags;
	bool spared;
} spared_cases[] = {
	{ "a process", DEFAULT_PRIO, 0, true },
	{ "a process with a positive nice value", MAX_PRIO - 1, 0, true },
	{ "a process with a negative nice value", DEFAULT_PRIO - 1, 0, false },
	{ "a realtime process", MAX_RT_PRIO - 1, 0, false },
	{ "a kernel thread", DEFAULT_PRIO, PF_KTHREAD, false },
};
KUNIT_ARRAY_PARAM_DESC(spared, spared_cases, desc);

static void processes_equal_to_ksoftirqd_are_spared(struct kunit *test)
{
	const struct spared_case *c = test->param_value;
	struct task_struct *task = test_alloc(test, sizeof(*task));

	task->prio = c->prio;
	task->flags = c->flags;
	KUNIT_EXPECT_EQ(test, rhca_is_spared(task), c->spared);
}

/*
 * Enable bottom halves as a process does, not as the thread that it is, and so run softirqs. @sent:
 * by sections in this period already. @polls: in vain, then. Returns how many packets @hca has
 * sent
 */
static u32 softirqs_of_process(struct test_hca *hca, u32 sent, bool polls)
{
	struct rhca_section *section = this_cpu_ptr(&rhca_sections);
	struct ib_wc wc;

	preempt_disable();
	section->owner = &init_task;	/* its section continues, and so does the period */
	section->sent = sent;
	current->flags &= ~PF_KTHREAD;
	local_bh_enable();
	/* Twice: another test may have found something in its queue before */
	if (polls && !test_poll(hca, &wc))
		test_poll(hca, &wc);
	sent = test_num_sent(hca);
	current->flags |= PF_KTHREAD;
	section->owner = NULL;
	section->sent = 0;
	preempt_enable();
	return sent;
}

static const struct borrow_case {
	const char *desc;
	u32 sent;
	bool more;
	bool polls;
	bool own;	/* the process created the QP */
	bool leaves;	/* and does not run any more when the softirq does */
} borrow_cases[] = {
	{ "little was sent", 0, true },
	{ "much was sent", RHCA_BORROWED_PACKETS, false },
	{ "much was sent, but it polls an empty CQ", RHCA_BORROWED_PACKETS, true, true },
	{ "much was sent, but the QP is its own", RHCA_BORROWED_PACKETS, true, .own = true },
	{ "much was sent, the QP is that of the process before", RHCA_BORROWED_PACKETS, false,
	  .own = true, .leaves = true },
};
KUNIT_ARRAY_PARAM_DESC(borrow, borrow_cases, desc);

struct arrival {
	struct tasklet_struct task;
	struct sk_buff *skb;
};

static void arrive(struct tasklet_struct *task)
{
	test_arrive(container_of(task, struct arrival, task)->skb, RHCA_V1);
}

static void ack_sends_in_a_process_unless_much_was_sent(struct kunit *test)
{
	const struct borrow_case *c = test->param_value;
	struct test_hca *hca = setup(test);
	struct ib_qp *qp = ready_qp(hca, IB_QPT_RC, TEST_MTU_BYTES);
	struct arrival *ack = test_alloc(test, sizeof(*ack));
	__be32 aeth = 0;
	struct test_packet packet = {
		.bth = { .opcode = ACKNOWLEDGE, .psn = FIRST_PSN, .dest_qpn = qp->qp_num },
		.extended = &aeth,
		.extended_bytes = sizeof(aeth),
	};
	u32 before;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "softirqs are threads");
	tasklet_setup(&ack->task, arrive);
	ack->skb = test_packet_on(hca, &packet, hca->ndev[0]);
	to_sw_qp(ibqp_to_verbs(qp))->send.cwnd.packets = MOST_PACKETS;
	post_writes(hca, qp);
	before = test_num_sent(hca);
	qp->res.task = c->own ? current : NULL;
	local_bh_disable();
	tasklet_schedule(&ack->task);
	if (c->leaves)
		qp->res.task = NULL;
	KUNIT_EXPECT_EQ(test, softirqs_of_process(hca, c->sent, c->polls) > before, c->more);
	qp->res.task = NULL;
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(hca) > before));
	tasklet_kill(&ack->task);
}

static void tasklet_sends_in_a_process_unless_much_was_sent(struct kunit *test)
{
	const struct borrow_case *c = test->param_value;
	struct test_hca *hca = setup(test);
	struct ib_qp *qp = ready_qp(hca, IB_QPT_UC, TEST_MTU_BYTES);

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "softirqs are threads");
	qp->res.task = c->own ? current : NULL;
	local_bh_disable();
	this_cpu_write(rhca_sections.sent, c->sent);
	post_writes(hca, qp);
	if (c->leaves)
		qp->res.task = NULL;
	KUNIT_EXPECT_EQ(test, softirqs_of_process(hca, c->sent, c->polls) > MOST_PACKETS,
			c->more);
	qp->res.task = NULL;
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(hca) > MOST_PACKETS));
}

struct expiry {
	struct tasklet_struct task;
	struct rhca_turn *turn;
};

/* Whatever the softirq of timers waits for, this one has expired */
static void expire(struct tasklet_struct *task)
{
	struct hrtimer *timer = &container_of(task, struct expiry, task)->turn->timer;

	ACCESS_PRIVATE(timer, function)(timer);
}

static void rnr_pause_ends_in_a_process_unless_much_was_sent(struct kunit *test)
{
	const struct borrow_case *c = test->param_value;
	struct test_hca *hca = setup(test);
	struct ib_qp *qp = ready_qp(hca, IB_QPT_RC, TEST_MTU_BYTES);
	struct expiry *e = test_alloc(test, sizeof(*e));
	u32 before;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "softirqs are threads");
	tasklet_setup(&e->task, expire);
	e->turn = &to_sw_qp(ibqp_to_verbs(qp))->send.turn;
	post_writes(hca, qp);
	before = test_num_sent(hca);
	qp->res.task = c->own ? current : NULL;
	local_bh_disable();
	test_answer(hca, qp, ACKNOWLEDGE, FIRST_PSN, 0x21 << 24 /* 10 us */, 0);
	while (ktime_get_ns() < READ_ONCE(e->turn->not_before))
		cpu_relax();
	tasklet_schedule(&e->task);
	if (c->leaves)
		qp->res.task = NULL;
	KUNIT_EXPECT_EQ(test, softirqs_of_process(hca, c->sent, c->polls) > before, c->more);
	qp->res.task = NULL;
	KUNIT_EXPECT_TRUE(test, test_becomes(test_num_sent(hca) > before));
	tasklet_kill(&e->task);
}

/* With 32 bits these may be a few weeks */
static void period_ends_while_half_of_all_jiffies_pass(struct kunit *test)
{
	struct rhca_section *section;

	local_bh_disable();
	section = this_cpu_ptr(&rhca_sections);
	section->since = jiffies;
	section->sent = 1;
	rhca_section_end(rhca_section_begin());
	KUNIT_EXPECT_EQ(test, section->sent, 1);
	section->since = jiffies - ULONG_MAX / 2 - HZ;
	rhca_section_end(rhca_section_begin());
	KUNIT_EXPECT_EQ(test, section->sent, 0);
	local_bh_enable();
}

TEST_SUITE(rhca_section,
	   KUNIT_CASE_PARAM(post_sends_no_more_than_a_section, section_gen_params),
	   KUNIT_CASE_PARAM(tasklet_sends_no_more_than_a_section, section_gen_params),
	   KUNIT_CASE_PARAM(tasklet_that_preempts_a_section_sends_no_more, section_gen_params),
	   KUNIT_CASE_PARAM(answers_are_no_more_than_a_section, section_gen_params),
	   KUNIT_CASE_PARAM(processes_equal_to_ksoftirqd_are_spared, spared_gen_params),
	   KUNIT_CASE_PARAM(ack_sends_in_a_process_unless_much_was_sent, borrow_gen_params),
	   KUNIT_CASE_PARAM(tasklet_sends_in_a_process_unless_much_was_sent, borrow_gen_params),
	   KUNIT_CASE_PARAM(rnr_pause_ends_in_a_process_unless_much_was_sent, borrow_gen_params),
	   KUNIT_CASE(period_ends_while_half_of_all_jiffies_pass));
