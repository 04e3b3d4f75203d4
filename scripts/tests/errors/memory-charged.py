#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Queues and tables are charged to the process that requests them.

memory-charged.py DEVICE memlock   as another user with 1 MiB of RLIMIT_MEMLOCK
memory-charged.py DEVICE cgroup CG  in memory cgroup CG
memory-charged.py DEVICE tables CG INDEX PEER PEER_INDEX  there, a region of all its memory
"""

import ctypes
import errno
import mmap
import os
import resource
import sys
import time

import pyverbs.device as d
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
import pyverbs.enums as e
import verbs
from verbs import SUCCESS, check, finish, statuses

MIB = 1 << 20
ENTRIES = 4095			# of 64 bytes, with one that stays empty: 256 KiB
RING = 256 << 10
NOBODY = 65534
MREMAP_MAYMOVE, MREMAP_FIXED = 1, 2

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int,
                        ctypes.c_void_p]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def cqs_until_refused(ctx, most):
    """Create CQs until it fails; returns them, and the errno."""
    made = []
    try:
        while len(made) < most:
            made.append(CQ(ctx, ENTRIES, None, None, 0))
    except PyverbsRDMAError as why:
        return made, why.error_code
    return made, 0


def close(made):
    for one in made:
        one.close()


def memlock(ctx):
    made, why = cqs_until_refused(ctx, 64)
    # Each also has a page for its header
    check('1 MiB of RLIMIT_MEMLOCK is enough for CQs of 256 KiB and a page', MIB // (RING + 4096), len(made))
    check('one more gives ENOMEM', errno.ENOMEM, why)
    close(made)
    made, _ = cqs_until_refused(ctx, 64)
    check('as many again when they are destroyed', MIB // (RING + 4096), len(made))
    close(made)
    mapped_on(ctx)


def pinned():
    """Bytes charged to this process as locked memory."""
    with open('/proc/self/status', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmPin')) << 10


def queues():
    """(address, bytes) of each queue mapped here."""
    with open('/proc/self/maps', encoding='ascii') as file:
        ranges = [line.split()[0].split('-') for line in file if '/uverbs' in line]
    return {(int(at, 16), int(end, 16) - int(at, 16)) for at, end in ranges}


def left_to_child(_at, _size):
    """fork() copies the mapping; the child unmaps it when it exits."""
    wait, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(tell)
        os.read(wait, 1)
        os._exit(0)
    os.close(wait)

    def end():
        os.close(tell)
        os.waitpid(child, 0)
    return end


def moved(at, size):
    """mremap() to an address unknown to the library."""
    reserved = libc.mmap(None, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    assert libc.mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, reserved) == reserved
    return lambda: libc.munmap(reserved, size)


def last_page_moved(at, size):
    """A split mapping ends with its second part."""
    return moved(at + size - mmap.PAGESIZE, mmap.PAGESIZE)


def mapped_on(ctx):
    """A mapping that outlives its object is charged as long as it exists."""
    for keep in (left_to_child, moved, last_page_moved):
        before, others = pinned(), queues()
        cq = CQ(ctx, ENTRIES, None, None, 0)
        (at, size), = queues() - others
        end = keep(at, size)
        cq.close()
        check(f'{keep.__name__}: still charged when the CQ is destroyed', RING + 4096, pinned() - before)
        end()
        check(f'{keep.__name__}: uncharged with the last mapping', 0, pinned() - before)
    ends = []
    try:
        while len(ends) < 64:
            cq = CQ(ctx, ENTRIES, None, None, 0)
            ends.append(left_to_child(0, 0))
            cq.close()
    except PyverbsRDMAError as why:
        check('CQs with mappings reach the limit as others do', [MIB // (RING + 4096), errno.ENOMEM],
              [len(ends), why.error_code])
    else:
        check('CQs that are mapped on reach the limit', MIB // (RING + 4096), len(ends))
    for end in reversed(ends):
        end()


def charged(cgroup):
    with open(f'{cgroup}/memory.current', encoding='ascii') as file:
        return int(file.read())


def becomes(true, seconds=60):
    """The kernel updates a cgroup's numbers, and frees unmapped memory, when it has time."""
    end = time.monotonic() + seconds * verbs.SLOW
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def cgroup_of(ctx, cgroup):
    before = charged(cgroup)
    made, _ = cqs_until_refused(ctx, 64)
    check('64 CQs', 64, len(made))
    check('their 16 MiB are charged to the memory cgroup', True,
          becomes(lambda: charged(cgroup) - before >= 64 * RING))
    close(made)
    check('and uncharged', True, becomes(lambda: charged(cgroup) - before < 32 * RING))


def slab(cgroup):
    """Bytes of kmalloc() charged to the cgroup."""
    with open(f'{cgroup}/memory.stat', encoding='ascii') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('slab_unreclaimable '))


def tables(device, cgroup, index, peer, peer_index):
    """An implicit region has a table for each 2 MiB that a peer accesses, allocated by a worker."""
    places, step = 256, 2 * MIB
    a = verbs.End(peer, int(peer_index))
    b = verbs.End(device, int(index))
    verbs.connect(a, b)
    region = MR(b.pd, 4096, verbs.FULL | e.IBV_ACCESS_ON_DEMAND, implicit=True)
    memory = mmap.mmap(-1, places * step, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    done = []
    before = slab(cgroup)
    for i in range(places):
        a.post_send('WRITE', [(0, 8)], rkey=region.rkey, raddr=at + i * step)
        done += statuses(a.wait())
    check(f'WRITEs at {places} places', [SUCCESS] * places, done)
    least = places * (step // mmap.PAGESIZE) * 8
    check(f'their tables of {least >> 10} KiB are charged to the memory cgroup', True,
          becomes(lambda: slab(cgroup) - before >= least * 9 // 10))
    region.close()


def join(cgroup):
    with open(f'{cgroup}/cgroup.procs', 'w', encoding='ascii') as procs:
        procs.write(str(os.getpid()))


context = d.Context(name=sys.argv[1])
if sys.argv[2] == 'memlock':
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (MIB, MIB))
    os.setresuid(NOBODY, NOBODY, NOBODY)
    memlock(context)
elif sys.argv[2] == 'tables':
    join(sys.argv[3])
    tables(sys.argv[1], *sys.argv[3:])
else:
    join(sys.argv[3])
    cgroup_of(context, sys.argv[3])
finish()
