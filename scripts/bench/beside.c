// SPDX-License-Identifier: GPL-2.0
/*
 * A ping-pong of 64 bytes, beside eight QPs that do only RDMA READs or WRITEs: each has
 * 2 GiB queued, in requests of 16 MiB, which are posted again as they complete. These are
 * in another process. Both processes have both ends of their connections, and sleep when
 * they are idle.
 *
 * usage: beside DEVICE_A GID_A DEVICE_B GID_B KIND COUNT SECONDS BYTES_FILE SAMPLES_FILE
 *
 * KIND: none, read or write. Measures COUNT ping-pongs, or for SECONDS, after a first
 * second without measurement. Prints "NUMBER MB/S": their number, and the rate by
 * BYTES_FILE. Appends a line for each to SAMPLES_FILE: the round trip in nanoseconds, and
 * the bytes that BYTES_FILE counted meanwhile, which other work on the machine changes
 * little. Status 3: something has stalled.
 *
 * All requests use the same 16 MiB. On User-Mode Linux a page of a process is a mapping of
 * the host, unless its neighbours in memory are its neighbours in the process; a region of
 * 2 GiB may need more than the host's vm.max_map_count of them, and the process then
 * faults for ever on the first one that fails.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "../tests/lib/rc-pair.h"

#define LOADS		8
#define LOAD_BYTES	(16U << 20)
#define QUEUED		MOST_IN_LIST
#define SHORT_BYTES	64
#define SHORT_QUEUED	64
#define MAX_COUNT	100000

struct side {
	struct end end;
	struct ibv_cq *sent;
	struct ibv_cq *received;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

struct sample {
	long long ns;
	long long bytes;
};

static struct side a, b;
static int bytes_fd;

/* --- the load --------------------------------------------------------------------- */

struct load_side {
	struct end end;
	struct ibv_cq *cq;
	struct ibv_qp *qps[LOADS];
	struct ibv_mr *mr;
};

static void open_load(struct load_side *side, const char *name, const char *gid_index)
{
	struct end *end = &side->end;
	int i;

	open_end(end, name, gid_index);
	side->mr = register_memory(end, map_memory(LOAD_BYTES), LOAD_BYTES, FULL_ACCESS);
	side->cq = create_cq(end, 2 * LOADS * QUEUED, create_channel(end));
	for (i = 0; i < LOADS; i++)
		side->qps[i] = create_qp(end, IBV_QPT_RC, side->cq, side->cq, QUEUED);
}

/* Runs until it is killed */
static void keep_load(char **argv, enum ibv_wr_opcode opcode, int begun)
{
	struct load_side from = {}, to = {};
	struct piece piece;
	uint64_t i;

	open_load(&from, argv[1], argv[2]);
	open_load(&to, argv[3], argv[4]);
	for (i = 0; i < LOADS; i++)
		connect_pair(from.qps[i], &from.end, to.qps[i], &to.end);
	piece = (struct piece){ from.mr->addr, LOAD_BYTES, from.mr->lkey, to.mr->addr,
				to.mr->rkey };
	/*
	 * All at once: on one processor the packets of a request that is posted alone leave before
	 * the next one is posted, so the queue would never be longer than one request.
	 */
	for (i = 0; i < LOADS; i++)
		if (post_rdma_list(from.qps[i], opcode, &piece, i, QUEUED))
			err(1, "load");
	if (write(begun, "", 1) != 1)
		err(1, "pipe");
	for (;;) {
		i = wait_for_completion(from.cq, "load").wr_id;
		if (post_rdma(from.qps[i], opcode, &piece, i))
			err(1, "load");
	}
}

/* Returns its process id once it has started */
static pid_t begin_load(char **argv, enum ibv_wr_opcode opcode)
{
	int begun[2];
	pid_t pid;
	char byte;

	if (pipe(begun))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid)
		keep_load(argv, opcode, begun[1]);
	close(begun[1]);
	if (read(begun[0], &byte, 1) != 1)
		errx(1, "the load does not begin");
	return pid;
}

/* Fails if it has ended by itself: there was no load then */
static void end_load(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WNOHANG))
		errx(WIFEXITED(status) ? WEXITSTATUS(status) : 1, "the load has ended");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* --- the ping-pong ------------------------------------------------------------------ */

static void open_side(struct side *side, const char *name, const char *gid_index)
{
	struct end *end = &side->end;

	open_end(end, name, gid_index);
	side->mr = register_memory(end, map_memory(SHORT_BYTES), SHORT_BYTES, FULL_ACCESS);
	side->sent = create_cq(end, 2 * SHORT_QUEUED, NULL);
	side->received = create_cq(end, 2 * SHORT_QUEUED, create_channel(end));
	side->qp = create_qp(end, IBV_QPT_RC, side->sent, side->received, SHORT_QUEUED);
}

static void post_receive(struct side *side)
{
	struct ibv_sge sge = { (uintptr_t)side->mr->addr, SHORT_BYTES, side->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	if (ibv_post_recv(side->qp, &wr, &bad))
		err(1, "ibv_post_recv");
}

static void send_one(struct side *from, struct side *to)
{
	struct piece piece = {
		.memory = from->mr->addr,
		.bytes = SHORT_BYTES,
		.lkey = from->mr->lkey,
	};
	struct ibv_wc wc;

	post_receive(to);
	while (ibv_poll_cq(from->sent, 1, &wc) > 0)
		if (wc.status != IBV_WC_SUCCESS)
			errx(1, "ping-pong: %s", ibv_wc_status_str(wc.status));
	if (post_rdma(from->qp, IBV_WR_SEND, &piece, 0))
		err(1, "ibv_post_send");
	wait_for_completion(to->received, "ping-pong");
}

static long long bytes_now(void)
{
	char text[32] = "";

	if (pread(bytes_fd, text, sizeof(text) - 1, 0) <= 0)
		err(1, "bytes");
	return atoll(text);
}

static struct sample round_trip(void)
{
	long long bytes = bytes_now();
	long long start = now_ns();
	struct sample sample;

	send_one(&a, &b);
	send_one(&b, &a);
	sample.ns = now_ns() - start;
	sample.bytes = bytes_now() - bytes;
	return sample;
}

static void write_samples(const char *path, const struct sample *samples, int count)
{
	FILE *file = fopen(path, "a");
	int i;

	for (i = 0; file && i < count; i++)
		fprintf(file, "%lld %lld\n", samples[i].ns, samples[i].bytes);
	if (!file || fclose(file))
		err(1, "%s", path);
}

/* Measure round trips, until they are enough or have taken long enough. Returns the number */
static int measure(struct sample *samples, int count, long long limit)
{
	long long begin = now_ns();
	int i;

	for (i = 0; i < count && now_ns() - begin < limit; i++)
		samples[i] = round_trip();
	return i;
}

int main(int argc, char **argv)
{
	static struct sample samples[MAX_COUNT];
	long long begin, bytes;
	pid_t load = 0;
	int count;

	if (argc != 10)
		errx(2, "usage: DEVICE_A GID_A DEVICE_B GID_B KIND COUNT SECONDS BYTES_FILE SAMPLES_FILE");
	bytes_fd = open(argv[8], O_RDONLY);
	if (bytes_fd < 0)
		err(1, "%s", argv[8]);
	if (strcmp(argv[5], "none"))
		load = begin_load(argv, strcmp(argv[5], "read") ? IBV_WR_RDMA_WRITE :
								  IBV_WR_RDMA_READ);
	open_side(&a, argv[1], argv[2]);
	open_side(&b, argv[3], argv[4]);
	memset(a.mr->addr, 1, SHORT_BYTES);
	connect_pair(a.qp, &a.end, b.qp, &b.end);
	measure(samples, MAX_COUNT, SECOND_NS);
	count = atoi(argv[6]);
	bytes = bytes_now();
	begin = now_ns();
	count = measure(samples, count < MAX_COUNT ? count : MAX_COUNT,
			atoi(argv[7]) * SECOND_NS);
	begin = now_ns() - begin;
	bytes = bytes_now() - bytes;
	if (load)
		end_load(load);
	if (memcmp(a.mr->addr, b.mr->addr, SHORT_BYTES))
		errx(1, "the data has not arrived");
	write_samples(argv[9], samples, count);
	printf("%d %.0f\n", count, bytes * 1e3 / begin);
	return 0;
}
