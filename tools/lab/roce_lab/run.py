# SPDX-License-Identifier: GPL-2.0
"""One command in a lab, from its start to its exit status."""

import os
import re
import select
import signal
import sys
import tempfile
import threading
import time

from roce_lab import job
from roce_lab.host import seccomp_allowed
from roce_lab.machine import Machine, Reports
from roce_lab.place import Failure
from roce_lab.streams import Collector, Relay, Terminal

TIMED_OUT, FAULT, FAILED = 124, 99, 125
KILL_AFTER_S = 10
# A machine on which many begin at once is slow, not broken.
BOOT_LIMIT_S = 300

PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2)

FAULTS = re.compile(
    rb'BUG:|kernel BUG|Oops|general protection fault|Kernel panic|invalid opcode|divide error|'
    rb'WARNING: |KASAN|KFENCE|UBSAN|Bad page state|refcount_t: |ODEBUG|'
    rb'list_(?:add|del) corruption|DEADLOCK|circular locking|recursive locking|'
    rb'inconsistent lock state|suspicious RCU usage|held lock freed|'
    rb'lock held when returning|Invalid wait context|sleeping function called|'
    rb'scheduling while atomic|bad unlock balance|unregister_netdevice: waiting')


def find_fault(log):
    """The first line of a fault, or None."""
    for line in log.splitlines():
        if FAULTS.search(line):
            return line.decode(errors='replace')
    return None


class Run:
    def __init__(self, options, command):
        self.options, self.command = options, command
        self.terminal = Terminal()
        self.copies = self.open_files()
        # All that can be wrong with what was asked for is said before a kernel starts.
        self.message = job.message(job.fields(options, command, self.terminal.passed_on(),
                                              self.terminal.window()))
        self.machine = Machine(options)
        self.outputs = []
        self.log = b''
        self.ready = self.timed_out = False
        self.began = time.monotonic()
        self.kill_at = None
        self.result = None

    def open_files(self):
        """Channels that are copied to files which the caller has named."""
        named = {'capture': ('--pcap', self.options.pcap),
                 'trace': ('--trace', self.options.trace and self.options.trace[1])}
        opened = {}
        for channel, (option, path) in named.items():
            if path is None:
                continue
            try:
                opened[channel] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            except OSError as error:
                raise Failure('%s %s: %s' % (option, path, error.strerror))
        return opened

    @staticmethod
    def show(data):
        os.write(2, data)

    # --- streams and signals

    def start_streams(self):
        ends = self.machine.ends
        sources = [0 if not self.terminal.terminals[0] or self.terminal.foreground else
                   os.open('/dev/null', os.O_RDONLY)]
        # A cooked terminal's end of file is a character for the pty inside.
        at_end = b'\x04' if self.terminal.passed_on()[0] else b''
        Relay(sources[0], ends['stdin'], at_end, close_target=not at_end)
        self.outputs = [Relay(ends['stdout'], 1), Relay(ends['stderr'], 2)]
        self.outputs += [Relay(ends[name], fd) for name, fd in self.copies.items()]

    def catch_signals(self):
        for number in PASSED_ON:
            # One that is ignored, as by nohup, stays so.
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.pass_on)
        signal.signal(signal.SIGWINCH, lambda *_: self.tell_window())
        signal.signal(signal.SIGCONT, lambda *_: self.continued())

    def pass_on(self, number, _frame):
        self.machine.order('signal', int(number))
        if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT) and not self.kill_at:
            self.kill_at = time.monotonic() + KILL_AFTER_S
            if not self.ready:
                self.result = 128 + number

    def tell_window(self):
        self.machine.order('window', self.terminal.window())

    def continued(self):
        self.terminal.take()
        self.tell_window()
        self.machine.order('signal', int(signal.SIGCONT))

    def stop(self):
        """The command has stopped, by ^Z: so does what the caller sees of it."""
        self.terminal.give_back()
        os.kill(0, signal.SIGTSTP)

    # --- from start to end

    def take(self, name, value):
        if name == 'started':
            self.ready = True
            self.terminal.take()
        elif name == 'stopped' and self.terminal.raw:
            self.stop()
        elif name == 'log':
            self.log = value
        elif name == 'exit':
            self.result = int(value)
        elif name == 'signalled':
            self.result = 128 + int(value)
        elif name == 'error':
            raise Failure(value.decode(errors='replace'))

    def check_time(self):
        now = time.monotonic()
        if not self.ready and now > self.began + BOOT_LIMIT_S and not self.options.gdb:
            raise Failure('the lab did not begin within %d s' % BOOT_LIMIT_S)
        limit = self.options.timeout
        if limit and now > self.began + limit and not self.timed_out:
            self.timed_out = True
            if not self.ready:
                self.result = TIMED_OUT
                return
            self.kill_at = now + KILL_AFTER_S
            self.machine.order('signal', int(signal.SIGTERM))
        if self.kill_at and now > self.kill_at:
            if now > self.kill_at + KILL_AFTER_S:
                self.result = 128 + signal.SIGKILL
            self.machine.order('signal', int(signal.SIGKILL))

    def follow(self):
        reports = Reports(self.machine.ends['reports'])
        while self.result is None:
            if select.select([reports.fd], [], [], 0.5)[0]:
                pairs = reports.read()
                if pairs is None:
                    self.died()
                for name, value in pairs:
                    self.take(name, value)
            self.check_time()

    def died(self):
        self.machine.kill()
        self.console.join()
        said = [line.strip() for line in bytes(self.console.data).decode(
            errors='replace').splitlines() if line.strip()]
        raise Failure(self.why_died(said))

    def why_died(self, said):
        def has(text):
            return any(text in line for line in said)

        if has('check_ptrace') and not seccomp_allowed():
            return ("this machine forbids seccomp and ptrace, one of which a lab's kernel needs "
                    "(docker run --security-opt seccomp=unconfined)")
        # SIGBUS: there is no room for a page of its memory.
        if has('Kernel mode signal 7'):
            return ('this machine gave the lab no more memory (vm.overcommit_memory, a limit, '
                    'or a full folder); %s' % self.keep_log())
        fault = find_fault(bytes(self.console.data)) or (said[-1] if said else 'it said nothing')
        return "the lab's kernel ended before the command did: %s; %s" % (fault, self.keep_log())

    def run(self):
        try:
            self.console = Collector(self.machine.log, self.show if self.options.verbose else None)
            self.catch_signals()
            if self.options.gdb:
                self.tell_debugger()
            self.send_message()
            self.start_streams()
            self.follow()
        finally:
            self.machine.kill()
            self.terminal.give_back()
        for output in self.outputs:
            output.join()
        if self.options.verbose:
            self.show(self.log)
        return self.judge()

    def tell_debugger(self):
        print("roce-lab: the kernel waits for: gdb -p %d -ex 'tcatch exec' -ex 'handle SIGSEGV SIGALRM "
              "SIGIO SIGUSR1 SIGUSR2 SIGCHLD SIGWINCH SIG34 nostop noprint pass' -ex continue" %
              self.machine.pid, file=sys.stderr, flush=True)

    def send_message(self):
        """In a thread: it may be larger than a pipe, and the kernel may never read it."""
        threading.Thread(target=self.machine.send, args=(self.message,), daemon=True).start()

    # --- what came of it

    def keep_log(self):
        """In words: where it is."""
        try:
            fd, name = tempfile.mkstemp(prefix='roce-lab-', suffix='.log')
            with open(fd, 'wb') as file:
                file.write(bytes(self.console.data) + self.log)
        except OSError as error:
            return 'its log has no place (%s)' % error.strerror
        return 'its log is %s' % name

    def judge(self):
        fault = find_fault(self.log)
        if fault:
            print("roce-lab: the lab's kernel reported a fault: %s\nroce-lab: %s" %
                  (fault, self.keep_log()), file=sys.stderr)
        if self.timed_out:
            return TIMED_OUT
        return FAULT if fault and not self.result else self.result
