// SPDX-License-Identifier: GPL-2.0
/* Responses rejected by the local queue: which are sent again. */
#include "lib/packet.h"
#include "sw/qp/recv_half.h"
#include "sw/rx/answer.h"

#define NUM_RESOURCES	4
#define NUM_ANSWERED	3

/* PSNs of the answers to three READs, from the first; they wrap */
static const struct {
	u8 first;
	u8 last;
} reads[NUM_ANSWERED] = { { 0, 3 }, { 4, 4 }, { 5, 9 } };

#define FIRST_PSN	0xfffffd

static u32 psn_of(u8 number)
{
	return (FIRST_PSN + number) & 0xffffff;
}

/* A rejected response */
static const struct refusal_case {
	const char *desc;	/* which */
	u8 sent;		/* responses handed to the queue before */
	u8 refused;		/* the first that the queue rejected */
	u8 next[NUM_ANSWERED];	/* next response of each READ to send */
	u8 sending;		/* the READ to continue with */
} refusals[] = {
	{ "first response", 10, 0, { 0, 4, 5 }, 0 },
	{ "in the middle of the oldest", 10, 2, { 2, 4, 5 }, 0 },
	{ "only response", 10, 4, { 4, 4, 5 }, 1 },
	{ "last response", 10, 9, { 4, 5, 9 }, 2 },
	{ "while the newest is being sent", 7, 6, { 4, 5, 6 }, 2 },
	{ "before the one being sent", 7, 1, { 1, 4, 5 }, 0 },
	{ "of the second, with the third not begun", 5, 4, { 4, 4, 5 }, 1 },
};
KUNIT_ARRAY_PARAM_DESC(refusal, refusals, desc);

/* The state after @sent responses; READs before the oldest are forgotten */
static void set_up(struct rhca_responder *recv, u32 oldest, u8 sent)
{
	struct rhca_resource *res;
	u32 i;

	recv->num_resources = NUM_RESOURCES;
	recv->newest_resource = oldest + NUM_ANSWERED;
	recv->sending_resource = oldest;
	for (i = 0; i < NUM_ANSWERED; i++) {
		res = rhca_resource_at(recv, oldest + i);
		res->first_psn = psn_of(reads[i].first);
		res->last_psn = psn_of(reads[i].last);
		res->next_psn = psn_of(clamp_t(u8, sent, reads[i].first, reads[i].last + 1));
		if (sent > reads[i].last)
			recv->sending_resource++;
	}
}

static void refused_responses_are_sent_again(struct kunit *test)
{
	static const u32 oldest[] = { 0, 2, 0xfffffffe };	/* indices wrap */
	const struct refusal_case *c = test->param_value;
	struct rhca_responder *recv = test_alloc(test, sizeof(*recv));
	unsigned int i, k;

	recv->resources = test_alloc(test, NUM_RESOURCES * sizeof(*recv->resources));
	for (i = 0; i < ARRAY_SIZE(oldest); i++) {
		set_up(recv, oldest[i], c->sent);
		recv->placed = 17;
		rhca_answer_go_back(recv, psn_of(c->refused));
		KUNIT_EXPECT_EQ(test, recv->sending_resource, oldest[i] + c->sending);
		KUNIT_EXPECT_EQ(test, recv->placed, 0);
		for (k = 0; k < NUM_ANSWERED; k++)
			KUNIT_EXPECT_EQ_MSG(test,
					    rhca_resource_at(recv, oldest[i] + k)->next_psn,
					    psn_of(c->next[k]), "READ %u", k);
	}
}

TEST_SUITE(rhca_answer,
	   KUNIT_CASE_PARAM(refused_responses_are_sent_again, refusal_gen_params));
