// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory of a device's objects: a process creates COUNT of them, and compares the
 * kernel's memory before and after.
 *
 * usage: objects DEVICE KIND COUNT
 *
 * KIND: qp (RC, 16 requests of one SGE each way, all with one CQ), cq (64 entries), or mr
 * (4 KiB). Prints "MICROSECONDS SLAB VMALLOC PERCPU ALL": for all together, memory in kB.
 * ALL is the decrease of free memory, without the process's own pages, its page tables and
 * file pages: a rough figure, which is wrong by up to some 15 MB.
 */
#include <err.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS	16
#define ENTRIES		64
#define MR_BYTES	4096
#define CQ_OF_ALL	1024

struct memory {
	long slab;
	long vmalloc;
	long percpu;
	long all;
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char *page;

static void write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		warn("%s", path);
	close(fd);
}

/* Add up the counts of each processor, and return free pages that one keeps */
static struct memory look(void)
{
	struct memory memory = {};
	char line[128], name[64];
	FILE *file;
	long kb;

	write_file("/proc/sys/vm/drop_caches", "1");
	write_file("/proc/sys/vm/stat_refresh", "1");
	file = fopen("/proc/meminfo", "r");
	if (!file)
		err(1, "/proc/meminfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%63[^:]: %ld", name, &kb) != 2)
			continue;
		if (!strcmp(name, "Slab"))
			memory.slab = kb;
		else if (!strcmp(name, "VmallocUsed"))
			memory.vmalloc = kb;
		else if (!strcmp(name, "Percpu"))
			memory.percpu = kb;
		else if (!strcmp(name, "MemFree") || !strcmp(name, "AnonPages") ||
			 !strcmp(name, "Cached") || !strcmp(name, "Buffers") ||
			 !strcmp(name, "PageTables"))
			memory.all -= kb;
	}
	fclose(file);
	return memory;
}

static void create_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = { REQUESTS, REQUESTS, 1, 1, 0 },
	};

	if (!ibv_create_qp(pd, &init))
		err(1, "ibv_create_qp");
}

static void create_cq(void)
{
	if (!ibv_create_cq(context, ENTRIES, NULL, NULL, 0))
		err(1, "ibv_create_cq");
}

static void create_mr(void)
{
	if (!ibv_reg_mr(pd, page, MR_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ))
		err(1, "ibv_reg_mr");
}

static void open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	int i;

	for (i = 0; devices && devices[i]; i++)
		if (!strcmp(ibv_get_device_name(devices[i]), name))
			context = ibv_open_device(devices[i]);
	pd = context ? ibv_alloc_pd(context) : NULL;
	cq = context ? ibv_create_cq(context, CQ_OF_ALL, NULL, NULL, 0) : NULL;
	if (!pd || !cq || posix_memalign((void **)&page, MR_BYTES, MR_BYTES))
		err(1, "%s", name);
	memset(page, 1, MR_BYTES);
}

int main(int argc, char **argv)
{
	void (*create)(void) = NULL;
	struct timespec start, end;
	struct memory before, after;
	int i, count;

	if (argc != 4)
		errx(2, "usage: DEVICE KIND COUNT");
	if (!strcmp(argv[2], "qp"))
		create = create_qp;
	else if (!strcmp(argv[2], "cq"))
		create = create_cq;
	else if (!strcmp(argv[2], "mr"))
		create = create_mr;
	count = atoi(argv[3]);
	if (!create || count < 1)
		errx(2, "bad argument");
	open_device(argv[1]);
	create();		/* excludes memory that only the first one needs */
	before = look();
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (i = 0; i < count; i++)
		create();
	clock_gettime(CLOCK_MONOTONIC, &end);
	after = look();
	printf("%.0f %ld %ld %ld %ld\n",
	       (end.tv_sec - start.tv_sec) * 1e6 + (end.tv_nsec - start.tv_nsec) / 1e3,
	       after.slab - before.slab, after.vmalloc - before.vmalloc,
	       after.percpu - before.percpu, after.all - before.all);
	return 0;
}
