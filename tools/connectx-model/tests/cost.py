#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Repeat one operation, so that its firmware commands can be counted.

usage: cost.py DEVICE GID-INDEX register|connect COUNT
"""
import sys

import pyverbs.enums as e
from loopback import ACCESS, connect_to_itself
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD

REGION_BYTES = 65536


def register(_context, pd, _index):
    # As perftest and UCX do, even if the adapter does not support it
    MR(pd, REGION_BYTES, ACCESS | e.IBV_ACCESS_RELAXED_ORDERING).close()


def connect(context, pd, index):
    """The objects of a program's connection: two completion queues and a queue pair."""
    send_cq, recv_cq = CQ(context, 64), CQ(context, 64)
    qp = connect_to_itself(context, pd, index, send_cq, recv_cq)
    for thing in (qp, send_cq, recv_cq):
        thing.close()


def main():
    context = Context(name=sys.argv[1])
    pd = PD(context)
    what = {'register': register, 'connect': connect}[sys.argv[3]]
    for _ in range(int(sys.argv[4])):
        what(context, pd, int(sys.argv[2]))


main()
