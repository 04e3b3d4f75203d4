#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Regions of many sizes, with each access right, re-registered: data written through them arrives
at the right place. So does that of short messages, READs and atomic operations, which an
adapter may put into the completion.

usage: memory.py DEVICE GID-INDEX DRIVER

With transparent huge pages off, so that all pages of a region have 4 KiB.
"""
import errno
import os
import sys

import pyverbs.enums as e
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsError
from pyverbs.wr import SGE, RecvWR, SendWR

from commands import repeated
from loopback import ACCESS, RIGHTS, connect_to_itself

PAGE = 4096
# Around the limits of a group of addresses, of a page of them, and of a request
PAGES = (1, 3, 8, 9, 511, 512, 513, 8191, 8192, 8193, 20000)
FLAGS = {
    **RIGHTS,
    'huge': ACCESS | e.IBV_ACCESS_HUGETLB,
    'all': RIGHTS['all'] | e.IBV_ACCESS_HUGETLB,
}

failed = False


def verdict(name, problem=None):
    global failed
    failed = failed or bool(problem)
    print('FAIL %s (%s)' % (name, problem) if problem else 'PASS ' + name, flush=True)


class Peer:
    """A queue pair connected to itself, which writes from a region of its own."""
    def __init__(self, device, index):
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 16)
        self.qp = connect_to_itself(self.context, self.pd, index, self.cq, self.cq)
        self.source = MR(self.pd, PAGE, ACCESS)

    def write(self, region, offset, byte):
        """Returns the status of a WRITE of one page."""
        self.source.write(bytes([byte]) * PAGE, PAGE)
        wr = SendWR(num_sge=1, sg=[SGE(self.source.buf, PAGE, self.source.lkey)],
                    opcode=e.IBV_WR_RDMA_WRITE)
        wr.set_wr_rdma(region.rkey, region.buf + offset)
        self.qp.post_send(wr)
        return self.statuses(1)[0]

    def statuses(self, count):
        """Statuses of that many completions."""
        found = []
        while len(found) < count:
            found += [done.status for done in self.cq.poll()[1]]
        return found


def here_and_there(pages):
    return sorted({0, pages // 2, pages - 1, *(p for p in (511, 512, 8191, 8192, 16384)
                                               if p < pages)})


def arrives(peer, region, places):
    """Writes to these pages; then each must have its own byte."""
    for number, page in enumerate(places):
        status = peer.write(region, page * PAGE, number + 1)
        if status:
            return 'page %d: status %d' % (page, status)
    for number, page in enumerate(places):
        if region.read(PAGE, page * PAGE) != bytes([number + 1]) * PAGE:
            return 'page %d has other bytes' % page
    return None


def sizes(peer):
    # The second of each size has a key used before
    for again in ('', '-again'):
        for pages in PAGES:
            region = MR(peer.pd, pages * PAGE, ACCESS)
            verdict('region-of-%d%s' % (pages, again), arrives(peer, region, here_and_there(pages)))
            region.close()


def stale(peer):
    """The next region gets the same key, but not its value: not after 256 low bytes either."""
    region = MR(peer.pd, PAGE, ACCESS)
    old = region.rkey
    region.close()
    for _ in range(255):
        MW(peer.pd, e.IBV_MW_TYPE_2).close()
    region = MR(peer.pd, PAGE, ACCESS)
    verdict('old-key', 'it is valid again' if region.rkey == old else None)
    region.close()


# Half of it is beyond the offset that a request has without its extension
REPEATS, REPEATED = 281, 511


def long(peer):
    """All places are also different pages of the file."""
    pages = REPEATS * REPEATED
    start = repeated(REPEATS, REPEATED)
    region = MR(peer.pd, pages * PAGE, ACCESS, address=start)
    verdict('region-of-%d' % pages, arrives(peer, region, (
        0, 65535, 65536, 131071, 131072, pages - 1)))
    region.close()


def flags(peer):
    for name, access in FLAGS.items():
        for pages in (2, 600):
            try:
                region = MR(peer.pd, pages * PAGE, access)
            except PyverbsError as error:
                verdict('%s-%d' % (name, pages), error)
                continue
            writable = access & e.IBV_ACCESS_REMOTE_WRITE and name != 'zero-based'
            verdict('%s-%d' % (name, pages),
                    arrives(peer, region, here_and_there(pages)) if writable else None)
            region.close()


def again(peer):
    """Every kind of re-registration, for a small region and for a long one."""
    for pages in (2, 600):
        other = PD(peer.context)
        region = MR(other, pages * PAGE, e.IBV_ACCESS_LOCAL_WRITE)
        for name, change in (
                ('access', lambda: region.rereg(e.IBV_REREG_MR_CHANGE_ACCESS, access=ACCESS)),
                ('relaxed', lambda: region.rereg(
                    e.IBV_REREG_MR_CHANGE_ACCESS,
                    access=ACCESS | e.IBV_ACCESS_RELAXED_ORDERING)),
                ('atomic', lambda: region.rereg(
                    e.IBV_REREG_MR_CHANGE_ACCESS,
                    access=ACCESS | e.IBV_ACCESS_REMOTE_ATOMIC)),
                ('domain', lambda: region.rereg(e.IBV_REREG_MR_CHANGE_PD, pd=peer.pd))):
            try:
                change()
            except PyverbsError as error:
                verdict('rereg-%s-%d' % (name, pages), error)
        verdict('rereg-%d' % pages, arrives(peer, region, here_and_there(pages)))
        region.close()
        other.close()


# Around the sizes that fit into completions of 64 and of 128 bytes
SMALL = (1, 31, 32, 33, 63, 64, 65)


def small_send(peer, region, size):
    peer.qp.post_recv(RecvWR(num_sge=1, sg=[SGE(region.buf, PAGE, region.lkey)]))
    peer.qp.post_send(SendWR(num_sge=1, sg=[SGE(peer.source.buf, size, peer.source.lkey)],
                             opcode=e.IBV_WR_SEND))
    return peer.statuses(2)


def small_read(peer, region, size):
    wr = SendWR(num_sge=1, sg=[SGE(region.buf, size, region.lkey)], opcode=e.IBV_WR_RDMA_READ)
    wr.set_wr_rdma(peer.source.rkey, peer.source.buf)
    peer.qp.post_send(wr)
    return peer.statuses(1)


def small(device, index):
    """The data is where the program requested it, wherever the adapter puts it. Except for
    READs with entries of 128 bytes: libmlx5 (version 44) reads their data one byte too
    early, with either driver."""
    for entry in ('64', '128'):
        os.environ['MLX5_CQE_SIZE'] = entry
        peer = Peer(device, index)
        region = MR(peer.pd, PAGE, ACCESS)
        for name, move in (('send', small_send), ('read', small_read))[:1 if entry == '128' else 2]:
            wrong = []
            for size in SMALL:
                content = bytes((size + place) % 251 + 1 for place in range(size))
                peer.source.write(content, size)
                region.write(bytes(PAGE), PAGE)
                statuses = move(peer, region, size)
                if any(statuses) or region.read(size + 1, 0) != content + b'\0':
                    wrong.append((size, statuses, region.read(8, 0)))
            verdict('small-%s-%s' % (name, entry), wrong)
        region.close()
    del os.environ['MLX5_CQE_SIZE']


def refused(peer):
    """On-demand paging, which mlx5_ib supports"""
    try:
        MR(peer.pd, PAGE, ACCESS | e.IBV_ACCESS_ON_DEMAND)
        verdict('on-demand', 'it was accepted')
    except PyverbsError as error:
        verdict('on-demand', None if error.error_code in (errno.EOPNOTSUPP, errno.EINVAL)
                else error)


def main():
    peer = Peer(sys.argv[1], int(sys.argv[2]))
    sizes(peer)
    long(peer)
    flags(peer)
    again(peer)
    small(sys.argv[1], int(sys.argv[2]))
    if sys.argv[3] != 'mlx5_ib':
        stale(peer)
        refused(peer)
    print('finished')
    sys.exit(1 if failed else 0)


main()
