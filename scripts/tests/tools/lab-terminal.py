#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A lab on a terminal, started as a shell starts a job.

usage: lab-terminal.py ROCE_LAB

Window size, ^\\ and ^Z reach the command, and so do TERM, HUP, INT, USR1 and USR2 sent to the
runner. The terminal's modes are restored whenever the caller sees it: while the job is stopped,
at its end, and when the lab's kernel has died. All output of the command is there, whenever it
is read. After "bg" it goes on. If the output is no terminal, each ^D ends the input.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

LIMIT_S = 100
failed = 0


def check(what, expected, got):
    global failed
    good = expected == got
    failed += not good
    print('ok   %s: %s' % (what, got) if good else
          'FAIL %s: expected %r, got %r' % (what, expected, got), flush=True)


class Job:
    """COMMAND in a process group of its own, in the foreground of a new terminal."""

    def __init__(self, command, lines=False):
        self.lines = lines
        self.master, self.slave = pty.openpty()
        self.modes = termios.tcgetattr(self.slave)
        self.events, event = os.pipe()
        go, self.go = os.pipe()
        self.seen = b''
        if not os.fork():
            self.be_shell(command, event, go)
        os.close(event)
        self.pid = int(self.event())

    def be_shell(self, command, event, go):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        pid = os.fork()
        if not pid:
            os.setpgid(0, 0)
            os.tcsetpgrp(self.slave, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.execvp(command[0], command)
        os.write(event, b'%d\n' % pid)
        while True:
            _pid, status = os.waitpid(pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                os.write(event, b'%d\n' % (os.WEXITSTATUS(status) if os.WIFEXITED(status)
                                           else 128 + os.WTERMSIG(status)))
                os._exit(0)
            os.tcsetpgrp(self.slave, os.getpid())
            os.write(event, b'stopped\n')
            if os.read(go, 1) == b'.':    # fg, else bg
                os.tcsetpgrp(self.slave, pid)
            os.killpg(pid, signal.SIGCONT)

    def wait_for(self, fd):
        """Whether it becomes readable. With lines: also types one now and then, see SCRIPT."""
        end = time.monotonic() + LIMIT_S
        while not select.select([fd], [], [], 1)[0]:
            if time.monotonic() > end:
                return False
            if self.lines:
                os.write(self.master, b'\n')
        return True

    def event(self):
        """First the job's number, then that it has stopped, or its status."""
        text = b''
        while not text.endswith(b'\n'):
            if not self.wait_for(self.events):
                return 'nothing'
            piece = os.read(self.events, 1)
            if not piece:
                return 'nothing'
            text += piece
        return text.decode().strip()

    def says(self, text):
        """Whether its output contains this, after the text last found."""
        while text not in self.seen:
            if not self.wait_for(self.master):
                return self.seen
            self.seen += os.read(self.master, 65536)
        self.seen = self.seen.partition(text)[2]
        return text

    def expect(self, what, text):
        check(what, text, self.says(text))

    def rest(self):
        """Its other output, which a worker of the kernel may bring after the job's end."""
        while select.select([self.master], [], [], 1)[0]:
            self.seen += os.read(self.master, 65536)
        return self.seen.decode(errors='replace')

    def all(self):
        """All its output until it ends, and its status."""
        said = b''
        while not select.select([self.events], [], [], 0)[0]:
            if select.select([self.master], [], [], 0.1)[0]:
                said += os.read(self.master, 65536)
        self.seen = said
        return self.event()

    def is_as_before(self):
        return termios.tcgetattr(self.slave) == self.modes

    def becomes_raw(self):
        end = time.monotonic() + LIMIT_S
        while self.is_as_before() and time.monotonic() < end:
            time.sleep(0.05)
        return not self.is_as_before()


# It reads, and starts nothing: dash uses vfork(), and if ^Z arrives before the child executes
# another program, the child stops and dash waits for it without being stopped itself, on any
# Linux. A signal just before it reads is noticed when a line arrives.
SCRIPT = r'''
trap 'stty size' WINCH
trap 'echo got QUIT' QUIT
trap 'echo got USR1' USR1
trap 'echo got USR2' USR2
ends=0
for name in TERM HUP INT; do trap 'ends=$((ends + 1))' $name; done
echo up
until [ $ends = 3 ]; do read -r line; done
exit 5
'''
lab = sys.argv[1]
job = Job([lab, 'run', '--', 'sh', '-c', SCRIPT], lines=True)
job.expect('it begins', b'up')
check('raw, while the command has the terminal', True, job.becomes_raw())
fcntl.ioctl(job.master, termios.TIOCSWINSZ, struct.pack('HHHH', 41, 101, 0, 0))
job.expect('the size of the window', b'41 101')
os.write(job.master, b'\x1c')
job.expect('^\\', b'got QUIT')
os.write(job.master, b'\x1a')
check('^Z', 'stopped', job.event())
check('stopped: modes as before', True, job.is_as_before())
os.write(job.go, b'.')
check('raw again', True, job.becomes_raw())
os.kill(job.pid, signal.SIGSTOP)
check('STOP to the runner', 'stopped', job.event())
termios.tcsetattr(job.slave, termios.TCSANOW, job.modes)    # as shells do
os.write(job.go, b'.')
check('raw once more', True, job.becomes_raw())
for name in ('USR1', 'USR2'):
    os.kill(job.pid, getattr(signal, 'SIG' + name))
    job.expect('a signal to the runner', b'got ' + name.encode())
# All three at once, since KILL follows 10 s after the first of them
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    os.kill(job.pid, number)
check('TERM, HUP and INT to the runner: status', '5', job.event())
check('its end: modes as before', True, job.is_as_before())

job = Job([lab, 'run', '--', 'sh', '-c', 'echo up; until [ -e goes-on ]; do :; done; exit 3'])
job.expect('one for the background begins', b'up')
job.becomes_raw()
os.write(job.master, b'\x1a')
check('^Z', 'stopped', job.event())
os.write(job.go, b'&')
time.sleep(1)
with open('goes-on', 'w', encoding='ascii'):
    check('bg: it goes on, to its status', '3', job.event())
check('its end: modes as before', True, job.is_as_before())

# Writes until there is no room left on the way, the last of which is in the pty
FILL = r'''
import os, time
os.set_blocking(1, False)
rest = b''.join(b'%d\n' % number for number in range(1000000))
size, until = len(rest), time.monotonic() + 3
while time.monotonic() < until:
    try:
        rest = rest[os.write(1, rest[:4096]):]
        until = time.monotonic() + 3
    except BlockingIOError:
        time.sleep(0.01)
open('written', 'w').write(str(size - len(rest)))
os.rename('written', 'ended')
'''
for what in ('read late', 'not read, and TERM to the runner'):
    if os.path.exists('ended'):
        os.unlink('ended')
    job = Job([lab, 'run', '--', '/usr/bin/python3', '-c', FILL])
    end = time.monotonic() + LIMIT_S
    while not os.path.exists('ended') and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(2)
    if what == 'read late':
        check(what + ': status', '0', job.all())
        written = b''.join(b'%d\n' % number for number in range(1000000))
        with open('ended', encoding='ascii') as size:
            written = written[:int(size.read())].replace(b'\n', b'\r\n').decode()
        said = job.rest()
        check(what + ': bytes', len(written), len(said))
        check(what + ': which are those', True, written == said)
    else:
        os.kill(job.pid, signal.SIGTERM)
        check(what + ': status', '143', job.event())
    check(what + ': modes as before', True, job.is_as_before())
# The terminal sends HUP when its session ends.
for left in ('sleep 1000', 'yes'):
    job = Job([lab, 'run', '--', 'sh', '-c', '(trap "" HUP; exec %s) & sleep 1; exit 3' % left])
    check('one that leaves "%s": status' % left, '3', job.all())

# With output to a file, the terminal keeps line editing, with ^D for unfinished lines as well.
for what, typed, expected in (('^D twice within a line', b'abc\x04\x04\x04', 'abc-'),
                              ('^D for one reader and the next', b'one\n\x04two\n\x04', 'one,-two,')):
    job = Job(['sh', '-c', 'exec "$0" run -- sh -c "cat; printf -; cat" > out', lab])
    os.write(job.master, typed)
    check(what + ': status', '0', job.event())
    with open('out', encoding='ascii') as out:
        check(what + ': what was read', expected, out.read().replace('\n', ','))

job = Job([lab, 'run', '--user', 'root', '--', 'sh', '-c',
           'echo up; read line; echo c > /proc/sysrq-trigger'])
job.expect('another begins', b'up')
check('raw', True, job.becomes_raw())
os.write(job.master, b'\n')
check('a kernel that dies: status', '125', job.event())
check('a kernel that dies: modes as before', True, job.is_as_before())
log = job.rest().partition('its log is ')[2].strip()
if os.path.exists(log):
    os.unlink(log)
sys.exit(bool(failed))
