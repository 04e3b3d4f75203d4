/* SPDX-License-Identifier: GPL-2.0 */
#ifndef LAB_RUN_H
#define LAB_RUN_H

#include "guest.h"

/* Returns when the command has ended and its end has been reported. */
void run_job(const struct job *job, int orders);

/* For a process that is about to become a command */
int command_exec(char **argv);
void set_environment(char **variables, const char *host);

#endif
