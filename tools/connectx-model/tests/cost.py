#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Do one thing many times, so that its firmware commands can be counted.

usage: cost.py DEVICE GID-INDEX register|connect COUNT
"""
import sys

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

REGION_BYTES = 65536
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ


def register(_context, pd, _index):
    MR(pd, REGION_BYTES, ACCESS).close()


def connect(context, pd, index):
    """What a program does for a connection: two completion queues and a queue pair."""
    send_cq, recv_cq = CQ(context, 64), CQ(context, 64)
    cap = QPCap(max_send_wr=16, max_recv_wr=16)
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=send_cq, rcq=recv_cq, cap=cap))
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = ACCESS
    attr.ah_attr = AHAttr(gr=GlobalRoute(dgid=context.query_gid(1, index), sgid_index=index),
                          is_global=1, port_num=1)
    attr.dest_qp_num = qp.qp_num
    attr.path_mtu = e.IBV_MTU_1024
    attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    qp.to_rts(attr)
    for thing in (qp, send_cq, recv_cq):
        thing.close()


def main():
    context = Context(name=sys.argv[1])
    pd = PD(context)
    what = {'register': register, 'connect': connect}[sys.argv[3]]
    for _ in range(int(sys.argv[4])):
        what(context, pd, int(sys.argv[2]))


main()
