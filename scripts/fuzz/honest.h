/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A connection that keeps every rule, between two devices: whatever a fuzzer does
 * beside it, its data must arrive and be right.
 */
#ifndef RHCA_FUZZ_HONEST_H
#define RHCA_FUZZ_HONEST_H

#include "verbs.h"

struct honest {
	struct device dev[2];
	struct cq cq[2];
	struct mr mr[2];
	struct qp qp[2];
	uint32_t round;
};

int gid_read(const char *device, int index, uint8_t gid[16]);
int honest_open(struct honest *honest, const char *const names[2], const int gid_index[2]);
bool honest_exchange(struct honest *honest, const char **what);
void honest_close(struct honest *honest);

#endif
