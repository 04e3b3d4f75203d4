# SPDX-License-Identifier: GPL-2.0
"""Copying between the caller's streams and the guest's, and the caller's terminal."""

import fcntl
import os
import signal
import termios
import threading
import tty

PIECE = 1 << 16
PIPE_SIZE = 1 << 20
F_SETPIPE_SZ = 1031


def pipe():
    """A pipe that takes a megabyte, where the machine lets it."""
    ends = os.pipe()
    try:
        fcntl.fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE)
    except OSError:
        pass
    return ends


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


class Relay(threading.Thread):
    """Copies one descriptor to another until the end, or until nobody reads any more."""

    def __init__(self, source, target, at_end=b'', close_target=False):
        super().__init__(daemon=True)
        self.source, self.target = source, target
        self.at_end, self.close_target = at_end, close_target
        self.start()

    def run(self):
        try:
            while True:
                data = os.read(self.source, PIECE)
                if not data:
                    break
                write_all(self.target, data)
            if self.at_end:
                write_all(self.target, self.at_end)
        except OSError:
            # Closing the source is what tells the guest, by SIGPIPE.
            if not self.close_target:
                os.close(self.source)
        if self.close_target:
            os.close(self.target)


class Collector(threading.Thread):
    """Keeps what comes, and passes it on to a function."""

    def __init__(self, source, tell=None):
        super().__init__(daemon=True)
        self.source, self.tell, self.data = source, tell, bytearray()
        self.start()

    def run(self):
        while True:
            try:
                data = os.read(self.source, PIECE)
            except OSError:
                return
            if not data:
                return
            self.data += data
            if self.tell:
                self.tell(data)


def is_terminal(fd):
    try:
        return os.isatty(fd)
    except OSError:
        return False


class Terminal:
    """The caller's terminal. It is raw only where a pty inside has both its input and its
    output; otherwise its own line editing and its signals stay."""

    def __init__(self):
        self.terminals = [is_terminal(fd) for fd in range(3)]
        self.foreground = self.in_foreground()
        self.raw = self.terminals[0] and self.terminals[1] and self.foreground
        self.saved = None

    def in_foreground(self):
        try:
            return self.terminals[0] and os.tcgetpgrp(0) == os.getpgrp()
        except OSError:
            return False

    def passed_on(self):
        """Which of stdin, stdout, stderr are a pty inside."""
        return [self.terminals[0] and self.foreground] + self.terminals[1:]

    def window(self):
        for fd in range(3):
            if self.terminals[fd]:
                try:
                    size = os.get_terminal_size(fd)
                    return '%dx%d' % (size.lines, size.columns)
                except OSError:
                    pass
        return ''

    def take(self):
        if self.raw:
            self.saved = termios.tcgetattr(0)
            tty.setraw(0)

    def give_back(self):
        if self.saved:
            # In the background this would stop the runner.
            old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            termios.tcsetattr(0, termios.TCSADRAIN, self.saved)
            signal.signal(signal.SIGTTOU, old)
            self.saved = None
