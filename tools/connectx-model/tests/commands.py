#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""More programs for compare-commands.py, besides those of objects.py: regions of each size,
with each access right and each way of re-registration, and queue pairs with each kind of
attribute. Each is a step in the model's trace.

usage: commands.py DEVICE GID-INDEX

Needs some pages of 2 MiB in the pool, and one of 1 GiB, reserved on the kernel's command line
(hugepagesz=1G hugepages=1): otherwise that step is skipped, with a message. DMA buffers are not
covered: mlx5_ib only accepts them if the adapter has on-demand paging, which the model does not.
"""
import ctypes
import mmap
import os
import sys

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.qp import QP, QPCap, QPInitAttr

from loopback import RIGHTS
from objects import ACCESS, Bench, connection, make_qp, traced

PAGE = 4096
HUGE_PAGE, GIANT_PAGE = 2 << 20, 1 << 30
MFD_HUGE_1GB = 30 << 26         # os has it from Python 3.13 on
GIANT_POOL = '/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages'
PROT_NONE, MAP_FIXED = 0, 0x10        # mmap has neither
RATE_10_GBPS = 3        # enum ibv_rate, which pyverbs lacks
# Around the limits of a group of addresses, of a page of them, and of a request
SIZES = (3, 8, 9, 512, 513, 600, 8193, 20000)
FLAGS = {'none': 0, **RIGHTS}


def domain(bench):
    return bench.add(PD(bench.context()))


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def scattered(pages, size=PAGE, flags=0):
    """The address of memory whose pages are not contiguous in the host's memory: the even
    ones of a file, then the odd ones. Otherwise the page size would be random."""
    file = os.memfd_create('scattered', flags)
    os.posix_fallocate(file, 0, pages * size)
    rights = mmap.PROT_READ | mmap.PROT_WRITE
    start = LIBC.mmap(None, pages * size, rights, mmap.MAP_SHARED, file, 0)
    for place, page in enumerate([*range(0, pages, 2), *range(1, pages, 2)]):
        LIBC.mmap(start + place * size, size, rights, mmap.MAP_SHARED | MAP_FIXED, file,
                  page * size)
    os.close(file)
    return start


def repeated(times, pages=511, size=PAGE, flags=0):
    """The address of a long range that maps the few pages of a file repeatedly. If their number
    is odd, no two pages form one of twice the size."""
    file = os.memfd_create('repeated', flags)
    os.posix_fallocate(file, 0, pages * size)
    rights = mmap.PROT_READ | mmap.PROT_WRITE
    start = LIBC.mmap(None, (times * pages + 1) * size, PROT_NONE,
                      mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    start += -start % size
    for place in range(times):
        LIBC.mmap(start + place * pages * size, pages * size, rights,
                  mmap.MAP_SHARED | MAP_FIXED, file, 0)
    os.close(file)
    return start


def region(pd, pages, access):
    return MR(pd, pages * PAGE, access, address=scattered(pages))


def size(pages):
    return lambda bench: bench.add(region(domain(bench), pages, ACCESS))


def right(access, pages):
    return lambda bench: bench.add(region(domain(bench), pages, access))


def huge(bench):
    """Three pages of 2 MiB, from the pool."""
    start = scattered(3, HUGE_PAGE, os.MFD_HUGETLB)
    bench.add(MR(domain(bench), 3 * HUGE_PAGE, ACCESS, address=start))


def giant(bench):
    """One page of 1 GiB."""
    start = scattered(1, GIANT_PAGE, os.MFD_HUGETLB | MFD_HUGE_1GB)
    bench.later(lambda: LIBC.munmap(start, GIANT_PAGE))
    bench.add(MR(domain(bench), GIANT_PAGE, ACCESS, address=start))


def has_giant_page():
    try:
        with open(GIANT_POOL) as file:
            return int(file.read()) > 0
    except FileNotFoundError:
        return False


def again(change, pages):
    """A region that is changed; with another domain and other memory."""
    def step(bench):
        pd = domain(bench)
        other = bench.add(PD(bench.made[0]))
        memory = bench.add(region(pd, 3, 0))
        changed = bench.add(region(pd, pages, e.IBV_ACCESS_LOCAL_WRITE))
        change(changed, other, memory)
    return step


def new_access(access):
    return lambda mr, _pd, _memory: mr.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, access=access)


def new_domain(mr, pd, _memory):
    mr.rereg(e.IBV_REREG_MR_CHANGE_PD, pd=pd)


def new_memory(mr, _pd, memory):
    mr.rereg(e.IBV_REREG_MR_CHANGE_TRANSLATION, addr=memory.buf, length=3 * PAGE)


def all_new(mr, pd, memory):
    mr.rereg(e.IBV_REREG_MR_CHANGE_TRANSLATION | e.IBV_REREG_MR_CHANGE_ACCESS |
                 e.IBV_REREG_MR_CHANGE_PD, pd=pd, addr=memory.buf, length=3 * PAGE,
                 access=ACCESS)


AGAIN = {
    'access': new_access(ACCESS), 'atomic': new_access(ACCESS | e.IBV_ACCESS_REMOTE_ATOMIC),
    'relaxed': new_access(ACCESS | e.IBV_ACCESS_RELAXED_ORDERING), 'domain': new_domain,
    'memory': new_memory, 'everything': all_new,
}


def options(bench):
    """Enhanced connection establishment: requests what the adapter offers."""
    context, qp = make_qp(bench, e.IBV_QPT_RC)
    qp.set_ece(qp.query_ece())
    qp.to_rts(connection(bench, context, qp))


def path(bench):
    """A route with a value in each field."""
    context, qp = make_qp(bench, e.IBV_QPT_RC)
    attr = connection(bench, context, qp)
    gid = context.query_gid(1, bench.index)
    attr.ah_attr = AHAttr(gr=GlobalRoute(dgid=gid, sgid_index=bench.index, flow_label=0x12345,
                                         hop_limit=9, traffic_class=0x6a),
                          is_global=1, port_num=1, sl=3, static_rate=RATE_10_GBPS)
    attr.max_rd_atomic, attr.max_dest_rd_atomic = 16, 8
    attr.rnr_retry, attr.retry_cnt, attr.timeout, attr.min_rnr_timer = 3, 2, 19, 25
    attr.path_mtu = e.IBV_MTU_4096
    attr.rq_psn, attr.sq_psn = 0xabcdef, 0x123456
    qp.to_rts(attr)


def peer_may(access):
    def step(bench):
        context, qp = make_qp(bench, e.IBV_QPT_RC)
        attr = connection(bench, context, qp)
        attr.qp_access_flags = access
        qp.to_rts(attr)
    return step


def entries(kind, cqe_bytes, signal_all):
    """A queue pair whose completions may contain small data."""
    def step(bench):
        os.environ['MLX5_CQE_SIZE'] = str(cqe_bytes)
        context = bench.context()
        pd, cq = bench.add(PD(context)), bench.add(CQ(context, 16))
        del os.environ['MLX5_CQE_SIZE']
        bench.add(QP(pd, QPInitAttr(qp_type=kind, scq=cq, rcq=cq, sq_sig_all=signal_all,
                                    cap=QPCap(max_send_wr=4, max_recv_wr=4))))
    return step


def programs():
    for pages in SIZES:
        yield 'region-%d' % pages, size(pages)
    for name, access in FLAGS.items():
        for pages in (3, 600):
            yield 'access-%s-%d' % (name, pages), right(access, pages)
    for name, change in AGAIN.items():
        for pages in (3, 600):
            yield 'again-%s-%d' % (name, pages), again(change, pages)
    yield 'huge', huge
    if has_giant_page():
        yield 'giant', giant
    else:
        print('SKIP commands-giant (no page of 1 GiB in the pool)')
    yield 'ece', options
    yield 'path', path
    for name, access in (('nothing', 0), ('read', e.IBV_ACCESS_REMOTE_READ),
                         ('write', e.IBV_ACCESS_REMOTE_WRITE),
                         ('atomic', e.IBV_ACCESS_REMOTE_ATOMIC)):
        yield 'peer-' + name, peer_may(access)
    for cqe_bytes in (64, 128):
        for signal_all in (0, 1):
            for name, kind in (('rc', e.IBV_QPT_RC), ('uc', e.IBV_QPT_UC), ('ud', e.IBV_QPT_UD)):
                yield ('entries-%s-%d%s' % (name, cqe_bytes, '-all' * signal_all),
                       entries(kind, cqe_bytes, signal_all))


def run(program, device, index):
    bench = Bench(device, index)
    errors = []
    try:
        program(bench)
    except (PyverbsError, OSError) as exception:
        errors.append(exception)
    return errors + bench.close()


def main():
    device, index = sys.argv[1], int(sys.argv[2])
    for name, program in programs():
        traced(name, lambda program=program: run(program, device, index))


if __name__ == '__main__':
    main()
