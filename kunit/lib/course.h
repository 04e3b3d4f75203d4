/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QP of the software HCA whose peer is the test; and sequences of actions and checks as rows of
 * tables. Steps needed by one suite only are functions of that suite.
 */
#ifndef RHCA_KUNIT_LIB_COURSE_H
#define RHCA_KUNIT_LIB_COURSE_H

#include "lib/hca.h"
#include "sw/qp/qp.h"

#define BUFFER_OFFSET	(48 * 1024)	/* receive buffers, one after the other */
#define BUFFER_BYTES	600

/* Syndromes of table 43 */
#define NO_CREDITS	0x1f		/* an ACK without a credit count */
#define NAK_PSN		0x60
#define NAK_INVALID	0x61
#define NAK_ACCESS	0x62
#define NAK_OPERATION	0x63
#define RNR		(0x20 | TEST_RNR_TIMER)

#define ALL_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

#define REMOTE_ADDR	0x1000000000ULL
#define REMOTE_KEY	0x4711
#define IMM		0x12345678

/* A QP; its region, if any, covers the first bytes of the buffer */
struct bench {
	struct test_hca *hca;		/* the device */
	struct ib_qp *qp;		/* the QP */
	struct rhca_sw_qp *sw;		/* the same QP */
	struct rhca_requester *send;	/* its requester */
	struct test_qp_spec spec;	/* its attributes */
	struct test_sent *sent;		/* the packet checked last */
	const struct sock *owner;	/* of the packet noted by NOTE_OWNER */
	bool bh_off;			/* bottom halves are disabled */
	struct rhca_mem *used;		/* the region, while the test uses it */
	u32 posted;			/* ID of the last receive request posted */
	u32 received;			/* ID of the last one that has completed */
};

/* A request of the peer, or a work request; fields that the opcode does not have stay 0 */
struct request {
	u8 opcode;		/* of the BTH, or enum ib_wr_opcode */
	int psn;		/* relative to the first */
	bool no_ack;		/* no ACK is requested */
	u32 payload_bytes;
	s64 va;			/* relative to the start of the buffer */
	u32 length;
	u32 rkey_xor;		/* changes the key */
	u64 swap_add;
	u64 compare;
	u32 immediate;		/* or FETH, or Q_Key */
	u16 pkey;		/* 0: the default P_Key */
	int flags;		/* send_flags of a work request besides IB_SEND_SIGNALED */
};

/* An action or a check */
struct step {
	void (*act)(struct bench *b, const struct step *s);
	u32 n;			/* syndrome, MSN, number, flags, status or state */
	const char *text;	/* text to write to a file */
	struct request r;	/* the request, or fields of an answer */
};

#define STEP(what, with, ...)	{ .act = (what), .n = (with), .r = { __VA_ARGS__ } }
/* A step that is one statement */
#define ACT(name, ...)	void name(struct bench *b, const struct step *s) { __VA_ARGS__; }

/* --- requests of the peer --------------------------------------------------------- */

#define POST(num)		STEP(do_post, num)	/* post receive requests */
#define ASK(...)		STEP(do_ask, 0, __VA_ARGS__)
#define ASK_WRITE(at_psn, at, bytes)	ASK(WRITE_ONLY, .psn = (at_psn), .va = (at), \
					    .length = (bytes), .payload_bytes = (bytes))
#define ASK_READ(at_psn, at, bytes)	ASK(READ_REQUEST, .psn = (at_psn), .va = (at), \
					    .length = (bytes))
/* The next answer. An ACK may have any credit count, and any MSN if @msn is ANY */
#define ACK(at_psn, msn)	STEP(is_ack, msn, .psn = (at_psn))
#define ANY			U32_MAX
#define NAK(at_psn, code)	STEP(is_nak, code, .psn = (at_psn))
#define RESPONSE(op, at_psn, at, bytes)	STEP(is_response, 0, (op), .psn = (at_psn), \
					     .va = (at), .payload_bytes = (bytes))
#define ATOMIC(at_psn, was)	STEP(is_atomic, 0, .psn = (at_psn), .swap_add = (was))
#define MSN(num)		STEP(is_msn, num)	/* of the answer checked last */
/* The next receive has completed, with these flags and this immediate */
#define RECEIVED(bytes, flags, imm)	STEP(is_received, flags, .payload_bytes = (bytes), \
					     .immediate = (imm))

/* --- the peer answers --------------------------------------------------------------- */

/* Post a request, with its length as ID and one SGE unless the length is 0 */
#define WR(op, bytes, ...)	STEP(do_request, 0, (op), .length = (bytes), __VA_ARGS__)
#define SENDS(bytes)		WR(IB_WR_SEND, bytes)
#define WRITES(bytes)		WR(IB_WR_RDMA_WRITE, bytes)
#define READS(bytes)		WR(IB_WR_RDMA_READ, bytes)
#define ANSWER(at_psn, code, msn)	STEP(do_answer, code, .psn = (at_psn), .length = (msn))
#define RESPOND(op, at_psn, bytes)	STEP(do_respond, 0, (op), .psn = (at_psn), \
					     .payload_bytes = (bytes))
/* The next packet of the QP; any opcode matches ANY_OPCODE */
#define LEFT(op, at_psn)	STEP(is_left, 0, (op), .psn = (at_psn))
#define ASKED(at_psn, bytes)	STEP(is_left, 0, READ_REQUEST, .psn = (at_psn), .length = (bytes))
#define ANY_OPCODE		0xff
#define ASKS(yes)		STEP(is_asking, yes)	/* the packet requests an ACK */
#define DONE(id, with)		STEP(is_done, IB_WC_##with, .length = (id))
#define DONE_AS(id, what)	STEP(is_done, IB_WC_SUCCESS, IB_WC_##what, .length = (id))

/* --- either ------------------------------------------------------------------------- */

#define MOVE(to)		STEP(do_move, IB_QPS_##to)
#define BRING_UP		STEP(do_bring_up, 0)	/* to RTS */
#define GO_BACK			STEP(do_go_back, 0)	/* disable selective repeat */
#define ADP			STEP(do_adp, 0)		/* send probes early */
#define OTHERS(bytes)		STEP(do_others, 0, .va = (bytes))	/* held by the port's QPs */
#define LOCAL_FULL(at_psn)	STEP(do_local_full, 0, .psn = (at_psn))
#define QUEUE(says)		STEP(do_queue, NET_XMIT_##says)
#define CLEAR(at, bytes)	STEP(do_clear, 0, .va = (at), .length = (bytes))
#define DAMAGE			STEP(do_damage, 0)	/* damage the next packet that arrives */
#define FORGET			STEP(do_forget, 0)	/* discard packets sent so far */
#define WAIT(ms)		STEP(do_wait, ms)
/* Use the region, as the packet of another QP does; UNUSABLE: its key is no longer valid */
#define USE			STEP(do_use, 0)
#define LET_GO			STEP(do_let_go, 0)
#define UNUSABLE		STEP(is_unusable, 0)
#define BH_OFF			STEP(do_bh, true)	/* on again at the end of the row */
#define BH_ON			STEP(do_bh, false)
#define NOTE_OWNER		STEP(do_note_owner, 0)	/* of the packet checked last */
#define OWNED(so)		STEP(is_owned, so)	/* 1: so has this packet; 0: it has none */
#define SENT(num)		STEP(is_sent, num)	/* packets sent and not yet checked */
#define COMES(num)		STEP(is_coming, num)	/* at least NUM packets will be, soon */
#define PENDING			STEP(is_pending, 0)	/* nothing has completed */
#define QUIET			STEP(is_quiet, 0)	/* nothing has completed, nothing is sent */
#define PAYLOAD(at, bytes)	STEP(is_payload, 0, .va = (at), .length = (bytes))
#define ZERO(at, bytes)		STEP(is_zero, 0, .va = (at), .length = (bytes))
#define STATE(state)		STEP(is_state, IB_QPS_##state)
#define COUNT(which, num)	STEP(is_count, num, .length = RHCA_##which)

#define MAX_STEPS	28
#define NONE		(-1)	/* where 0 is a valid value or the default */

struct course {
	const char *desc;			/* its name */
	enum ib_qp_type type;			/* type of the QP; 0: RC */
	/* 0 or NULL: the suite's */
	const struct test_qp_spec *spec;	/* of the QP */
	int access;				/* its qp_access_flags */
	int resources;				/* its max_dest_rd_atomic */
	int region;				/* rights of the region; 0: those of the spec */
	struct step step[MAX_STEPS];		/* one after the other */
};

/* A test case for these rows; its parameters are <table>_gen_params */
#define TEST_COURSES(name, courses, usual, region_bytes)			\
	KUNIT_ARRAY_PARAM_DESC(courses, courses, desc);				\
	static void name(struct kunit *test)					\
	{									\
		test_course(test, usual, region_bytes);				\
	}

struct bench *test_bench(struct kunit *test, enum ib_qp_type type,
			 const struct test_qp_spec *spec, enum ib_qp_state state);
struct bench *test_bench_mr(struct kunit *test, const struct test_qp_spec *spec, u32 bytes);
void test_course(struct kunit *test, const struct test_qp_spec *usual, u32 region_bytes);
void test_set_clock(struct kunit *test, u64 now);
struct sk_buff *test_request(struct bench *b, const struct request *r);
void test_ask(struct bench *b, const struct request *r);
void test_fill_wr(struct bench *b, const struct request *r, struct ib_rdma_wr *wr,
		  struct ib_sge *sge);
void test_post(struct bench *b, const struct request *r, u64 id);

void do_post(struct bench *b, const struct step *s);
typeof(do_post) do_ask, do_request, do_answer, do_respond, do_move, do_bring_up, do_go_back,
	do_adp, do_others, do_local_full, do_queue, do_clear, do_damage, do_forget,
	do_bh, do_wait, do_use, do_let_go, is_unusable, is_ack, is_nak,
	is_response, is_atomic, is_msn, is_received, do_note_owner, is_owned, is_left, is_asking,
	is_done, is_sent, is_coming, is_pending, is_quiet, is_payload, is_zero, is_state,
	is_count;

#endif
