/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hostile peer's state, shared by its parts: requests.c and answers.c decide what it sends,
 * wire.c sends, talk.c has the target's side and the course of a case, peer.c has rounds, their
 * processes and their expected results.
 */
#ifndef RHCA_FUZZ_TALK_H
#define RHCA_FUZZ_TALK_H

#include "honest.h"
#include "packet.h"
#include "random.h"
#include "verbs.h"
#include "wire.h"

#define MAX_FRAMINGS	8
#define REGION		(1 << 20)	/* of the target's memory */

/* Path of RoCE packets to one address of the target */
struct way {
	struct framing framing;
	int gid_index;
};

struct totals {
	uint64_t cases;
	struct wire_sent sent;
	uint64_t received;
	uint64_t received_bad_icrc;
	uint64_t requests;	/* work requests of the target */
	uint64_t completions;
	uint64_t reconnects;
};

struct world {
	const char *names[2];
	int gid_index[2];
	struct way ways[MAX_FRAMINGS];
	unsigned int num_ways;
	struct wire *wire;
	bool trace;
	struct device dev;
	struct mr mr;
	struct cq cq;
	struct totals *totals;
};

/**
 * struct talk - A conversation with one QP of the target
 * @qpn_low: the end of our number, by which the wire knows what is for us
 * @psn: of our next request; the target tells by ACK and NAK what it expects
 * @their_psn: of the target's first request, from which PSNs of lies are taken
 * @msn: messages done for the target, as our ACKs say
 * @mtu_bytes: of the path
 */
struct talk {
	struct world *world;
	struct rng rng;
	const struct way *way;
	struct qp qp;
	uint8_t qpn_low;
	uint32_t our_qpn;
	uint32_t psn;
	uint32_t their_psn;
	uint32_t msn;
	uint32_t mtu_bytes;
	uint8_t mtu;
};

/* requests.c */
void begin(struct talk *talk, struct transport *t, uint8_t opcode, uint32_t psn, bool ack);
void send_perhaps(struct talk *talk, struct transport *t);
uint32_t choose_psn(struct rng *rng, uint32_t right);
void trace_frame(const struct world *world, const char *way, const uint8_t *frame, size_t length);
void send_connected(struct talk *talk);
void send_unconnected(struct talk *talk);

/* answers.c */
void answer_nothing(struct talk *talk);
void drain(struct talk *talk);

/* talk.c */
int run_case(struct world *world, uint64_t seed, uint64_t number);

#endif
