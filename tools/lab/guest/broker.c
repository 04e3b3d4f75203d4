// SPDX-License-Identifier: GPL-2.0
/*
 * Starts commands on hosts on request, with the caller's streams, user, groups, environment and
 * current folder, and reports how they end. It is in the initial PID namespace, as the namespaces
 * of all hosts can only be entered from there.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "broker.h"
#include "run.h"

struct request {
	struct job *job;
	struct ucred who;
	gid_t groups[256];
	struct rlimit limits[RLIM_NLIMITS];
	int n_groups, socket, streams[3];
};

static int client = -1;

static void answer(const char *name, const char *value)
{
	char *all = text("%s=%s", name, value);

	if (send(client, all, strlen(all) + 1, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void refuse(const char *what)
{
	answer("error", what);
	_exit(1);
}

static void receive_streams(struct request *request)
{
	char control[CMSG_SPACE(3 * sizeof(int))], byte;
	struct iovec io = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &io, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *head;

	if (recvmsg(request->socket, &msg, MSG_CMSG_CLOEXEC) != 1)
		_exit(1);
	head = CMSG_FIRSTHDR(&msg);
	if (!head || head->cmsg_len != CMSG_LEN(sizeof(request->streams)))
		refuse("no standard streams: is one of them closed?");
	memcpy(request->streams, CMSG_DATA(head), sizeof(request->streams));
}

static void find_caller(struct request *request)
{
	socklen_t size = sizeof(request->who);
	int i;

	if (getsockopt(request->socket, SOL_SOCKET, SO_PEERCRED, &request->who, &size))
		refuse(strerror(errno));
	size = sizeof(request->groups);
	if (getsockopt(request->socket, SOL_SOCKET, SO_PEERGROUPS, request->groups, &size))
		refuse(strerror(errno));
	request->n_groups = size / sizeof(gid_t);
	for (i = 0; i < RLIM_NLIMITS; i++)
		if (prlimit(request->who.pid, i, NULL, &request->limits[i]))
			refuse(strerror(errno));
}

static void become_caller(const struct request *request)
{
	if (request->job->root)
		return;
	if (setgroups(request->n_groups, request->groups) ||
	    setresgid(request->who.gid, request->who.gid, request->who.gid) ||
	    setresuid(request->who.uid, request->who.uid, request->who.uid))
		refuse(strerror(errno));
}

static void run_request(const struct request *request)
{
	const struct job *job = request->job;
	int i;

	setsid();
	for (i = 0; i < 3; i++)
		dup2(request->streams[i], i);
	for (i = 0; i < RLIM_NLIMITS; i++)
		setrlimit(i, &request->limits[i]);
	/* This one is of the host, not of the caller. */
	host_set_memlock(job->host ? job->host : "");
	become_caller(request);
	umask(job->umask);
	set_environment(job->env, job->host);
	if (chdir(job->cwd)) {
		dprintf(2, "lab: no folder %s on %s\n", job->cwd, job->host ? job->host : "");
		if (chdir("/"))
			_exit(1);
	}
	_exit(command_exec(job->argv));
}

/* Its process group, which it may not have created yet */
static void signal_command(pid_t pid, int number)
{
	if (kill(-pid, number))
		kill(pid, number);
}

/* Forward signals to the command until the caller ends, which also ends the command */
static void follow_caller(int socket, int told)
{
	char *order;
	int number;
	pid_t pid;

	if (read(told, &pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	while ((order = next_order(socket))) {
		if (sscanf(order, "signal=%d", &number) == 1)
			signal_command(pid, number);
		free(order);
	}
	signal_command(pid, SIGKILL);
	_exit(0);
}

/* Before entering the host: in there the command's process has another number. */
static pid_t start_follower(int socket, int *tell)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		refuse(strerror(errno));
	pid = must_fork();
	if (!pid) {
		close(ends[1]);
		follow_caller(socket, ends[0]);
	}
	close(ends[0]);
	*tell = ends[1];
	return pid;
}

static void serve(struct request *request)
{
	pid_t pid, follower;
	int status, tell;

	client = request->socket;
	die_hook = refuse;
	find_caller(request);
	receive_streams(request);
	request->job = job_read(request->socket);
	follower = start_follower(request->socket, &tell);
	if (request->job->host)
		host_enter(request->job->host);
	pid = must_fork();
	if (!pid)
		run_request(request);
	if (write(tell, &pid, sizeof(pid)) != sizeof(pid))
		refuse(strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	kill(follower, SIGKILL);
	if (WIFSIGNALED(status))
		answer("signalled", text("%d", WTERMSIG(status)));
	else
		answer("exit", text("%d", WEXITSTATUS(status)));
	_exit(0);
}

static void listen_for_ever(int socket)
{
	struct request request = {};

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		request.socket = accept4(socket, NULL, NULL, SOCK_CLOEXEC);
		if (request.socket < 0)
			continue;
		if (!fork()) {
			signal(SIGCHLD, SIG_DFL);
			close(socket);
			serve(&request);
		}
		close(request.socket);
	}
}

void broker_start(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = BROKER_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) || listen(fd, 64) ||
	    chmod(BROKER_SOCKET, 0666))
		die("%s: %s", BROKER_SOCKET, strerror(errno));
	if (!must_fork()) {
		close(reports_fd);
		reports_fd = -1;
		orders_forget();
		listen_for_ever(fd);
	}
	close(fd);
}
