# SPDX-License-Identifier: GPL-2.0
"""roce-lab check: what this machine allows, and the mend for each thing that it does not."""

import glob
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time

from roce_lab import host
from roce_lab.place import Failure, programs

MIB = host.MIB


def machine():
    system, release, arch = platform.system(), platform.release(), platform.machine()
    parts = release.split('-')[0].split('.')
    if system != 'Linux' or arch != 'x86_64':
        return False, '%s on %s: roce-lab runs on Linux on x86_64' % (system, arch)
    old = tuple(int(part) for part in parts[:2] if part.isdigit()) < (5, 10)
    return not old, 'Linux %s on %s%s' % (release, arch, ', older than 5.10' if old else '')


def proc():
    if not host.read('/proc/self/cgroup') and not host.read('/proc/cpuinfo'):
        return False, '/proc is not mounted: mount it (docker run does)'
    return True, '/proc is there'


def kernel():
    try:
        return True, 'the kernel of the lab is in %s' % programs()
    except Failure as failure:
        return False, str(failure)


def memory():
    try:
        size = host.guest_memory(None)
    except Failure as failure:
        return False, '%s: raise the limit (ulimit, docker run --memory)' % failure
    return True, 'memory for the guest: %d MiB of %d MiB that this process may have' % (
        size // MIB, host.memory_limit()[0] // MIB)


def memory_place():
    try:
        place = host.memory_folder(host.guest_memory(None))
    except Failure as failure:
        return False, str(failure)
    return True, 'the memory is a file in %s' % (place or 'no folder (memfd_create)')


def temporary():
    try:
        return True, "the kernel's log is kept in %s after a fault" % tempfile.gettempdir()
    except OSError:
        return None, ("the kernel's log is not kept after a fault, since no folder for temporary "
                      "files can be written (TMPDIR may name one)")


def open_files():
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    text = 'open files: up to %d' % hard
    if hard < 256:
        return False, text + ': raise it (ulimit -Hn, docker run --ulimit nofile=4096)'
    return True, text


def processors():
    count = len(os.sched_getaffinity(0))
    if host.seccomp_allowed():
        return True, 'processors: %d' % count
    return None, ('processors: %d, of which a lab has one, since seccomp is forbidden here '
                  '(docker run --security-opt seccomp=unconfined)' % count)


def provider():
    """libibverbs finds the provider of the software devices."""
    names = [name for folder in ('/usr/lib/*/libibverbs', '/usr/lib64/libibverbs',
                                 '/usr/lib/libibverbs', '/usr/local/lib*/libibverbs')
             for name in glob.glob(folder + '/librxe-rdmav*.so')]
    if names:
        return True, "libibverbs has the provider rxe, which drives the lab's devices"
    return None, ('no provider rxe for libibverbs: install ibverbs-providers (Debian, Ubuntu) '
                  'or libibverbs (Fedora), unless your program has one built in')


def boot():
    """The whole way, in a process of its own: whatever is forbidden, this shows it."""
    self = os.path.join(os.path.dirname(os.path.abspath(__file__)))
    began = time.monotonic()
    try:
        # Of programs, a minimal root has this one for sure.
        python = [sys.executable, '-I', '-S', '-B']
        done = subprocess.run(python + [self, 'run', '--timeout', '120', '--'] + python + ['-c', ''],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=400)
    except subprocess.TimeoutExpired:
        return False, 'a lab does not begin'
    said = done.stdout.decode(errors='replace').strip().splitlines()
    if done.returncode:
        return False, 'a lab does not run: %s' % (said[-1] if said else
                                                 'status %d' % done.returncode)
    return True, 'a lab ran a command, in %.1f s' % (time.monotonic() - began)


CHECKS = (machine, proc, kernel, processors, memory, memory_place, temporary, open_files,
          provider, boot)


def main():
    bad = 0
    for check in CHECKS:
        good, text = check()
        bad |= good is False
        print('%-4s %s' % ('ok' if good else 'note' if good is None else 'NO', text), flush=True)
    return 1 if bad else 0
