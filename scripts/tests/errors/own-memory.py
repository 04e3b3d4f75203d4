#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A queue in memory that the process names is refused: own-memory.py DEVICE

Newer kernels have attributes for that, which no library of ours uses: they are passed to the
kernel without one. Older kernels refuse the attribute itself.
"""

import ctypes
import errno
import fcntl
import struct
import sys

import verbs
from pyverbs.cq import CQ
from pyverbs.pd import PD
from verbs import check, d

# rdma_user_ioctl_cmds.h, ib_user_ioctl_cmds.h
VERBS_IOCTL = 0xc0181b01
MANDATORY = 1
OBJECT_CQ, OBJECT_QP, OBJECT_SRQ = 3, 4, 5
METHOD_CREATE = 0
DRIVER_MLX5, DRIVER_RXE = 1, 14
TYPE_RC = 2
REFUSED = {errno.EOPNOTSUPP, errno.EPROTONOSUPPORT}

ctx = d.Context(name=sys.argv[1])
pd = PD(ctx)
cq = CQ(ctx, 16, None, None, 0)
with open(f'/sys/class/infiniband/{sys.argv[1]}/backend', encoding='ascii') as backend:
    driver = DRIVER_MLX5 if backend.read() == 'mlx5\n' else DRIVER_RXE
room = ctypes.create_string_buffer(64)  # for a descriptor, capabilities and answers
at = ctypes.addressof(room)


def create(kind, *attrs):
    """The errno. An attribute is (its number, its bytes, its value or where it is)."""
    message = bytearray(struct.pack('=HHHHQII', 24 + 16 * len(attrs), kind, METHOD_CREATE,
                                    len(attrs), 0, driver, 0))
    for number, size, data in attrs:
        message += struct.pack('=HHHHQ', number, size, MANDATORY, 0, data)
    try:
        fcntl.ioctl(ctx.cmd_fd, VERBS_IOCTL, message)
    except OSError as error:
        return error.errno
    return 0


CQ_ATTRS = (0, 0, 0), (1, 4, 16), (2, 8, 0), (4, 4, 0), (6, 4, at)
QP_ATTRS = ((0, 0, 0), (2, 0, pd.handle), (7, 8, 0), (8, 20, at), (9, 8, TYPE_RC), (13, 20, at),
            (14, 4, at))
SRQ_ATTRS = ((0, 0, 0), (1, 0, pd.handle), (4, 8, 0), (5, 4, 16), (6, 4, 1), (7, 4, 0), (9, 8, 0),
             (11, 4, at), (12, 4, at))
for what, kind, own, attrs in (
        ('CQ at an address', OBJECT_CQ, (8, 8, at), CQ_ATTRS),
        ('CQ in a DMA buffer', OBJECT_CQ, (10, 0, 0), CQ_ATTRS),
        ('CQ', OBJECT_CQ, (12, 32, at), CQ_ATTRS),
        ('QP', OBJECT_QP, (15, 32, at), QP_ATTRS),
        ('receive queue', OBJECT_QP, (16, 32, at), QP_ATTRS),
        ('send queue', OBJECT_QP, (17, 32, at), QP_ATTRS),
        ('SRQ', OBJECT_SRQ, (14, 32, at), SRQ_ATTRS)):
    # A QP needs CQs, whose handles pyverbs does not tell
    cqs = [((4, 0, n), (5, 0, n)) for n in range(16)] if kind == OBJECT_QP else [()]
    answers = {create(kind, own, *attrs, *more) for more in cqs}
    check(f'{what}: refused as not supported', True, bool(answers & REFUSED) or answers)
verbs.finish()
