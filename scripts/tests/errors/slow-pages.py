#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A process whose pages do not arrive, and the effect on others.

slow-pages.py serve FOLDER          mount a file there that cannot be read until SIGUSR1
slow-pages.py stuck DEVICE INDEX FILE         SENDs from regions over it ("userfaultfd": over memory
                                    of one that is not answered); then takes commands:
                                    "close" deregisters some, and answers
slow-pages.py register DEVICE INDEX           WRITEs to itself; then registers such memory
slow-pages.py others A INDEX_A B INDEX_B       on-demand paging: prints how long it took
"""

import argparse
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import struct
import sys
import threading
import time

import verbs

PAGES = 256
ROUNDS = 64
SIZE = PAGES * mmap.PAGESIZE
ON_DEMAND = verbs.e.IBV_ACCESS_ON_DEMAND

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]


# --- a file system in user space, linux/fuse.h ------------------------------------------

LOOKUP, FORGET, GETATTR, OPEN, READ, INIT, INTERRUPT, FORGETS = 1, 2, 3, 14, 15, 26, 36, 42
NEVER = (FORGET, INTERRUPT, FORGETS)
NODE, FOREVER, KEEP_CACHE = 2, 1 << 30, 2


def attributes(node):
    """struct fuse_attr"""
    mode, size = (0o100444, SIZE) if node == NODE else (0o040555, 0)
    return struct.pack('<QQQQQQIIIIIIIIII', node, size, size // 512, 0, 0, 0, 0, 0, 0,
                       mode, 1, 0, 0, 0, mmap.PAGESIZE, 0)


def answer(opcode, node):
    """Returns (error, reply to the request)"""
    if opcode == INIT:
        return 0, struct.pack('<IIIIHHIIHH32x', 7, 26, 0, 0, 64, 48, 4096, 1, 0, 0)
    if opcode == LOOKUP:
        return 0, struct.pack('<QQQQII', NODE, 0, FOREVER, FOREVER, 0, 0) + attributes(NODE)
    if opcode == GETATTR:
        return 0, struct.pack('<QII', FOREVER, 0, 0) + attributes(node)
    if opcode == OPEN:		# the next one does not wait for this one's pages
        return 0, struct.pack('<QII', 1, KEEP_CACHE, 0)
    return -errno.ENOSYS, b''


def serve(folder):
    fuse = os.open('/dev/fuse', os.O_RDWR)
    options = f'fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other'
    if libc.mount(b'slow', folder.encode(), b'fuse', 0, options.encode()):
        sys.exit(f'mount: {os.strerror(ctypes.get_errno())}')
    waiting = []
    generous = threading.Event()

    def reply(unique, said, error=0):
        os.write(fuse, struct.pack('<IiQ', 16 + len(said), error, unique) + said)

    def give(*_):
        generous.set()
        while waiting:
            reply(*waiting.pop())

    signal.signal(signal.SIGUSR1, give)
    print('serving', flush=True)
    while True:
        try:
            request = os.read(fuse, 1 << 17)
        except OSError:		# unmounted
            return
        _, opcode, unique, node = struct.unpack_from('<IIQQ', request)
        if opcode == READ:
            size, = struct.unpack_from('<I', request, 40 + 16)
            waiting.append((unique, bytes(size)))
            if generous.is_set():
                give()
        elif opcode not in NEVER:
            error, said = answer(opcode, node)
            reply(unique, said, error)


# --- the process ----------------------------------------------------------------------

USERFAULTFD = {'x86_64': 323, 'aarch64': 282, 's390x': 355}
UFFDIO_API, UFFDIO_REGISTER = 0xc018aa3f, 0xc020aa00
UFFD_API, MODE_MISSING = 0xaa, 1


def watched_memory():
    """Returns the address of memory whose missing pages nobody supplies"""
    fd = libc.syscall(USERFAULTFD[os.uname().machine], os.O_CLOEXEC)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    at = libc.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE,
                   mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    fcntl.ioctl(fd, UFFDIO_API, struct.pack('<QQQ', UFFD_API, 0, 0))
    fcntl.ioctl(fd, UFFDIO_REGISTER, struct.pack('<QQQQ', at, SIZE, MODE_MISSING, 0))
    return at


def file_memory(path):
    fd = os.open(path, os.O_RDONLY)
    at = libc.mmap(None, SIZE, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    assert at not in (None, ctypes.c_void_p(-1).value)
    return at


def stuck(args):
    """One page, one region and one QP for each of many SENDs."""
    end = verbs.End(args.device, args.index, depth=PAGES, cq_depth=2 * PAGES)
    at = watched_memory() if args.file == 'userfaultfd' else file_memory(args.file)
    regions, queues = [], []
    for i in range(PAGES):
        page = at + i * mmap.PAGESIZE
        regions.append(verbs.MR(end.pd, mmap.PAGESIZE, ON_DEMAND, address=page))
        end.qp = verbs.QP(end.pd, verbs.QPInitAttr(
            qp_type=verbs.TYPES['RC'], scq=end.cq, rcq=end.cq,
            cap=verbs.QPCap(max_send_wr=4, max_recv_wr=1, max_send_sge=1, max_recv_sge=1)))
        queues.append(end.qp)
        end.connect(end.info())
        sge = verbs.SGE(page, 8, regions[i].lkey)
        end.qp.post_send(verbs.SendWR(wr_id=i, opcode=verbs.OPS['SEND'], num_sge=1, sg=[sge],
                                      send_flags=verbs.SIGNALED))
    time.sleep(1)
    print('stuck', len(end.wait(1, 1)), flush=True)
    for word in sys.stdin:
        if word.strip() == 'close':
            begin = time.monotonic()
            for region in regions[:32]:
                region.close()
            print(f'closed {time.monotonic() - begin:.3f}', flush=True)


def register(args):
    """Its path has a route when the verb begins that does not return. Once a FUSE daemon has
    read a request, its reader cannot be killed."""
    end = verbs.End(args.device, args.index)
    end.connect(end.info())
    end.post_send('WRITE', [(0, 8)], remote_offset=64)
    print('sent', *verbs.statuses(end.wait()), flush=True)
    verbs.MR(end.pd, SIZE, 0, address=watched_memory())
    print('registered', flush=True)


# --- others ---------------------------------------------------------------------------

def others(args):
    """Messages from and to missing pages, one after the other."""
    a, b = [verbs.End(*where) for where in ((args.a, args.index_a), (args.b, args.index_b))]
    verbs.connect(a, b, mtu=4096)
    memory = [mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in 'ab']
    at = [ctypes.addressof(ctypes.c_char.from_buffer(m)) for m in memory]
    mrs = [verbs.MR(end.pd, SIZE, verbs.FULL | ON_DEMAND, address=where)
           for end, where in zip((a, b), at)]
    begin = time.monotonic()
    done = []
    for i in range(ROUNDS):
        here = i * mmap.PAGESIZE
        a.post_send('WRITE', [(at[0] + here - a.mr.buf, 64)], lkey=mrs[0].lkey,
                    raddr=at[1] + here, rkey=mrs[1].rkey)
        done += verbs.statuses(a.wait(1, 20))
    took = time.monotonic() - begin
    print(f'{len(done)} {sum(done)} {took:.3f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_subparsers(dest='what')
    one = what.add_parser('serve')
    one.add_argument('folder')
    for name in 'stuck', 'register':
        one = what.add_parser(name)
        one.add_argument('device')
        one.add_argument('index', type=int)
    what.choices['stuck'].add_argument('file')
    one = what.add_parser('others')
    one.add_argument('a')
    one.add_argument('index_a', type=int)
    one.add_argument('b')
    one.add_argument('index_b', type=int)
    args = parser.parse_args()
    if args.what == 'serve':
        serve(args.folder)
    else:
        {'stuck': stuck, 'register': register, 'others': others}[args.what](args)


main()
