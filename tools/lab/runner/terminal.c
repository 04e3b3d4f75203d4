// SPDX-License-Identifier: GPL-2.0
/*
 * The caller's terminal. It is raw only if a pty inside has both its input and its output;
 * otherwise it keeps its own line editing and signals. Its modes are set without waiting for output
 * (TCSADRAIN), which has been processed already: nobody may be reading it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "runner.h"

static struct termios saved;
static bool is_saved;

void terminal_look(struct terminal *terminal)
{
	int fd;

	for (fd = 0; fd < 3; fd++)
		terminal->is[fd] = isatty(fd);
	terminal->foreground = terminal->is[0] && tcgetpgrp(0) == getpgrp();
	terminal->raw = terminal->is[0] && terminal->is[1] && terminal->foreground;
}

/* In the background it belongs to another job. Who stopped the runner by SIGSTOP may have changed
 * its modes meanwhile.
 */
void terminal_take(const struct terminal *terminal)
{
	struct termios modes;

	if (!terminal->raw || tcgetpgrp(0) != getpgrp() || (!is_saved && tcgetattr(0, &saved)))
		return;
	modes = saved;
	cfmakeraw(&modes);
	is_saved = true;
	tcsetattr(0, TCSANOW, &modes);
}

static void set_modes(const struct termios *modes)
{
	/* In the background this would stop the runner. */
	void (*old)(int number) = signal(SIGTTOU, SIG_IGN);

	tcsetattr(0, TCSANOW, modes);
	signal(SIGTTOU, old);
}

/* Except for output processing, while output processed by the pty is still to come */
void terminal_give_back_input(void)
{
	struct termios modes = saved;

	if (!is_saved)
		return;
	modes.c_oflag &= ~OPOST;
	set_modes(&modes);
}

/* Also called from signal handlers. */
void terminal_give_back(void)
{
	if (!is_saved)
		return;
	set_modes(&saved);
	is_saved = false;
}

/* Whether more input may follow ^D: it does line editing, and has not been hung up. */
bool terminal_goes_on(int fd)
{
	struct termios modes;

	return !tcgetattr(fd, &modes) && modes.c_lflag & ICANON;
}

/* After an error of reading it: if another job has it, as after "bg", wait until this one has. Not
 * all shells signal that.
 */
bool terminal_comes_back(int fd)
{
	pid_t group = -1;

	while (errno == EIO && (group = tcgetpgrp(fd)) >= 0 && group != getpgrp()) {
		usleep(100000);
		errno = EIO;
	}
	return group >= 0 && !raise(SIGCONT);
}

/* ROWSxCOLUMNS, or NULL if no stream is a terminal */
char *terminal_window(const struct terminal *terminal)
{
	struct winsize size;
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (terminal->is[fd] && !ioctl(fd, TIOCGWINSZ, &size))
			return text("%hux%hu", size.ws_row, size.ws_col);
	return NULL;
}
