/* SPDX-License-Identifier: GPL-2.0 */
/* Out-of-order packets, held until the missing ones arrive. */
#ifndef RHCA_SW_QP_HOLD_H
#define RHCA_SW_QP_HOLD_H

#include <linux/list.h>
#include <linux/types.h>

#define RHCA_HOLD_PACKETS	128	/* PSNs ahead; a power of two */
#define RHCA_HOLD_BYTES		(512U << 10)	/* payload of a QP's half */

/* Memory per port; once half of it is in use, a QP's half may hold RHCA_HOLD_BYTES_SCARCE */
#define RHCA_HOLD_PORT_BYTES	(16U << 20)
#define RHCA_HOLD_BYTES_SCARCE	(64U << 10)

#define RHCA_HOLD_SECONDS	2	/* then a hold expires */

struct rhca_port;
struct rhca_rx;
struct rhca_verbs_qp;
struct sk_buff;

/* Packets held for one half of a QP */
struct rhca_hold {
	struct sk_buff *slot[RHCA_HOLD_PACKETS];	/* by PSN modulo RHCA_HOLD_PACKETS */
	u32 num;			/* packets */
	u32 bytes;			/* their payload */
	u64 since;			/* when the newest was added, in ns */
	struct rhca_port *port;		/* port they arrived on, charged for their memory */
	struct rhca_verbs_qp *qp;	/* the QP */
	spinlock_t *lock;		/* of a half of @qp; protects all of this */
	struct rhca_hold **owner;	/* where @qp keeps the pointer, under @lock */
	struct list_head entry;		/* in the list that ages holds */
};

/* Result for a packet */
enum rhca_hold_result {
	RHCA_HOLD_KEPT,		/* held */
	RHCA_HOLD_TWICE,	/* already held */
	RHCA_HOLD_REFUSED,	/* no room for it */
};

enum rhca_hold_result rhca_hold_put(struct rhca_hold **owner, spinlock_t *lock,
				    struct rhca_verbs_qp *qp,
				    const struct rhca_rx *rx, u32 expected);
bool rhca_hold_has(struct rhca_hold *hold, u32 psn);
struct sk_buff *rhca_hold_take(struct rhca_hold *hold, u32 psn);
void rhca_hold_restore(const struct rhca_hold *hold, struct sk_buff *skb,
		       struct rhca_rx *rx);
void rhca_hold_forget(struct rhca_hold *hold, u32 first_psn, u32 psns);
void rhca_hold_purge(struct rhca_hold *hold);
void rhca_hold_free(struct rhca_hold **owner);
void rhca_holds_age(void);
void rhca_holds_exit(void);

static inline u32 rhca_hold_num(const struct rhca_hold *hold)
{
	return hold ? hold->num : 0;
}

#endif
