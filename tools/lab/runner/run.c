// SPDX-License-Identifier: GPL-2.0
/* One command in a lab, from its start to its exit status */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"

#define KILL_AFTER_S	10
/* A machine on which many begin at once is slow, not broken. */
#define BOOT_LIMIT_S	300
#define TICK_MS		500

/* What grows: the kernel's log, reports that have not come whole */
struct buffer {
	char *data;
	size_t size, room;
};

static struct run {
	const struct options *options;
	struct terminal terminal;
	struct message orders;		/* what is still to be sent */
	size_t orders_sent;
	struct machine machine;
	struct buffer console, reports;
	struct relay *outputs[4];
	int n_outputs, copies[2];	/* files for CAPTURE and TRACE */
	const char *log;
	double began_s, kill_at_s;
	bool ready, timed_out;
	int result;
} current = { .log = "", .copies = { -1, -1 }, .result = -1 };

static int signals[2] = { -1, -1 };

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "roce-lab: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
}

/* roce-lab itself cannot go on, and says why in a line. */
void die(const char *format, ...)
{
	va_list args;
	char *why;

	machine_kill(&current.machine);
	terminal_give_back();
	va_start(args, format);
	if (vasprintf(&why, format, args) < 0)
		why = "out of memory";
	va_end(args);
	say("%s", why);
	_exit(STATUS_FAILED);
}

/* --- faults ----------------------------------------------------------------- */

static const char * const fault_words[] = {
	"BUG:", "kernel BUG", "Oops", "general protection fault", "Kernel panic", "invalid opcode",
	"divide error", "WARNING: ", "KASAN", "KFENCE", "UBSAN", "Bad page state", "refcount_t: ",
	"ODEBUG", "list_add corruption", "list_del corruption", "DEADLOCK", "circular locking",
	"recursive locking", "inconsistent lock state", "suspicious RCU usage", "held lock freed",
	"lock held when returning", "Invalid wait context", "sleeping function called",
	"scheduling while atomic", "bad unlock balance", "unregister_netdevice: waiting",
};

/* The first line of a fault, or NULL */
static char *find_fault(const char *log)
{
	const char *line, *end;
	char *copy;
	size_t i;

	for (line = log; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		copy = strndup(line, end - line);
		for (i = 0; copy && i < ARRAY_SIZE(fault_words); i++)
			if (strstr(copy, fault_words[i]))
				return copy;
		free(copy);
	}
	return NULL;
}

/* --- the kernel's log ------------------------------------------------------- */

static void keep(struct buffer *buffer, const char *data, size_t size)
{
	if (buffer->size + size + 1 > buffer->room) {
		buffer->room = 2 * (buffer->size + size + 1);
		buffer->data = realloc(buffer->data, buffer->room);
		if (!buffer->data)
			die("out of memory");
	}
	memcpy(buffer->data + buffer->size, data, size);
	buffer->size += size;
	buffer->data[buffer->size] = 0;
}

/* Some of it, or false at its end */
static bool read_some(int fd, struct buffer *buffer, bool show)
{
	char piece[65536];
	ssize_t got = read(fd, piece, sizeof(piece));

	if (got < 0 && errno == EINTR)
		return true;
	if (got <= 0)
		return false;
	keep(buffer, piece, got);
	if (show)
		write_all(2, piece, got);
	return true;
}

/* Nobody writes to it any more. */
static void read_console_to_its_end(void)
{
	while (read_some(current.machine.log, &current.console, current.options->verbose))
		;
}

/* In words: where it is */
static char *keep_log(void)
{
	char *path;
	int fd = temporary_file(&path);

	if (fd < 0)
		return text("its log has no place (%s)", strerror(errno));
	write_all(fd, current.console.data ?: "", current.console.size);
	write_all(fd, current.log, strlen(current.log));
	close(fd);
	return text("its log is %s", path);
}

static const char *last_line(const char *log)
{
	const char *end = log + strlen(log), *line;

	while (end > log && strchr(" \t\r\n", end[-1]))
		end--;
	for (line = end; line > log && line[-1] != '\n'; line--)
		;
	return end > line ? strndup(line, end - line) : "it said nothing";
}

static void died(void)
{
	const char *said;

	machine_kill(&current.machine);
	read_console_to_its_end();
	said = current.console.data ?: "";
	if (strstr(said, "check_ptrace") && !seccomp_allowed())
		die("this machine forbids seccomp and ptrace, one of which a lab's kernel needs "
		    "(docker run --security-opt seccomp=unconfined)");
	/* SIGBUS: there is no room for a page of its memory. */
	if (strstr(said, "Kernel mode signal 7"))
		die("this machine gave the lab no more memory (vm.overcommit_memory, a limit, or a "
		    "full folder); %s", keep_log());
	die("the lab's kernel ended before the command did: %s; %s",
	    find_fault(said) ?: last_line(said), keep_log());
}

/* --- orders: the job, and then what comes meanwhile ------------------------- */

static void order(const char *name, const char *value)
{
	message_add(&current.orders, name, value);
}

static void order_signal(int number)
{
	order("signal", text("%d", number));
}

/* As much as the pipe takes: the guest may never read it. */
static void send_orders(void)
{
	struct message *orders = &current.orders;
	ssize_t sent = write(current.machine.ends[ORDERS], orders->data + current.orders_sent,
			     orders->size - current.orders_sent);

	if (sent > 0)
		current.orders_sent += sent;
	else if (errno != EAGAIN && errno != EINTR)	/* It has ended. */
		current.orders_sent = orders->size;
}

/* --- signals ---------------------------------------------------------------- */

static void note_signal(int number)
{
	unsigned char byte = number;
	int error = errno;
	ssize_t done = write(signals[1], &byte, 1);

	(void)done;	/* A full pipe has enough of them. */
	errno = error;
}

static void catch_signals(void)
{
	static const int caught[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2,
				      SIGWINCH, SIGCONT };
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART }, old;
	size_t i;

	pipe_make(signals);
	fcntl(signals[0], F_SETFL, O_NONBLOCK);
	fcntl(signals[1], F_SETFL, O_NONBLOCK);
	for (i = 0; i < ARRAY_SIZE(caught); i++)
		/* One that is ignored, as by nohup, stays so. */
		if (!sigaction(caught[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
}

static void tell_window(void)
{
	char *window = terminal_window(&current.terminal);

	if (window)
		order("window", window);
}

static void take_signal(int number)
{
	if (number == SIGCONT && current.ready)
		terminal_take(&current.terminal);
	if (number == SIGCONT || number == SIGWINCH)
		tell_window();
	if (number != SIGWINCH)
		order_signal(number);
	if (current.kill_at_s || (number != SIGTERM && number != SIGHUP && number != SIGINT))
		return;
	current.kill_at_s = now_s() + KILL_AFTER_S;
	if (!current.ready)
		current.result = 128 + number;
}

static void take_signals(void)
{
	unsigned char numbers[64];
	ssize_t got = read(signals[0], numbers, sizeof(numbers)), i;

	for (i = 0; i < got; i++)
		take_signal(numbers[i]);
}

/* --- reports ---------------------------------------------------------------- */

/* The command was stopped: so is the runner, and whoever does so to it sees the terminal as it
 * was. It comes back by SIGCONT.
 */
static void stop(void)
{
	terminal_give_back();
	kill(0, SIGTSTP);
}

static void take_report(char *name)
{
	char *value = strchr(name, '=');

	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(name, "started")) {
		current.ready = true;
		terminal_take(&current.terminal);
	} else if (!strcmp(name, "stopped") && current.terminal.raw) {
		stop();
	} else if (!strcmp(name, "log")) {
		current.log = text("%s", value);
	} else if (!strcmp(name, "exit")) {
		current.result = atoi(value);
	} else if (!strcmp(name, "signalled")) {
		current.result = 128 + atoi(value);
	} else if (!strcmp(name, "error")) {
		die("%s", value);
	}
}

/* NAME=VALUE, each ended by NUL */
static void take_reports(void)
{
	struct buffer *reports = &current.reports;
	char *start, *end;

	if (!read_some(current.machine.ends[REPORTS], reports, false))
		died();
	for (start = reports->data;
	     (end = memchr(start, 0, reports->data + reports->size - start)); start = end + 1)
		take_report(start);
	reports->size -= start - reports->data;
	memmove(reports->data, start, reports->size);
}

/* --- from start to end ------------------------------------------------------ */

static void time_out(void)
{
	current.timed_out = true;
	if (!current.ready) {
		current.result = STATUS_TIMED_OUT;
		return;
	}
	current.kill_at_s = now_s() + KILL_AFTER_S;
	order_signal(SIGTERM);
}

static void check_time(void)
{
	const struct options *options = current.options;
	double now = now_s();

	if (!current.ready && now > current.began_s + BOOT_LIMIT_S && !options->gdb)
		die("the lab did not begin within %d s", BOOT_LIMIT_S);
	if (options->timeout_s && now > current.began_s + options->timeout_s && !current.timed_out)
		time_out();
	if (!current.kill_at_s || now <= current.kill_at_s)
		return;
	if (now > current.kill_at_s + KILL_AFTER_S)
		current.result = 128 + SIGKILL;
	order_signal(SIGKILL);
}

static void follow(void)
{
	struct pollfd fds[] = {
		{ .fd = current.machine.ends[REPORTS], .events = POLLIN },
		{ .fd = signals[0], .events = POLLIN },
		{ .fd = current.machine.log, .events = POLLIN },
		{ .events = POLLOUT },
	};

	while (current.result < 0) {
		fds[3].fd = current.orders_sent < current.orders.size ?
			    current.machine.ends[ORDERS] : -1;
		if (poll(fds, ARRAY_SIZE(fds), TICK_MS) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		if (fds[2].revents &&
		    !read_some(current.machine.log, &current.console, current.options->verbose))
			fds[2].fd = -1;
		if (fds[3].revents)
			send_orders();
		if (fds[1].revents)
			take_signals();
		if (fds[0].revents)
			take_reports();
		check_time();
	}
}

static int open_file(const char *option, const char *path)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;

	if (path && fd < 0)
		die("--%s %s: %s", option, path, strerror(errno));
	return fd;
}

static void start_output(int from, int to)
{
	if (to >= 0)
		current.outputs[current.n_outputs++] = relay_start(from, to, "", false);
}

static void start_streams(void)
{
	const struct terminal *terminal = &current.terminal;
	int *ends = current.machine.ends;
	/* In the background its terminal is not to be read. */
	int in = terminal->is[0] && !terminal->foreground ? open("/dev/null", O_RDONLY) : 0;

	/* A cooked terminal's end of file is a character for the pty inside. */
	relay_start(in, ends[STDIN], terminal->foreground ? "\x04" : "", !terminal->foreground);
	start_output(ends[STDOUT], 1);
	start_output(ends[STDERR], 2);
	start_output(ends[CAPTURE], current.copies[0]);
	start_output(ends[TRACE], current.copies[1]);
}

static void tell_debugger(void)
{
	say("the kernel waits for: gdb -p %d -ex 'tcatch exec' -ex 'handle SIGSEGV SIGALRM SIGIO "
	    "SIGUSR1 SIGUSR2 SIGCHLD SIGWINCH SIG34 nostop noprint pass' -ex continue",
	    current.machine.pid);
}

static int judge(void)
{
	const char *missing = current.result ? provider_missing() : NULL;
	char *fault = find_fault(current.log);

	if (fault) {
		say("the lab's kernel reported a fault: %s", fault);
		say("%s", keep_log());
	}
	/* What libibverbs says of it names no package. */
	if (missing)
		say("%s", missing);
	if (current.timed_out)
		return STATUS_TIMED_OUT;
	return fault && !current.result ? STATUS_FAULT : current.result;
}

int run(const struct options *options)
{
	int i;

	current.options = options;
	terminal_look(&current.terminal);
	/* All that can be wrong with what was asked for is said before a kernel starts. */
	current.copies[0] = open_file("pcap", options->pcap);
	current.copies[1] = open_file("trace", options->trace_file);
	job_write(&current.orders, options, &current.terminal);
	machine_start(&current.machine, options);
	current.began_s = now_s();
	fcntl(current.machine.ends[ORDERS], F_SETFL, O_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	catch_signals();
	if (options->gdb)
		tell_debugger();
	start_streams();
	follow();
	machine_kill(&current.machine);
	terminal_give_back();
	read_console_to_its_end();
	for (i = 0; i < current.n_outputs; i++)
		relay_wait(current.outputs[i]);
	if (options->verbose)
		write_all(2, current.log, strlen(current.log));
	return judge();
}
