# SPDX-License-Identifier: GPL-2.0
"""What the machine outside allows: memory, places for files, limits."""

import ctypes
import errno
import mmap
import os
import re
import resource
import tempfile

from roce_lab.place import Failure

MIB = 1 << 20
# With less the guest ends for want of memory before it has begun.
LEAST_MEMORY = 192 * MIB
DEFAULT_MEMORY = 1024 * MIB
# KASAN wants an eighth more, and holds back what is freed.
DEBUG_MEMORY = 2048 * MIB
DEFAULT_PROCESSORS = 2
# Of x86_64
SYS_SECCOMP, SYS_MEMFD_CREATE = 317, 319
SECCOMP_GET_ACTION_AVAIL, SECCOMP_RET_TRAP = 2, 0x00030000
MFD_CLOEXEC, MFD_EXEC = 0x01, 0x10


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except (OSError, UnicodeDecodeError):
        return ''


def own_cgroup():
    """The folder of this process in cgroup2, or in the memory part of the older one."""
    folder = None
    for line in read('/proc/self/cgroup').splitlines():
        number, parts, path = line.split(':', 2)
        if number == '0' and not parts:
            folder = folder or '/sys/fs/cgroup' + path
        elif 'memory' in parts.split(','):
            folder = '/sys/fs/cgroup/memory' + path
    return folder or '/sys/fs/cgroup'


def cgroup_limits():
    # In a container the path may be that of the host, and the folder the root.
    for folder in (own_cgroup(), '/sys/fs/cgroup', '/sys/fs/cgroup/memory'):
        while folder.startswith('/sys/fs/cgroup'):
            for name in ('memory.max', 'memory.limit_in_bytes'):
                value = read(os.path.join(folder, name))
                if value.isdigit():
                    yield int(value)
            folder = os.path.dirname(folder)


def memory_limit():
    """The least of what the machine, the cgroups above this process and its own limits leave:
    bytes, and who says so. The guest's memory is mapped by one process, and is a file."""
    match = re.search(r'^MemTotal: +(\d+) kB', read('/proc/meminfo'), re.M)
    machine = int(match.group(1)) * 1024 if match else 1 << 62
    limits = [(limit, 'this container or machine has') for limit in (machine, *cgroup_limits())]
    for number, option in ((resource.RLIMIT_AS, 'v'), (resource.RLIMIT_FSIZE, 'f')):
        _soft, hard = resource.getrlimit(number)
        if hard != resource.RLIM_INFINITY:
            limits.append((hard, '"ulimit -H%s" leaves' % option))
    return min(limits)


def parse_size(value):
    """512M and the like, in bytes; a plain number is MiB, as virtme-ng has it."""
    match = re.fullmatch(r'(\d+)([KMGkmg]?)[iI]?[bB]?', value)
    if not match or not int(match.group(1)):
        raise Failure('--memory %s: such as 512M or 2G' % value)
    return int(match.group(1)) << {'K': 10, 'G': 30}.get(match.group(2).upper(), 20)


def guest_memory(asked, default=DEFAULT_MEMORY):
    """Bytes for the guest. The kernel takes them as it needs them."""
    limit, who = memory_limit()
    if asked:
        size = parse_size(asked)
        if size < LEAST_MEMORY:
            raise Failure('a lab needs %d MiB, and --memory says %d MiB' %
                          (LEAST_MEMORY // MIB, size // MIB))
    else:
        size = min(default, limit * 3 // 4)
        asked = False
    needed = size if asked else LEAST_MEMORY
    if limit < needed or size < LEAST_MEMORY:
        raise Failure('a lab needs %d MiB of memory, and %s %d MiB' %
                      (needed // MIB, who, limit // MIB))
    return size // MIB * MIB


def try_to_execute(fd):
    """OSError where a page of that file may not be executed."""
    os.truncate(fd, mmap.PAGESIZE)
    mmap.mmap(fd, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()


def memory_without_folder():
    """Whether the machine lets the kernel make its memory a file in no folder (a memfd)."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(SYS_MEMFD_CREATE, b'roce-lab', MFD_CLOEXEC | MFD_EXEC)
    if fd < 0 and ctypes.get_errno() == errno.EINVAL:
        # Before Linux 6.3 each can be executed.
        fd = libc.syscall(SYS_MEMFD_CREATE, b'roce-lab', MFD_CLOEXEC)
    if fd < 0:
        return False
    try:
        try_to_execute(fd)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def why_not_memory_there(folder, size):
    """None, or why the guest's memory cannot be a file in that folder."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            try_to_execute(file.fileno())
        stat = os.statvfs(folder)
    except OSError as error:
        if isinstance(error, PermissionError) and error.filename is None:
            return '%s is mounted noexec' % folder
        return '%s: %s' % (folder, error.strerror)
    room = stat.f_bavail * stat.f_frsize
    if room < size:
        return '%s has room for %d MiB' % (folder, room // MIB)
    return None


def memory_folders():
    folders = ['/dev/shm', os.environ.get('TMPDIR') or '/tmp', '/var/tmp']
    return list(dict.fromkeys(folders))


def memory_folder(size, kernel=None):
    """Where the kernel makes its memory a file, which nobody else sees. None: it needs none;
    a kernel of the user's own may."""
    if kernel is None and memory_without_folder():
        return None
    reasons = []
    for folder in memory_folders():
        reason = why_not_memory_there(folder, size)
        if not reason:
            return folder
        reasons.append(reason)
    raise Failure('no place for %d MiB of memory: %s (TMPDIR may name another)' %
                  (size // MIB, '; '.join(reasons)))


def seccomp_allowed():
    """Several processors exist in User-Mode Linux's seccomp mode only. A profile that forbids
    the system call does so for this harmless question, too."""
    action = ctypes.c_uint32(SECCOMP_RET_TRAP)
    return not ctypes.CDLL(None).syscall(SYS_SECCOMP, SECCOMP_GET_ACTION_AVAIL, 0,
                                         ctypes.byref(action))


def processors(asked):
    allowed = seccomp_allowed()
    if (asked or 1) > 1 and not allowed:
        raise Failure('--cpus %d: this machine forbids seccomp, without which a lab has one '
                      'processor' % asked)
    return asked or (DEFAULT_PROCESSORS if allowed else 1)


def raise_limits():
    """hostfs holds a descriptor of this machine for each file that the guest has open; the
    others are limits of its memory."""
    for number in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
        _soft, hard = resource.getrlimit(number)
        resource.setrlimit(number, (hard, hard))
