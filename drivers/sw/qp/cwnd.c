// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include <rhca/compat.h>

#include "sw/qp/cwnd.h"
#include "wire/psn.h"

/**
 * rhca_cwnd_reset - Initialise the window of a new connection
 * @cwnd: the window
 */
void rhca_cwnd_reset(struct rhca_cwnd *cwnd)
{
	*cwnd = (struct rhca_cwnd) {
		.packets   = RHCA_CWND_INITIAL,
		.threshold = RHCA_SEND_WINDOW,
	};
}
EXPORT_SYMBOL_IF_KUNIT(rhca_cwnd_reset);

/**
 * rhca_cwnd_acked - Packets were acknowledged
 * @cwnd: the window
 * @packets: how many
 * @upto: PSN after the newest of them
 */
void rhca_cwnd_acked(struct rhca_cwnd *cwnd, u32 packets, u32 upto)
{
	if (cwnd->recovering && !rhca_psn_before(upto, cwnd->recover_psn))
		cwnd->recovering = false;
	if (cwnd->packets == RHCA_SEND_WINDOW)
		return;
	cwnd->acked += min_t(u32, packets, RHCA_SEND_WINDOW);
	if (cwnd->acked < cwnd->packets)
		return;
	cwnd->acked = 0;
	if (cwnd->packets < cwnd->threshold)
		cwnd->packets = min_t(u16, 2 * cwnd->packets, cwnd->threshold);
	else
		cwnd->packets++;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_cwnd_acked);

static void shrink(struct rhca_cwnd *cwnd, u32 newest_psn)
{
	cwnd->threshold = max(cwnd->packets / 2, RHCA_CWND_MIN);
	cwnd->packets = cwnd->threshold;
	cwnd->acked = 0;
	cwnd->recovering = true;
	cwnd->recover_psn = newest_psn;
}

/**
 * rhca_cwnd_lost - A full queue has dropped a packet
 * @cwnd: the window
 * @psn: of the packet
 * @newest_psn: after the newest packet sent
 *
 * All losses among the packets in flight count as one.
 */
void rhca_cwnd_lost(struct rhca_cwnd *cwnd, u32 psn, u32 newest_psn)
{
	if (!cwnd->recovering || !rhca_psn_before(psn, cwnd->recover_psn))
		shrink(cwnd, newest_psn);
}
EXPORT_SYMBOL_IF_KUNIT(rhca_cwnd_lost);

/**
 * rhca_cwnd_timed_out - No answer was received
 * @cwnd: the window
 * @newest_psn: after the newest packet sent
 *
 * The state of the path is unknown: restart with the minimum.
 */
void rhca_cwnd_timed_out(struct rhca_cwnd *cwnd, u32 newest_psn)
{
	if (!cwnd->recovering)
		shrink(cwnd, newest_psn);
	cwnd->packets = RHCA_CWND_MIN;
	cwnd->acked = 0;
}
EXPORT_SYMBOL_IF_KUNIT(rhca_cwnd_timed_out);
