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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runner.h"

#define KILL_AFTER_S	10
/* A machine on which many labs start at once is slow, not broken. */
#define BOOT_LIMIT_S	300
#define TICK_MS		500

/* Growing buffers: the kernel's log, incomplete reports */
struct buffer {
	char *data;
	size_t size, room;
};

static struct run {
	const struct options *options;
	struct terminal terminal;
	struct message orders;		/* the part not sent yet */
	size_t orders_sent;
	struct machine machine;
	struct buffer console, reports;
	int show;			/* for --verbose: the stream for the console's text */
	struct relay *shower;
	size_t shown;			/* of the console */
	struct output {
		struct relay *relay;
		const char *name, *channel;
		uint64_t bytes;		/* bytes to come, as announced by the guest */
	} outputs[4];
	int n_outputs, copies[2];	/* files for CAPTURE and TRACE */
	const char *log, *lost;		/* packets of a capture, as text */
	double began_s, kill_at_s;
	bool accepted;			/* the request, as far as the runner knows */
	bool ready, timed_out, killed, let_go;
	bool tainted;			/* by a fault, as the kernel's taint shows */
	int ended;			/* the command's status, while output arrives */
	int result;
	int listener;			/* the caller's pipe, or -1 */
} current = { .log = "", .copies = { -1, -1 }, .result = -1, .show = -1, .listener = -1 };

static int signals[2] = { -1, -1 };

void say(const char *format, ...)
{
	va_list args;

	/* If the message cannot be written, the status is still returned. */
	signal(SIGPIPE, SIG_IGN);
	va_start(args, format);
	fprintf(stderr, "roce-lab: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
}

/* --- the end of the kernel -------------------------------------------------- */

/* Signals that are forwarded. The first ones also end the runner, once the command has ended; USR1
 * and USR2 are for the command only.
 */
static const int caught[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH,
			      SIGCONT };
#define N_ENDING	4

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

static void give_up(int number)
{
	(void)number;
	terminal_give_back();
	if (current.timed_out || !current.kill_at_s)
		_exit(STATUS_TIMED_OUT);
	_exit(current.result > 0 ? current.result : current.ended ?: STATUS_FAILED);
}

static void end_by_signal(int number)
{
	sigset_t one;

	terminal_give_back();
	signal(number, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, number);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	raise(number);
	/* A container's pid 1 does not end by it. */
	_exit(128 + number);
}

/* From here on it waits only for the reader of the output: signals end that, and so does an alarm
 * some time after a signal or the time limit.
 */
static void let_go(void)
{
	unsigned int left_s;
	double end_s = KILL_AFTER_S;
	size_t i;

	current.let_go = true;
	terminal_give_back_input();
	for (i = 0; i < N_ENDING; i++)
		if (!is_ignored(caught[i]))
			signal(caught[i], end_by_signal);
	if (!current.timed_out && !current.kill_at_s) {
		if (!current.ready || !current.options->timeout_s)
			return;
		end_s += current.began_s + current.options->timeout_s - now_s();
	}
	signal(SIGALRM, give_up);
	left_s = alarm(end_s > 1 ? end_s : 1);
	if (left_s)	/* It was due already. */
		alarm(left_s);
}

static void end_machine(void)
{
	machine_kill(&current.machine);
	let_go();
}

static void show_rest(void)
{
	if (current.show < 0)
		return;
	write_all(current.show, current.console.data + current.shown,
		  current.console.size - current.shown);
	close(current.show);
	current.show = -1;
	relay_wait(current.shower);
}

/* Restore the terminal after all output. False if some output could not be written although there
 * is a reader.
 */
static bool wait_for_outputs(void)
{
	int i, errors[ARRAY_SIZE(current.outputs)];
	bool good = true;

	for (i = 0; i < current.n_outputs; i++) {
		errors[i] = relay_wait(current.outputs[i].relay);
		if (!errors[i] && current.outputs[i].relay->bytes < current.outputs[i].bytes)
			errors[i] = EIO;
	}
	terminal_give_back();
	/* NFS tells at the end only that there is no room. main() closes 2. */
	for (i = 0; i < current.n_outputs; i++) {
		if (current.outputs[i].relay->to != 2 && close(current.outputs[i].relay->to) &&
		    !errors[i])
			errors[i] = errno;
		if (!errors[i] || errors[i] == EPIPE || errors[i] == ECONNRESET)
			continue;
		say("%s: %s", current.outputs[i].name, strerror(errors[i]));
		good = false;
	}
	if (current.lost) {
		say("--pcap: up to %s packets are missing, as it was written too slowly",
		    current.lost);
		good = false;
	}
	current.n_outputs = 0;
	return good;
}

/* roce-lab itself cannot continue: print the reason in a line, after the command's output. */
void die(const char *format, ...)
{
	va_list args;
	char *why;

	end_machine();
	wait_for_outputs();
	show_rest();
	va_start(args, format);
	if (vasprintf(&why, format, args) < 0)
		why = "out of memory";
	va_end(args);
	say("%s", why);
	if (!current.accepted)
		write_all(current.listener, "", 1);
	_exit(STATUS_FAILED);
}

/* --- faults ----------------------------------------------------------------- */

static const char * const fault_words[] = {
	"BUG:", "kernel BUG", "Oops", "general protection fault", "Kernel panic", "invalid opcode",
	"divide error", "WARNING: ", "KASAN", "KFENCE", "UBSAN", "Bad page state", "refcount_t: ",
	"ODEBUG", "list_add corruption", "list_del corruption", "DEADLOCK", "circular locking",
	"recursive locking", "inconsistent lock state", "non-static key", "suspicious RCU usage",
	"held lock freed", "lock held when returning", "Invalid wait context",
	"sleeping function called", "scheduling while atomic", "bad unlock balance",
	"unregister_netdevice: waiting",
};

/* Stock kernels use that word in warnings about processors, too, but not at the start of a line;
 * and on x86 some words for a program that ends by a signal, after "traps: ".
 */
static bool is_fault(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	if (at && strstr(line, "traps: ") && strstr(at, " ip:"))
		return false;
	if (!at || strcmp(word, "WARNING: ") || at == line)
		return at;
	return at[-1] == '>' || (at - line >= 2 && at[-2] == ']');
}

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
			if (is_fault(copy, fault_words[i]))
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

/* Read some of it; false at its end */
static bool read_some(int fd, struct buffer *buffer)
{
	static char piece[65536];
	ssize_t got = read(fd, piece, sizeof(piece));

	if (got < 0 && errno == EINTR)
		return true;
	if (got <= 0)
		return false;
	keep(buffer, piece, got);
	return true;
}

/* Write as much as possible at once: there may be no reader. */
static void show_some(void)
{
	ssize_t done = write(current.show, current.console.data + current.shown,
			     current.console.size - current.shown);

	if (done > 0)
		current.shown += done;
	else if (errno != EAGAIN && errno != EINTR)	/* There is no reader. */
		current.shown = current.console.size;
}

/* It is complete: append what the guest reported about its log. A NUL must not end searches. */
static void read_console_to_its_end(void)
{
	struct buffer *console = &current.console;
	size_t i;

	while (read_some(current.machine.log, console))
		;
	keep(console, current.log, strlen(current.log));
	for (i = 0; i < console->size; i++)
		if (!console->data[i])
			console->data[i] = ' ';
}

/* A description of its location */
static char *keep_log(void)
{
	char *path, *where;
	int fd = temporary_file(&path);

	if (fd < 0)
		return text("its log has no place (%s)", strerror(errno));
	where = write_all(fd, current.console.data, current.console.size) ?
		text("its log is %s", path) :
		text("a part of its log is %s (%s)", path, strerror(errno));
	close(fd);
	return where;
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

	end_machine();
	read_console_to_its_end();
	said = current.console.data;
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

/* --- orders: the job, and then those that follow ---------------------------- */

static void order(const char *name, const char *value)
{
	message_add(&current.orders, name, value);
}

static void order_signal(int number)
{
	order("signal", text("%d", number));
}

/* Write as much as the pipe takes: the guest may never read it. */
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
	struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
	size_t i;

	pipe_make(signals);
	fcntl(signals[0], F_SETFL, O_NONBLOCK);
	fcntl(signals[1], F_SETFL, O_NONBLOCK);
	for (i = 0; i < ARRAY_SIZE(caught); i++)
		/* A signal that is ignored, as by nohup, remains so. */
		if (!is_ignored(caught[i]))
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
	if (number == SIGCONT && current.ready && !current.let_go)
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

/* --- output ----------------------------------------------------------------- */

static void start_output(int from, int to, const char *name, const char *channel)
{
	struct relay *relay;

	if (to < 0)
		return;
	/* If that ends in die(), those started before are waited for. */
	relay = relay_start(from, to, false);
	current.outputs[current.n_outputs++] = (struct output){ relay, name, channel, 0 };
}

/* Its former content is kept until a command has started. */
static void start_copy(int from, int to, const char *name, const char *channel)
{
	/* EINVAL: not a regular file */
	if (to >= 0 && ftruncate(to, 0) && errno != EINVAL)
		die("%s: %s", name, strerror(errno));
	start_output(from, to, name, channel);
}

/* --- reports ---------------------------------------------------------------- */

/* The command was stopped, so stop the runner, with the terminal restored. It continues on SIGCONT.
 * In the process group of its session's leader, or as pid 1, there is no shell to continue it, and
 * SIGTSTP does nothing.
 */
static void stop(void)
{
	if (getpid() == 1 || getpgrp() == getsid(0)) {
		order_signal(SIGCONT);
		return;
	}
	terminal_give_back();
	kill(0, SIGTSTP);
}

/* CHANNEL BYTES: so many are still to come, although the guest has ended. */
static void note_sent(const char *value)
{
	unsigned long long bytes;
	char channel[16];
	int i;

	if (sscanf(value, "%15s %llu", channel, &bytes) != 2)
		return;
	for (i = 0; i < current.n_outputs; i++)
		if (!strcmp(current.outputs[i].channel, channel))
			current.outputs[i].bytes = bytes;
}

static void take_report(char *name)
{
	char *value = strchr(name, '=');
	const int *ends = current.machine.ends;

	if (!value)
		return;
	*value++ = 0;
	if (!strcmp(name, "started") && !current.ready) {
		current.ready = true;
		write_all(current.listener, "", 1);
		terminal_take(&current.terminal);
		start_copy(ends[CAPTURE], current.copies[0], "--pcap", "capture");
		start_copy(ends[TRACE], current.copies[1], "--trace", "trace");
	} else if (!strcmp(name, "stopped") && current.terminal.raw) {
		stop();
	} else if (!strcmp(name, "ended")) {
		current.ended = atoi(value);
		let_go();
	} else if (!strcmp(name, "lost")) {
		current.lost = text("%s", value);
	} else if (!strcmp(name, "sent")) {
		note_sent(value);
	} else if (!strcmp(name, "log")) {
		current.log = text("%s", value);
	} else if (!strcmp(name, "tainted")) {
		current.tainted = true;
	} else if (!strcmp(name, "exit")) {
		current.result = atoi(value);
	} else if (!strcmp(name, "signalled")) {
		current.result = 128 + atoi(value);
	} else if (!strcmp(name, "error")) {
		current.accepted = strncmp(value, "--", 2);
		die("%s", value);
	}
}

/* NAME=VALUE, each ended by NUL */
static void take_reports(void)
{
	struct buffer *reports = &current.reports;
	char *start, *end;

	if (!read_some(current.machine.ends[REPORTS], reports))
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
	/* The command has ended before. */
	if (current.let_go)
		let_go();
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
	if (!current.killed)
		order_signal(SIGKILL);
	current.killed = true;
}

static void follow(void)
{
	struct pollfd fds[] = {
		{ .fd = current.machine.ends[REPORTS], .events = POLLIN },
		{ .fd = signals[0], .events = POLLIN },
		{ .fd = current.machine.log, .events = POLLIN },
		{ .events = POLLOUT },
		{ .events = POLLOUT },
	};

	while (current.result < 0) {
		fds[3].fd = current.orders_sent < current.orders.size ?
			    current.machine.ends[ORDERS] : -1;
		fds[4].fd = current.shown < current.console.size ? current.show : -1;
		if (poll(fds, ARRAY_SIZE(fds), TICK_MS) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		if (fds[4].revents)
			show_some();
		if (fds[2].revents && !read_some(current.machine.log, &current.console))
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
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;

	if (path && fd < 0)
		die("--%s %s: %s", option, path, strerror(errno));
	return fd;
}

static void start_showing(void)
{
	int ends[2];

	pipe_make(ends);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	current.show = ends[1];
	current.shower = relay_start(ends[0], 2, false);
}

static void start_streams(void)
{
	const struct terminal *terminal = &current.terminal;
	int *ends = current.machine.ends;
	/* In the background its terminal must not be read. */
	int in = terminal->is[0] && !terminal->foreground ? open("/dev/null", O_RDONLY) : 0;

	/* Put there later, it goes on, too: see terminal_comes_back(). */
	signal(SIGTTIN, SIG_IGN);
	if (terminal->foreground)
		relay_start_terminal(in, ends[STDIN], current.options->qemu);
	else if (current.options->qemu)
		relay_start_framed(in, ends[STDIN]);
	else
		relay_start(in, ends[STDIN], true);
	start_output(ends[STDOUT], 1, "standard output", "stdout");
	start_output(ends[STDERR], 2, "standard error", "stderr");
}

/* For an emulator, which discards data in transit when it ends */
static void wait_for_bytes(void)
{
	const struct output *output;

	for (output = current.outputs; output < current.outputs + current.n_outputs; output++)
		while (output->relay->bytes < output->bytes && !output->relay->ended)
			usleep(1000);
}

static void tell_debugger(void)
{
	say("the kernel waits for: gdb -p %d -ex 'tcatch exec' -ex 'handle SIGSEGV SIGALRM SIGIO "
	    "SIGUSR1 SIGUSR2 SIGCHLD SIGWINCH SIG34 nostop noprint pass' -ex continue",
	    current.machine.pid);
}

static int judge(bool written)
{
	bool failed = current.result > 0 && current.result <= 123 && !current.timed_out;
	const char *missing = failed ? provider_missing() : NULL;
	char *fault = find_fault(current.log);

	if (!fault && current.tainted)
		fault = "its log has lost which";
	if (fault) {
		say("the lab's kernel reported a fault: %s", fault);
		say("%s", keep_log());
	}
	/* The message of libibverbs names no package. */
	if (missing)
		say("%s", missing);
	if (current.timed_out)
		return STATUS_TIMED_OUT;
	if (current.result)
		return current.result;
	return fault ? STATUS_FAULT : written ? 0 : STATUS_FAILED;
}

/* A pipe of pytest_roce_lab, which asks of a failure whether the command had started or the request
 * was wrong: see take_report() and die(). Its number is wrong if a program between has closed it.
 */
void find_listener(void)
{
	const char *number = getenv("ROCE_LAB_STARTED");
	int fd = number ? atoi(number) : -1;
	struct stat st;

	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode) && !fcntl(fd, F_SETFD, FD_CLOEXEC))
		current.listener = fd;
	unsetenv("ROCE_LAB_STARTED");
}

int run(const struct options *options)
{
	bool written;

	current.options = options;
	terminal_look(&current.terminal);
	/* All errors in the request are reported before a kernel is started. */
	current.copies[0] = open_file("pcap", options->pcap);
	current.copies[1] = open_file("trace", options->trace_file);
	job_write(&current.orders, options, &current.terminal);
	current.accepted = true;
	machine_start(&current.machine, options, &current.orders);
	current.began_s = now_s();
	fcntl(current.machine.ends[ORDERS], F_SETFL, O_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	catch_signals();
	if (options->gdb)
		tell_debugger();
	start_streams();
	if (options->verbose)
		start_showing();
	follow();
	if (options->qemu) {
		let_go();
		wait_for_bytes();
	}
	end_machine();
	read_console_to_its_end();
	written = wait_for_outputs();
	show_rest();
	return judge(written);
}
