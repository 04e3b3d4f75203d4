# SPDX-License-Identifier: GPL-2.0
"""The User-Mode Linux kernel of a lab: its process, its pipes, its end."""

import ctypes
import os
import signal
import time

from roce_lab import host, streams
from roce_lab.place import Failure, programs

# The descriptors of channel/lab_channel.c: True where the guest reads
CHANNELS = (('orders', True), ('reports', False), ('stdin', True), ('stdout', False),
            ('stderr', False), ('capture', False), ('trace', False))
FIRST_CHANNEL = 3
PR_SET_PDEATHSIG = 1
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616d61, -1


def kernel_arguments(options, cpus, memory):
    arguments = [
        'mem=%dK' % (memory // 1024), 'ncpus=%d' % cpus,
        'seccomp=on' if cpus > 1 else 'seccomp=auto',
        'rootfstype=hostfs', 'rootflags=/', 'ro', 'init=/proc/self/cwd/init',
        'quiet', 'loglevel=4', 'panic=-1', 'log_buf_len=1M',
        # Hosts see their own devices, and netdevs that somebody has made.
        'ib_core.netns_mode=0', 'fb_tunnels=none', 'bonding.max_bonds=0',
        'dummy.numdummies=0', 'kunit.enable=0',
        # That the machine outside is busy is no fault of the kernel.
        'rcupdate.rcu_cpu_stall_suppress=1', 'nowatchdog', 'workqueue.watchdog_thresh=0',
        'con=null', 'con0=null,fd:1', 'ssl=null',
        # Nobody asks the kernel for anything by a socket, so it has no folder for one. Without
        # our patch it wants one: where none can be made, it says so and goes on.
        'uml_dir=/proc/self/' if options.kernel else 'uml_dir=',
    ]
    if options.debug:
        arguments.append('kasan_multi_shot')
    return arguments + options.append


def wait_for_tracer():
    """A debugger that has attached meets the kernel's first instruction by "tcatch exec"."""
    while '\nTracerPid:\t0\n' in host.read('/proc/self/status'):
        time.sleep(0.05)


class Machine:
    """A kernel that runs from here on; the guest's ends of its pipes are its alone."""

    def __init__(self, options):
        self.folder = programs(options)
        if not os.path.exists('/proc/self/cwd'):
            raise Failure("/proc is not mounted, and a lab's kernel needs it")
        memory = host.guest_memory(options.memory, host.DEBUG_MEMORY if options.debug else
                                   host.DEFAULT_MEMORY)
        self.temporary = host.memory_folder(memory, options.kernel)
        host.raise_limits()
        cpus = host.processors(options.cpus)
        self.ends = {}
        self.status = None
        self.waiting = []
        self.job_is_sent = False
        theirs = self.make_pipes()
        log, their_log = streams.pipe()
        runner = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            self.become_kernel(theirs, their_log, runner, options.gdb,
                               kernel_arguments(options, cpus, memory))
        for fd in theirs + [their_log]:
            os.close(fd)
        self.log = log

    def make_pipes(self):
        theirs = []
        for name, guest_reads in CHANNELS:
            reader, writer = streams.pipe()
            self.ends[name] = writer if guest_reads else reader
            theirs.append(reader if guest_reads else writer)
        return theirs

    def become_kernel(self, theirs, log, runner, traced, arguments):
        try:
            # With the runner it ends, whatever ends that.
            libc = ctypes.CDLL(None)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != runner:
                os._exit(127)
            os.setsid()
            os.chdir(self.folder)
            # Out of the way of where they go
            moved = [os.dup(fd) for fd in [log] + theirs]
            while min(moved) <= FIRST_CHANNEL + len(theirs):
                moved = [os.dup(fd) for fd in moved]
            os.dup2(os.open('/dev/null', os.O_RDWR), 0)
            os.dup2(moved[0], 1)
            os.dup2(moved[0], 2)
            for index, fd in enumerate(moved[1:]):
                os.dup2(fd, FIRST_CHANNEL + index)
            os.closerange(FIRST_CHANNEL + len(theirs), 65536)
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            if traced:
                libc.prctl(PR_SET_PTRACER, ctypes.c_long(PR_SET_PTRACER_ANY))
                wait_for_tracer()
            # Never empty: by its variables it finds where its stack ends.
            os.execve('./linux', ['linux'] + arguments, {'TMPDIR': self.temporary or '/tmp'})
        except OSError as error:
            os.write(1, b'cannot start the kernel: ' + os.fsencode(str(error)) + b'\n')
        finally:
            os._exit(127)

    def send(self, message):
        """The job, and then what was ordered meanwhile."""
        try:
            streams.write_all(self.ends['orders'], message)
            self.job_is_sent = True
            while self.waiting:
                streams.write_all(self.ends['orders'], self.waiting.pop(0))
        except OSError:
            pass    # It has ended.

    def order(self, name, value):
        """From a signal handler, too, so no lock: the main thread is its only caller."""
        order = os.fsencode('%s=%s' % (name, value)) + b'\0'
        if not self.job_is_sent:
            self.waiting.append(order)
            return
        try:
            os.write(self.ends['orders'], order)
        except OSError:
            pass    # It has ended.

    def kill(self):
        """All of it: the processes of the guest are in the kernel's group."""
        if self.status is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                try:
                    os.kill(self.pid, signal.SIGKILL)
                except OSError:
                    pass
            self.status = os.waitpid(self.pid, 0)[1]


class Reports:
    """What the guest has to say: NAME=VALUE, each ended by NUL."""

    def __init__(self, fd):
        self.fd, self.rest = fd, b''

    def read(self):
        """Pairs that have come, or None at the end."""
        data = os.read(self.fd, streams.PIECE)
        if not data:
            return None
        *whole, self.rest = (self.rest + data).split(b'\0')
        pairs = []
        for text in whole:
            name, _, value = text.partition(b'=')
            pairs.append((name.decode(), value))
        return pairs


__all__ = ['Machine', 'Reports', 'Failure']
