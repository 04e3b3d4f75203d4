/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The runner, "roce-lab": one static program, which needs only Linux and /proc of the machine. It
 * starts a User-Mode Linux kernel, sends the guest its job (../guest/job.c), and copies between the
 * caller's streams and the guest's.
 */
#ifndef LAB_RUNNER_H
#define LAB_RUNNER_H

#include <pthread.h>
#include <stdint.h>

#include "../guest/text.h"

#define ARRAY_SIZE(_array)	(sizeof(_array) / sizeof((_array)[0]))
#define MIB			(1ull << 20)

/* Exit status of roce-lab if it is not the command's */
#define STATUS_FAULT		99
#define STATUS_TIMED_OUT	124
#define STATUS_FAILED		125

/* --- options.c */
struct options {
	const char *loss, *delay, *rate, *pcap, *memory, *user, *cwd, *kernel;
	const char *driver, *trace, *trace_file;
	const char **set, **rwdir, **overlay_rwdir, **append, **module;
	const char *arch, *root;
	unsigned int hosts, devices, mtu, vlan, cpus, timeout_s, tos, seed;
	bool ecn, pwd, debug, gdb, verbose, qemu, disable_kvm, tos_given, seed_given;
	char **command;			/* the words after the options */
};

void options_parse(struct options *options, char **words);
void options_help(void);

/* --- place.c: places of the parts of a lab. Functions that return text return the reason of an
 * error, or NULL.
 */
const char *place_find(const struct options *options, char **folder);
const char *place_root(const char *root);
const char *place_version(void);

/* --- limits.c: limits of the machine outside */
struct memory {
	uint64_t bytes;			/* for the guest */
	char *folder;			/* NULL: its memory is a file in no folder */
};

uint64_t memory_limit(const char **who);
const char *memory_size(const char *asked, bool debug, uint64_t *bytes);
const char *memory_folder(uint64_t bytes, bool own_kernel, char **folder);
bool seccomp_allowed(void);
unsigned int processors(unsigned int asked);
void raise_limits(void);
int temporary_file(char **path);

/* --- terminal.c: the caller's terminal */
struct terminal {
	bool is[3];			/* stdin, stdout, stderr */
	bool foreground, raw;
};

void terminal_look(struct terminal *terminal);
void terminal_take(const struct terminal *terminal);
void terminal_give_back_input(void);
void terminal_give_back(void);
bool terminal_goes_on(int fd);
bool terminal_comes_back(int fd);
char *terminal_window(const struct terminal *terminal);

/* --- job.c: the message to the guest */
struct message {
	char *data;
	size_t size, room;
};

void message_add(struct message *message, const char *name, const char *value);
const char *message_next(const struct message *message, const char *name, const char *after);
void job_write(struct message *message, const struct options *options,
	       const struct terminal *terminal);

char *real_folder(const char *option, const char *given);

/* --- machine.c: the kernel as a process, and its pipes */
enum channel { ORDERS, REPORTS, STDIN, STDOUT, STDERR, CAPTURE, TRACE, N_CHANNELS };

struct machine {
	pid_t pid;
	int ends[N_CHANNELS];		/* the runner's */
	int log;
};

struct arguments {
	const char *program;		/* its path */
	char *words[256];
	size_t n;
};

/* The descriptors of channel/lab_channel.c, and those passed to an emulator */
#define FIRST_CHANNEL	3

void arguments_add(struct arguments *arguments, char *word);
void machine_start(struct machine *machine, const struct options *options,
		   const struct message *job);
void machine_kill(struct machine *machine);

/* --- emulator.c: QEMU as the machine */
const char *emulator_find(const char *wanted, const char **program, const char **arch);
bool emulator_is_needed(void);
void emulator_arguments(struct arguments *arguments, const struct options *options,
			const struct message *job, const char *folder, uint64_t bytes);

/* --- relay.c */
struct relay {
	pthread_t thread;
	int from, to;
	bool terminal, close_target, framed;
	int error;
	volatile bool ended;
	_Atomic uint64_t bytes;		/* copied */
};

void pipe_make(int *ends);
bool write_all(int fd, const char *data, size_t size);
struct relay *relay_start(int from, int to, bool close_target);
struct relay *relay_start_terminal(int from, int to, bool framed);
struct relay *relay_start_framed(int from, int to);
int relay_wait(struct relay *relay);

/* --- run.c */
void find_listener(void);
int run(const struct options *options);

/* --- check.c */
int check(void);
const char *provider_missing(void);

/* --- main.c */
char *self_path(void);
double now_s(void);

#endif
