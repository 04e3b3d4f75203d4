// SPDX-License-Identifier: GPL-2.0
/* What the values in the syndrome of an AETH stand for. */
#include <rhca/compat.h>

#include "wire/syndrome.h"

/* 9.7.7.2.1, table 46: receive requests that a credit code stands for */
const u32 rhca_credits[RHCA_CREDIT_INVALID] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384,
	512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
	24576, 32768,
};

/* 9.7.5.2.8, table 45: microseconds */
const u32 rhca_rnr_delays_us[32] = {
	655360,	   10,	   20,	   30,	   40,	   60,	   80,	  120,
	   160,	  240,	  320,	  480,	  640,	  960,	 1280,	 1920,
	  2560,	 3840,	 5120,	 7680,	10240,	15360,	20480,	30720,
	 40960,	61440,	81920, 122880, 163840, 245760, 327680, 491520,
};
EXPORT_SYMBOL_IF_KUNIT(rhca_rnr_delays_us);
