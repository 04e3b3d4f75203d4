// SPDX-License-Identifier: GPL-2.0
/*
 * Holds out-of-order packets. Each is copied: a reference to one segment would pin a whole block or
 * a driver's ring buffer, and its content could change. Senders decide what is held, so there are
 * limits per QP and per port, no memory reserves are used, and nothing is kept for long.
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <rhca/compat.h>

#include "sw/qp/clock.h"
#include "sw/qp/hold.h"
#include "sw/packet/parse.h"
#include "sw/verbs/port.h"
#include "sw/verbs/qp/qp.h"
#include "wire/psn.h"

#define HOLD_GFP	(GFP_NOWAIT | __GFP_NOWARN | __GFP_NOMEMALLOC)

#define MAX_BYTES	SZ_4K	/* the largest MTU */
/* A larger payload gets a page of its own; where pages are larger, that would waste most of one */
#define LINEAR_BYTES	(PAGE_SHIFT > 12 ? MAX_BYTES : 2048)

#if IS_ENABLED(CONFIG_KUNIT)
u64 rhca_test_now;
EXPORT_SYMBOL_IF_KUNIT(rhca_test_now);
#endif

static LIST_HEAD(holds);
static DEFINE_SPINLOCK(holds_lock);	/* protects @holds; innermost */

/*
 * Control block of a held packet, with the values from when it was checked: its sender may have
 * written to the headers since
 */
struct held_cb {
	u32 psn;		/* of the packet */
	u8 opcode;
	unsigned int ib_bytes;	/* from the BTH to the end of the ICRC, which is not kept */
	int ifindex;		/* netdev it arrived on */
	enum rhca_encap encap;	/* its framing */
};

static struct held_cb *cb_of(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct held_cb) > sizeof(skb->cb));
	return (struct held_cb *)skb->cb;
}

/* --- memory ------------------------------------------------------------------ */

static atomic_long_t *port_total(const struct rhca_hold *hold)
{
	return &to_verbs_port(hold->port)->held_truesize;
}

/* QPs that hold a packet at the same time may exceed the limit by one each */
static bool has_room(const struct rhca_hold *hold, const struct rhca_rx *rx)
{
	long total = atomic_long_read(port_total(hold));
	u32 most = total > RHCA_HOLD_PORT_BYTES / 2 ? RHCA_HOLD_BYTES_SCARCE :
						      RHCA_HOLD_BYTES;

	return rx->payload_bytes <= MAX_BYTES && total < RHCA_HOLD_PORT_BYTES &&
	       hold->bytes + rx->payload_bytes <= most;
}

static void charge(struct rhca_hold *hold, const struct sk_buff *skb, int sign)
{
	int bytes = skb->len - skb_transport_offset(skb);

	hold->num += sign;
	hold->bytes += sign * bytes;
	atomic_long_add(sign * (long)skb->truesize, port_total(hold));
}

static bool copy_payload(struct sk_buff *skb, const struct rhca_rx *rx, bool linear)
{
	unsigned int bytes = rx->payload_bytes;
	struct page *page;

	if (linear)
		return !skb_copy_bits(rx->skb, rx->payload_offset, skb_put(skb, bytes), bytes);
	page = alloc_page(HOLD_GFP);
	if (!page)
		return false;
	skb_add_rx_frag(skb, 0, page, 0, bytes, PAGE_SIZE);
	return !skb_copy_bits(rx->skb, rx->payload_offset, page_address(page), bytes);
}

/* Copy the headers, as if it had arrived alone, and the payload */
static struct sk_buff *copy_packet(const struct rhca_rx *rx)
{
	unsigned int network = rhca_network_bytes(rx->flow.encap);
	unsigned int headers = network + rx->payload_offset - rx->bth_offset;
	bool linear = rx->payload_bytes <= LINEAR_BYTES;
	struct sk_buff *skb;

	skb = alloc_skb(headers + (linear ? rx->payload_bytes : 0), HOLD_GFP);
	if (!skb)
		return NULL;
	skb_put_data(skb, rx->network, headers);
	skb_set_transport_header(skb, headers);
	if (!copy_payload(skb, rx, linear)) {
		kfree_skb(skb);
		return NULL;
	}
	*cb_of(skb) = (struct held_cb) {
		.psn		= rx->psn,
		.opcode		= rx->opcode,
		.ib_bytes	= rx->icrc_offset + RHCA_ICRC_BYTES -
				  rx->bth_offset,
		.ifindex	= rx->ifindex,
		.encap		= rx->flow.encap,
	};
	return skb;
}

/* --- packets ----------------------------------------------------------------- */

static void age_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(aging, age_work);

static struct rhca_hold *create(struct rhca_hold **owner, spinlock_t *lock,
				struct rhca_verbs_qp *qp, struct rhca_port *port)
{
	struct rhca_hold *hold = kzalloc(sizeof(*hold), HOLD_GFP);

	if (!hold)
		return NULL;
	hold->qp = qp;
	hold->port = port;
	hold->lock = lock;
	hold->owner = owner;
	hold->since = rhca_now();
	spin_lock(&holds_lock);
	list_add_tail(&hold->entry, &holds);
	spin_unlock(&holds_lock);
	schedule_delayed_work(&aging, HZ);
	return hold;
}

static struct sk_buff **slot_of(struct rhca_hold *hold, u32 psn)
{
	return &hold->slot[psn % RHCA_HOLD_PACKETS];
}

static void drop(struct rhca_hold *hold, struct sk_buff **slot)
{
	charge(hold, *slot, -1);
	kfree_skb(*slot);
	*slot = NULL;
}

/* Slot of a held packet, or NULL */
static struct sk_buff **find(struct rhca_hold *hold, u32 psn)
{
	struct sk_buff **slot = slot_of(hold, psn);

	lockdep_assert_held(hold->lock);
	return *slot && cb_of(*slot)->psn == psn ? slot : NULL;
}

/**
 * rhca_hold_has - Is a packet held?
 * @hold: the hold
 * @psn: of the packet
 *
 * Context: the lock of the hold held.
 */
bool rhca_hold_has(struct rhca_hold *hold, u32 psn)
{
	return find(hold, psn);
}

static enum rhca_hold_result put(struct rhca_hold *hold, const struct rhca_rx *rx)
{
	struct sk_buff **slot = slot_of(hold, rx->psn);
	struct sk_buff *skb;

	if (rhca_hold_has(hold, rx->psn))
		return RHCA_HOLD_TWICE;
	if (*slot)	/* its PSN has been used by responses meanwhile */
		drop(hold, slot);
	if (!has_room(hold, rx))
		return RHCA_HOLD_REFUSED;
	skb = copy_packet(rx);
	if (!skb) {	/* out of memory: others need it more */
		rhca_hold_purge(hold);
		return RHCA_HOLD_REFUSED;
	}
	*slot = skb;
	charge(hold, skb, 1);
	WRITE_ONCE(hold->since, rhca_now());
	return RHCA_HOLD_KEPT;
}

/**
 * rhca_hold_put - Hold a copy of a packet
 * @owner: where the QP keeps its hold, allocated for the first packet
 * @lock: of the half of the QP
 * @qp: the QP
 * @rx: the packet, whose ICRC and P_Key are right
 * @expected: the missing PSN
 *
 * Context: @lock held, bottom halves off.
 */
enum rhca_hold_result rhca_hold_put(struct rhca_hold **owner, spinlock_t *lock,
				    struct rhca_verbs_qp *qp,
				    const struct rhca_rx *rx, u32 expected)
{
	enum rhca_hold_result result = RHCA_HOLD_REFUSED;

	lockdep_assert_held(lock);
	if (rhca_psn_diff(rx->psn, expected) < RHCA_HOLD_PACKETS) {
		if (!*owner)
			*owner = create(owner, lock, qp, rx->port);
		if (*owner)
			result = put(*owner, rx);
	}
	if (result == RHCA_HOLD_KEPT)
		rhca_qp_count(qp, RHCA_RX_HELD);
	if (result == RHCA_HOLD_REFUSED)
		rhca_qp_count(qp, RHCA_RX_HELD_DROPPED);
	return result;
}

/**
 * rhca_hold_take - Remove a packet to process it
 * @hold: the hold, or NULL
 * @psn: of the packet
 *
 * Context: the lock of the hold held.
 * Return: the packet, which the caller owns, or NULL.
 */
struct sk_buff *rhca_hold_take(struct rhca_hold *hold, u32 psn)
{
	struct sk_buff **slot = rhca_hold_num(hold) ? find(hold, psn) : NULL;
	struct sk_buff *skb;

	if (!slot)
		return NULL;
	skb = *slot;
	charge(hold, skb, -1);
	*slot = NULL;
	return skb;
}

/**
 * rhca_hold_restore - Parse a held packet as it was when it arrived
 * @hold: where it was held
 * @skb: from rhca_hold_take()
 * @rx: filled in; there is no ICRC any more
 */
void rhca_hold_restore(const struct rhca_hold *hold, struct sk_buff *skb,
		       struct rhca_rx *rx)
{
	const struct held_cb *cb = cb_of(skb);

	rx->skb = skb;
	rx->network = skb->data;
	rx->bth_offset = rhca_network_bytes(cb->encap);
	rx->bth = (const struct rhca_bth *)(skb->data + rx->bth_offset);
	rx->piece = NULL;
	rx->has_network_crc = false;
	rx->port = hold->port;
	rx->ifindex = cb->ifindex;
	rx->pkey_index = 0;
	rhca_network_parse(cb->encap, rx->network, &rx->flow);
	rx->opcode = cb->opcode;
	rx->flags = rhca_opcode_flags(cb->opcode);
	rx->psn = cb->psn;
	rx->in_place = false;
	rx->payload_offset = skb_transport_offset(skb);
	rx->payload_bytes = skb->len - rx->payload_offset;
	rx->icrc_offset = rx->bth_offset + cb->ib_bytes - RHCA_ICRC_BYTES;
}

/**
 * rhca_hold_forget - Drop packets whose PSNs are used by responses
 * @hold: the hold, or NULL
 * @first_psn: of the first response
 * @psns: how many; packets held under them can never be valid requests
 *
 * Context: the lock of the hold held.
 */
void rhca_hold_forget(struct rhca_hold *hold, u32 first_psn, u32 psns)
{
	struct sk_buff *skb;
	u32 i;

	for (i = 1; rhca_hold_num(hold) && i < min(psns, RHCA_HOLD_PACKETS); i++) {
		skb = rhca_hold_take(hold, rhca_psn_add(first_psn, i));
		kfree_skb(skb);
	}
}

/**
 * rhca_hold_purge - Drop all held packets, which will be retransmitted
 * @hold: the hold, or NULL
 *
 * Context: the lock of the hold held, RCU read side or bottom halves off.
 */
void rhca_hold_purge(struct rhca_hold *hold)
{
	u32 i, dropped = rhca_hold_num(hold);

	if (!dropped)
		return;
	for (i = 0; i < RHCA_HOLD_PACKETS && hold->num; i++)
		if (hold->slot[i])
			drop(hold, &hold->slot[i]);
	rhca_counter_add(rhca_qp_counters(hold->qp), RHCA_RX_HELD_DROPPED,
			 dropped);
}

/**
 * rhca_hold_free - Drop all held packets and free the hold
 * @owner: where the QP keeps its hold, may be NULL
 *
 * Context: the lock of the hold held, bottom halves off.
 */
void rhca_hold_free(struct rhca_hold **owner)
{
	struct rhca_hold *hold = *owner;

	if (!hold)
		return;
	rhca_hold_purge(hold);
	spin_lock(&holds_lock);
	list_del(&hold->entry);
	spin_unlock(&holds_lock);
	*owner = NULL;
	kfree(hold);
}

/* --- age ---------------------------------------------------------------------- */

static bool is_old(const struct rhca_hold *hold)
{
	return rhca_now() - READ_ONCE(hold->since) >=
	       RHCA_HOLD_SECONDS * (u64)NSEC_PER_SEC;
}

/* An expired hold */
struct old_hold {
	struct rhca_hold *hold;		/* may be gone once @lock is taken */
	struct rhca_verbs_qp *qp;	/* with a reference */
	spinlock_t *lock;		/* not embedded in it */
	struct rhca_hold **owner;
};

/* Skips holds of QPs being destroyed, which are freed with the QP */
static bool find_old(struct old_hold *old)
{
	struct rhca_hold *hold;
	bool found = false;

	spin_lock_bh(&holds_lock);
	list_for_each_entry(hold, &holds, entry) {
		if (!is_old(hold))
			continue;
		old->qp = rhca_qp_get_handle(hold->qp->handle);
		if (!old->qp)
			continue;
		old->hold = hold;
		old->lock = hold->lock;
		old->owner = hold->owner;
		found = true;
		break;
	}
	spin_unlock_bh(&holds_lock);
	return found;
}

/* Free holds that have not received a packet for a while. Process context. */
void rhca_holds_age(void)
{
	struct old_hold old;

	while (find_old(&old)) {
		spin_lock_bh(old.lock);
		if (*old.owner == old.hold && is_old(old.hold))
			rhca_hold_free(old.owner);
		spin_unlock_bh(old.lock);
		rhca_qp_put(old.qp);
	}
}
EXPORT_SYMBOL_IF_KUNIT(rhca_holds_age);

static void age_work(struct work_struct *work)
{
	bool more;

	rhca_holds_age();
	spin_lock_bh(&holds_lock);
	more = !list_empty(&holds);
	spin_unlock_bh(&holds_lock);
	if (more)
		schedule_delayed_work(&aging, HZ);
}

/* After the last QP is gone */
void rhca_holds_exit(void)
{
	cancel_delayed_work_sync(&aging);
}
