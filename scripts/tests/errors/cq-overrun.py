#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A completion queue of a process overruns: cq-overrun.py A INDEX_A B INDEX_B

The process gets CQ_ERR, every QP that uses the queue moves to ERROR with QP_FATAL, and the
queue gets no more completions. Others are not affected.
"""

import errno
import sys
import time

from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

import verbs
from verbs import End, check, e, statuses, SUCCESS

ROOM = 7        # capacity of a queue of 7 entries: the ring has 8 slots, one stays empty


def state(qp):
    return qp.query(e.IBV_QP_STATE)[0].qp_state


def settle(qp, wanted, seconds=60):
    until = time.monotonic() + seconds * verbs.SLOW
    while state(qp) != wanted and time.monotonic() < until:
        time.sleep(0.005)
    return state(qp)


def second_qp(end):
    """A QP that uses the same completion queue and has nothing to complete."""
    init = QPInitAttr(qp_type=e.IBV_QPT_UD, scq=end.cq, rcq=end.cq,
                      cap=QPCap(max_send_wr=4, max_recv_wr=4))
    return QP(end.pd, init)


def to_init(qp):
    attr = QPAttr(port_num=1, qp_state=e.IBV_QPS_INIT)
    attr.qkey = verbs.QKEY
    qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT | e.IBV_QP_QKEY)


def errno_of(function, *args):
    try:
        function(*args)
    except verbs.PyverbsRDMAError as ex:
        return ex.error_code
    return 0


device_a, index_a, device_b, index_b = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
a = End(device_a, index_a, cq_depth=ROOM)
b = End(device_b, index_b)
verbs.connect(a, b)
idle, late = second_qp(a), second_qp(a)
to_init(idle)
other = End(device_a, index_a)
peer = End(device_b, index_b)
verbs.connect(other, peer)

for i in range(ROOM):
    a.post_send('WRITE', [(0, 8)], wr_id=i)
time.sleep(0.2 * verbs.SLOW)
check('a full queue is no error', 'RTS', a.state())
for i in range(ROOM, 2 * ROOM):
    a.post_send('WRITE', [(0, 8)], wr_id=i)
events = [a.async_event() for _ in range(3)]
check('overrun: CQ_ERR, then QP_FATAL of each of its QPs',
      [e.IBV_EVENT_CQ_ERR, e.IBV_EVENT_QP_FATAL, e.IBV_EVENT_QP_FATAL], events)
check('the QP that overran it is in ERROR', e.IBV_QPS_ERR, settle(a.qp, e.IBV_QPS_ERR))
check('an idle QP as well', e.IBV_QPS_ERR, settle(idle, e.IBV_QPS_ERR))
check('a QP in RESET stays there', e.IBV_QPS_RESET, state(late))
check('and cannot leave it', errno.EINVAL, errno_of(to_init, late))
check('no other event', None, a.async_event(0.3))
done = a.wait(2 * ROOM, 1)
check('completions in the CQ can be polled, and no others',
      [(SUCCESS, i) for i in range(ROOM)], [(c['status'], c['wr_id']) for c in done])
a.post_send('WRITE', [(0, 8)])
a.post_recv([(0, 8)])
check('not even flushed requests', [], a.wait(1, 0.5))
other.post_send('WRITE', [(0, 8)])
check('a QP of another CQ is not affected', [SUCCESS], statuses(other.wait(1, 30)))
for qp in (idle, late):
    qp.close()
for end in (a, b, other, peer):
    end.close()
verbs.finish()
