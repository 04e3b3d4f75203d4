// SPDX-License-Identifier: GPL-2.0
/*
 * Which device a netdev should have: each row of the table, a similar case that it does not match,
 * and invariants over all possible facts.
 */
#include <linux/errno.h>

#include "lib/suite.h"
#include "lifecycle/slot_wants.h"

#define IS(fact)	.fact = true
#define HAS(what)	.has = RHCA_HAS_##what
#define OFFER(what)	.offer = RHCA_OFFER_##what
#define WISH(what)	.wish = RHCA_WISH_##what
#define LAG(what)	.lag = RHCA_SLOT_LAG_##what
#define PAIR(what)	.pair = RHCA_PAIR_##what
#define OTHER(what)	.other = RHCA_OTHER_##what
#define LEADER(what)	.leader = RHCA_LEADER_##what
#define NETDEV(what)	.netdev = RHCA_NETDEV_##what
#define LINK		WISH(LINK)
/* A netdev that is up, without other facts */
#define USUAL		NETDEV(UP), IS(can_roce), IS(one_port)
#define USUAL_DOWN	NETDEV(DOWN), IS(can_roce), IS(one_port)
#define ROW(row, want)	RHCA_ROW_##row, RHCA_WANT_##want
#define WANTED		ROW(WANTED, SOFTWARE)

/* Facts, and what follows */
static const struct wants_case {
	const char *desc;		/* names the case */
	struct rhca_slot_facts f;	/* the facts */
	enum rhca_slot_row row; /* the row that matches; similar cases match another row */
	enum rhca_want want;		/* what the netdev should have */
	int error;			/* result of a request */
	unsigned int settle_ms;		/* when */
	unsigned int again_ms;		/* when to look again */
} wants_cases[] = {
	{ "gone", { LINK, IS(can_roce), IS(one_port) }, ROW(NETDEV_GONE, NOTHING), -ENODEV },
	{ "not gone: down", { USUAL_DOWN, LINK }, WANTED },
	{ "gone for its device", { USUAL, LINK, LAG(MEMBER), IS(under_bond), HAS(ORPHAN) },
	  ROW(NETDEV_GONE, NOTHING), -ENODEV },
	{ "no RoCE on it", { LINK, NETDEV(UP), IS(one_port) }, ROW(NO_ROCE, NOTHING), -EINVAL },
	{ "asked for twice", { USUAL, LINK, IS(request), HAS(SOFTWARE) },
	  ROW(ASKED_TWICE, KEEP), -EEXIST },
	{ "asked for on a further port", { USUAL, LINK, IS(request), LEADER(DEVICE) },
	  ROW(ASKED_TWICE, KEEP), -EEXIST },
	{ "asked for while the last one leaves", { USUAL, LINK, IS(request), HAS(LEAVING) },
	  ROW(ASKED_TWICE, KEEP), -EEXIST },
	{ "not asked for twice: nobody asks", { USUAL, LINK, HAS(SOFTWARE) }, WANTED },
	{ "removed", { USUAL, WISH(REMOVED), IS(was_hardware), OFFER(FREE) },
	  ROW(USER_REMOVED, NOTHING) },
	{ "not removed: members have new ones", { USUAL, WISH(REMOVED), LAG(HERE) },
	  ROW(LAG, LAG) },
	{ "member", { USUAL, LINK, LAG(MEMBER), IS(under_bond), HAS(SOFTWARE) },
	  ROW(LED, NOTHING), -EBUSY },
	{ "asked for on a member", { USUAL, LINK, IS(request), IS(under_bond), LEADER(LAG) },
	  ROW(LED, NOTHING), -EBUSY },
	{ "further port", { USUAL, LEADER(DEVICE), OFFER(FREE) }, ROW(LED, NOTHING), -EBUSY },
	{ "no member: the bond is none", { USUAL, LINK, IS(under_bond) }, WANTED },
	{ "rule of the LAG broken", { USUAL, LINK, HAS(LAG) }, ROW(LAG_ENDED, NOTHING) },
	{ "second netdev of the pair not usable", { USUAL, HAS(LAG), PAIR(WAITS) },
	  ROW(LAG_ENDED, NOTHING) },
	{ "no end of a LAG: leaves already", { USUAL, LINK, HAS(LEAVING) }, WANTED },
	{ "another driver's is being registered",
	  { USUAL, LINK, IS(standin_rule), HAS(SOFTWARE), OTHER(CHANGING) },
	  ROW(OTHER_CHANGES, KEEP), -EBUSY, .again_ms = 1000 },
	{ "stand-in gives way", { USUAL, IS(standin_rule), HAS(SOFTWARE), OTHER(SERVES) },
	  ROW(OTHER_DISPLACES, NOTHING), -EBUSY },
	{ "stand-in after hardware gives way", { USUAL, IS(was_hardware), OTHER(SERVES) },
	  ROW(OTHER_DISPLACES, NOTHING), -EBUSY },
	{ "stays beside another driver's",
	  { USUAL, LINK, HAS(SOFTWARE), OTHER(SERVES), OFFER(FREE) },
	  ROW(BESIDE_OTHER, KEEP), -EBUSY },
	{ "bond of another driver", { USUAL, LAG(HERE), OTHER(SERVES) },
	  ROW(BESIDE_OTHER, KEEP), -EBUSY },
	{ "not beside another driver's: alone", { USUAL, LINK, HAS(SOFTWARE), OFFER(FREE) },
	  ROW(HARDWARE, HARDWARE) },
	{ "while rdma_rxe is unloaded", { USUAL, LINK, IS(rxe_leaving) },
	  ROW(RXE_LEAVES, KEEP), -EBUSY, .again_ms = 200 },
	{ "no LAG while rdma_rxe is unloaded", { USUAL, LAG(HERE), IS(rxe_leaving) },
	  ROW(RXE_LEAVES, KEEP), -EBUSY, .again_ms = 200 },
	{ "bond", { USUAL, LAG(HERE) }, ROW(LAG, LAG) },
	{ "pair", { USUAL, LINK, PAIR(USABLE), HAS(SOFTWARE) }, ROW(LAG, LAG) },
	{ "no LAG: pair waits", { USUAL, LINK, PAIR(WAITS), HAS(SOFTWARE) }, WANTED },
	{ "hardware serves", { USUAL, LINK, HAS(HARDWARE), OFFER(BUSY) },
	  ROW(HARDWARE_SERVES, KEEP) },
	{ "unable for now", { USUAL, LINK, HAS(HARDWARE), OFFER(LISTED) },
	  ROW(HARDWARE_SERVES, KEEP) },
	{ "hardware does not serve: withdrawn", { USUAL, IS(was_hardware), HAS(HARDWARE) },
	  ROW(STANDS_IN, SOFTWARE), .settle_ms = 1000 },
	{ "hardware", { USUAL, OFFER(FREE) }, ROW(HARDWARE, HARDWARE) },
	{ "takes over", { USUAL, LINK, HAS(SOFTWARE), OFFER(FREE) }, ROW(HARDWARE, HARDWARE) },
	{ "no hardware: partitions", { USUAL, LINK, IS(tenants), HAS(SOFTWARE), OFFER(FREE) },
	  WANTED },
	{ "no hardware: two ports", { LINK, NETDEV(UP), IS(can_roce), OFFER(FREE) }, WANTED },
	{ "no hardware: not able", { USUAL, LINK, OFFER(LISTED) }, WANTED },
	{ "last device ends", { USUAL, LINK, OFFER(BUSY) }, ROW(HARDWARE_ENDS, KEEP), -EALREADY },
	{ "last device is not waited for: partitions", { USUAL, LINK, IS(tenants), OFFER(BUSY) },
	  WANTED },
	{ "asked for", { USUAL, LINK, IS(request) }, WANTED },
	{ "rule", { USUAL, WISH(RULE), IS(ports_there) }, WANTED },
	{ "hardware failed", { USUAL, OFFER(FAILED) }, WANTED },
	{ "partitions keep the port with software", { USUAL, IS(tenants), OFFER(FREE) }, WANTED },
	{ "device returns", { USUAL, IS(returns) }, WANTED },
	{ "device returns, on two netdevs", { NETDEV(UP), IS(can_roce), IS(returns), OFFER(FREE) },
	  WANTED },
	{ "no software: hardware can", { USUAL, IS(returns), OFFER(FREE) },
	  ROW(HARDWARE, HARDWARE) },
	{ "no software: removed by the user as well", { USUAL, IS(returns), WISH(REMOVED) },
	  ROW(USER_REMOVED, NOTHING) },
	{ "asked for after hardware", { USUAL, LINK, IS(was_hardware) },
	  WANTED, .settle_ms = 1000 },
	{ "asked for where ours stands in", { USUAL, LINK, IS(standin_rule) },
	  WANTED, .settle_ms = 1000 },
	{ "request does not wait", { USUAL, LINK, IS(request), IS(was_hardware) }, WANTED },
	{ "no software: a port is missing", { USUAL, WISH(RULE) }, ROW(OTHERWISE, KEEP) },
	{ "stand-in", { USUAL, IS(standin_rule) }, ROW(STANDS_IN, SOFTWARE), .settle_ms = 1000 },
	{ "no stand-in: bonded", { USUAL, IS(standin_rule), IS(under_bond) },
	  ROW(MAY_STAND_IN, KEEP) },
	{ "stand-in stays: down", { USUAL_DOWN, IS(standin_rule), HAS(SOFTWARE) },
	  ROW(MAY_STAND_IN, KEEP) },
	{ "no device is kept: no rule", { USUAL_DOWN }, ROW(OTHERWISE, KEEP) },
	{ "nothing is known", { USUAL }, ROW(OTHERWISE, KEEP) },
};
KUNIT_ARRAY_PARAM_DESC(wants, wants_cases, desc);

/* --- which facts there can be ----------------------------------------------------- */

static bool device_is_possible(const struct rhca_slot_facts *f)
{
	switch (f->has) {
	case RHCA_HAS_HARDWARE:
		/* With its own offer; it has one port and only the default partition */
		return f->offer != RHCA_OFFER_FREE &&
		       f->offer != RHCA_OFFER_FAILED && !f->tenants &&
		       f->one_port && f->lag != RHCA_SLOT_LAG_HERE;
	case RHCA_HAS_SOFTWARE:
		/* A bond with its own device is no LAG */
		return f->lag != RHCA_SLOT_LAG_HERE;
	default:
		return true;
	}
}

static bool bond_is_possible(const struct rhca_slot_facts *f)
{
	if (f->lag == RHCA_SLOT_LAG_MEMBER && !f->under_bond)
		return false;
	if (f->lag == RHCA_SLOT_LAG_HERE)
		return !f->under_bond && f->leader == RHCA_LEADER_NONE &&
		       f->pair == RHCA_PAIR_NO;
	return true;
}

/* A member of a LAG waits for its end */
static bool serves(const struct rhca_slot_facts *f)
{
	return f->has == RHCA_HAS_SOFTWARE || f->has == RHCA_HAS_HARDWARE;
}

/*
 * Only a user's request has a result, and is the wish by then; a netdev that is served by a device
 * of another one has none of its own; one that has a device is not waiting for its return.
 */
static bool facts_are_possible(const struct rhca_slot_facts *f)
{
	if (f->request && f->wish != RHCA_WISH_LINK)
		return false;
	if (f->ports_there && f->wish != RHCA_WISH_RULE)
		return false;
	if (f->leader != RHCA_LEADER_NONE && f->has != RHCA_HAS_NONE)
		return false;
	if (f->returns && serves(f))
		return false;
	return device_is_possible(f) && bond_is_possible(f);
}

/* --- rows ------------------------------------------------------------------------- */

static void first_row_that_matches_decides(struct kunit *test)
{
	const struct wants_case *c = test->param_value;
	struct rhca_slot_decision d;

	KUNIT_EXPECT_TRUE(test, facts_are_possible(&c->f));
	rhca_slot_wants(&c->f, &d);
	KUNIT_EXPECT_EQ(test, d.row, c->row);
	KUNIT_EXPECT_EQ(test, d.want, c->want);
	KUNIT_EXPECT_EQ(test, d.error, c->error);
	KUNIT_EXPECT_EQ(test, d.settle_ms, c->settle_ms);
	KUNIT_EXPECT_EQ(test, d.again_ms, c->again_ms);
}

/* --- all facts -------------------------------------------------------------------- */

/* Take a digit of @number, which enumerates all facts */
static unsigned int digit(u32 *number, unsigned int base)
{
	unsigned int value = *number % base;

	*number /= base;
	return value;
}

/* Facts of the first two rows, which depend on no others, are in wants_cases */
static bool facts_of_number(u32 number, struct rhca_slot_facts *f)
{
	*f = (struct rhca_slot_facts) { .can_roce = true };
	f->request = digit(&number, 2);
	f->ports_there = digit(&number, 2);
	f->wish = digit(&number, RHCA_WISH_REMOVED + 1);
	f->has = digit(&number, RHCA_HAS_LEAVING + 1);
	f->leader = digit(&number, RHCA_LEADER_LAG + 1);
	f->offer = digit(&number, RHCA_OFFER_FREE + 1);
	f->other = digit(&number, RHCA_OTHER_SERVES + 1);
	f->lag = digit(&number, RHCA_SLOT_LAG_HERE + 1);
	f->pair = digit(&number, RHCA_PAIR_USABLE + 1);
	f->netdev = RHCA_NETDEV_DOWN + digit(&number, 2);
	f->standin_rule = digit(&number, 2);
	f->was_hardware = digit(&number, 2);
	f->under_bond = digit(&number, 2);
	f->tenants = digit(&number, 2);
	f->one_port = digit(&number, 2);
	f->rxe_leaving = digit(&number, 2);
	f->returns = digit(&number, 2);
	return !number;
}

static bool creates(const struct rhca_slot_facts *f, const struct rhca_slot_decision *d)
{
	return d->want != RHCA_WANT_NOTHING && d->want != RHCA_WANT_KEEP &&
	       !rhca_slot_is_met(d->want, f->has);
}

/* What is wrong with a decision, or NULL */
static const char *objection(const struct rhca_slot_facts *f, const struct rhca_slot_decision *d)
{
	bool hardware = d->want == RHCA_WANT_HARDWARE;
	bool none = d->want == RHCA_WANT_NOTHING || f->has == RHCA_HAS_NONE;

	if (hardware && (f->tenants || !f->one_port))
		return "hardware with partitions, or several ports";
	if (f->wish == RHCA_WISH_REMOVED && f->lag != RHCA_SLOT_LAG_HERE &&
	    d->want != RHCA_WANT_NOTHING)
		return "a device that the user has removed";
	if (f->has == RHCA_HAS_ORPHAN && d->want != RHCA_WANT_NOTHING)
		return "a device that has lost a netdev";
	if (f->other != RHCA_OTHER_NONE && creates(f, d))
		return "a device beside another driver's";
	if (f->leader != RHCA_LEADER_NONE && !(none && !creates(f, d)))
		return "two devices on a netdev";
	if (f->lag == RHCA_SLOT_LAG_MEMBER && creates(f, d))
		return "a device on a member of a LAG";
	if (f->rxe_leaving && creates(f, d))
		return "a device that rdma_rxe takes along";
	if (f->request && !d->error && !creates(f, d))
		return "a request that succeeds without a device";
	if (f->returns && d->row == RHCA_ROW_OTHERWISE)
		return "a device that does not return";
	return NULL;
}

/* Update the facts after the decision was carried out; a hardware device is the offer's */
static void act(struct rhca_slot_facts *f, const struct rhca_slot_decision *d)
{
	static const enum rhca_slot_has has[] = {
		[RHCA_WANT_NOTHING]	= RHCA_HAS_NONE,
		[RHCA_WANT_SOFTWARE]	= RHCA_HAS_SOFTWARE,
		[RHCA_WANT_HARDWARE]	= RHCA_HAS_HARDWARE,
		[RHCA_WANT_LAG]		= RHCA_HAS_LAG,
	};

	f->request = false;
	if (d->want == RHCA_WANT_KEEP)
		return;
	if (f->has == RHCA_HAS_HARDWARE && d->want != RHCA_WANT_HARDWARE &&
	    f->offer == RHCA_OFFER_BUSY)
		f->offer = RHCA_OFFER_FREE;
	f->has = has[d->want];
	f->returns &= !serves(f);
	if (d->want == RHCA_WANT_HARDWARE) {
		f->offer = RHCA_OFFER_BUSY;
		f->was_hardware = false;
	}
}

/* A request takes one step more, and so does the end of a LAG */
static bool settles(struct rhca_slot_facts *f)
{
	struct rhca_slot_decision d;
	int steps;

	for (steps = 0; steps < 4; steps++) {
		rhca_slot_wants(f, &d);
		if (rhca_slot_is_met(d.want, f->has) && !f->request)
			return true;
		act(f, &d);
	}
	return false;
}

/* The user wants a device, nothing prevents one of its own, and none is ending */
static bool may_be_served(const struct rhca_slot_facts *f)
{
	return f->wish == RHCA_WISH_LINK && f->other == RHCA_OTHER_NONE && !f->rxe_leaving &&
	       f->leader == RHCA_LEADER_NONE && f->lag == RHCA_SLOT_LAG_NO &&
	       f->pair != RHCA_PAIR_USABLE && f->has != RHCA_HAS_LEAVING &&
	       (f->offer != RHCA_OFFER_BUSY || f->has == RHCA_HAS_HARDWARE);
}

/* Hardware serves if it can, else software, whatever was there before */
static bool ends_well(const struct rhca_slot_facts *f, const struct rhca_slot_facts *end)
{
	bool hardware = f->has == RHCA_HAS_HARDWARE ? f->offer != RHCA_OFFER_NONE :
			f->offer == RHCA_OFFER_FREE && f->one_port && !f->tenants;

	return !may_be_served(f) ||
	       end->has == (hardware ? RHCA_HAS_HARDWARE : RHCA_HAS_SOFTWARE);
}

static void decisions_hold_the_invariants(struct kunit *test)
{
	struct rhca_slot_decision d;
	struct rhca_slot_facts f, end;
	const char *wrong;
	u32 number, possible = 0, wrongs = 0;

	for (number = 0; facts_of_number(number, &f); number++) {
		if (!facts_are_possible(&f))
			continue;
		possible++;
		rhca_slot_wants(&f, &d);
		wrong = objection(&f, &d);
		end = f;
		if (!wrong && !settles(&end))
			wrong = "decisions that do not come to rest";
		if (!wrong && !ends_well(&f, &end))
			wrong = "decisions that come to rest with the wrong device";
		wrongs += !!wrong;
		if (wrong && wrongs <= 10)
			KUNIT_FAIL(test, "facts_of_number(%u): %s", number, wrong);
	}
	KUNIT_EXPECT_EQ(test, wrongs, 0);
	kunit_info(test, "%u of %u combinations are possible\n", possible, number);
}

TEST_SUITE(rhca_slot_wants,
	   KUNIT_CASE_PARAM(first_row_that_matches_decides, wants_gen_params),
	   KUNIT_CASE(decisions_hold_the_invariants));
