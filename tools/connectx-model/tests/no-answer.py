#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""An RC queue pair whose peer does not exist: the send must end in a retry error.

usage: no-answer.py DEVICE GID_INDEX
"""
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR

NOBODY = 0xabcdef


def main():
    context = Context(name=sys.argv[1])
    index = int(sys.argv[2])
    pd = PD(context)
    cq = CQ(context, 8)
    mr = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
    gid = context.query_gid(port_num=1, index=index)
    route = GlobalRoute(dgid=gid, sgid_index=index, hop_limit=64)
    attr = QPAttr(port_num=1)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
    attr.dest_qp_num = NOBODY
    attr.path_mtu = e.IBV_MTU_1024
    attr.timeout, attr.retry_cnt, attr.rnr_retry = 1, 2, 2
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=QPCap(max_send_wr=8)))
    qp.to_rts(attr)
    begin = time.time()
    for _ in range(3):
        qp.post_send(SendWR(opcode=e.IBV_WR_SEND, num_sge=1,
                            sg=[SGE(mr.buf, 64, mr.lkey)]))
    statuses = []
    while len(statuses) < 3 and time.time() < begin + 60:
        count, completions = cq.poll(4)
        statuses += [wc.status for wc in completions[:count]]
    print(statuses, '%.2f s' % (time.time() - begin))
    flushed = e.IBV_WC_WR_FLUSH_ERR
    if statuses != [e.IBV_WC_RETRY_EXC_ERR, flushed, flushed]:
        sys.exit('expected a retry error and two flushed sends')


main()
