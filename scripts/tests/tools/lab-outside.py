#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The programs of the scenario lab-outside, in one folder.

usage: lab-outside.py outside      outside the lab: holds a lock, listens, reads, makes files
       lab-outside.py inside       in the lab: what it sees of that, a line each
       lab-outside.py grow N       in the lab: N more threads, then N more processes, each when
                                   a file requests it, and confirmed by a file
"""

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import sys
import threading
import time

LIMIT_S = 60
MAP_HUGETLB = 0x40000
SYS_PERF_EVENT_OPEN = 298       # of x86_64
IN_CREATE = 0x100


def wait_for(name):
    end = time.monotonic() + LIMIT_S
    while not os.path.exists(name):
        if time.monotonic() > end:
            sys.exit('no file %s' % name)
        time.sleep(0.05)


def make(name):
    with open(name, 'w'):
        pass


def outside():
    locked = open('locked', 'w')
    fcntl.flock(locked, fcntl.LOCK_EX)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind('socket')
    listener.listen()
    os.mkfifo('fifo')
    reader = os.open('fifo', os.O_RDONLY | os.O_NONBLOCK)
    os.mkdir('watched')
    make('prepared')
    wait_for('watching')
    make('watched/another')
    make('written')
    wait_for('done')
    os.close(reader)


def named(function, *arguments):
    """The name of the error that it raises."""
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'no error'


def lock():
    with open('locked', 'r+') as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def watch(libc):
    """Names of files that caused events: made outside, and made inside."""
    fd = libc.inotify_init1(os.O_NONBLOCK)
    if fd < 0 or libc.inotify_add_watch(fd, b'watched', IN_CREATE) < 0:
        sys.exit('no inotify')
    make('watching')
    wait_for('written')
    if os.listdir('watched') != ['another']:
        sys.exit('the folder has %s' % os.listdir('watched'))
    names = []
    for name in ('another', 'own'):
        if name == 'own':
            make('watched/own')
        try:
            # struct inotify_event: 16 bytes, and a name padded with zeros
            names.append(os.read(fd, 4096)[16:].rstrip(b'\0').decode())
        except BlockingIOError:
            names.append('none')
    return names


def perf(libc):
    attributes = ctypes.create_string_buffer(128)
    libc.syscall(SYS_PERF_EVENT_OPEN, attributes, 0, -1, -1, 0)
    return errno.errorcode[ctypes.get_errno()]


def inside():
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        lock()
        print('lock of a file: not shared')
    except BlockingIOError:
        print('lock of a file: shared')
    print('socket: %s' % {'ECONNREFUSED': 'refused'}.get(
        named(socket.socket(socket.AF_UNIX).connect, 'socket'), 'open'))
    print('FIFO: %s' % {'ENXIO': 'no reader'}.get(
        named(os.open, 'fifo', os.O_WRONLY | os.O_NONBLOCK), 'a reader'))
    another, own = watch(libc)
    print('event of a file that is made outside: %s' % another)
    print('event of a file that is made inside: %s' % own)
    print('O_DIRECT: %s' % named(os.open, 'locked', os.O_RDONLY | os.O_DIRECT))
    print('extended attribute: %s' % named(os.setxattr, 'locked', 'user.name', b'value'))
    os.utime('locked', ns=(0, 1500000000))
    print('time that is set: %s' % {1000000000: 'whole seconds'}.get(
        os.stat('locked').st_mtime_ns, 'finer'))
    huge = named(mmap.mmap, -1, 1 << 21, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_HUGETLB)
    print('huge page: %s' % ('there' if huge == 'no error' else 'refused'))
    print('perf: %s' % perf(libc))
    make('done')


def grow(count):
    make('one')
    wait_for('have-threads')
    for _number in range(count):
        threading.Thread(target=wait_for, args=('have-processes',)).start()
    make('threads')
    wait_for('have-processes')
    for _number in range(count):
        if not os.fork():
            wait_for('end')
            os._exit(0)
    make('processes')
    wait_for('end')


if sys.argv[1] == 'grow':
    grow(int(sys.argv[2]))
else:
    {'outside': outside, 'inside': inside}[sys.argv[1]]()
