// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "honest.h"

#define MESSAGE		3000
#define REGION		16384
#define PATIENCE_S	60

int gid_read(const char *device, int index, uint8_t gid[16])
{
	unsigned int word[8];
	char path[200];
	FILE *file;
	int found;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gids/%d", device, index);
	file = fopen(path, "r");
	if (!file)
		return -errno;
	found = fscanf(file, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x", word, word + 1, word + 2, word + 3,
		       word + 4, word + 5, word + 6, word + 7);
	fclose(file);
	for (int i = 0; i < found; i++) {
		gid[2 * i] = word[i] >> 8;
		gid[2 * i + 1] = word[i];
	}
	return found == 8 ? 0 : -EINVAL;
}

/* "RoCE v2" or similar; empty if there is no GID */
static void gid_type_read(const char *device, int index, char type[32])
{
	char path[200];
	FILE *file;

	type[0] = 0;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", device, index);
	file = fopen(path, "r");
	if (!file)
		return;
	if (!fgets(type, 32, file))
		type[0] = 0;
	fclose(file);
}

int gid_entry_read(const char *device, int index, struct gid_entry *entry)
{
	gid_type_read(device, index, entry->type);
	return gid_read(device, index, entry->gid);
}

int gid_entry_find(const char *device, const struct gid_entry *entry, int hint)
{
	struct gid_entry other;
	int index = hint;

	do {
		if (!gid_entry_read(device, index, &other) && !strcmp(other.type, entry->type) &&
		    !memcmp(other.gid, entry->gid, sizeof(other.gid)))
			return index;
		index = (index + 1) % GID_ENTRIES;
	} while (index != hint);
	return -ENOENT;
}

static int open_end(struct honest *honest, int i, const char *name)
{
	struct device *dev = &honest->dev[i];
	void *memory = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret = device_open(dev, name);

	if (ret)
		return ret;
	ret = mr_register(dev, &honest->mr[i], memory, REGION, ACCESS_ALL);
	if (!ret)
		ret = cq_create(dev, &honest->cq[i], 64);
	if (!ret)
		ret = qp_create(dev, &honest->qp[i], QPT_RC, honest->cq[i].handle,
				honest->cq[i].handle, NULL, 16, 2);
	return ret;
}

static int connect_end(struct honest *honest, int i, const char *peer, int peer_index, int own_index)
{
	struct qp_path path = {
		.sgid_index = own_index, .dest_qpn = honest->qp[!i].number, .mtu = 3,
		.sq_psn = 0xfffff0, .rq_psn = 0xfffff0, .timeout = 17, .retries = 7, .rnr_retries = 7,
	};
	int ret = gid_read(peer, peer_index, path.dgid);

	return ret ?: qp_connect(&honest->dev[i], &honest->qp[i], &path);
}

int honest_open(struct honest *honest, const char *const names[2], const int gid_index[2])
{
	int i, ret = 0;

	memset(honest, 0, sizeof(*honest));
	for (i = 0; !ret && i < 2; i++)
		ret = open_end(honest, i, names[i]);
	for (i = 0; !ret && i < 2; i++)
		ret = connect_end(honest, i, names[!i], gid_index[!i], gid_index[i]);
	return ret;
}

void honest_close(struct honest *honest)
{
	for (int i = 0; i < 2; i++) {
		ring_unmap(&honest->qp[i].send);
		ring_unmap(&honest->qp[i].recv);
		ring_unmap(&honest->cq[i].ring);
		device_close(&honest->dev[i]);
		munmap(honest->mr[i].start, REGION);
	}
}

static bool completes(struct honest *honest, int i)
{
	time_t end = time(NULL) + PATIENCE_S;
	struct ib_uverbs_wc *wc;
	bool success;

	while (!(wc = ring_first(&honest->cq[i].ring))) {
		if (time(NULL) > end) {
			printf("end %d: no completion, QP state %d\n", i,
			       qp_state_of(&honest->dev[i], honest->qp[i].handle));
			return false;
		}
		sched_yield();
	}
	success = wc->status == 0;
	if (!success)
		printf("end %d: completion with status %u\n", i, wc->status);
	ring_consume(&honest->cq[i].ring);
	return success;
}

static bool request(struct honest *honest, int i, enum wr_opcode opcode)
{
	struct mr *local = &honest->mr[i], *remote = &honest->mr[!i];
	struct ring *ring = &honest->qp[i].send;

	if (!ring_room(ring))
		return false;
	send_wqe_fill(ring_slot(ring, ring->buf->producer_index), honest->round, opcode, local->start,
		      MESSAGE, local->lkey, (uintptr_t)remote->start + 2 * MESSAGE, remote->rkey);
	ring_publish(ring, 1);
	qp_kick(&honest->dev[i], honest->qp[i].handle, IB_USER_VERBS_CMD_POST_SEND);
	return true;
}

/* One SEND, WRITE and READ by end @i; the other's memory must change accordingly. */
static bool one_way(struct honest *honest, int i, const char **what)
{
	struct mr *from = &honest->mr[i], *to = &honest->mr[!i];

	for (uint32_t n = 0; n < MESSAGE; n++)
		from->start[n] = n * 7 + honest->round;
	*what = "SEND";
	if (!post_recv(&honest->qp[!i].recv, 1, to->start + MESSAGE, MESSAGE, to->lkey) ||
	    !request(honest, i, WR_SEND) || !completes(honest, i) || !completes(honest, !i) ||
	    memcmp(from->start, to->start + MESSAGE, MESSAGE))
		return false;
	*what = "WRITE";
	if (!request(honest, i, WR_WRITE) || !completes(honest, i) ||
	    memcmp(from->start, to->start + 2 * MESSAGE, MESSAGE))
		return false;
	*what = "READ";
	memset(to->start + 2 * MESSAGE, honest->round, MESSAGE);
	return request(honest, i, WR_READ) && completes(honest, i) &&
	       !memcmp(from->start, to->start + 2 * MESSAGE, MESSAGE);
}

/* @what is set to the operation that failed, if any */
bool honest_exchange(struct honest *honest, const char **what)
{
	honest->round++;
	return one_way(honest, 0, what) && one_way(honest, 1, what);
}
