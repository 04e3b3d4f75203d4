// SPDX-License-Identifier: GPL-2.0
/*
 * The command of a lab: in host a, as the caller, with the caller's standard streams.
 *
 * Four processes of pid 1 serve it. One receives orders from the runner, and notices its end. One,
 * in host a, is the parent of the command and leads its session, like a shell. Two copy between a
 * terminal's pipes and a pty, if the caller has a terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"
#include "run.h"

/* More than a pty holds, in bytes */
#define MOST_HELD	(256 << 10)

static struct shared {
	volatile pid_t command;		/* has its own process group */
	volatile int status;		/* as from waitpid(), -1: none yet */
} *shared;

static int master = -1, slave = -1;
static volatile sig_atomic_t last;

/* execvp() with the exit statuses of a shell */
int command_exec(char **argv)
{
	int error;

	execvp(argv[0], argv);
	error = errno;
	dprintf(2, "roce-lab: %s: %s\n", argv[0], strerror(error));
	return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

static void set_window(const char *window)
{
	struct winsize size = {};

	if (master >= 0 && window &&
	    sscanf(window, "%hux%hu", &size.ws_row, &size.ws_col) == 2)
		ioctl(master, TIOCSWINSZ, &size);
}

/* If the caller's terminal does its own line editing, that of the pty would duplicate it. */
static void make_plain(void)
{
	struct termios modes;

	if (tcgetattr(slave, &modes))
		return;
	modes.c_lflag &= ~(ECHO | ECHOE | ECHOK | ECHONL);
	modes.c_oflag &= ~OPOST;
	tcsetattr(slave, TCSANOW, &modes);
}

static void open_pty(const struct job *job)
{
	int unlock = 0, number;
	char *name;

	if (!job->tty_in && !job->tty_out && !job->tty_err)
		return;
	master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) ||
	    ioctl(master, TIOCGPTN, &number))
		die("no pty: %s", strerror(errno));
	name = text("/dev/pts/%d", number);
	if (chown(name, job->root ? 0 : job->uid, 5))
		say("%s: %s", name, strerror(errno));
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		die("%s: %s", name, strerror(errno));
	set_window(job->window);
	if (!job->tty_in || !job->tty_out)
		make_plain();
}

static void start_typing(int from)
{
	static char buffer[65536];
	ssize_t got;

	if (must_fork())
		return;
	while ((got = read(from, buffer, sizeof(buffer))) > 0 || (got < 0 && errno == EINTR))
		if (got > 0 && !write_whole(master, buffer, got))
			_exit(1);
	_exit(0);
}

static void end_when_empty(int number)
{
	(void)number;
	last = 1;
}

/* Copy the output of the command's terminal until no process has it open any more, or until SIGTERM
 * and then what it holds, as processes left by the command may continue to write.
 */
static void copy_screen(int to)
{
	struct pollfd fds = { .fd = master, .events = POLLIN };
	static char buffer[16384];
	size_t left = MOST_HELD;
	sigset_t open;
	ssize_t got;

	sigemptyset(&open);
	for (;;) {
		/* It may be read by others, so it must not be set to non-blocking. */
		got = ppoll(&fds, 1, last ? &(struct timespec){} : NULL, &open);
		if (got < 0)
			continue;
		if (!got || !left)
			_exit(0);
		got = read(master, buffer, sizeof(buffer));
		if (got <= 0 || !write_whole(to, buffer, got))
			_exit(got < 0);
		if (last)
			left -= (size_t)got < left ? (size_t)got : left;
	}
}

static pid_t start_screen(int to)
{
	struct sigaction action = { .sa_handler = end_when_empty };
	sigset_t blocked, before;
	pid_t pid;

	/* It is delivered during ppoll() only. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	pid = must_fork();
	if (!pid) {
		sigaction(SIGTERM, &action, NULL);
		copy_screen(to);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

/* --- orders --------------------------------------------------------------- */

/* An order that arrived while the lab started waits for the command. */
static void pass_on(int number)
{
	while (!shared->command)
		usleep(1000);
	kill(-shared->command, number);
}

static void take_orders(int orders)
{
	char *order;
	int number;

	while ((order = next_order(orders))) {
		if (!strncmp(order, "window=", 7))
			set_window(order + 7);
		else if (sscanf(order, "signal=%d", &number) == 1)
			pass_on(number);
		free(order);
	}
	/* The runner has ended: nobody uses this lab any more. */
	power_off();
}

/* --- the command ---------------------------------------------------------- */

static void take_ids(const struct job *job)
{
	char **word = split(text("%s", job->groups ? job->groups : ""), ",");
	gid_t groups[256];
	int n = 0;

	if (job->root)
		return;
	for (; *word && n < 256; word++)
		groups[n++] = strtoul(*word, NULL, 10);
	if (setgroups(n, groups) || setresgid(job->gid, job->gid, job->gid) ||
	    setresuid(job->uid, job->uid, job->uid))
		die("cannot become the caller: %s", strerror(errno));
}

/* The caller's limits; locked memory is set by host_set_memlock(). */
static void take_limits(char **limits)
{
	unsigned long long soft, hard;
	unsigned int number;

	for (; *limits; limits++) {
		if (sscanf(*limits, "%u:%llu:%llu", &number, &soft, &hard) == 3 &&
		    !setrlimit(number, &(struct rlimit){ soft, hard }))
			continue;
		say("limit %s: %s", *limits, strerror(errno));
	}
}

/* host: NULL if there must be none */
void set_environment(char **variables, const char *host)
{
	clearenv();
	for (; *variables; variables++)
		putenv(*variables);
	if (host)
		host_environment(host);
}

/* In the child of the session's leader */
static void run_command(const struct job *job)
{
	int in = job->tty_in ? slave : channel_open("stdin", O_RDONLY);
	int out = job->tty_out ? slave : channel_open("stdout", O_WRONLY);
	int err = job->tty_err ? slave : channel_open("stderr", O_WRONLY);

	setpgid(0, 0);
	if (slave >= 0)
		tcsetpgrp(slave, getpid());
	take_limits(job->limits);
	host_set_memlock("a");
	take_ids(job);
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	umask(job->umask);
	set_environment(job->env, "a");
	if (chdir(job->cwd)) {
		dprintf(2, "roce-lab: %s: %s\n", job->cwd, strerror(errno));
		_exit(125);
	}
	signal(SIGTTOU, SIG_DFL);
	_exit(command_exec(job->argv));
}

static void lead_session(const struct job *job)
{
	int status;
	pid_t pid;

	setsid();
	signal(SIGTTOU, SIG_IGN);
	if (slave >= 0 && ioctl(slave, TIOCSCTTY, 0))
		say("no controlling terminal: %s", strerror(errno));
	host_enter("a");
	pid = must_fork();
	if (!pid)
		run_command(job);
	setpgid(pid, pid);
	shared->command = pid;
	report("started", "1");
	while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status))
		report("stopped", "%d", WSTOPSIG(status));
	shared->status = status;
	_exit(0);
}

/* The command's output to its terminal is in transit, however slowly it is read outside. */
static void drain_pty(pid_t copier)
{
	if (copier <= 0)
		return;
	kill(copier, SIGTERM);
	while (waitpid(copier, NULL, 0) < 0 && errno == EINTR)
		;
}

void run_job(const struct job *job, int orders)
{
	pid_t leader, copier = 0;
	int status;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("no memory");
	shared->status = -1;
	open_pty(job);
	leader = must_fork();
	if (!leader)
		lead_session(job);
	if (slave >= 0) {
		close(slave);
		copier = start_screen(channel_open(job->tty_out ? "stdout" : "stderr", O_WRONLY));
		if (job->tty_in)
			start_typing(channel_open("stdin", O_RDONLY));
	}
	if (!must_fork())
		take_orders(orders);
	while (waitpid(leader, &status, 0) < 0 && errno == EINTR)
		;
	status = shared->status;
	/* The rest waits for readers of the runner's files. */
	if (status != -1)
		report("ended", "%d", WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				WEXITSTATUS(status));
	drain_pty(copier);
	capture_stop();
	trace_stop();
	channels_finish();
	sync();
	report_log();
	if (status == -1)
		report("error", "the command's parent was killed");
	else if (WIFSIGNALED(status))
		report("signalled", "%d", WTERMSIG(status));
	else
		report("exit", "%d", WEXITSTATUS(status));
}
