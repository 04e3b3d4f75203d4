// SPDX-License-Identifier: GPL-2.0
/*
 * The caller's terminal. It is raw only where a pty inside has both its input and its output;
 * otherwise its own line editing and its signals stay. Its modes are set without waiting for what
 * was written before (TCSADRAIN), which has been treated: whoever is to read that may not.
 */
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

/* In the background it is somebody else's. Who has stopped the runner by SIGSTOP may have set its
 * modes meanwhile.
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

/* But for its treatment of output, while some is to come that the pty has treated */
void terminal_give_back_input(void)
{
	struct termios modes = saved;

	if (!is_saved)
		return;
	modes.c_oflag &= ~OPOST;
	set_modes(&modes);
}

/* Signal handlers call it, too. */
void terminal_give_back(void)
{
	if (!is_saved)
		return;
	set_modes(&saved);
	is_saved = false;
}

/* Whether more can come behind ^D: it has its line editing, and nobody has hung up. */
bool terminal_goes_on(int fd)
{
	struct termios modes;

	return !tcgetattr(fd, &modes) && modes.c_lflag & ICANON;
}

/* ROWSxCOLUMNS, or NULL where no stream is a terminal */
char *terminal_window(const struct terminal *terminal)
{
	struct winsize size;
	int fd;

	for (fd = 0; fd < 3; fd++)
		if (terminal->is[fd] && !ioctl(fd, TIOCGWINSZ, &size))
			return text("%hux%hu", size.ws_row, size.ws_col);
	return NULL;
}
