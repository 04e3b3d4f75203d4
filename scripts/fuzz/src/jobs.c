// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jobs.h"

struct running {
	pid_t pid;		/* 0: not in use */
	uint64_t number;
	time_t began;
};

static void start(const struct jobs *jobs, struct running *running, uint64_t number)
{
	pid_t pid;

	/* "make soak" lets allocations fail */
	while ((pid = fork()) < 0 && (errno == ENOMEM || errno == EAGAIN))
		usleep(1000);
	if (pid < 0) {
		perror("fork");
		exit(2);
	}
	if (!pid) {
		signal(SIGTERM, SIG_DFL);
		/* If the parent is killed, all jobs are. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(jobs->run(jobs->context, number));
	}
	*running = (struct running){ .pid = pid, .number = number, .began = time(NULL) };
}

/* Show where each thread of a job that does not end is */
static void show_threads(pid_t pid)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "cd /proc/%d/task && for t in *; do grep State $t/status; cat $t/syscall $t/stack; done",
		 pid);
	fflush(stdout);
	if (system(command))
		puts("its threads have gone meanwhile");
}

/* Check whether a job has ended; kill it after its time. False: it did not end as it should */
static bool look_after(const struct jobs *jobs, struct running *running)
{
	int status;

	if (waitpid(running->pid, &status, WNOHANG) == running->pid) {
		running->pid = 0;
		return jobs->ended(jobs->context, running->number, status);
	}
	if (time(NULL) - running->began <= jobs->limit_s)
		return true;
	printf("number %llu: not at its end after %d s\n", (unsigned long long)running->number,
	       jobs->limit_s);
	show_threads(running->pid);
	kill(running->pid, SIGKILL);
	running->pid = 0;
	return false;
}

/* Run @first to @last; start no new ones after one that did not end as it should */
bool jobs_run(const struct jobs *jobs, uint64_t first, uint64_t last)
{
	struct timespec pause = { .tv_nsec = 2000000 };
	struct running running[MAX_JOBS] = {};
	unsigned int busy, i;
	bool well = true;

	do {
		for (busy = 0, i = 0; i < jobs->at_once; i++) {
			if (running[i].pid)
				well &= look_after(jobs, &running[i]);
			if (!running[i].pid && well && first <= last)
				start(jobs, &running[i], first++);
			busy += !!running[i].pid;
		}
		if (busy)
			nanosleep(&pause, NULL);
	} while (busy || (well && first <= last));
	return well;
}
