#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every operation of RC, UC and UD between two machines, in one direction, then in the
other: with immediate data, with invalidation of a memory window, inline, before its
receive is posted; sizes around the path MTU; the data is compared.

usage: operations.py [--reliable] DEVICE GID-INDEX [PEER]  (no peer: wait for it)

With --reliable only those of RC, also larger and more often, for a lossy wire.
"""
import json
import random
import socket
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

PORT = 18520
PATIENCE_S = 30
MTU = 1024
SIZES = (1, MTU - 1, MTU, MTU + 1, 3 * MTU + 5)
LARGE = (20 * MTU, 60 * MTU + 1)
ROUNDS = 3
BUFFER_BYTES = 65536
GRH_BYTES = 40
QKEY = 0x11111111
IMMEDIATE = 0xfeed0001
HOP_LIMIT = 33  # not used by anything else
ACCESS = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
          e.IBV_ACCESS_REMOTE_ATOMIC | e.IBV_ACCESS_MW_BIND)


class Mismatch(Exception):
    pass


def expect(what, got, wanted):
    if got != wanted:
        raise Mismatch('%s: %r, not %r' % (what, got, wanted))


def pattern(seed, size):
    return random.Random(seed).randbytes(size)


class Talk:
    """Lines of JSON between the two."""
    def __init__(self, peer):
        if peer:
            self.socket = socket.create_connection((peer, PORT), PATIENCE_S)
        else:
            with socket.create_server(('', PORT)) as listener:
                listener.settimeout(PATIENCE_S * 4)
                self.socket = listener.accept()[0]
        self.socket.settimeout(PATIENCE_S * 2)
        # Writing to the same file object would lose its read-ahead.
        self.lines = self.socket.makefile('r')

    def say(self, thing):
        self.socket.sendall(json.dumps(thing).encode() + b'\n')

    def hear(self):
        line = self.lines.readline()
        if not line:
            raise Mismatch('the peer ended')
        return json.loads(line)

    def swap(self, thing):
        self.say(thing)
        return self.hear()


class Host:
    def __init__(self, device, index, talk):
        self.talk = talk
        self.index = index
        self.context = Context(name=device)
        self.pd = PD(self.context)
        self.mr = MR(self.pd, BUFFER_BYTES, ACCESS)
        self.sent = CQ(self.context, 64)
        self.received = CQ(self.context, 64)
        types = {'RC': e.IBV_QPT_RC, 'UC': e.IBV_QPT_UC, 'UD': e.IBV_QPT_UD}
        self.qps = {name: self.make_qp(kind) for name, kind in types.items()}
        self.peer = talk.swap({
            'gid': str(self.context.query_gid(1, index)), 'rkey': self.mr.rkey,
            'address': self.mr.buf, 'qpn': {name: qp.qp_num for name, qp in self.qps.items()}})
        for name, qp in self.qps.items():
            qp.to_rts(self.attributes(name))
        self.ah = AH(self.pd, attr=self.address_vector())
        talk.swap('ready')

    def make_qp(self, kind):
        cap = QPCap(max_send_wr=16, max_recv_wr=16, max_inline_data=64)
        return QP(self.pd, QPInitAttr(qp_type=kind, scq=self.sent, rcq=self.received, cap=cap))

    def address_vector(self):
        route = GlobalRoute(dgid=GID(self.peer['gid']), sgid_index=self.index, hop_limit=HOP_LIMIT)
        return AHAttr(gr=route, is_global=1, port_num=1)

    def attributes(self, name):
        attr = QPAttr(port_num=1)
        attr.qkey = QKEY
        if name == 'UD':
            return attr
        attr.qp_access_flags = ACCESS & ~e.IBV_ACCESS_MW_BIND
        attr.ah_attr = self.address_vector()
        attr.dest_qp_num = self.peer['qpn'][name]
        attr.path_mtu = e.IBV_MTU_1024
        attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer = 14, 7, 7, 12
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        return attr

    def completion(self, cq):
        end = time.time() + PATIENCE_S
        while time.time() < end:
            count, completions = cq.poll(1)
            if count:
                expect('status', completions[0].status, e.IBV_WC_SUCCESS)
                return completions[0]
        raise Mismatch('no completion in time')

    def post_receive(self, name):
        self.qps[name].post_recv(RecvWR(num_sge=1, sg=[
            SGE(self.mr.buf, BUFFER_BYTES, self.mr.lkey)]))


class Step:
    """One operation of one size; the caller decides which of the host's sides runs."""
    def __init__(self, host, name, qp_name, size):
        self.host, self.qp_name, self.size = host, qp_name, size
        self.words = name.split('-')
        self.seed = '%s %s %d' % (name, qp_name, size)
        self.qp = host.qps[qp_name]
        self.receives = name.startswith('send') or 'immediate' in self.words

    def data(self, whose):
        return pattern(self.seed + whose, self.size)

    def respond(self):
        host, late = self.host, 'late' in self.words
        host.mr.write(self.data('responder'), self.size)
        if self.receives and not late:
            host.post_receive(self.qp_name)
        host.talk.say(self.bind() if 'invalidate' in self.words else None)
        if late:
            time.sleep(0.5)
            host.post_receive(self.qp_name)
        if self.receives:
            self.check_completion(host.completion(host.received))
        host.talk.hear()
        self.check_memory()
        host.talk.say('done')

    def bind(self):
        host = self.host
        self.window = MW(host.pd, e.IBV_MW_TYPE_2)
        work = SendWR(opcode=e.IBV_WR_BIND_MW)
        work.set_bind_wr(self.window, MWBindInfo(host.mr, host.mr.buf, BUFFER_BYTES,
                                                 e.IBV_ACCESS_REMOTE_WRITE))
        self.qp.post_send(work)
        host.completion(host.sent)
        self.window_key = work.rkey
        return work.rkey

    def check_completion(self, wc):
        flags = wc.wc_flags & (e.IBV_WC_WITH_IMM | e.IBV_WC_WITH_INV)
        # rdma_rxe gives programs the kernel's value of this flag, which has another meaning.
        if words[0].startswith('rxe') and wc.wc_flags & e.IBV_WC_IP_CSUM_OK:
            flags |= e.IBV_WC_WITH_INV
        if 'immediate' in self.words:
            expect('flags', flags, e.IBV_WC_WITH_IMM)
            expect('immediate data', socket.ntohl(wc.imm_data), IMMEDIATE)
        elif 'invalidate' in self.words:
            expect('flags', flags, e.IBV_WC_WITH_INV)
            expect('invalidated', wc.imm_data, self.window_key)
            self.window.close()
        else:
            expect('flags', flags, 0)
        if self.words[0] == 'send':
            expect('length', wc.byte_len, self.size + self.before_data())
        else:
            expect('opcode', wc.opcode, e.IBV_WC_RECV_RDMA_WITH_IMM)

    def before_data(self):
        return GRH_BYTES if self.qp_name == 'UD' else 0

    # A WRITE of UC has no completion on this side.
    def check_memory(self):
        wanted = {'read': self.data('responder'), 'fetch': self.sum(),
                  'compare': self.data('requester')}.get(self.words[0], self.data('requester'))
        end = time.time() + PATIENCE_S
        while time.time() < end:
            got = self.host.mr.read(self.size, self.before_data())
            if got == wanted:
                return
            time.sleep(0.01)
        raise Mismatch('memory: %s, not %s' % (got[:64].hex(), wanted[:64].hex()))

    def sum(self):
        total = (int.from_bytes(self.data('responder'), 'little') +
                 int.from_bytes(self.data('requester'), 'little'))
        return (total % 2 ** 64).to_bytes(8, 'little') if self.size == 8 else None

    def request(self):
        host = self.host
        key = host.talk.hear()
        host.mr.write(self.data('requester'), self.size)
        if 'late' in self.words:
            time.sleep(0.1)
        self.qp.post_send(self.work(key))
        wc = host.completion(host.sent)
        if self.words[0] in ('read', 'fetch', 'compare'):
            expect('opcode', wc.opcode, {
                'read': e.IBV_WC_RDMA_READ, 'fetch': e.IBV_WC_FETCH_ADD,
                'compare': e.IBV_WC_COMP_SWAP}[self.words[0]])
            expect('what was there', host.mr.read(self.size, 0), self.data('responder'))
        expect('peer', host.talk.swap('sent'), 'done')

    def work(self, key):
        host = self.host
        opcodes = {
            'send': e.IBV_WR_SEND, 'send-immediate': e.IBV_WR_SEND_WITH_IMM,
            'send-invalidate': e.IBV_WR_SEND_WITH_INV, 'write': e.IBV_WR_RDMA_WRITE,
            'write-immediate': e.IBV_WR_RDMA_WRITE_WITH_IMM, 'read': e.IBV_WR_RDMA_READ,
            'fetch-add': e.IBV_WR_ATOMIC_FETCH_AND_ADD,
            'compare-swap': e.IBV_WR_ATOMIC_CMP_AND_SWP}
        inline = e.IBV_SEND_INLINE if 'inline' in self.words else 0
        name = '-'.join(word for word in self.words if word not in ('inline', 'late'))
        work = SendWR(opcode=opcodes[name], num_sge=1, send_flags=e.IBV_SEND_SIGNALED | inline,
                      sg=[SGE(host.mr.buf, self.size, host.mr.lkey)])
        if 'immediate' in self.words:
            work.imm_data = socket.htonl(IMMEDIATE)
        if 'invalidate' in self.words:
            work.imm_data = key
        if self.words[0] in ('write', 'read'):
            work.set_wr_rdma(host.peer['rkey'], host.peer['address'])
        if name == 'fetch-add':
            self.set_atomic(work, self.data('requester'), bytes(8))
        if name == 'compare-swap':
            self.set_atomic(work, self.data('responder'), self.data('requester'))
        if self.qp_name == 'UD':
            work.set_wr_ud(host.ah, host.peer['qpn']['UD'], QKEY)
        return work

    def set_atomic(self, work, first, second):
        work.set_wr_atomic(self.host.peer['rkey'], self.host.peer['address'],
                           int.from_bytes(first, 'little'), int.from_bytes(second, 'little'))


def steps():
    for name in ('send', 'send-immediate', 'write', 'write-immediate'):
        for size in SIZES:
            yield name, 'RC', size
            yield name, 'UC', size
        yield name + '-inline', 'RC', 64
        yield name + '-inline', 'UC', 64
    for name in ('send', 'send-immediate'):
        for size in SIZES[:3]:
            yield name, 'UD', size
        yield name + '-inline', 'UD', 64
    for size in SIZES:
        yield 'read', 'RC', size
    yield 'fetch-add', 'RC', 8
    yield 'compare-swap', 'RC', 8
    yield 'send-late', 'RC', 100
    yield 'write-immediate-late', 'RC', 100


def reliable_steps():
    for name, qp_name, size in steps():
        if qp_name == 'RC':
            yield name, qp_name, size
    for name in ('send', 'write', 'write-immediate', 'read'):
        for size in LARGE:
            yield name, 'RC', size


def run(host, requests, invalidate):
    names = list(steps()) if not RELIABLE else list(reliable_steps()) * ROUNDS
    if invalidate:
        names.append(('send-invalidate', 'RC', 100))
    for name, qp_name, size in names:
        step = Step(host, name, qp_name, size)
        try:
            step.request() if requests else step.respond()
        except Exception:
            print('%s %s of %d bytes, as %s' % (qp_name, name, size,
                  'requester' if requests else 'responder'), flush=True)
            raise
    print('%d operations as %s' % (len(names), 'requester' if requests else 'responder'))


words = [word for word in sys.argv[1:] if word != '--reliable']
RELIABLE = '--reliable' in sys.argv


def main():
    device, index = words[0], int(words[1])
    client = len(words) > 2
    host = Host(device, index, Talk(words[2] if client else None))
    has_windows = host.context.query_device().device_cap_flags & e.IBV_DEVICE_MEM_WINDOW_TYPE_2B
    peer_has_windows = host.talk.swap(bool(has_windows))
    for turn in (True, False):
        requests = turn == client
        run(host, requests, peer_has_windows if requests else has_windows)


main()
