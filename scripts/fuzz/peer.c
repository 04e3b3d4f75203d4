// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile peer: it holds up RC, UC and UD conversations with a software HCA by a
 * packet socket, and breaks their rules. Device A, the target, is driven by this
 * same program with bare verbs, so that its requester has something to ask; device
 * B serves an honest connection with A, over the same wire, that must not notice.
 *
 * A case is a few hundred packets with one QP. Everything in it follows from the
 * seed and the number of the case; --case runs one alone, --trace shows it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "talk.h"

#define CASES_A_ROUND	64

/* --- rounds of cases, each judged ------------------------------------------------- */

struct counted {
	uint64_t clean;
	uint64_t sent;
	uint64_t admitted;
	uint64_t dropped;
};

static struct counted count_now(struct world *world)
{
	return (struct counted){
		world->totals.clean, world->totals.sent,
		counter_read(world->names[0], "rx_packets"), counter_sum_of_drops(world->names[0]),
	};
}

/*
 * Every packet that reached the driver was admitted, or dropped for a reason that
 * has a counter, and no more were counted than were sent. Some are both: what was
 * admitted may find later that it is out of its order. A multicast packet meets
 * several QPs, and none is sent here. Counters show old values for a few ms, and
 * packets wait for other processors: the sum is waited for.
 */
static bool counters_agree(struct world *world, const struct counted *before)
{
	struct timespec pause = { .tv_nsec = 20000000 };
	struct counted now, moved;

	for (int tries = 3000; tries; tries--) {
		now = count_now(world);
		moved = (struct counted){ now.clean - before->clean, now.sent - before->sent,
					  now.admitted - before->admitted,
					  now.dropped - before->dropped };
		if (moved.admitted + moved.dropped >= moved.clean)
			break;
		nanosleep(&pause, NULL);
	}
	if (moved.admitted + moved.dropped >= moved.clean &&
	    (world->busy || (moved.admitted <= moved.sent && moved.dropped <= moved.sent)))
		return true;
	printf("counters: of %llu packets, %llu of them sure to arrive, %llu admitted, %llu dropped\n",
	       (unsigned long long)moved.sent, (unsigned long long)moved.clean,
	       (unsigned long long)moved.admitted, (unsigned long long)moved.dropped);
	return false;
}

static bool round_of_cases(struct world *world, uint64_t seed, uint64_t first, uint64_t count)
{
	struct counted before;
	const char *what;

	/* What is left of the honest exchange has been counted by now. */
	usleep(15000);
	before = count_now(world);
	for (uint64_t number = first; number < first + count; number++)
		if (run_case(world, seed, number))
			return false;
	if (!counters_agree(world, &before))
		return false;
	if (!honest_exchange(&world->honest, &what)) {
		printf("honest connection: its %s failed\n", what);
		return false;
	}
	world->totals.honest++;
	return true;
}

/* --- setting up -------------------------------------------------------------------- */

static int open_wire(const char *netns, const char *netdev)
{
	int here = open("/proc/self/ns/net", O_RDONLY), there = -1, fd, one = 1, room = 32 << 20;
	struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };

	if (netns) {
		there = open(netns, O_RDONLY);
		if (there < 0 || setns(there, CLONE_NEWNET))
			return -errno;
	}
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	address.sll_ifindex = if_nametoindex(netdev);
	if (fd < 0 || setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (void *)&address, sizeof(address)))
		return -errno;
	if (netns && setns(here, CLONE_NEWNET))
		return -errno;
	close(here);
	close(there);
	return fd;
}

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
	      "            [--seconds S | --packets N | --case K[-L]] [--trace] [--busy]\n"
	      "            A INDEX_A B INDEX_B v1|v2,INDEX,OUR_ADDRESS,TARGET_ADDRESS...\n", stderr);
	exit(2);
}

struct options {
	const char *netns, *netdev;
	uint8_t src_mac[6], dst_mac[6];
	uint64_t seed, packets, first, last;
	double seconds;
	bool one_range;
};

static const struct option long_options[] = {
	{ "netns", 1, NULL, 'n' }, { "netdev", 1, NULL, 'i' }, { "src-mac", 1, NULL, 's' },
	{ "dst-mac", 1, NULL, 'd' }, { "seed", 1, NULL, 'S' }, { "seconds", 1, NULL, 't' },
	{ "packets", 1, NULL, 'p' }, { "case", 1, NULL, 'c' }, { "trace", 0, NULL, 'T' },
	{ "busy", 0, NULL, 'b' }, {}
};

static void parse_option(struct world *world, struct options *options, int option)
{
	char *end;

	switch (option) {
	case 'n': options->netns = optarg; break;
	case 'i': options->netdev = optarg; break;
	case 's': if (!parse_mac(optarg, options->src_mac)) usage(); break;
	case 'd': if (!parse_mac(optarg, options->dst_mac)) usage(); break;
	case 'S': options->seed = strtoull(optarg, NULL, 0); break;
	case 't': options->seconds = atof(optarg); break;
	case 'p': options->packets = strtoull(optarg, NULL, 0); break;
	case 'c':
		options->first = strtoull(optarg, &end, 0);
		options->last = *end == '-' ? strtoull(end + 1, NULL, 0) : options->first;
		options->one_range = true;
		break;
	case 'T': world->trace = true; break;
	case 'b': world->busy = true; break;
	default: usage();
	}
}

static void parse(struct world *world, struct options *options, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "", long_options, NULL)) >= 0)
		parse_option(world, options, option);
	if (argc - optind < 5 || !options->netdev)
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

static bool enough(const struct world *world, const struct options *options, time_t began)
{
	if (told_to_end)
		return true;
	if (options->packets)
		return world->totals.sent >= options->packets;
	return time(NULL) - began >= options->seconds;
}

static bool run(struct world *world, const struct options *options)
{
	time_t began = time(NULL);
	uint64_t first = 0;

	if (options->one_range)
		return round_of_cases(world, options->seed, options->first,
				      options->last - options->first + 1);
	do {
		if (!round_of_cases(world, options->seed, first, CASES_A_ROUND)) {
			printf("one of these cases: --seed %llu --case %llu-%llu\n",
			       (unsigned long long)options->seed, (unsigned long long)first,
			       (unsigned long long)first + CASES_A_ROUND - 1);
			return false;
		}
		first += CASES_A_ROUND;
	} while (!enough(world, options, began));
	return true;
}

static void report(const struct totals *totals, uint64_t seed, bool well)
{
	printf("seed %llu: %llu cases, %llu packets sent (%llu blocks), %llu received (%llu with a wrong ICRC),"
	       " %llu requests of the target's, %llu completions, %llu connections, %llu honest exchanges\n",
	       (unsigned long long)seed, (unsigned long long)totals->cases,
	       (unsigned long long)totals->sent, (unsigned long long)totals->sent_blocks,
	       (unsigned long long)totals->received, (unsigned long long)totals->received_bad_icrc,
	       (unsigned long long)totals->requests, (unsigned long long)totals->completions,
	       (unsigned long long)totals->reconnects, (unsigned long long)totals->honest);
	printf("%s hostile peer: honest traffic, counters and cases\n", well ? "ok  " : "FAIL");
}

int main(int argc, char **argv)
{
	static struct world world;
	struct options options = { .seed = time(NULL), .seconds = 10 };
	const char *what;
	int ret;
	bool well;

	parse(&world, &options, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGTERM, end_soon);
	printf("seed %llu\n", (unsigned long long)options.seed);
	world.wire = open_wire(options.netns, options.netdev);
	ret = world.wire < 0 ? world.wire : open_target(&world);
	if (!ret)
		ret = honest_open(&world.honest, world.names, world.gid_index);
	if (ret || !honest_exchange(&world.honest, &what)) {
		printf("FAIL hostile peer: cannot begin: %s\n", ret ? strerror(-ret) : what);
		return 1;
	}
	well = run(&world, &options);
	report(&world.totals, options.seed, well);
	honest_close(&world.honest);
	device_close(&world.dev);
	return !well;
}
