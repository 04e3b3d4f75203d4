/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A protocol-conforming connection between two devices: despite a fuzzer beside it, its data must
 * arrive intact.
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

#define GID_ENTRIES	64	/* the first entries of a table, where all GIDs are here */

/* An entry of the GID table of port 1, whose index may change over time */
struct gid_entry {
	uint8_t gid[16];
	char type[32];
};

int gid_read(const char *device, int index, uint8_t gid[16]);
int gid_entry_read(const char *device, int index, struct gid_entry *entry);
int gid_entry_find(const char *device, const struct gid_entry *entry, int hint);
int honest_open(struct honest *honest, const char *const names[2], const int gid_index[2]);
bool honest_exchange(struct honest *honest, const char **what);
void honest_close(struct honest *honest);

#endif
