/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Module-wide choices: which RoCE versions the ports speak and which GID type
 * datagrams take.
 */
#ifndef RHCA_CORE_RULES_POLICY_H
#define RHCA_CORE_RULES_POLICY_H

#include <rdma/ib_verbs.h>

/* RoCE versions of every port */
enum rhca_roce_mode {
	RHCA_ROCE_V1_ONLY = 0,	/* "0" or "v1" */
	RHCA_ROCE_V2_ONLY = 2,	/* "2" or "v2" */
	RHCA_ROCE_BOTH = 4,	/* "4" or "both", the default */
};

/* GID type that user datagrams are sent with */
enum rhca_ud_gid_type {
	RHCA_UD_GID_V1 = 0,	/* "0" or "v1", whatever the address handle names */
	RHCA_UD_GID_V2 = 2,	/* "2" or "v2", likewise */
	RHCA_UD_GID_AUTO = 4,	/* "auto", the type of the address handle's own GID; default */
};

/* Set at load time, read only afterwards */
struct rhca_policy {
	enum rhca_roce_mode	roce_mode;
	enum rhca_ud_gid_type	ud_gid_type;
};

extern struct rhca_policy rhca_policy;

int rhca_roce_mode_parse(const char *text);
int rhca_ud_gid_type_parse(const char *text);
const char *rhca_roce_mode_name(enum rhca_roce_mode mode);
unsigned long rhca_gid_types_enabled(void);
bool rhca_gid_type_enabled(enum ib_gid_type type);

#endif
