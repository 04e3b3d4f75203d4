// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile peer: it has RC, UC and UD conversations with a software HCA through a packet
 * socket, and violates the protocol. The same program drives device A, the target, with
 * bare verbs, so that its requester sends requests; device B has an honest connection with
 * A over the same wire, which must not be affected.
 *
 * A case is a few hundred packets or more with one QP. It depends only on the seed and the
 * number of the case; --case runs one alone, --trace shows it. Several processes (--jobs)
 * run the cases of a round in parallel.
 */
#include <arpa/inet.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jobs.h"
#include "talk.h"

#define CASES_A_ROUND	64
#define ROUND_LIMIT_S	600	/* for the debug kernel, on a shared machine */

/* --- rounds of cases, each judged ------------------------------------------------- */

struct options {
	const char *netns, *netdev;
	uint8_t src_mac[6], dst_mac[6];
	uint64_t seed, packets, first, last;
	unsigned int jobs;
	double seconds;
	bool one_range;
};

/* Shared by the peer's processes: each has its own counts */
struct shared {
	struct totals totals[MAX_JOBS];
	uint64_t in_case[MAX_JOBS];
};

/**
 * struct peer - The process that starts the others and judges
 * @world: initial state of each of them
 * @first: first case of the current round
 * @last: its last one
 * @busy: others also send to the target
 * @exchanges: of the honest connection
 */
struct peer {
	struct world world;
	struct options options;
	struct shared *shared;
	struct honest honest;
	uint64_t first, last;
	bool busy;
	uint64_t exchanges;
};

static struct totals sum_totals(const struct shared *shared)
{
	struct totals sum = {};
	const uint64_t *from;
	uint64_t *to = (uint64_t *)&sum;

	for (int job = 0; job < MAX_JOBS; job++) {
		from = (const uint64_t *)&shared->totals[job];
		for (size_t i = 0; i < sizeof(sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
	return sum;
}

struct counted {
	uint64_t clean;
	uint64_t sent;
	uint64_t admitted;
	uint64_t dropped;
};

static struct counted count_now(const struct peer *peer)
{
	const char *name = peer->world.names[0];
	struct wire_sent sent = sum_totals(peer->shared).sent;

	return (struct counted){
		sent.clean, sent.packets, counter_read(name, "rx_packets"), counter_sum_of_drops(name),
	};
}

/*
 * Every packet that reached the driver was admitted, or dropped for a reason that has a counter,
 * and no more were counted than were sent. Some count twice, as an admitted packet may turn out to
 * be out of order. A multicast packet is for several QPs, so none is sent here. Counters may be old
 * by a few ms, and packets may wait for other processors, so wait for the sum.
 */
static bool counters_agree(const struct peer *peer, const struct counted *before)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	struct counted now, moved;

	for (int tries = 3000; tries; tries--) {
		now = count_now(peer);
		moved = (struct counted){ now.clean - before->clean, now.sent - before->sent,
					  now.admitted - before->admitted,
					  now.dropped - before->dropped };
		if (moved.admitted + moved.dropped >= moved.clean)
			break;
		nanosleep(&pause, NULL);
	}
	if (moved.admitted + moved.dropped >= moved.clean &&
	    (peer->busy || (moved.admitted <= moved.sent && moved.dropped <= moved.sent)))
		return true;
	printf("counters: of %llu packets, %llu of them sure to arrive, %llu admitted, %llu dropped\n",
	       (unsigned long long)moved.sent, (unsigned long long)moved.clean,
	       (unsigned long long)moved.admitted, (unsigned long long)moved.dropped);
	return false;
}

/* Only the target sends to the peer's MAC address. */
static bool icrcs_are_right(const struct peer *peer)
{
	unsigned long long wrong = sum_totals(peer->shared).received_bad_icrc;

	if (wrong)
		printf("packets of the target with a wrong ICRC: expected 0, got %llu\n", wrong);
	return !wrong;
}

/* --- the processes that run the cases ------------------------------------------------ */

static int open_target(struct world *world)
{
	void *memory = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret = device_open(&world->dev, world->names[0]);

	if (!ret)
		ret = mr_register(&world->dev, &world->mr, memory, REGION, ACCESS_ALL);
	if (!ret)
		ret = cq_create(&world->dev, &world->cq, 8191);
	return ret;
}

/* Each process has its own wire and target, and takes its share of the round. */
static int run_job(void *context, uint64_t job)
{
	struct peer *peer = context;
	const struct options *options = &peer->options;
	struct world *world = &peer->world;
	int ret;

	world->totals = &peer->shared->totals[job];
	peer->shared->in_case[job] = peer->first + job;
	ret = wire_open(&world->wire, options->netns, options->netdev, &world->totals->sent);
	if (!ret)
		ret = open_target(world);
	if (ret)
		printf("process %llu: %s\n", (unsigned long long)job, strerror(-ret));
	for (uint64_t number = peer->first + job; !ret && number <= peer->last; number += options->jobs) {
		peer->shared->in_case[job] = number;
		ret = run_case(world, options->seed, number);
	}
	device_close(&world->dev);
	return !!ret;
}

static bool job_ended(void *context, uint64_t job, int status)
{
	const struct peer *peer = context;

	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	printf("case %llu: expected exit status 0, got wait status %#x\n",
	       (unsigned long long)peer->shared->in_case[job], status);
	return false;
}

static bool run_cases(struct peer *peer)
{
	uint64_t cases = peer->last - peer->first + 1;
	uint64_t processes = cases < peer->options.jobs ? cases : peer->options.jobs;
	struct jobs jobs = {
		.at_once = processes, .limit_s = ROUND_LIMIT_S,
		.run = run_job, .ended = job_ended, .context = peer,
	};

	return jobs_run(&jobs, 0, processes - 1);
}

static bool round_of_cases(struct peer *peer, uint64_t first, uint64_t last)
{
	struct counted before;
	const char *what;

	/* By now the rest of the honest exchange has been counted. */
	usleep(15000);
	before = count_now(peer);
	peer->first = first;
	peer->last = last;
	if (!run_cases(peer) || !counters_agree(peer, &before) || !icrcs_are_right(peer))
		return false;
	if (!honest_exchange(&peer->honest, &what)) {
		printf("honest connection: its %s failed\n", what);
		return false;
	}
	peer->exchanges++;
	return true;
}

/* --- setting up -------------------------------------------------------------------- */

static bool parse_mac(const char *text, uint8_t mac[6])
{
	return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", mac, mac + 1, mac + 2, mac + 3, mac + 4,
		      mac + 5) == 6;
}

static bool parse_address(const char *text, uint8_t gid[16])
{
	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	return inet_pton(AF_INET, text, gid + 12) == 1 || inet_pton(AF_INET6, text, gid) == 1;
}

/* VERSION,GID_INDEX,OUR_ADDRESS,TARGET_ADDRESS */
static bool parse_way(struct world *world, char *text)
{
	struct way *way = &world->ways[world->num_ways];
	char *version = strtok(text, ","), *index = strtok(NULL, ",");
	char *src = strtok(NULL, ","), *dst = strtok(NULL, ",");

	if (!dst || world->num_ways == MAX_FRAMINGS)
		return false;
	way->framing.v1 = !strcmp(version, "v1");
	way->framing.ipv6 = strchr(src, ':');
	way->gid_index = atoi(index);
	world->num_ways++;
	return parse_address(src, way->framing.src) && parse_address(dst, way->framing.dst);
}

static void usage(void)
{
	fputs("usage: peer [--netns FILE] --netdev DEV --src-mac MAC --dst-mac MAC [--seed N]\n"
	      "            [--seconds S | --packets N | --case K[-L]] [--jobs N] [--trace]\n"
	      "            [--busy]\n"
	      "            A INDEX_A B INDEX_B v1|v2,INDEX,OUR_ADDRESS,TARGET_ADDRESS...\n", stderr);
	exit(2);
}

static const struct option long_options[] = {
	{ "netns", 1, NULL, 'n' }, { "netdev", 1, NULL, 'i' }, { "src-mac", 1, NULL, 's' },
	{ "dst-mac", 1, NULL, 'd' }, { "seed", 1, NULL, 'S' }, { "seconds", 1, NULL, 't' },
	{ "packets", 1, NULL, 'p' }, { "case", 1, NULL, 'c' }, { "trace", 0, NULL, 'T' },
	{ "busy", 0, NULL, 'b' }, { "jobs", 1, NULL, 'j' }, {}
};

static void parse_option(struct peer *peer, int option)
{
	struct options *options = &peer->options;
	char *end;

	switch (option) {
	case 'n': options->netns = optarg; break;
	case 'i': options->netdev = optarg; break;
	case 's': if (!parse_mac(optarg, options->src_mac)) usage(); break;
	case 'd': if (!parse_mac(optarg, options->dst_mac)) usage(); break;
	case 'S': options->seed = strtoull(optarg, NULL, 0); break;
	case 't': options->seconds = atof(optarg); break;
	case 'p': options->packets = strtoull(optarg, NULL, 0); break;
	case 'j': options->jobs = strtoul(optarg, NULL, 0); break;
	case 'c':
		options->first = strtoull(optarg, &end, 0);
		options->last = *end == '-' ? strtoull(end + 1, NULL, 0) : options->first;
		options->one_range = true;
		break;
	case 'T': peer->world.trace = true; break;
	case 'b': peer->busy = true; break;
	default: usage();
	}
}

static void parse(struct peer *peer, int argc, char **argv)
{
	struct options *options = &peer->options;
	struct world *world = &peer->world;
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0)
		parse_option(peer, option);
	if (argc - optind < 5 || !options->netdev || options->first > options->last ||
	    !options->jobs || options->jobs > MAX_JOBS)
		usage();
	for (int i = 0; i < 2; i++) {
		world->names[i] = argv[optind++];
		world->gid_index[i] = atoi(argv[optind++]);
	}
	while (optind < argc)
		if (!parse_way(world, argv[optind++]))
			usage();
	for (unsigned int i = 0; i < world->num_ways; i++) {
		memcpy(world->ways[i].framing.src_mac, options->src_mac, 6);
		memcpy(world->ways[i].framing.dst_mac, options->dst_mac, 6);
	}
}

static volatile sig_atomic_t told_to_end;

static void end_soon(int signal)
{
	(void)signal;
	told_to_end = 1;
}

static bool enough(const struct peer *peer, time_t began)
{
	if (told_to_end)
		return true;
	if (peer->options.packets)
		return sum_totals(peer->shared).sent.packets >= peer->options.packets;
	return time(NULL) - began >= peer->options.seconds;
}

static bool run(struct peer *peer)
{
	const struct options *options = &peer->options;
	time_t began = time(NULL);
	uint64_t first = 0;

	if (options->one_range)
		return round_of_cases(peer, options->first, options->last);
	do {
		if (!round_of_cases(peer, first, first + CASES_A_ROUND - 1)) {
			printf("one of these cases: --seed %llu --case %llu-%llu\n",
			       (unsigned long long)options->seed, (unsigned long long)first,
			       (unsigned long long)first + CASES_A_ROUND - 1);
			return false;
		}
		first += CASES_A_ROUND;
	} while (!enough(peer, began));
	return true;
}

static void report(const struct peer *peer, bool well)
{
	struct totals totals = sum_totals(peer->shared);

	printf("seed %llu: %llu cases, %llu packets sent (%llu blocks), %llu received (%llu with a wrong ICRC),"
	       " %llu requests of the target's, %llu completions, %llu connections, %llu honest exchanges\n",
	       (unsigned long long)peer->options.seed, (unsigned long long)totals.cases,
	       (unsigned long long)totals.sent.packets, (unsigned long long)totals.sent.blocks,
	       (unsigned long long)totals.received, (unsigned long long)totals.received_bad_icrc,
	       (unsigned long long)totals.requests, (unsigned long long)totals.completions,
	       (unsigned long long)totals.reconnects, (unsigned long long)peer->exchanges);
	printf("%s hostile peer: honest traffic, counters and cases\n", well ? "ok  " : "FAIL");
}

int main(int argc, char **argv)
{
	static struct peer peer = { .options = { .seconds = 10, .jobs = 4 } };
	const char *what;
	int ret;
	bool well;

	peer.options.seed = time(NULL);
	parse(&peer, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, end_soon);
	printf("seed %llu\n", (unsigned long long)peer.options.seed);
	peer.shared = mmap(NULL, sizeof(*peer.shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ret = honest_open(&peer.honest, peer.world.names, peer.world.gid_index);
	if (ret || !honest_exchange(&peer.honest, &what)) {
		printf("FAIL hostile peer: cannot begin: %s\n", ret ? strerror(-ret) : what);
		return 1;
	}
	well = run(&peer);
	report(&peer, well);
	honest_close(&peer.honest);
	return !well;
}
