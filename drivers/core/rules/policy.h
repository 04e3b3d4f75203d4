/* SPDX-License-Identifier: GPL-2.0 */
/* Module-wide settings: RoCE versions of the ports and GID type of datagrams. */
#ifndef RHCA_CORE_RULES_POLICY_H
#define RHCA_CORE_RULES_POLICY_H

#include <rdma/ib_verbs.h>

/* RoCE versions of every port */
enum rhca_roce_mode {
	RHCA_ROCE_V1_ONLY = 0,	/* "0" or "v1" */
	RHCA_ROCE_V2_ONLY = 2,	/* "2" or "v2" */
	RHCA_ROCE_BOTH = 4,	/* "4" or "both", the default */
};

/* GID type of user datagrams */
enum rhca_ud_gid_type {
	RHCA_UD_GID_V1 = 0,	/* "0" or "v1", regardless of the address handle */
	RHCA_UD_GID_V2 = 2,	/* "2" or "v2", likewise */
	RHCA_UD_GID_AUTO = 4,	/* "auto", the default: the type of the address handle's GID */
};

/* Set at load time, then read-only */
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
