/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Loss and congestion of a port: what users may set. Names, units and defaults are those
 * that adapters have.
 */
#ifndef RHCA_CORE_RULES_CC_H
#define RHCA_CORE_RULES_CC_H

#include <linux/types.h>

/**
 * struct rhca_cc - How a port of the software HCA deals with loss and congestion
 * @enable: data is ECN-capable, marks are answered with CNPs, and CNPs slow QPs down
 * @selective_repeat: hold what comes behind a gap, and repeat only what is missing
 * @adp_retrans: repeat by the measured round trip; only the ACK timeout takes a retry
 * @np_min_time_between_cnps: of a QP, us
 * @np_cnp_dscp: of CNPs
 * @np_cnp_prio: of CNPs
 * @np_cnp_prio_mode: 0: @np_cnp_prio holds; 1: CNPs have the priority of data
 * @rp_clamp_tgt_rate: a CNP sets the target rate also where nothing was gained since
 *	the last one
 * @rp_clamp_tgt_rate_ati: a CNP after an increase sets the target rate
 * @rp_time_reset: time between increases, us
 * @rp_byte_reset: bytes between increases, in units of 64 bytes
 * @rp_threshold: increases until fast recovery ends
 * @rp_max_rate: no QP sends faster, Mbit/s; 0: no limit
 * @rp_ai_rate: additive increase, Mbit/s
 * @rp_hai_rate: hyper increase, Mbit/s
 * @rp_min_dec_fac: what a CNP leaves of the rate at least, %
 * @rp_min_rate: no CNP makes a QP slower, Mbit/s
 * @rp_rate_to_set_on_first_cnp: rate at the first CNP, Mbit/s; 0: the QP's own
 * @rp_dce_tcp_g: weight of the old alpha, of 1024
 * @rp_dce_tcp_rtt: time between updates of alpha, us
 * @rp_rate_reduce_monitor_period: time between two reductions, us
 * @rp_initial_alpha_value: alpha at the first CNP, of 1024
 * @rp_gd: a reduction is by alpha / 2^rp_gd
 */
struct rhca_cc {
	u32 enable;
	u32 selective_repeat;
	u32 adp_retrans;
	u32 np_min_time_between_cnps;
	u32 np_cnp_dscp;
	u32 np_cnp_prio;
	u32 np_cnp_prio_mode;
	u32 rp_clamp_tgt_rate;
	u32 rp_clamp_tgt_rate_ati;
	u32 rp_time_reset;
	u32 rp_byte_reset;
	u32 rp_threshold;
	u32 rp_max_rate;
	u32 rp_ai_rate;
	u32 rp_hai_rate;
	u32 rp_min_dec_fac;
	u32 rp_min_rate;
	u32 rp_rate_to_set_on_first_cnp;
	u32 rp_dce_tcp_g;
	u32 rp_dce_tcp_rtt;
	u32 rp_rate_reduce_monitor_period;
	u32 rp_initial_alpha_value;
	u32 rp_gd;
};

#define RHCA_CC_DEFAULT	{				\
	.enable				= 1,		\
	.selective_repeat		= 1,		\
	.adp_retrans			= 1,		\
	.np_min_time_between_cnps	= 50,		\
	.np_cnp_dscp			= 48,		\
	.np_cnp_prio			= 6,		\
	.rp_clamp_tgt_rate_ati		= 1,		\
	.rp_time_reset			= 300,		\
	.rp_byte_reset			= 32767,	\
	.rp_threshold			= 1,		\
	.rp_ai_rate			= 5,		\
	.rp_hai_rate			= 50,		\
	.rp_min_dec_fac			= 50,		\
	.rp_min_rate			= 10,		\
	.rp_dce_tcp_g			= 1008,		\
	.rp_dce_tcp_rtt			= 55,		\
	.rp_rate_reduce_monitor_period	= 50,		\
	.rp_initial_alpha_value		= 1023,		\
	.rp_gd				= 11,		\
}

#endif
