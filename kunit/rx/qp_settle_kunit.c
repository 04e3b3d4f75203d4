// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs that run during a pass of the data path: the test plays the pass and holds the lock of one
 * half, while another processor calls the verb.
 */
#include <kunit/static_stub.h>
#include <linux/completion.h>
#include <linux/workqueue.h>

#include "lib/hca.h"
#include "sw/verbs/queue/cq.h"
#include "sw/packet/parse.h"
#include "sw/rx/answer.h"
#include "sw/qp/qp.h"
#include "sw/rx/receive.h"
#include "sw/rx/respond_turn.h"

#define FIRST_PSN	7
#define NAK_INVALID	0x61

/* Long enough for calls that do not wait; short enough for those that do */
#define PATIENCE_MS	50

static const struct test_qp_spec plain = { .rq_psn = FIRST_PSN, .retries = 7 };

/* Work on another processor */
struct remote {
	struct work_struct work;	/* does it */
	int (*verb)(struct ib_qp *qp);	/* a verb; NULL: a packet arrives */
	struct ib_qp *qp;		/* its QP */
	struct test_hca *hca;		/* the device */
	struct test_packet packet;
	struct completion called;	/* the call comes next */
	struct completion returned;	/* the call has returned */
	int result;			/* result of the verb; for a query the state */
	bool frees;			/* frees the slot before the completion is visible */
	bool slot_is_free;		/* the slot was free */
};

static int destroy(struct ib_qp *qp)
{
	return ib_destroy_qp(qp);
}

static int reset(struct ib_qp *qp)
{
	return test_qp_move(qp, IB_QPS_RESET);
}

static int query(struct ib_qp *qp)
{
	return test_qp_state(qp);
}

static void call_verb(struct work_struct *work)
{
	struct remote *remote = container_of(work, struct remote, work);

	complete(&remote->called);
	if (remote->verb)
		remote->result = remote->verb(remote->qp);
	else
		test_receive(remote->hca, &remote->packet);
	complete(&remote->returned);
}

static bool has_passed(ktime_t begin, u32 ms)
{
	return ktime_after(ktime_get(), ktime_add_ms(begin, ms));
}

#define LONG_MS	(30 * MSEC_PER_SEC)	/* on a busy machine */

/* Spin until @condition, for @ms at most, while the other processor works */
#define spin_until(condition, ms) do {					\
	ktime_t begin = ktime_get();					\
									\
	while (!(condition) && !has_passed(begin, ms))			\
		cpu_relax();						\
} while (0)

/* A QP of this type; skips the test without a second processor */
static void set_up(struct kunit *test, struct remote *remote, enum ib_qp_type type)
{
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs a second processor");
	remote->hca = test_hca_create(test, &rhca_sw_backend, 1);
	remote->qp = test_qp_in(remote->hca, type, &plain, IB_QPS_RTS);
	init_completion(&remote->called);
	init_completion(&remote->returned);
	INIT_WORK_ONSTACK(&remote->work, call_verb);
}

static void wait_until_done(struct remote *remote)
{
	flush_work(&remote->work);
	destroy_work_on_stack(&remote->work);
}

/* Bottom halves are off, so this processor does nothing else */
static void call_remotely(struct remote *remote)
{
	schedule_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()), &remote->work);
	spin_until(completion_done(&remote->called), LONG_MS);
	spin_until(completion_done(&remote->returned), PATIENCE_MS);
}

/* How a QP ends whose user has polled a completion */
static const struct end_case {
	const char *desc;		/* the verb */
	int (*verb)(struct ib_qp *qp);	/* the function */
	bool destroys;			/* it destroys the QP */
} end_cases[] = {
	{ "destroy", destroy, true },
	{ "modify to RESET", reset },
};
KUNIT_ARRAY_PARAM_DESC(end, end_cases, desc);

/* As the responder: the completion is visible, the ACK is being sent */
static void acknowledge(struct remote *remote)
{
	struct rhca_sw_qp *qp = to_sw_qp(ibqp_to_verbs(remote->qp));
	struct rhca_batch batch = {};

	local_bh_disable();
	rcu_read_lock();
	rhca_qp_get_handle(rhca_qp_find_handle(remote->qp->qp_num));
	spin_lock(&qp->recv.lock);
	rhca_answer(qp, rhca_syndrome(RHCA_AETH_ACK, 0), FIRST_PSN);
	call_remotely(remote);
	rhca_responder_continue(qp, &batch);
	spin_unlock(&qp->recv.lock);
	rhca_qp_put(&qp->base);
	rcu_read_unlock();
	local_bh_enable();
}

static void completed_message_is_acknowledged(struct kunit *test)
{
	const struct end_case *c = test->param_value;
	struct test_sent *sent = test_alloc(test, sizeof(*sent));
	struct remote remote = { .verb = c->verb };

	set_up(test, &remote, IB_QPT_RC);
	if (c->destroys)
		remote.hca->num_qps--;
	acknowledge(&remote);
	wait_until_done(&remote);
	KUNIT_EXPECT_EQ(test, remote.result, 0);
	KUNIT_ASSERT_TRUE(test, test_sent(remote.hca, sent));
	KUNIT_EXPECT_EQ(test, sent->opcode, ACKNOWLEDGE);
	KUNIT_EXPECT_EQ(test, sent->psn, FIRST_PSN);
}

/* As after an error completion: it is visible, the state changes next */
static void fail(struct remote *remote, spinlock_t *lock, enum ib_qp_state to)
{
	spin_lock_bh(lock);
	call_remotely(remote);
	rhca_qp_fail(ibqp_to_verbs(remote->qp), to);
	spin_unlock_bh(lock);
}

/* An error completion */
static const struct error_case {
	const char *desc;	/* the failed request */
	enum ib_qp_type type;	/* of the QP */
	bool of_send;		/* a send request failed, not a receive request */
	enum ib_qp_state state;	/* resulting state of the QP */
} error_cases[] = {
	{ "send request of RC",		IB_QPT_RC, true, IB_QPS_ERR },
	{ "send request of UD",		IB_QPT_UD, true, IB_QPS_SQE },
	{ "receive request of RC",	IB_QPT_RC, false, IB_QPS_ERR },
	{ "receive request of UD",	IB_QPT_UD, false, IB_QPS_ERR },
};
KUNIT_ARRAY_PARAM_DESC(error, error_cases, desc);

static void query_shows_errors_that_were_polled(struct kunit *test)
{
	const struct error_case *c = test->param_value;
	struct remote remote = { .verb = query };
	struct rhca_sw_qp *qp;

	set_up(test, &remote, c->type);
	qp = to_sw_qp(ibqp_to_verbs(remote.qp));
	fail(&remote, c->of_send ? &qp->send.lock : &qp->recv.lock, c->state);
	wait_until_done(&remote);
	KUNIT_EXPECT_EQ(test, remote.result, (int)c->state);
}

static const u8 nak[] = { NAK_INVALID, 0, 0, 1 };
static const u8 ack[] = { 0x1f, 0, 0, 1 };

/* An event that completes a request, mostly with an error */
static const struct failure_case {
	const char *desc;		/* of the event */
	struct test_packet packet;	/* packet that arrives */
	bool of_send;			/* a send request fails, not a receive request */
	enum ib_wc_status status;	/* of the completion */
} failure_cases[] = {
	{ "send request that the peer refuses",
	  { .bth.opcode = ACKNOWLEDGE, .extended = nak,
	    .extended_bytes = sizeof(nak) },
	  .of_send = true, .status = IB_WC_REM_INV_REQ_ERR },
	{ "send request that the peer acknowledges",
	  { .bth.opcode = ACKNOWLEDGE, .extended = ack,
	    .extended_bytes = sizeof(ack) },
	  .of_send = true, .status = IB_WC_SUCCESS },
	{ "receive request with a wrong key",
	  { .bth = { .opcode = SEND_ONLY, .psn = FIRST_PSN },
	    .payload_bytes = 8 },
	  .status = IB_WC_LOC_PROT_ERR },
};
KUNIT_ARRAY_PARAM_DESC(failure, failure_cases, desc);

static void post_what_will_fail(struct test_hca *hca, struct ib_qp *qp,
				const struct failure_case *c)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)hca->buffer, .length = 64,
		.lkey = hca->pd->local_dma_lkey ^ 1,
	};
	struct ib_recv_wr recv = { .sg_list = &sge, .num_sge = 1 };
	struct ib_send_wr send = { .opcode = IB_WR_SEND };

	KUNIT_ASSERT_EQ(hca->test, 0, c->of_send ?
			ib_post_send(qp, &send, NULL) :
			ib_post_recv(qp, &recv, NULL));
}

static bool is_free(spinlock_t *lock)
{
	bool taken = spin_trylock(lock);

	if (taken)
		spin_unlock(lock);
	return taken;
}

static bool slot_is_free(const struct rhca_sw_qp *qp)
{
	return READ_ONCE(qp->base.sq.head) == qp->base.sq.tail;
}

/* The pass that completes it holds the lock of its half, and waits here for the CQ's lock */
static enum ib_qp_state state_before_completion(struct remote *remote, struct rhca_sw_qp *qp,
						spinlock_t *half)
{
	struct rhca_cq *cq = qp->base.send_cq;
	enum ib_qp_state state;

	spin_lock_irq(&cq->lock);
	schedule_work_on(cpumask_any_but(cpu_online_mask, smp_processor_id()), &remote->work);
	spin_until(!is_free(half), LONG_MS);
	spin_until(false, PATIENCE_MS);
	spin_until(!remote->frees || slot_is_free(qp), LONG_MS);
	state = READ_ONCE(qp->base.state);
	remote->slot_is_free = slot_is_free(qp);
	spin_unlock_irq(&cq->lock);
	return state;
}

/*
 * Once the state is ERR, others may flush either queue, so the failed request must complete before.
 * And whoever polls its completion may post at once, so its slot must be free before that.
 */
static void slot_completion_and_state_come_in_order(struct kunit *test)
{
	const struct failure_case *c = test->param_value;
	struct remote remote = { .packet = c->packet, .frees = c->status == IB_WC_SUCCESS };
	enum ib_qp_state state;
	struct rhca_sw_qp *qp;
	struct ib_wc wc;

	set_up(test, &remote, IB_QPT_RC);
	post_what_will_fail(remote.hca, remote.qp, c);
	qp = to_sw_qp(ibqp_to_verbs(remote.qp));
	remote.packet.bth.dest_qpn = remote.qp->qp_num;
	state = state_before_completion(&remote, qp, c->of_send ? &qp->send.lock : &qp->recv.lock);
	wait_until_done(&remote);
	KUNIT_EXPECT_EQ(test, (int)state, IB_QPS_RTS);
	KUNIT_EXPECT_TRUE(test, remote.slot_is_free || !remote.frees);
	KUNIT_ASSERT_TRUE(test, test_poll(remote.hca, &wc));
	KUNIT_EXPECT_EQ(test, wc.status, c->status);
	KUNIT_EXPECT_EQ(test, (int)test_qp_state(remote.qp),
			c->status == IB_WC_SUCCESS ? IB_QPS_RTS : IB_QPS_ERR);
}

/* --- packets of a QP's previous connection ------------------------------------------ */

static const struct late_case {
	const char *desc;
	struct test_packet packet;
	bool in_list;			/* arrives twice, in a list */
} late_cases[] = {
	{ "request", { .bth = { .opcode = SEND_ONLY, .psn = FIRST_PSN } } },
	{ "request in a list", { .bth = { .opcode = SEND_ONLY, .psn = FIRST_PSN } }, true },
	{ "response",
	  { .bth.opcode = ACKNOWLEDGE, .extended = ack, .extended_bytes = sizeof(ack) } },
	{ "response in a list",
	  { .bth.opcode = ACKNOWLEDGE, .extended = ack, .extended_bytes = sizeof(ack) }, true },
};
KUNIT_ARRAY_PARAM_DESC(late, late_cases, desc);

static struct remote *reuser;

/* With another peer, by the same PSNs; either half has a request that a packet could complete */
static int reconnect(struct ib_qp *qp)
{
	static const struct ib_send_wr send = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
	};
	static const struct ib_recv_wr recv;
	int ret = test_qp_move(qp, IB_QPS_RESET);
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	int mask;

	for (state = IB_QPS_INIT; !ret && state <= IB_QPS_RTS; state++) {
		test_qp_attr(reuser->hca, qp, &plain, state, &attr, &mask);
		attr.ah_attr.grh.dgid.raw[15] ^= 1;
		ret = ib_modify_qp(qp, &attr, mask);
	}
	return ret ?: ib_post_recv(qp, &recv, NULL) ?: ib_post_send(qp, &send, NULL);
}

/* The packet was admitted, but the lock of its half is not held yet */
static bool reconnected_meanwhile(const struct rhca_rx *rx)
{
	call_remotely(reuser);
	spin_until(completion_done(&reuser->returned), LONG_MS);
	return true;
}

static void new_connection_gets_no_packets_of_the_old_one(struct kunit *test)
{
	const struct late_case *c = test->param_value;
	struct remote remote = { .verb = reconnect, .packet = c->packet };
	struct ib_wc wc;
	LIST_HEAD(list);
	int i;

	set_up(test, &remote, IB_QPT_RC);
	reuser = &remote;
	remote.packet.bth.dest_qpn = remote.qp->qp_num;
	kunit_activate_static_stub(test, rhca_rx_icrc_ok, reconnected_meanwhile);
	for (i = 0; c->in_list && i < 2; i++)
		list_add(&test_packet_on(remote.hca, &remote.packet, remote.hca->ndev[0])->list,
			 &list);
	if (c->in_list)
		rhca_receive_list(&list, RHCA_V1);
	else
		test_receive(remote.hca, &remote.packet);
	kunit_deactivate_static_stub(test, rhca_rx_icrc_ok);
	wait_until_done(&remote);
	KUNIT_EXPECT_EQ(test, remote.result, 0);
	KUNIT_EXPECT_FALSE(test, test_poll(remote.hca, &wc));
	KUNIT_EXPECT_EQ(test, test_count(remote.hca, RHCA_RX_DROPPED_NOT_FOR_US), 1 + c->in_list);
}

TEST_SUITE(rhca_sw_qp_settle,
	   KUNIT_CASE_PARAM(completed_message_is_acknowledged, end_gen_params),
	   KUNIT_CASE_PARAM(query_shows_errors_that_were_polled, error_gen_params),
	   KUNIT_CASE_PARAM(slot_completion_and_state_come_in_order, failure_gen_params),
	   KUNIT_CASE_PARAM(new_connection_gets_no_packets_of_the_old_one, late_gen_params));
