#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Queues are charged to the process that asks for them.

memory-charged.py DEVICE memlock   as another user with 1 MiB of RLIMIT_MEMLOCK
memory-charged.py DEVICE cgroup CG  in memory cgroup CG
"""

import errno
import os
import resource
import sys

import pyverbs.device as d
from pyverbs.cq import CQ
from pyverbs.pyverbs_error import PyverbsRDMAError
from verbs import check, finish

MIB = 1 << 20
ENTRIES = 4095			# of 64 bytes, with one that stays empty: 256 KiB
RING = 256 << 10
NOBODY = 65534


def cqs_until_refused(ctx, most):
    """As many CQs as can be had, and the errno that ended it."""
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
    # Each has a page for its header besides
    check('1 MiB of RLIMIT_MEMLOCK is enough for CQs of 256 KiB and a page', MIB // (RING + 4096), len(made))
    check('one more gives ENOMEM', errno.ENOMEM, why)
    close(made)
    made, _ = cqs_until_refused(ctx, 64)
    check('as many again when they are destroyed', MIB // (RING + 4096), len(made))
    close(made)


def charged(cgroup):
    with open(f'{cgroup}/memory.current', encoding='ascii') as file:
        return int(file.read())


def cgroup_of(ctx, cgroup):
    before = charged(cgroup)
    made, _ = cqs_until_refused(ctx, 64)
    check('64 CQs', 64, len(made))
    check('their 16 MiB are charged to the memory cgroup', True, charged(cgroup) - before >= 64 * RING)
    close(made)
    check('and given back', True, charged(cgroup) - before < 32 * RING)


context = d.Context(name=sys.argv[1])
if sys.argv[2] == 'memlock':
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (MIB, MIB))
    os.setresuid(NOBODY, NOBODY, NOBODY)
    memlock(context)
else:
    with open(f'{sys.argv[3]}/cgroup.procs', 'w', encoding='ascii') as procs:
        procs.write(str(os.getpid()))
    cgroup_of(context, sys.argv[3])
finish()
