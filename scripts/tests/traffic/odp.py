#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""On-demand paging: odp.py A INDEX_A B INDEX_B [--label TEXT]

A and B are devices of this host. The kernel may take away all memory, and does.
"""

import ctypes
import errno
import os
import resource
import sys
import threading
import time

import verbs
from pyverbs.mr import MR
from pyverbs.pyverbs_error import PyverbsRDMAError
from verbs import End, FULL, check, e, statuses, SUCCESS, LOC_PROT, REM_ACCESS, REM_OP

parser = verbs.arguments(__doc__)
parser.add_argument('--label', default='')
args = parser.parse_args()

PAGE = os.sysconf('SC_PAGESIZE')
KIB, MIB = 1 << 10, 1 << 20
ON_DEMAND = e.IBV_ACCESS_ON_DEMAND
PROT_READ, PROT_WRITE = 1, 2
MAP_SHARED, MAP_PRIVATE, MAP_FIXED, MAP_ANONYMOUS, MAP_NORESERVE = 1, 2, 16, 32, 0x4000
MADV_DONTNEED = 4
MEMFD_SECRET = 447		# system call
NOBODY = 65534

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                      ctypes.c_int, ctypes.c_long]
for call in (libc.munmap, libc.madvise, libc.mincore):
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_void_p][call is libc.munmap:]]


class Memory:
    """Anonymous memory of this process, not touched yet."""

    def __init__(self, size, prot=PROT_READ | PROT_WRITE, at=None):
        self.size = size
        self.at = libc.mmap(at, size, prot,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                            (MAP_FIXED if at else 0), -1, 0)
        assert self.at not in (None, ctypes.c_void_p(-1).value)

    def fill(self, data, offset=0):
        ctypes.memmove(self.at + offset, data, len(data))

    def read(self, size, offset=0):
        return ctypes.string_at(self.at + offset, size)

    def drop(self, offset=0, size=None):
        assert not libc.madvise(self.at + offset, size or self.size, MADV_DONTNEED)

    def unmap(self, offset=0, size=None):
        assert not libc.munmap(self.at + offset, size or self.size)

    def hide(self, offset, size):
        """Put secret memory there, which the kernel has no mapping of."""
        fd = libc.syscall(MEMFD_SECRET, 0)
        os.ftruncate(fd, size)
        assert libc.mmap(self.at + offset, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                         fd, 0) == self.at + offset
        os.close(fd)

    def resident(self):
        """Number of pages present."""
        pages = ctypes.create_string_buffer(self.size // PAGE)
        assert not libc.mincore(self.at, self.size, pages)
        return sum(byte & 1 for byte in pages.raw)


class Side(End):
    """An End with another region, on demand: over its memory, or the whole address space."""

    def __init__(self, device, index, memory, access=FULL, implicit=False, **more):
        super().__init__(device, index, size=PAGE, **more)
        self.memory = memory
        self.odp = MR(self.pd, memory.size, access | ON_DEMAND, address=memory.at,
                      implicit=implicit)
        self.mrs.append(self.odp)

    def piece(self, offset, size):
        """Its position as for post_send(): relative to the End's own region."""
        return [(self.memory.at + offset - self.mr.buf, size)]

    def send(self, op, offset, size, peer, at=0, **more):
        assert not self.post_send(op, self.piece(offset, size), lkey=self.odp.lkey,
                                  raddr=peer.memory.at + at, rkey=peer.odp.rkey, **more)

    def receive(self, offset, size):
        assert not self.post_recv(self.piece(offset, size), lkey=self.odp.lkey)


def pair(size=MIB, kind='RC', access=FULL, prot=PROT_READ | PROT_WRITE, implicit=False, **more):
    a = Side(args.a, args.index_a, Memory(size), qp_type=kind, implicit=implicit, **more)
    b = Side(args.b, args.index_b, Memory(size, prot), access, implicit, qp_type=kind, **more)
    verbs.connect(a, b, mtu=4096)
    return a, b


def close(*sides):
    for side in sides:
        side.close()
        side.memory.unmap()


def pinned_kib():
    with open('/proc/self/status', encoding='ascii') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmPin'))


def counters(device):
    """Counters of its port that are not 0, for debugging."""
    folder = f'/sys/class/infiniband/{device}/ports/1/hw_counters'
    values = {}
    for name in sorted(os.listdir(folder)):
        with open(f'{folder}/{name}', encoding='ascii') as file:
            values[name] = int(file.read())
    return {name: value for name, value in values.items() if value and name != 'lifespan'}


def some(size, seed):
    """Bytes that differ between any two pages."""
    return b''.join((seed * 65537 + i).to_bytes(8, 'little') for i in range(size // 8))


def nothing_pinned():
    before = pinned_kib()
    a, b = pair(64 * MIB)
    check('64 MiB pin their tables at most', True, pinned_kib() - before <= 2 * 64 * 16 + 1024)
    check('and fault in nothing', 0, b.memory.resident())
    close(a, b)


def first_touch():
    data = some(MIB, 1)
    a, b = pair()
    a.memory.fill(data)
    a.send('WRITE', 0, MIB, b)
    check('WRITE to untouched memory', [[SUCCESS], True],
          [statuses(a.wait()), b.memory.read(MIB) == data])
    a.memory.drop()
    a.send('READ', 0, MIB, b)
    check('READ to untouched memory', [[SUCCESS], True],
          [statuses(a.wait()), a.memory.read(MIB) == data])
    b.memory.drop()
    b.receive(0, MIB)
    a.send('SEND', 0, MIB, b)
    check('SEND to untouched memory', [[SUCCESS], [SUCCESS], True],
          [statuses(a.wait()), statuses(b.wait()), b.memory.read(MIB) == data])
    a.memory.drop()
    b.receive(0, MIB)
    a.send('SEND', 0, MIB, b)
    check('SEND from untouched memory: zeros', [[SUCCESS], [SUCCESS], True],
          [statuses(a.wait()), statuses(b.wait()), b.memory.read(MIB) == bytes(MIB)])
    b.memory.drop()
    a.memory.drop()
    for old in (0, 5):
        a.send('FADD', 64, 8, b, at=PAGE + 8, compare=5)
        check(f'FETCH AND ADD: there was {old}', [[SUCCESS], old],
              [statuses(a.wait()), int.from_bytes(a.memory.read(8, 64), sys.byteorder)])
    check('FETCH AND ADD: there is 10', 10, int.from_bytes(b.memory.read(8, PAGE + 8), sys.byteorder))
    close(a, b)


def shared_queue():
    data = some(64 * PAGE, 2)
    a, b = pair(64 * PAGE, srq=True)
    a.memory.fill(data)
    b.receive(0, 64 * PAGE)
    a.send('SEND', 0, 64 * PAGE, b)
    check('SRQ', [[SUCCESS], [SUCCESS], True],
          [statuses(a.wait()), statuses(b.wait()), b.memory.read(64 * PAGE) == data])
    close(a, b)


def datagram():
    a = Side(args.a, args.index_a, Memory(PAGE), qp_type='UD')
    b = End(args.b, args.index_b, qp_type='UD', size=2 * PAGE)
    verbs.connect(a, b)
    b.fill(b'x' * 1064)
    b.post_recv([(0, 1064)])
    a.post_send('SEND', a.piece(0, 1024), lkey=a.odp.lkey)
    check('datagram from untouched memory', [[SUCCESS], [SUCCESS], True],
          [statuses(a.wait()), statuses(b.wait()), b.read(1024, 40) == bytes(1024)])
    b.close()
    close(a)


def unreliable():
    """A message that meets a missing page is lost, the next one is not."""
    data = some(PAGE, 9)
    a, b = pair(PAGE, 'UC')
    a.memory.fill(data)
    b.receive(0, PAGE)
    for _ in range(20):
        a.send('SEND', 0, PAGE, b)
        a.wait()
        if b.wait(1, 0.2):
            break
    check('UC: arrives once the page is present', True, b.memory.read(PAGE) == data)
    close(a, b)


def taken_and_written():
    """Pages are removed between messages."""
    a, b = pair(64 * PAGE)
    wrong = []
    for i in range(50):
        data = some(64 * PAGE, 10 + i)
        a.memory.drop()
        a.memory.fill(data)
        b.memory.drop()
        a.send('WRITE', 0, 64 * PAGE, b)
        if statuses(a.wait()) != [SUCCESS] or b.memory.read(64 * PAGE) != data:
            wrong.append(i)
    check('50 WRITEs, each to pages just removed', [], wrong)
    close(a, b)


def taken_under_traffic(implicit=False):
    """Pages are removed while packets are in flight; half of the region is left alone."""
    size = 32 * PAGE
    a, b = pair(2 * size, implicit=implicit)
    stop = threading.Event()
    rounds = [0]

    def take():
        while not stop.is_set():
            b.memory.drop(0, size)
            a.memory.drop(0, size)
            rounds[0] += 1
            # A busy host may not schedule us between two that are close, so some are not
            time.sleep(0.0002 if rounds[0] % 8 else 0.02)

    thread = threading.Thread(target=take)
    thread.start()
    end, bad, done = time.monotonic() + 200 * verbs.SLOW, [], 0
    while (done < 100 or rounds[0] < 100) and not bad and time.monotonic() < end:
        data = some(size, done)
        a.memory.fill(data, size)
        a.send('WRITE', 0, size, b)
        a.send('READ', 0, size, b)
        a.send('WRITE', size, size, b, at=size)
        bad += [s for s in statuses(a.wait(3)) if s != SUCCESS]
        if b.memory.read(size, size) != data:
            bad.append('data')
        done += 1
    stop.set()
    thread.join()
    if not check('pages removed under traffic: no error, no wrong byte', [], bad):
        for device in (args.a, args.b):
            print(device, counters(device))
    check('there was traffic, and pages were removed', [True, True],
          [done >= 100, rounds[0] >= 100])
    close(a, b)


def forked():
    """The parent's page is copied: later changes are the parent's."""
    old, new = some(PAGE, 3), some(PAGE, 4)
    a, b = pair(PAGE)
    a.memory.fill(old)
    a.send('WRITE', 0, PAGE, b)
    a.wait()
    go, tell = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.read(go[0], 1)
        os.write(tell[1], b.memory.read(PAGE))
        os._exit(0)
    b.memory.fill(old[:8])		# this copies it
    a.memory.fill(new)
    a.send('WRITE', 0, PAGE, b)
    check('after fork(): the parent has the new data', [[SUCCESS], True],
          [statuses(a.wait()), b.memory.read(PAGE) == new])
    os.write(go[1], b'x')
    check('and the child the old data', True, os.read(tell[0], PAGE) == old)
    os.waitpid(child, 0)
    for fd in (*go, *tell):
        os.close(fd)
    close(a, b)


def holes(dig=Memory.unmap, kind='a hole'):
    """Operation, side with the hole, bytes, offset at the peer; statuses of the request and of
    the receive request, if it uses one."""
    middle, size = 4 * PAGE, 16 * PAGE
    for op, side, length, at, sent, received in (
            ('WRITE', 1, size, 0, [REM_ACCESS], None),
            ('READ', 1, size, 0, [REM_ACCESS], None),
            ('FADD', 1, 8, middle, [REM_ACCESS], None),
            ('WRITE', 0, size, 0, [LOC_PROT], None),
            ('READ', 0, size, 0, [LOC_PROT], None),
            ('SEND', 1, size, 0, [REM_OP], [LOC_PROT])):
        a, b = ends = pair(size)
        dig(ends[side].memory, middle, PAGE)
        if received:
            b.receive(0, length)
        a.send(op, 0, length, b, at=at)
        owner = ('its own', "the peer's")[side]
        what = f'{op}, {kind} in {owner} memory'
        check(what, sent, statuses(a.wait()))
        if received:
            check(f'{what}: the receive request', received, statuses(b.wait()))
        close(a, b)


def secrets():
    """A kernel need not have secret memory: 6.1 has it by secretmem.enable=1."""
    fd = libc.syscall(MEMFD_SECRET, 0)
    if fd >= 0:
        os.close(fd)
        holes(Memory.hide, 'secret memory')


def mapped_again():
    data = some(PAGE, 6)
    a, b = pair(4 * PAGE)
    a.memory.fill(data)
    a.send('WRITE', 0, PAGE, b)
    a.wait()
    b.memory.unmap(0, PAGE)
    Memory(PAGE, at=b.memory.at)
    check('other memory at the same address is empty', True, b.memory.read(PAGE) == bytes(PAGE))
    a.send('WRITE', 0, PAGE, b)
    check('and a WRITE reaches it', [[SUCCESS], True],
          [statuses(a.wait()), b.memory.read(PAGE) == data])
    close(a, b)


def read_only():
    a, b = pair(4 * PAGE, access=e.IBV_ACCESS_REMOTE_READ, prot=PROT_READ)
    a.send('READ', 0, 4 * PAGE, b)
    check('READ of a read-only mapping', [SUCCESS], statuses(a.wait()))
    close(a, b)
    a, b = pair(4 * PAGE, prot=PROT_READ)
    a.send('WRITE', 0, 4 * PAGE, b)
    check('WRITE to a read-only mapping', [REM_ACCESS], statuses(a.wait()))
    close(a, b)


def deregistered(implicit=False):
    """Traffic while pages are removed and come back."""
    a, b = pair(64 * PAGE, implicit=implicit)
    for _ in range(16):
        a.send('WRITE', 0, 64 * PAGE, b)
    b.memory.drop()
    b.odp.close()
    done = set(statuses(a.wait(16)))
    check('deregistered under WRITEs: done, or refused', True,
          done <= {SUCCESS, REM_ACCESS, verbs.FLUSH})
    close(a, b)


def whole_address_space():
    """An implicit region: memory mapped later belongs to it."""
    before = pinned_kib()
    a, b = pair(64 * PAGE, implicit=True)
    check('implicit regions pin their tables at most', True,
          pinned_kib() - before <= 2 * 4 * KIB + KIB)
    data = some(64 * PAGE, 7)
    a.memory.fill(data)
    later = Memory(6 * MIB)
    # The device has a table for each 2 MiB: cross a boundary of two.
    border = (later.at + 4 * MIB) & -(2 * MIB)
    at = border - 32 * PAGE - b.memory.at
    a.send('WRITE', 0, 64 * PAGE, b, at=at)
    check('WRITE to memory that was mapped later', [[SUCCESS], True],
          [statuses(a.wait()), ctypes.string_at(b.memory.at + at, 64 * PAGE) == data])
    a.memory.drop()
    a.send('READ', 0, 64 * PAGE, b, at=at)
    check('READ of it', [[SUCCESS], True], [statuses(a.wait()), a.memory.read(64 * PAGE) == data])
    later.drop()
    b.receive(at, 64 * PAGE)
    a.send('SEND', 0, 64 * PAGE, b)
    check('SEND to it, after it was unmapped', [[SUCCESS], [SUCCESS], True],
          [statuses(a.wait()), statuses(b.wait()),
           ctypes.string_at(b.memory.at + at, 64 * PAGE) == data])
    later.unmap()
    a.send('WRITE', 0, 64 * PAGE, b, at=at)
    check('WRITE to it, when it is unmapped', [REM_ACCESS], statuses(a.wait()))
    close(a, b)


def nobodys_addresses():
    """An implicit region covers all addresses, few of which have memory."""
    for address in (0, 1 << 46, (1 << 47) - PAGE, 1 << 63, (1 << 64) - 64):
        a, b = pair(PAGE, implicit=True)
        a.send('WRITE', 0, 8, b, at=address - b.memory.at)
        check(f'WRITE to the address {address:#x}', [REM_ACCESS], statuses(a.wait()))
        close(a, b)
    a, b = pair(PAGE, implicit=True)
    a.send('WRITE', (1 << 64) - PAGE - a.memory.at, 8, b)
    check('WRITE from a kernel address', [LOC_PROT], statuses(a.wait()))
    close(a, b)


def far_apart():
    """An implicit region has tables for 512 places: the least recently used are freed."""
    places, step = 640, 2 * MIB
    a, b = pair(places * 8, implicit=True)
    wide = Memory(places * step)
    for op in ('WRITE', 'READ'):
        if op == 'WRITE':
            a.memory.fill(some(places * 8, 8))
        else:
            a.memory.drop()
        bad = []
        for first in range(0, places, 32):
            for i in range(first, first + 32):
                a.send(op, i * 8, 8, b, at=wide.at + i * step - b.memory.at)
            bad += [s for s in statuses(a.wait(32)) if s != SUCCESS]
        check(f'{op}s at {places} places that are {step >> 20} MiB apart', [], bad)
    check('each place has its bytes', some(places * 8, 8),
          b''.join(wide.read(8, i * step) for i in range(places)))
    check('and all were read', some(places * 8, 8), a.memory.read(places * 8))
    wide.unmap()
    close(a, b)


def implicit_under_traffic():
    taken_under_traffic(implicit=True)
    deregistered(implicit=True)


def said_to_be_huge():
    """IBV_ACCESS_HUGETLB is a hint: regions work with pages of any size."""
    data = some(MIB, 9)
    for what, on_demand in ('on demand', ON_DEMAND), ('pinned', 0):
        a, b = pair()
        try:
            region = MR(b.pd, MIB, FULL | on_demand | e.IBV_ACCESS_HUGETLB, address=b.memory.at)
        except PyverbsRDMAError as why:
            check(f'{what}, with IBV_ACCESS_HUGETLB: is registered', 0, why.error_code)
        else:
            a.memory.fill(data)
            assert not a.post_send('WRITE', a.piece(0, MIB), lkey=a.odp.lkey, raddr=b.memory.at,
                                   rkey=region.rkey)
            check(f'{what}, with IBV_ACCESS_HUGETLB: WRITE', [[SUCCESS], True],
                  [statuses(a.wait()), b.memory.read(MIB) == data])
            region.close()
        close(a, b)


def limited():
    """The tables are charged as locked memory: an entry for each page."""
    little = MIB * 4 * KIB // PAGE

    def registers(size, implicit=False, limit=little):
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (limit, limit))
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            ctx = verbs.d.Context(name=args.a)
            pd = verbs.PD(ctx)
            MR(pd, size, FULL | ON_DEMAND, address=Memory(size).at, implicit=implicit)
        except PyverbsRDMAError as why:
            os._exit(why.error_code)
        os._exit(0)

    check(f'{little // KIB} KiB of RLIMIT_MEMLOCK are enough for 64 MiB', 0, registers(64 * MIB))
    check('and not for 4 GiB', errno.ENOMEM, registers(4096 * MIB))
    check('nor for an implicit region', errno.ENOMEM, registers(PAGE, implicit=True))
    check('eight times that is enough for it', 0, registers(PAGE, implicit=True, limit=8 * little))


for one in (nothing_pinned, first_touch, shared_queue, datagram, unreliable, taken_and_written,
            taken_under_traffic, forked, holes, secrets, mapped_again, read_only, deregistered,
            whole_address_space, nobodys_addresses, far_apart, implicit_under_traffic,
            said_to_be_huge, limited):
    print(f'# {args.label}{one.__name__}', flush=True)
    one()
verbs.finish()
