/* SPDX-License-Identifier: GPL-2.0 */
/* Parameters of a run: NAME=VALUE on the command line. */
#ifndef FABRIC_SIM_PARAM_H
#define FABRIC_SIM_PARAM_H

#include <linux/types.h>

#include "core/rules/cc.h"

#define TCP_WINDOW_MAX	1024	/* packets */

struct param {
	/* topology */
	const char *topo;
	double hosts, leaves, spines, host_mbps, port_mbps, uplink_mbps, link_ns;
	/* switches */
	double queue_packets, queue_kb, buffer_kb, buffer_alpha;
	double kmin_kb, kmax_kb, pmax, red_wlog, loss, late_ns, early, ack_priority;
	double flap_period_us, flap_down_us, reroute_us;
	/* hosts */
	double host_queue, host_fair, rx_ns, rx_delay_ns, tx_ns, mtu, frame_bytes, timeout, retry_cnt;
	/* transport */
	const char *transport;
	double tcp_window, tcp_rto_us, tcp_dctcp;
	/* work */
	const char *work, *sizes;
	double seed, run_us, warm_us, sample_us, kb, messages, depth, load, flows, qps, stagger_us;
	double until_done;
	const char *out, *label;
	struct rhca_cc cc;
};

extern struct param param;

bool param_set(const char *word);
void param_help(void);

#endif
