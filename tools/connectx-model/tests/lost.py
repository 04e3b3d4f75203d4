#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A queue or a memory window is created, but its process cannot be told. If the adapter refuses to
destroy it, its memory is kept, since the adapter still uses it; otherwise it is released.
Afterwards the process ends, and with it all its objects: the caller must check that the log is
clean then and that the driver can be unloaded.

Before that, a UAR that a process releases while a queue refers to it, UARs of others and those
that the adapter lacks; and a region too long for a command.

usage: lost.py DEVICE GID-INDEX
"""
import collections
import errno
import os
import struct
import sys

import udata
from commands import HUGE_PAGE, repeated
from objects import control

NO_ADDRESS = 8          # of an answer: there is no page
BUSY = 6                # status of a command
TRIES = 5               # by the driver, for objects that nothing else would destroy
# Fields of requests, as in udata.py
SENDS, UAR_OF_QP, UAR_OF_CQ = ('sends', 16, 4), ('uar', 36, 4), ('uar', 24, 2)
PARTS, PAGES_OF_PART = 32768, 32        # 2 TiB of huge pages

# Request of udata.py; kind of the adapter's object; the command that destroys it; how often
# that must be refused; whether the object pins memory
Row = collections.namedtuple('Row', 'name kind command times pins')
ROWS = (
    Row('cq', 'CQ', 'DESTROY_CQ', 1, True),
    Row('srq', 'RMP', 'DESTROY_RMP', 1, True),
    Row('xsrq', 'XRC SRQ', 'DESTROY_XRC_SRQ', 1, True),
    Row('mw2', 'mkey', 'DESTROY_MKEY', TRIES, False),
    Row('qp-rc', 'QP', 'DESTROY_QP', TRIES, True),
    Row('qp-srq', 'QP', 'DESTROY_QP', TRIES, True),
    Row('qp-xrc-ini', 'QP', 'DESTROY_QP', TRIES, True),
)


def count(kind):
    return control(cmd='objects')[kind]


def attempt(verbs, row):
    """Returns (errno, additional objects, whether more memory is pinned)."""
    before = count(row.kind), udata.pinned()
    request = verbs.requests[row.name]
    verbs.file.answer_at = NO_ADDRESS
    try:
        request.run(request.right, request.answer)
        error = None
    except udata.Refused as refused:
        error = errno.errorcode[refused.errno]
    verbs.file.answer_at = None
    return error, count(row.kind) - before[0], udata.pinned() != before[1]


def add_request(verbs):
    """A queue pair that receives from a shared queue."""
    right = verbs.requests['srq']
    srq = verbs.create_srq(right.right, right.answer)

    def run(private, answer):
        verbs.file.destroy(udata.DESTROY_QP, verbs.create_qp(udata.RC, private, answer, srq))
    verbs.requests['qp-srq'] = udata.Request(run, verbs.qp_request(), answer=32)


def result_of(function, *args):
    """What it returns, or its error's name."""
    try:
        return function(*args)
    except udata.Refused as refused:
        return errno.errorcode[refused.errno]


def queue_of(verbs, uar):
    """A completion queue that names a UAR"""
    request = udata.Request.put(verbs.cq_request(), UAR_OF_CQ, uar)
    return result_of(verbs.create_cq, request, 8)


def receiver_of(verbs, uar):
    """A queue pair without a send queue that names a UAR"""
    request = udata.Request.put(verbs.qp_request(), UAR_OF_QP, uar)
    return result_of(verbs.create_qp, udata.RC, udata.Request.put(request, SENDS, 0), 8)


def verdict(name, found, wanted):
    """Returns whether it failed."""
    print('PASS ' + name if found == wanted else 'FAIL %s %s' % (name, found), flush=True)
    return found != wanted


def uars(verbs, other):
    """A queue holds the UAR that it names, and cannot name another context's."""
    before = count('UAR')
    handle, number = verbs.file.uar()
    queue = queue_of(verbs, number)
    verbs.file.destroy_uar(handle)
    kept = count('UAR') - before
    verbs.file.destroy(udata.DESTROY_CQ, queue)
    found = kept, count('UAR') - before, queue_of(verbs, number), queue_of(verbs, other.uar)
    return verdict('uar-as-long-as-its-queue', found, (1, 0, 'EINVAL', 'EINVAL')) + \
        verdict('uar-of-a-receiver', receiver_of(verbs, other.uar), 'EINVAL') + \
        verdict('uar-without-blueflame', result_of(verbs.file.uar, udata.UAR_BF), 'ENOTSUP')


def too_long(verbs):
    """The model refuses a key for 2**29 pages, whose list would be longer than a command. The
    addresses are even in units of huge pages in memory only, so they are split."""
    start = repeated(PARTS, PAGES_OF_PART, HUGE_PAGE, os.MFD_HUGETLB)
    core = struct.pack('=QQQQII', 0, start, PARTS * PAGES_OF_PART * HUGE_PAGE, start + udata.PAGE,
                       verbs.pd, 1)
    return verdict('list-too-long', result_of(verbs.file.handle, udata.REG_MR, core, 12), 'ENOMEM')


def main():
    verbs = udata.Verbs(sys.argv[1], int(sys.argv[2]))
    other = udata.Verbs(sys.argv[1], int(sys.argv[2]))
    failed = uars(verbs, other) + too_long(verbs)
    other.file.close()
    add_request(verbs)
    for row in ROWS:
        for end, status, wanted in (('given-up', 0, ('EFAULT', 0, False)),
                                    ('kept', BUSY, ('EFAULT', 1, row.pins))):
            if status:
                control(cmd='refuse', opcode=row.command, status=status, times=row.times)
            found = attempt(verbs, row)
            failed += found != wanted
            print('%s untold-%s-%s %s' % ('FAIL' if found != wanted else 'PASS', row.name, end,
                                          '' if found == wanted else found), flush=True)
    verbs.file.close()
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
