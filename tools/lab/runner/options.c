// SPDX-License-Identifier: GPL-2.0
/* The options of "run" and "shell", in one table */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

struct row {
	const char *name, *word, *help;
	enum { FLAG, NUMBER, TEXT, LIST, TWO_TEXTS } kind;
	size_t at;
	unsigned int least, most;
	size_t given;			/* of a flag for a given number */
};

#define AT(_field)	offsetof(struct options, _field)

static const struct row table[] = {
	{ "hosts", "N", "hosts a, b, c ... on one switch, 1 to 16; the command runs on a",
	  NUMBER, AT(hosts), 1, 16, 0 },
	{ "devices", "N", "RDMA devices of each host, each on a switch of its own, 1 to 4",
	  NUMBER, AT(devices), 1, 4, 0 },
	{ "driver", "NAME", "roce, or the in-tree rxe or siw", TEXT, AT(driver), 0, 0, 0 },
	{ "set", "NAME=VALUE", "a parameter of the module roce_hca", LIST, AT(set), 0, 0, 0 },
	{ "tos", "N", "type of service of connections by rdma_cm",
	  NUMBER, AT(tos), 0, 255, AT(tos_given) },
	{ "loss", "PART", "of packets that a port of the switch loses, such as 1%",
	  TEXT, AT(loss), 0, 0, 0 },
	{ "delay", "TIME", "that a packet takes, such as 1ms", TEXT, AT(delay), 0, 0, 0 },
	{ "rate", "RATE", "of a port, such as 1gbit", TEXT, AT(rate), 0, 0, 0 },
	{ "ecn", NULL, "packets that --loss chooses are marked instead, where they can",
	  FLAG, AT(ecn), 0, 0, 0 },
	{ "seed", "N", "the same seed chooses the same packets",
	  NUMBER, AT(seed), 0, UINT_MAX, AT(seed_given) },
	{ "mtu", "BYTES", "of the netdevs (4200)", NUMBER, AT(mtu), 256, 65000, 0 },
	{ "vlan", "ID", "addresses are on this VLAN", NUMBER, AT(vlan), 1, 4094, 0 },
	{ "pcap", "FILE", "what the switch receives", TEXT, AT(pcap), 0, 0, 0 },
	{ "trace", "EVENTS FILE", "the kernel's trace events, such as 'rhca:*'",
	  TWO_TEXTS, AT(trace), 0, 0, AT(trace_file) },
	{ "cpus", "N", "processors of the guest, 1 to 4 (2)", NUMBER, AT(cpus), 1, 4, 0 },
	{ "memory", "SIZE", "of the guest at most, such as 512M (1G; with --debug 2G)",
	  TEXT, AT(memory), 0, 0, 0 },
	{ "user", "NAME", "root: the command is root of the lab", TEXT, AT(user), 0, 0, 0 },
	{ "pwd", NULL, "the current folder is the same inside: it always is",
	  FLAG, AT(pwd), 0, 0, 0 },
	{ "cwd", "FOLDER", "the current folder of the command", TEXT, AT(cwd), 0, 0, 0 },
	{ "rwdir", "FOLDER", "written through, as the current folder is",
	  LIST, AT(rwdir), 0, 0, 0 },
	{ "overlay-rwdir", "FOLDER", "can be written, in memory",
	  LIST, AT(overlay_rwdir), 0, 0, 0 },
	{ "append", "WORD", "for the command line of the kernel", LIST, AT(append), 0, 0, 0 },
	{ "debug", NULL, "the kernel with KASAN and lockdep", FLAG, AT(debug), 0, 0, 0 },
	{ "kernel", "DIR", "a User-Mode Linux kernel of your own", TEXT, AT(kernel), 0, 0, 0 },
	{ "module", "FILE.ko|NAME", "loaded once the devices are there",
	  LIST, AT(module), 0, 0, 0 },
	{ "qemu", NULL, "a distribution's kernel in qemu-system, as always on arm64",
	  FLAG, AT(qemu), 0, 0, 0 },
	{ "arch", "NAME", "with --qemu: amd64 or arm64 (this machine's)", TEXT, AT(arch), 0, 0, 0 },
	{ "root", "FOLDER", "with --qemu: another root than this machine's, read-only",
	  TEXT, AT(root), 0, 0, 0 },
	{ "disable-kvm", NULL, "with --qemu: emulate even where KVM answers",
	  FLAG, AT(disable_kvm), 0, 0, 0 },
	{ "gdb", NULL, "the kernel waits for a debugger before it starts",
	  FLAG, AT(gdb), 0, 0, 0 },
	{ "timeout", "SECONDS", "end the command after that time (status 124)",
	  NUMBER, AT(timeout_s), 1, 1000000000, 0 },
	{ "verbose", NULL, "show the kernel's log", FLAG, AT(verbose), 0, 0, 0 },
};

static unsigned int number(const struct row *row, const char *value)
{
	unsigned long long n = isdigit(*value) ? strtoull(value, NULL, 10) : ULLONG_MAX;

	if (value[strspn(value, "0123456789")] || n < row->least || n > row->most)
		die("--%s %s: a number from %u to %u", row->name, value, row->least, row->most);
	return n;
}

static void append(const char ***list, const char *value)
{
	size_t n = 0;

	while ((*list)[n])
		n++;
	*list = realloc(*list, (n + 2) * sizeof(**list));
	if (!*list)
		die("out of memory");
	(*list)[n] = value;
	(*list)[n + 1] = NULL;
}

static void take(struct options *options, const struct row *row, const char *value,
		 const char *second)
{
	char *base = (char *)options;

	switch (row->kind) {
	case FLAG: *(bool *)(base + row->at) = true; break;
	case TEXT: *(const char **)(base + row->at) = value; break;
	case LIST: append((const char ***)(base + row->at), value); break;
	case NUMBER:
		*(unsigned int *)(base + row->at) = number(row, value);
		if (row->given)
			*(bool *)(base + row->given) = true;
		break;
	case TWO_TEXTS:
		*(const char **)(base + row->at) = value;
		*(const char **)(base + row->given) = second;
		break;
	}
}

static const struct row *find_row(const char *word, size_t size)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (!strncmp(word, "--", 2) && strlen(table[i].name) == size - 2 &&
		    !strncmp(table[i].name, word + 2, size - 2))
			return &table[i];
	die("no option %.*s (roce-lab --help has them)", (int)size, word);
}

static char **parse_one(struct options *options, char **words)
{
	char *word = *words++, *equals = strchr(word, '=');
	const char *values[2] = { equals ? equals + 1 : NULL, NULL };
	const struct row *row = find_row(word, equals ? (size_t)(equals - word) : strlen(word));
	int i, wanted = row->kind == FLAG ? 0 : row->kind == TWO_TEXTS ? 2 : 1;

	if (!wanted && equals)
		die("--%s has no value", row->name);
	for (i = 0; i < wanted; i++) {
		if (!values[i] && !*words)
			die("--%s needs a value: %s", row->name, row->word);
		if (!values[i])
			values[i] = *words++;
	}
	take(options, row, values[0], values[1]);
	return words;
}

static void check_emulator(const struct options *options)
{
	if (!options->qemu && (options->arch || options->root || options->disable_kvm))
		die("--%s is for --qemu", options->arch ? "arch" : options->root ? "root" : "disable-kvm");
	if (options->qemu && (options->debug || options->kernel || options->gdb))
		die("--%s is for User-Mode Linux, and not for --qemu",
		    options->debug ? "debug" : options->kernel ? "kernel" : "gdb");
	if (options->root && *options->module)
		die("--root and --module: a module of this machine is not in another root");
	if (options->root && (*options->rwdir || *options->overlay_rwdir))
		die("--root and --%s: nothing of another root is written through",
		    *options->rwdir ? "rwdir" : "overlay-rwdir");
}

static void check_options(const struct options *options)
{
	const char *driver = options->driver;

	if (strcmp(driver, "roce") && strcmp(driver, "rxe") && strcmp(driver, "siw"))
		die("--driver %s: there are roce, rxe, siw", driver);
	if (*options->set && strcmp(driver, "roce"))
		die("--set is for the driver roce");
	if (options->debug && options->kernel)
		die("--debug and --kernel: a lab has one kernel");
	check_emulator(options);
	if (!strcmp(driver, "siw") && options->hosts > 1)
		die("siw knows no network namespaces, so it has one host");
	if (options->ecn && !options->loss)
		die("--ecn marks what --loss chooses: give --loss, too");
}

/* Options and the words after them: from the first that is no option, or after "--" */
void options_parse(struct options *options, char **words)
{
	const char **none[5];
	int i;

	for (i = 0; i < 5; i++)
		none[i] = must_alloc(sizeof(*none[i]));
	*options = (struct options){ .hosts = 1, .devices = 1, .driver = "roce", .mtu = 4200,
				     .set = none[0], .rwdir = none[1], .overlay_rwdir = none[2],
				     .append = none[3], .module = none[4] };
	while (*words && **words == '-') {
		if (!strcmp(*words, "--")) {
			words++;
			break;
		}
		words = parse_one(options, words);
	}
	options->command = words;
	options->qemu |= emulator_is_needed();
	check_options(options);
	if (options->root)
		options->root = real_folder("--root", options->root);
}

void options_help(void)
{
	const struct row *row;
	char *words;

	for (row = table; row < table + ARRAY_SIZE(table); row++) {
		words = text("--%s%s%s", row->name, row->word ? " " : "", row->word ?: "");
		printf("  %-26s %s\n", words, row->help);
	}
}
