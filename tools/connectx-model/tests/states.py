#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Queue pairs at their limits: a send queue that fails and recovers, no send queue, events.

usage: states.py DEVICE GID-INDEX SHARE
"""
import os
import select
import sys
import time

from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.srq import SRQ, SrqInitAttr, SrqAttr
from pyverbs.wr import SGE, RecvWR, SendWR
import pyverbs.enums as e

QKEY = 0x11111111
GRH_BYTES = 40
READ_SGE = 30		# the most that fit into a request of 512 bytes
ECE_OPTIONS = 0x30000003	# as in the model
ECE_MORE = 0x10000005
VENDOR = 0x15b3
WQ_CATAS_ERROR = 5	# an event, for these kinds of queue:
QP_KIND, SQ_KIND = 0, 2

failed = 0


def expect(name, got, wanted):
    global failed
    if got == wanted:
        print('PASS', name)
    else:
        print('FAIL', name, got, 'instead of', wanted)
        failed = 1


class Bench:
    def __init__(self, device, gid_index):
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, 64)
        self.mr = MR(self.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
        self.gid_index = gid_index

    def datagram_qp(self):
        cap = QPCap(max_send_wr=8, max_recv_wr=8)
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        return QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=self.cq, rcq=self.cq, cap=cap),
                  attr)

    def handle(self):
        route = GlobalRoute(dgid=self.context.query_gid(1, self.gid_index),
                            sgid_index=self.gid_index)
        return AH(self.pd, attr=AHAttr(gr=route, is_global=1, port_num=1))

    def completions(self, count):
        found, tries = [], 0
        while len(found) < count and tries < 500:
            _, some = self.cq.poll(16)
            found += [(wc.wr_id, wc.status) for wc in some]
            tries += 1
            time.sleep(0.01)
        return sorted(found)


def send(qp, handle, wr_id, sge):
    wr = SendWR(wr_id=wr_id, num_sge=1, sg=[sge], opcode=e.IBV_WR_SEND,
                send_flags=e.IBV_SEND_SIGNALED)
    wr.set_wr_ud(handle, qp.qp_num, QKEY)
    qp.post_send(wr)


def send_queue_error(bench):
    qp, handle = bench.datagram_qp(), bench.handle()
    good = SGE(bench.mr.buf, 64, bench.mr.lkey)
    bad = SGE(bench.mr.buf, 64, bench.mr.lkey ^ 0xff00)
    qp.post_recv(RecvWR(wr_id=7, num_sge=1, sg=[SGE(bench.mr.buf + 1024, 512, bench.mr.lkey)]))
    send(qp, handle, 1, bad)
    send(qp, handle, 2, good)
    expect('send-fails', bench.completions(2),
           [(1, e.IBV_WC_LOC_PROT_ERR), (2, e.IBV_WC_WR_FLUSH_ERR)])
    expect('send-queue-error', qp.query(e.IBV_QP_STATE)[0].qp_state, e.IBV_QPS_SQE)
    try:
        attr = QPAttr(qp_state=e.IBV_QPS_RTS, cur_qp_state=e.IBV_QPS_SQE)
        qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_CUR_STATE)
        expect('send-queue-left', qp.query(e.IBV_QP_STATE)[0].qp_state, e.IBV_QPS_RTS)
        send(qp, handle, 3, good)
        expect('sends-again', bench.completions(2),
               [(3, e.IBV_WC_SUCCESS), (7, e.IBV_WC_SUCCESS)])
    except PyverbsRDMAError as error:
        expect('send-queue-left', str(error), 'no error')


def no_queues(bench):
    srq = SRQ(bench.pd, SrqInitAttr(SrqAttr(max_wr=8)))
    for name, cap, shared in (('no-send-queue', QPCap(max_send_wr=0, max_recv_wr=0), srq),
                              ('no-queues', QPCap(max_send_wr=0, max_recv_wr=0), None)):
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=bench.cq, rcq=bench.cq, cap=cap, srq=shared)
        try:
            QP(bench.pd, init).close()
            expect(name, 'made', 'made')
        except PyverbsRDMAError as error:
            expect(name, str(error), 'made')


def connection_options(bench):
    """The adapter's options among those that the library, or the program, requests."""
    def make():
        return QP(bench.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=bench.cq, rcq=bench.cq,
                                       cap=QPCap(max_send_wr=1, max_recv_wr=1)))
    qp = make()
    has = qp.query_ece()
    expect('ece-of-the-library', bool(has.options) and not has.options & ~ECE_OPTIONS, True)
    has.vendor_id, has.options = VENDOR, ECE_MORE
    qp.set_ece(has)
    attr = QPAttr(port_num=1)
    qp.to_init(attr)
    expect('ece-granted', qp.query_ece().options, ECE_MORE & ECE_OPTIONS)


def connection(bench, dest, answers):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_WRITE
    route = GlobalRoute(dgid=bench.context.query_gid(1, bench.gid_index),
                        sgid_index=bench.gid_index)
    attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
    attr.dest_qp_num, attr.path_mtu = dest.qp_num, e.IBV_MTU_1024
    attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
    attr.max_rd_atomic, attr.max_dest_rd_atomic = 1, answers
    return attr


def reads_without_resources(bench):
    """Without resources for READs a queue pair refuses them; WRITEs are accepted."""
    def make():
        return QP(bench.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=bench.cq, rcq=bench.cq,
                                       cap=QPCap(max_send_wr=4, max_recv_wr=1)))
    peer = MR(bench.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ |
              e.IBV_ACCESS_REMOTE_WRITE)
    mine = SGE(bench.mr.buf, 64, bench.mr.lkey)
    for answers, wanted in ((1, [e.IBV_WC_SUCCESS]),
                            (0, [e.IBV_WC_REM_ACCESS_ERR, e.IBV_WC_REM_INV_REQ_ERR])):
        asks, has = make(), make()
        asks.to_rts(connection(bench, has, 1))
        has.to_rts(connection(bench, asks, answers))
        for what, opcode, statuses in (
                ('write', e.IBV_WR_RDMA_WRITE, [e.IBV_WC_SUCCESS]),
                ('read', e.IBV_WR_RDMA_READ, wanted)):
            wr = SendWR(wr_id=1, num_sge=1, sg=[mine], opcode=opcode,
                        send_flags=e.IBV_SEND_SIGNALED)
            wr.set_wr_rdma(peer.rkey, peer.buf)
            asks.post_send(wr)
            found = bench.completions(1)
            expect('%s-with-%d-answers' % (what, answers), [status in statuses for _, status in found], [True])


def control(share, line, wait=True):
    """Returns a function that tells whether the model has answered."""
    name = '%s/states-%d' % (share, time.monotonic_ns())

    def answered():
        return os.path.exists(name + '.answer')
    with open(name + '.new', 'w') as file:
        file.write(line + '\n')
    os.rename(name + '.new', name + '.request')
    while wait and not answered():
        time.sleep(0.05)
    return answered


def event_queue():
    """The descriptor of the context's events; no completion channel, which looks alike, is open."""
    for fd in os.listdir('/proc/self/fd'):
        try:
            if os.readlink('/proc/self/fd/' + fd) == 'anon_inode:[infinibandevent]':
                return int(fd)
        except FileNotFoundError:
            continue        # the one used to read the folder
    raise FileNotFoundError('no queue of asynchronous events')


def has_event(queue, seconds):
    # pyverbs blocks all threads while it waits for an event, so only ask for an event that is
    # pending.
    poll = select.poll()
    poll.register(queue, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def events(bench, share):
    qp, queue = bench.datagram_qp(), event_queue()
    line = '{"cmd":"event","type":%d,"kind":%d,"number":%d}'
    control(share, line % (WQ_CATAS_ERROR, SQ_KIND, qp.qp_num))
    expect('event-of-another-queue', has_event(queue, 1), False)
    control(share, line % (WQ_CATAS_ERROR, QP_KIND, qp.qp_num))
    heard = None
    if has_event(queue, 20):
        event = bench.context.get_async_event()
        heard = event.event_type
        event.ack()
    expect('event-of-the-queue-pair', heard, e.IBV_EVENT_QP_FATAL)


def limits(bench):
    attr = bench.context.query_device()
    expect('max-sge-rd', attr.max_sge_rd, READ_SGE)
    expect('max-sge', attr.max_sge <= READ_SGE, True)


def main():
    bench = Bench(sys.argv[1], int(sys.argv[2]))
    limits(bench)
    send_queue_error(bench)
    no_queues(bench)
    connection_options(bench)
    reads_without_resources(bench)
    events(bench, sys.argv[3])
    sys.exit(failed)


if __name__ == '__main__':
    main()
