/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a port for loss and congestion. Names and units are those of adapters. */
#ifndef RHCA_CORE_RULES_CC_H
#define RHCA_CORE_RULES_CC_H

#include <linux/types.h>

/* How a port of the software HCA deals with loss and congestion */
struct rhca_cc {
	/* Data is ECN-capable, marks are answered with CNPs, and CNPs slow QPs down */
	u32 enable;
	/* Hold packets received after a gap, and retransmit only what is missing */
	u32 selective_repeat;
	/* Retransmit by the measured RTT; only an ACK timeout uses up a retry */
	u32 adp_retrans;
	u32 np_min_time_between_cnps;		/* per QP, us */
	u32 np_cnp_dscp;			/* of CNPs */
	u32 np_cnp_prio;			/* of CNPs */
	/* 0: CNPs have @np_cnp_prio; 1: the priority of data */
	u32 np_cnp_prio_mode;
	/* A CNP sets the target rate even if the rate has not increased since the last one */
	u32 rp_clamp_tgt_rate;
	u32 rp_clamp_tgt_rate_ati;		/* a CNP after an increase sets the target rate */
	u32 rp_time_reset;			/* time between increases, us */
	u32 rp_byte_reset;			/* bytes between increases, in units of 64 bytes */
	u32 rp_threshold;			/* increases until fast recovery ends */
	u32 rp_max_rate;			/* no QP sends faster, Mbit/s; 0: no limit */
	u32 rp_ai_rate;				/* additive increase, Mbit/s */
	u32 rp_hai_rate;			/* hyper increase, Mbit/s */
	u32 rp_min_dec_fac;			/* minimum rate after a CNP, % of the old one */
	u32 rp_min_rate;			/* no CNP makes a QP slower, Mbit/s */
	u32 rp_rate_to_set_on_first_cnp;	/* rate at the first CNP, Mbit/s; 0: the QP's own */
	u32 rp_dce_tcp_g;			/* weight of the old alpha, of 1024 */
	u32 rp_dce_tcp_rtt;			/* time between updates of alpha, us */
	u32 rp_rate_reduce_monitor_period;	/* time between two reductions, us */
	u32 rp_initial_alpha_value;		/* alpha at the first CNP, of 1024 */
	u32 rp_gd;				/* a reduction is by alpha / 2^rp_gd */
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
