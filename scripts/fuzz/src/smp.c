// SPDX-License-Identifier: GPL-2.0
/*
 * Well-behaved threads on several processors that create, use and destroy objects of
 * two devices at once, with one context for each device. Each thread has its own QPs, CQs
 * and regions, and checks what it may rely on:
 *
 * - a request that completes with success has moved the right bytes, despite concurrent
 *   changes of its CQ (resize) and QP (SQD and back);
 * - once a region is deregistered or its rights are changed, or a window is deallocated,
 *   bound to something else or invalidated, nothing writes to its memory with the old
 *   key, and nothing that is written there later is sent;
 * - everything ends: requests complete, verbs return.
 *
 * With --rough links, addresses and devices are disturbed from outside: then requests may
 * fail and objects may be refused, but the same holds. With --takes access to memory is
 * revoked all the time.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "honest.h"
#include "random.h"
#include "verbs.h"

#define MAX_THREADS	16
#define DEPTH		16
#define BLOCK		8192			/* bytes of a request */
#define LARGE_BLOCK	65536			/* of a request whose memory is revoked */
#define REGION		(DEPTH * LARGE_BLOCK)
#define PATIENCE_S	60
#define SECRET		0xee			/* never part of a message */
#define MANY_TRIES	8			/* this many do not all fail by chance */
#define TAKES		24			/* attempts to revoke memory of one connection */

struct end {
	struct mr mr;
	struct cq cq;
	struct qp qp;
	uint8_t *memory;
};

/* Ways to revoke memory in use by a peer */
enum way {
	DEREGISTER, REREGISTER, DEALLOCATE,	/* verbs: all succeed */
	UNBIND, REBIND, INVALIDATE,		/* requests: the peer may break the QP before */
	NUM_WAYS,
};

static const char *const way_names[NUM_WAYS] = {
	[DEREGISTER] = "deregistered", [REREGISTER] = "other rights", [DEALLOCATE] = "deallocated",
	[UNBIND] = "unbound", [REBIND] = "bound again", [INVALIDATE] = "invalidated",
};

/* A thread, its two ends, and its results */
struct worker {
	pthread_t thread;
	int cpu;
	struct rng rng;
	struct end end[2];
	uint8_t pattern;
	uint64_t lives, requests, failed, refused;
	uint64_t tries[NUM_WAYS], fences[NUM_WAYS];	/* attempts to revoke, and successes */
};

static struct {
	const char *names[2];
	int gid_index[2];
	uint64_t seed;
	double seconds;
	int threads;
	bool rough, takes;
} options = { .seconds = 10, .threads = 4 };

static struct device devices[2];
static struct gid_entry gids[2];
static time_t ends_at;
static bool wrong;

static void complain(const struct worker *worker, const char *what, long a, long b)
{
	wrong = true;
	printf("FAIL processor %d, life %llu: %s (%ld, %ld)\n", worker->cpu,
	       (unsigned long long)worker->lives, what, a, b);
}

/* --- objects --------------------------------------------------------------------- */

static int create_end(struct worker *worker, int i)
{
	struct end *end = &worker->end[i];
	struct device *dev = &devices[i];
	int ret;

	ret = mr_register(dev, &end->mr, end->memory, REGION, ACCESS_ALL | ACCESS_MW_BIND);
	if (!ret)
		ret = cq_create(dev, &end->cq, 2 * DEPTH + rng_below(&worker->rng, 100));
	if (!ret)
		ret = qp_create(dev, &end->qp, QPT_RC, end->cq.handle, end->cq.handle, NULL, DEPTH, 1);
	return ret;
}

static void destroy_end(struct worker *worker, int i)
{
	struct end *end = &worker->end[i];
	struct device *dev = &devices[i];

	if (end->qp.handle)
		qp_destroy(dev, end->qp.handle);
	if (end->cq.handle)
		cq_destroy(dev, end->cq.handle);
	if (end->mr.handle)
		mr_deregister(dev, end->mr.handle);
	ring_unmap(&end->qp.send);
	ring_unmap(&end->qp.recv);
	ring_unmap(&end->cq.ring);
	memset(&end->qp, 0, sizeof(end->qp));
	memset(&end->cq, 0, sizeof(end->cq));
	memset(&end->mr, 0, sizeof(end->mr));
}

static int connect_ends(struct worker *worker)
{
	uint32_t psn = rng_next(&worker->rng) & PSN_MASK;
	uint32_t mtu = 3 + rng_below(&worker->rng, 3);
	int ret = 0;

	for (int i = 0; !ret && i < 2; i++) {
		struct qp_path path = {
			.sgid_index = gid_entry_find(options.names[i], &gids[i], options.gid_index[i]),
			.dest_qpn = worker->end[!i].qp.number,
			.mtu = mtu, .sq_psn = psn, .rq_psn = psn,
			.timeout = 14, .retries = 7, .rnr_retries = 7,
		};

		memcpy(path.dgid, gids[!i].gid, sizeof(path.dgid));
		ret = qp_connect(&devices[i], &worker->end[i].qp, &path);
	}
	return ret;
}

/* --- requests --------------------------------------------------------------------- */

static void post(struct worker *worker, int i, enum wr_opcode opcode, int slot, size_t bytes,
		 uint32_t rkey)
{
	struct end *from = &worker->end[i], *to = &worker->end[!i];
	struct ring *ring = &from->qp.send;
	size_t offset = slot * bytes;

	send_wqe_fill(ring_slot(ring, ring->buf->producer_index), slot, opcode,
		      from->memory + offset, bytes, from->mr.lkey,
		      (uintptr_t)to->memory + offset, rkey);
	ring_publish(ring, 1);
	worker->requests++;
}

/* If it fails, as it does if the device is gone, the requests were not accepted */
static bool kick(struct worker *worker, int i)
{
	int ret = qp_kick(&devices[i], worker->end[i].qp.handle, IB_USER_VERBS_CMD_POST_SEND);

	if (ret && !options.rough)
		complain(worker, "requests are not taken: error", ret, i);
	return !ret;
}

/* The number of requests that succeeded, in order from the first; -1: no end */
static int reap(struct worker *worker, int i, int count)
{
	struct end *end = &worker->end[i];
	time_t patience = time(NULL) + PATIENCE_S;
	struct ib_uverbs_wc *wc;
	int good = 0, n = 0;

	while (n < count) {
		wc = ring_first(&end->cq.ring);
		if (!wc) {
			if (time(NULL) > patience) {
				complain(worker, "requests without an end: done, QP state", n,
					 qp_state_of(&devices[i], end->qp.handle));
				return -1;
			}
			sched_yield();
			continue;
		}
		if (wc->wr_id != (uint64_t)n)
			complain(worker, "completions out of order: got, wanted", wc->wr_id, n);
		if (!wc->status && good == n)
			good++;
		else if (!wc->status)
			complain(worker, "success behind a failure: request, good", n, good);
		ring_consume(&end->cq.ring);
		n++;
	}
	worker->failed += count - good;
	return good;
}

/* Changes of objects in use that their users must not notice */
static void disturb(struct worker *worker, int i)
{
	struct end *end = &worker->end[rng_below(&worker->rng, 2)];
	struct device *dev = &devices[end == &worker->end[1]];
	struct ring old;

	switch (rng_below(&worker->rng, 4)) {
	case 0:
		old = end->cq.ring;
		if (!cq_resize(dev, &end->cq, 2 * DEPTH + rng_below(&worker->rng, 200)))
			ring_unmap(&old);
		break;
	case 1:
		qp_set_state(&devices[i], worker->end[i].qp.handle, QPS_SQD);
		qp_set_state(&devices[i], worker->end[i].qp.handle, QPS_RTS);
		break;
	case 2:
		cq_arm(dev, end->cq.handle, false);
		break;
	}
}

static bool all_bytes_are(const uint8_t *memory, size_t bytes, uint8_t value)
{
	return !bytes || (memory[0] == value && !memcmp(memory, memory + 1, bytes - 1));
}

/* WRITEs or READs by end @i; false if the connection has ended */
static bool exchange(struct worker *worker, int i)
{
	enum wr_opcode opcode = rng_percent(&worker->rng, 50) ? WR_WRITE : WR_READ;
	int count = 1 + rng_below(&worker->rng, DEPTH), good;
	int source = opcode == WR_WRITE ? i : !i;
	uint8_t pattern = worker->pattern = (worker->pattern + 1) % SECRET;

	memset(worker->end[source].memory, pattern, DEPTH * BLOCK);
	for (int slot = 0; slot < count; slot++)
		post(worker, i, opcode, slot, BLOCK, worker->end[!i].mr.rkey);
	if (!kick(worker, i))
		return false;
	disturb(worker, i);
	good = reap(worker, i, count);
	if (good > 0 && !all_bytes_are(worker->end[!source].memory, good * BLOCK, pattern))
		complain(worker, "success, but not the right bytes: opcode, requests", opcode, good);
	if (good >= 0 && good < count && !options.rough)
		complain(worker, "requests failed: good, of", good, count);
	return good == count;
}

/* A request of end @i for its own keys; false if it fails */
static bool carry_out(struct worker *worker, int i)
{
	ring_publish(&worker->end[i].qp.send, 1);
	return kick(worker, i) && reap(worker, i, 1) == 1;
}

static struct rxe_send_wqe *begin_request(struct worker *worker, int i, enum wr_opcode opcode)
{
	struct ring *ring = &worker->end[i].qp.send;
	struct rxe_send_wqe *wqe = ring_slot(ring, ring->buf->producer_index);

	send_wqe_fill(wqe, 0, opcode, NULL, 0, 0, 0, 0);
	return wqe;
}

/* Bind a window of end @i over the first @bytes of its memory; 0 bytes: unbind */
static bool bind_window(struct worker *worker, int i, uint32_t *rkey, uint32_t bytes)
{
	struct end *end = &worker->end[i];
	struct rxe_send_wqe *wqe = begin_request(worker, i, WR_BIND_MW);

	wqe->wr.wr.mw.addr = (uintptr_t)end->memory;
	wqe->wr.wr.mw.length = bytes;
	wqe->wr.wr.mw.mr_lkey = end->mr.lkey;
	wqe->wr.wr.mw.mw_rkey = *rkey;
	wqe->wr.wr.mw.rkey = (*rkey & ~0xff) | ((*rkey + 1) & 0xff);
	wqe->wr.wr.mw.access = ACCESS_ALL & ~1;
	*rkey = wqe->wr.wr.mw.rkey;
	return carry_out(worker, i);
}

static bool invalidate(struct worker *worker, int i, uint32_t rkey)
{
	begin_request(worker, i, WR_LOCAL_INV)->wr.ex.invalidate_rkey = rkey;
	return carry_out(worker, i);
}

/* Memory that end @i lends: its region, or a window of it */
struct loan {
	int i;
	enum way way;
	uint32_t key;
	uint32_t window;
};

static bool lend(struct worker *worker, struct loan *loan)
{
	struct end *end = &worker->end[loan->i];

	loan->key = end->mr.rkey;
	if (loan->way < DEALLOCATE)
		return true;
	return !mw_alloc(&devices[loan->i], loan->way == INVALIDATE ? 2 : 1, &loan->window, &loan->key) &&
	       bind_window(worker, loan->i, &loan->key, REGION);
}

/* False: it could not be revoked */
static bool take_back(struct worker *worker, struct loan *loan)
{
	struct end *end = &worker->end[loan->i];
	struct device *dev = &devices[loan->i];
	int ret = 0;

	switch (loan->way) {
	case DEREGISTER:
		ret = mr_deregister(dev, end->mr.handle);
		end->mr.handle = ret ? end->mr.handle : 0;
		break;
	case REREGISTER:
		ret = mr_reregister(dev, &end->mr, REREG_ACCESS, 1);
		break;
	case DEALLOCATE:
		ret = mw_dealloc(dev, loan->window);
		loan->window = ret ? loan->window : 0;
		break;
	case UNBIND:
		return bind_window(worker, loan->i, &loan->key, 0);
	case REBIND:
		return bind_window(worker, loan->i, &loan->key, 1);
	default:
		return invalidate(worker, loan->i, loan->key);
	}
	if (ret && !options.rough)
		complain(worker, "memory cannot be taken away: error, way", ret, loan->way);
	return !ret;
}

/* Number of bytes that have @value, which they get in order */
static size_t progress(const volatile uint8_t *memory, uint8_t value)
{
	size_t low = 0, high = REGION;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (memory[middle] == value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* WRITEs or READs of all memory that the peer has lent; false if they are not accepted */
static bool use_memory(struct worker *worker, int i, enum wr_opcode opcode, uint32_t key)
{
	memset(worker->end[i].memory, 1, REGION);
	memset(worker->end[!i].memory, 2, REGION);
	for (int slot = 0; slot < DEPTH; slot++)
		post(worker, i, opcode, slot, LARGE_BLOCK, key);
	return kick(worker, i);
}

/*
 * Record memory that nobody may change any more in @then, and fill memory that nobody may read with
 * SECRET. Start at the position that end @i has reached: if anything changes, it is there.
 */
static void note_memory(struct worker *worker, int i, enum wr_opcode opcode, uint8_t *then)
{
	uint8_t *lent = worker->end[!i].memory;
	size_t at = opcode == WR_WRITE ? progress(lent, 1) : progress(worker->end[i].memory, 2);

	if (opcode == WR_READ) {
		memset(lent + at, SECRET, REGION - at);
		memset(lent, SECRET, at);
	}
	memcpy(then + at, lent + at, REGION - at);
	memcpy(then, lent, at);
}

/*
 * End !@i lends its memory and revokes it while end @i uses it. WRITEs: its content must stay after
 * that. READs: data written after that must not arrive.
 */
static void take_memory_away(struct worker *worker, int i)
{
	enum wr_opcode opcode = rng_percent(&worker->rng, 50) ? WR_WRITE : WR_READ;
	struct loan loan = { .i = !i, .way = rng_below(&worker->rng, NUM_WAYS) };
	volatile uint32_t spins = 1u << rng_below(&worker->rng, 16);
	static __thread uint8_t then[REGION];
	bool taken = false, used;

	used = lend(worker, &loan);
	if (!used && !options.rough)
		complain(worker, "a window cannot be bound: way, opcode", loan.way, opcode);
	used = used && use_memory(worker, i, opcode, loan.key);
	/* They are in progress until some have been done */
	while (used && spins-- && !ring_first(&worker->end[i].cq.ring))
		;
	if (used)
		taken = take_back(worker, &loan);
	if (taken)
		note_memory(worker, i, opcode, then);
	if (used)
		reap(worker, i, DEPTH);
	worker->tries[loan.way] += used;
	worker->fences[loan.way] += taken;
	if (taken && memcmp(then, worker->end[!i].memory, REGION))
		complain(worker, "memory changed after it was taken away: way, opcode", loan.way, opcode);
	if (taken && opcode == WR_READ && memchr(worker->end[i].memory, SECRET, REGION))
		complain(worker, "memory was read after it was taken away: way, opcode", loan.way, opcode);
	if (loan.window)
		mw_dealloc(&devices[loan.i], loan.window);
}

static void forget_requests(struct worker *worker, int i)
{
	struct end *end = &worker->end[i];

	qp_set_state(&devices[i], end->qp.handle, QPS_RESET);
	while (ring_first(&end->cq.ring))
		ring_consume(&end->cq.ring);
}

/* Restore the connection and the regions to their initial state */
static int restore(struct worker *worker)
{
	int ret = 0;

	for (int i = 0; !ret && i < 2; i++) {
		struct end *end = &worker->end[i];
		uint32_t access = ACCESS_ALL | ACCESS_MW_BIND;

		forget_requests(worker, i);
		ret = end->mr.handle ? mr_reregister(&devices[i], &end->mr, REREG_ACCESS, access) :
				       mr_register(&devices[i], &end->mr, end->memory, REGION, access);
	}
	return ret ?: connect_ends(worker);
}

/*
 * A fence waits for the copy of one packet, which is shorter than the check whether it was waited
 * for. A missing fence shows if the driver makes the copy last, see smp-churn.sh, or if the copying
 * processor stalls, so it is tried often.
 */
static void take_memory_away_often(struct worker *worker)
{
	int left = TAKES, ret = 0;

	do {
		take_memory_away(worker, rng_below(&worker->rng, 2));
		if (wrong || !--left || time(NULL) >= ends_at)
			return;
		ret = restore(worker);
	} while (!ret);
	if (!options.rough)
		complain(worker, "a connection cannot be restored: error, left", ret, left);
}

/* --- threads ------------------------------------------------------------------------ */

/* A process that makes changes meanwhile waits for this line */
static void tell_connected(void)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&told))
		puts("connected");
}

static void live(struct worker *worker)
{
	int exchanges = options.takes ? 0 : rng_below(&worker->rng, 12), ret = 0;

	for (int i = 0; !ret && i < 2; i++)
		ret = create_end(worker, i);
	if (!ret)
		ret = connect_ends(worker);
	if (ret) {
		worker->refused++;
		if (!options.rough)
			complain(worker, "objects are refused: error", ret, 0);
	} else {
		tell_connected();
	}
	while (!ret && exchanges--)
		if (!exchange(worker, rng_below(&worker->rng, 2)))
			ret = 1;
	/* End with requests in progress, or with the memory revoked */
	if (!ret && (options.takes || rng_percent(&worker->rng, 50)))
		take_memory_away_often(worker);
	else if (!ret) {
		for (int slot = 0; slot < DEPTH; slot++)
			post(worker, 0, WR_WRITE, slot, BLOCK, worker->end[1].mr.rkey);
		kick(worker, 0);
	}
	ret = rng_below(&worker->rng, 2);
	destroy_end(worker, ret);
	destroy_end(worker, !ret);
	worker->lives++;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(worker->cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	/* At least once: a busy machine may use up the time before the start */
	do {
		live(worker);
		if (options.rough)
			usleep(rng_below(&worker->rng, 2000));
	} while (time(NULL) < ends_at && !wrong);
	return NULL;
}

static void start(struct worker *worker, int number)
{
	worker->cpu = number % sysconf(_SC_NPROCESSORS_ONLN);
	worker->rng = rng_of_case(options.seed, number);
	for (int i = 0; i < 2; i++)
		worker->end[i].memory = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	pthread_create(&worker->thread, NULL, work, worker);
}

/* If nothing could be revoked, fences were not tested: of many attempts some must succeed */
static void judge_fences(const struct worker *workers)
{
	for (int way = 0; way < NUM_WAYS; way++) {
		unsigned long long tries = 0, fences = 0;

		for (int i = 0; i < options.threads; i++) {
			tries += workers[i].tries[way];
			fences += workers[i].fences[way];
		}
		printf("memory %s: %llu times, of %llu tries\n", way_names[way], fences, tries);
		if (!options.rough && tries >= MANY_TRIES && !fences) {
			printf("FAIL memory was never %s\n", way_names[way]);
			wrong = true;
		}
	}
}

static void usage(void)
{
	fputs("usage: smp [--seed N] [--seconds S] [--threads N] [--rough] [--takes] A INDEX_A B INDEX_B\n", stderr);
	exit(2);
}

static const struct option long_options[] = {
	{ "seed", 1, NULL, 'S' }, { "seconds", 1, NULL, 't' }, { "threads", 1, NULL, 'n' },
	{ "rough", 0, NULL, 'r' },
	{ "takes", 0, NULL, 'k' }, {}
};

static void parse(int argc, char **argv)
{
	int option;

	options.seed = time(NULL);
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0) {
		switch (option) {
		case 'S': options.seed = strtoull(optarg, NULL, 0); break;
		case 't': options.seconds = atof(optarg); break;
		case 'n': options.threads = atoi(optarg); break;
		case 'r': options.rough = true; break;
		case 'k': options.takes = true; break;
		default: usage();
		}
	}
	if (argc - optind != 4 || options.threads < 1 || options.threads > MAX_THREADS)
		usage();
	for (int i = 0; i < 2; i++) {
		options.names[i] = argv[optind++];
		options.gid_index[i] = atoi(argv[optind++]);
	}
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	uint64_t lives = 0, requests = 0, failed = 0, refused = 0;
	int i;

	parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("seed %llu\n", (unsigned long long)options.seed);
	for (i = 0; i < 2; i++) {
		if (device_open(&devices[i], options.names[i])) {
			printf("FAIL cannot open %s\n", options.names[i]);
			return 1;
		}
		if (gid_entry_read(options.names[i], options.gid_index[i], &gids[i])) {
			printf("FAIL %s has no GID %d\n", options.names[i], options.gid_index[i]);
			return 1;
		}
	}
	ends_at = time(NULL) + options.seconds;
	for (i = 0; i < options.threads; i++)
		start(&workers[i], i);
	for (i = 0; i < options.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		lives += workers[i].lives;
		requests += workers[i].requests;
		failed += workers[i].failed;
		refused += workers[i].refused;
	}
	printf("%d threads: %llu connections, %llu refused, %llu requests, %llu failed\n",
	       options.threads, (unsigned long long)lives, (unsigned long long)refused,
	       (unsigned long long)requests, (unsigned long long)failed);
	judge_fences(workers);
	if (!lives || lives == refused) {
		puts("FAIL not one connection");
		wrong = true;
	}
	printf("%s %s\n", wrong ? "FAIL" : "ok  ",
	       "every request had its end, its bytes were right, and fences held");
	return wrong;
}
