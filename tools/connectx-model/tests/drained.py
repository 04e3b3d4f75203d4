#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A send queue that the adapter drains during traffic: requests already begun complete,
the event reports when, requests posted meanwhile wait, and after RTS nothing is lost.

usage: drained.py DEVICE GID-INDEX SHARE
"""
import sys
import time

import states
from loopback import ACCESS, attributes, connect_to_itself
from states import control, event_queue, expect, has_event
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttrEx
from pyverbs.wr import SGE, RecvWR, SendWR
import pyverbs.enums as e

BYTES, OUTSTANDING, MESSAGES = 16384, 8, 400
BEFORE = 50			# messages until it is drained
POSTED_IN_SQD = 4
QUIET_S, PATIENCE_S = 1, 120


class Stream:
    """Messages of a queue pair to itself, each with its number as immediate data"""
    def __init__(self, device, index):
        self.context = Context(name=device)
        pd = PD(self.context)
        self.mr = MR(pd, 2 * BYTES, ACCESS)
        self.sent_cq, self.received_cq = CQ(self.context, 64), CQ(self.context, 64)
        self.qp = connect_to_itself(self.context, pd, index, self.sent_cq, self.received_cq)
        self.posted, self.sent, self.received, self.bad = 0, [], [], []
        for _ in range(OUTSTANDING + POSTED_IN_SQD):
            self.post_recv()

    def post_recv(self):
        self.qp.post_recv(RecvWR(wr_id=0, num_sge=1,
                                 sg=[SGE(self.mr.buf + BYTES, BYTES, self.mr.lkey)]))

    def post(self):
        wr = SendWR(wr_id=self.posted, num_sge=1, opcode=e.IBV_WR_SEND_WITH_IMM,
                    send_flags=e.IBV_SEND_SIGNALED, imm_data=self.posted,
                    sg=[SGE(self.mr.buf, BYTES, self.mr.lkey)])
        self.qp.post_send(wr)
        self.posted += 1

    def poll(self):
        for cq, found in (self.sent_cq, self.sent), (self.received_cq, self.received):
            _, completions = cq.poll(16)
            for wc in completions:
                if wc.status != e.IBV_WC_SUCCESS:
                    self.bad.append(wc.status)
                elif cq is self.sent_cq:
                    found.append(wc.wr_id)
                else:
                    found.append(wc.imm_data)
                    self.post_recv()

    def run(self, until, total=MESSAGES):
        end = time.monotonic() + PATIENCE_S
        while not until() and not self.bad and time.monotonic() < end:
            if self.posted < min(total, len(self.sent) + OUTSTANDING):
                self.post()
            self.poll()

    def state(self):
        return self.qp.query(e.IBV_QP_STATE)[0].qp_state

    def modify(self, state, **current):
        """Returns the error, or 0."""
        mask = e.IBV_QP_STATE | (e.IBV_QP_CUR_STATE if current else 0)
        return modify(self.qp, QPAttr(qp_state=state, **current), mask)


def modify(qp, attr, mask):
    """Returns the error, or 0."""
    try:
        qp.modify(attr, mask)
    except PyverbsRDMAError as error:
        return error.error_code
    return 0


def drain_xrc(device, index, share):
    """The command that leads back accepts no optional fields for XRC, and gets none.
    Returns the state, the error of leaving it with access rights, and the new state."""
    context = Context(name=device)
    pd, cq = PD(context), CQ(context, 16)
    cap = QPCap(max_send_wr=4, max_recv_wr=0, max_recv_sge=0)
    qp = QP(context, QPInitAttrEx(qp_type=e.IBV_QPT_XRC_SEND, comp_mask=e.IBV_QP_INIT_ATTR_PD,
                                  pd=pd, scq=cq, cap=cap))
    qp.to_rts(attributes(context, index, qp))
    control(share, '{"cmd":"drain","number":%d}' % qp.qp_num)
    drained = qp.query(e.IBV_QP_STATE)[0].qp_state
    attr = QPAttr(qp_state=e.IBV_QPS_RTS, cur_qp_state=e.IBV_QPS_SQD)
    attr.qp_access_flags = ACCESS
    error = modify(qp, attr, e.IBV_QP_STATE | e.IBV_QP_CUR_STATE | e.IBV_QP_ACCESS_FLAGS)
    return [drained, error, qp.query(e.IBV_QP_STATE)[0].qp_state]


def main():
    stream, share = Stream(sys.argv[1], int(sys.argv[2])), sys.argv[3]
    queue = event_queue()
    # There is no command for it, so it is refused, and nothing is changed.
    expect('drain-not-by-the-user', bool(stream.modify(e.IBV_QPS_SQD)), True)
    stream.run(lambda: len(stream.sent) >= BEFORE)
    answered = control(share, '{"cmd":"drain","number":%d}' % stream.qp.qp_num, wait=False)
    stream.run(answered)
    expect('drain-state', stream.state(), e.IBV_QPS_SQD)
    heard = None
    if has_event(queue, PATIENCE_S):
        event = stream.context.get_async_event()
        heard = event.event_type
        event.ack()
    expect('drain-event', heard, e.IBV_EVENT_SQ_DRAINED)
    for _ in range(POSTED_IN_SQD):
        stream.post()
    stream.poll()
    before = len(stream.sent)
    print('# %d of %d done when it was drained' % (before, stream.posted))
    time.sleep(QUIET_S)
    stream.poll()
    expect('drain-others-wait', [len(stream.sent) - before, stream.posted > before], [0, True])
    expect('drain-left', [stream.modify(e.IBV_QPS_RTS, cur_qp_state=e.IBV_QPS_SQD),
                          stream.state()], [0, e.IBV_QPS_RTS])
    total = max(MESSAGES, stream.posted + OUTSTANDING)
    stream.run(lambda: len(stream.sent) == len(stream.received) == total, total)
    expect('drain-no-error', stream.bad, [])
    expect('drain-all-sent-in-order', stream.sent == list(range(total)), True)
    expect('drain-all-received-once', stream.received == list(range(total)), True)
    expect('drain-xrc', drain_xrc(sys.argv[1], int(sys.argv[2]), share),
           [e.IBV_QPS_SQD, 0, e.IBV_QPS_RTS])
    sys.exit(states.failed)


if __name__ == '__main__':
    main()
