/* SPDX-License-Identifier: GPL-2.0 */
/* What a requester does about a loss. State in, decision out: no packet, lock or QP. */
#ifndef RHCA_SW_TX_RECOVER_H
#define RHCA_SW_TX_RECOVER_H

#include <linux/types.h>

/* What a peer does with packets after a gap */
enum rhca_peer_kind {
	RHCA_PEER_UNKNOWN,	/* no loss yet */
	RHCA_PEER_HOLDS,	/* holds them */
	RHCA_PEER_DROPS,	/* drops them */
};

/* State of recovery */
enum rhca_recover_mode {
	RHCA_RECOVER_FLOW,	/* no known loss */
	RHCA_RECOVER_ONE,	/* one packet is retransmitted, new ones follow */
	RHCA_RECOVER_BACK,	/* everything from a packet on is retransmitted */
};

/* What to do */
enum rhca_recover_action {
	RHCA_RECOVER_NOTHING,	/* nothing: already done */
	RHCA_RECOVER_REPEAT,	/* retransmit one packet */
	RHCA_RECOVER_REWIND,	/* go back N */
};

/* Losses of a connection; all 0 at its start */
struct rhca_recover {
	u8 peer;		/* enum rhca_peer_kind */
	u8 mode;		/* enum rhca_recover_mode */
	u8 in_row;		/* consecutive packets lost one after the other */
	u8 again;		/* further retransmissions of @repeat_psn */
	bool waits;		/* the retransmitted packet is unanswered */
	bool probed;		/* retransmitted without evidence of a loss */
	bool answered;		/* the retransmission is, or its answer will show nothing */
	bool asked_twice;	/* a requested response was lost again */
	u32 repeat_psn;		/* of the last retransmission */
	u32 repeat_end;		/* after the answers to it: a READ has several */
	/* missing responses from here on were requested as well */
	u32 asked_from;
	u32 asked_end;		/* up to here; not before @repeat_end */
	u32 sent_end;		/* after all that had been sent then */
	u32 recover_psn;	/* after all that had been sent when the first loss was noticed */
	u32 copies_end : 24;	/* after all that had been sent at the last repeat */
	u32 copies : 1;		/* duplicates of packets before that may be in flight */
	u32 several : 1;	/* so may copies of @repeat_psn: which is answered is unknown */
	u32 drops : 4;		/* how often @peer became RHCA_PEER_DROPS since it was HOLDS */
	/* from a retransmission to its answer, smoothed; 0: none yet */
	u32 answer_ns;
	u64 repeat_at;		/* time of the retransmission, in ns */
	u64 drops_at;		/* when @peer became RHCA_PEER_DROPS */
};

/* A loss */
struct rhca_loss {
	u32 psn;	/* of the packet */
	u32 newest;	/* after the newest PSN ever sent */
	u64 now;	/* time, in ns */
	u64 round_trip;	/* round trip, in ns; 0: unknown */
	u32 path;	/* round trip without queueing, in ns; 0: unknown */
	bool queued;	/* the path has queueing delay */
	bool one;	/* single packets may be retransmitted */
	/* a response, and later ones are held here: the peer's way does not matter */
	bool held;
};

struct rhca_rtt;

enum rhca_recover_action rhca_recover_nak(struct rhca_recover *recover,
					  const struct rhca_loss *loss);
enum rhca_recover_action rhca_recover_ahead(struct rhca_recover *recover,
					    const struct rhca_loss *loss,
					    u32 psn, bool twice);
enum rhca_recover_action rhca_recover_probe(struct rhca_recover *recover,
					    const struct rhca_loss *loss);
void rhca_recover_asks(struct rhca_recover *recover, u32 psn, u32 end);
void rhca_recover_refused(struct rhca_recover *recover, u32 psn);
bool rhca_recover_asks_for_all(const struct rhca_recover *recover, u32 path_ns);
bool rhca_recover_has_asked(const struct rhca_recover *recover, u32 psn);
bool rhca_recover_costs_window(const struct rhca_recover *recover, u32 path_ns);
void rhca_recover_back(struct rhca_recover *recover,
		       const struct rhca_loss *loss);
void rhca_recover_repeats(struct rhca_recover *recover, u32 newest);
bool rhca_recover_delayed(const struct rhca_recover *recover,
			  const struct rhca_rtt *rtt, u64 now);
u64 rhca_recover_answered_after(const struct rhca_recover *recover, u32 upto,
				u64 now);
bool rhca_recover_acked(struct rhca_recover *recover, u32 upto, u64 now);
enum rhca_recover_action rhca_recover_acked_alone(struct rhca_recover *recover,
						  u32 upto, u64 now);

/* Have all retransmissions been acknowledged, as far as is known? */
static inline bool rhca_recover_is_over(const struct rhca_recover *recover)
{
	return recover->mode == RHCA_RECOVER_FLOW && !recover->copies;
}

/* What is retransmitted has waited at this host: its answer shows no round trip */
static inline void rhca_recover_waited(struct rhca_recover *recover)
{
	recover->answered = true;
}

/* May new packets be sent? Not until the peer has shown what it does after a loss */
static inline bool rhca_recover_sends_new(const struct rhca_recover *recover)
{
	return !recover->waits || recover->peer == RHCA_PEER_HOLDS;
}

#endif
