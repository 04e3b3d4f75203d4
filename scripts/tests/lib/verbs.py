# SPDX-License-Identifier: GPL-2.0
"""Two RDMA ends under one program's control, on top of python3-pyverbs.

An End owns a context, a PD, a CQ, one memory region and one QP. Its methods
take and return plain values only, so that an End can also be in another
process or on another host: `End.open("HOST:PORT/DEVICE", ...)` talks to
`verbs.py --serve PORT` there.

Checks print the same "ok" and "FAIL" lines as lib.sh, which counts them.
"""

import argparse
import ipaddress
import os
import pickle
import select
import socket
import sys
import time

import pyverbs.device as d
import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ, CompChannel
from pyverbs.mr import MR, MW, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

TYPES = {'RC': e.IBV_QPT_RC, 'UC': e.IBV_QPT_UC, 'UD': e.IBV_QPT_UD}
OPS = {
    'SEND': e.IBV_WR_SEND,
    'SEND_IMM': e.IBV_WR_SEND_WITH_IMM,
    'SEND_INV': e.IBV_WR_SEND_WITH_INV,
    'WRITE': e.IBV_WR_RDMA_WRITE,
    'WRITE_IMM': e.IBV_WR_RDMA_WRITE_WITH_IMM,
    'READ': e.IBV_WR_RDMA_READ,
    'CAS': e.IBV_WR_ATOMIC_CMP_AND_SWP,
    'FADD': e.IBV_WR_ATOMIC_FETCH_AND_ADD,
}
MTU = {256: 1, 512: 2, 1024: 3, 2048: 4, 4096: 5}
LOCAL = e.IBV_ACCESS_LOCAL_WRITE
FULL = (LOCAL | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
        e.IBV_ACCESS_REMOTE_ATOMIC)
SIGNALED = e.IBV_SEND_SIGNALED
QKEY = 0x11111111
GRH = 40

# Work completion statuses by their IBTA names.
SUCCESS, LOC_LEN, LOC_QP_OP, LOC_PROT, FLUSH = 0, 1, 2, 4, 5
REM_INV_REQ, REM_ACCESS, REM_OP, RETRY_EXC, RNR_EXC = 9, 10, 11, 12, 13

SLOW = float(os.environ.get('RHCA_TIME_FACTOR', '1'))


def gid_text(address):
    """A GID, or its IPv6 address, in the only form that pyverbs accepts. Python 3.13 writes
    the last 32 bits of a mapped IPv4 address with dots even in exploded."""
    return ipaddress.IPv6Address(address).packed.hex(':', 2)


def one_cpu():
    """Packets that a process sends from two CPUs may arrive in another order: each CPU
    has a receive queue of its own below veth. RC repeats; UC drops the message."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class End:
    """One side of a connection."""

    def __init__(self, device, gid_index, qp_type='RC', depth=64, size=1 << 18,
                 access=FULL, sges=4, inline=64, srq=False, events=False,
                 port=1, sig_all=False, cq_depth=None, extended=False):
        if qp_type == 'UC':
            one_cpu()
        self.device, self.gid_index, self.port = device, gid_index, port
        self.type = qp_type
        self.ctx = d.Context(name=device)
        self.pd = PD(self.ctx)
        self.channel = CompChannel(self.ctx) if events else None
        self.cq = CQ(self.ctx, cq_depth or 4 * depth, None, self.channel, 0)
        self.mr = MR(self.pd, size, access)
        self.size, self.access = size, access
        self.srq = None
        if srq:
            self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=depth, max_sge=sges)))
        cap = QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=sges,
                    max_recv_sge=sges, max_inline_data=inline)
        init = {'qp_type': TYPES[qp_type], 'scq': self.cq, 'rcq': self.cq, 'srq': self.srq,
                'cap': cap, 'sq_sig_all': 1 if sig_all else 0}
        # Without attributes it stays in RESET
        if extended:
            mask = e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
            self.qp = QPEx(self.ctx, QPInitAttrEx(
                pd=self.pd, comp_mask=mask, send_ops_flags=e.IBV_QP_EX_WITH_SEND, **init))
        else:
            self.qp = QP(self.pd, QPInitAttr(**init))
        self.mrs, self.ahs = [], {}
        self.remote = None

    @staticmethod
    def open(where, *args, **kwargs):
        """An End on this host ("DEVICE") or on another ("HOST:PORT/DEVICE")."""
        if '/' not in where:
            return End(where, *args, **kwargs)
        address, device = where.split('/')
        host, port = address.rsplit(':', 1)
        return RemoteEnd(host, int(port), (device, *args), kwargs)

    def info(self):
        """What the other end needs to know."""
        return {'qpn': self.qp.qp_num, 'gid': str(self.ctx.query_gid(self.port, self.gid_index)),
                'addr': self.mr.buf, 'rkey': self.mr.rkey, 'lkey': self.mr.lkey}

    # --- states

    def route(self, gid, sl=0, hop_limit=64, traffic_class=0, flow_label=0, sgid_index=None):
        index = self.gid_index if sgid_index is None else sgid_index
        return AHAttr(port_num=self.port, is_global=1, sl=sl,
                      gr=GlobalRoute(dgid=GID(gid), sgid_index=index, hop_limit=hop_limit,
                                     traffic_class=traffic_class, flow_label=flow_label))

    def connect(self, remote, mtu=1024, sq_psn=0x1000, rq_psn=0x1000, timeout=17,
                retry=7, rnr_retry=7, rnr_timer=12, rd_atomic=16, access=None,
                dest_qpn=None, state='RTS', pkey_index=0, **route):
        """Through INIT and RTR to RTS."""
        self.remote = remote
        attr = QPAttr(port_num=self.port)
        attr.pkey_index = pkey_index
        attr.qp_access_flags = self.access if access is None else access
        if self.type == 'UD':
            attr.qkey = QKEY
            attr.sq_psn = sq_psn
            self.qp.to_rts(attr)
            return
        if self.type == 'UC':
            attr.qp_access_flags &= ~(e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC)
        attr.dest_qp_num = remote['qpn'] if dest_qpn is None else dest_qpn
        attr.path_mtu = MTU[mtu]
        attr.rq_psn, attr.sq_psn = rq_psn, sq_psn
        attr.ah_attr = self.route(remote['gid'], **route)
        if self.type == 'RC':
            attr.max_dest_rd_atomic = attr.max_rd_atomic = rd_atomic
            attr.min_rnr_timer, attr.timeout = rnr_timer, timeout
            attr.retry_cnt, attr.rnr_retry = retry, rnr_retry
        {'RTS': self.qp.to_rts, 'RTR': self.qp.to_rtr, 'INIT': self.qp.to_init}[state](attr)

    def start(self, sq_psn=0x1000):
        """From RTR to RTS: UC, which needs nothing else for that."""
        attr = QPAttr(qp_state=e.IBV_QPS_RTS)
        attr.sq_psn = sq_psn
        self.qp.modify(attr, e.IBV_QP_STATE | e.IBV_QP_SQ_PSN)

    def modify(self, state):
        attr = QPAttr(qp_state=getattr(e, 'IBV_QPS_' + state))
        self.qp.modify(attr, e.IBV_QP_STATE)

    def state(self):
        attr, _ = self.qp.query(e.IBV_QP_STATE)
        return {0: 'RESET', 1: 'INIT', 2: 'RTR', 3: 'RTS', 4: 'SQD', 5: 'SQE',
                6: 'ERR'}.get(attr.qp_state, attr.qp_state)

    # --- memory

    def fill(self, data, offset=0):
        self.mr.write(data, len(data), offset)

    def read(self, length, offset=0):
        return self.mr.read(length, offset)

    def register(self, size, access=FULL):
        """Register another region; returns errno instead of raising an exception."""
        try:
            mr = MR(self.pd, size, access)
        except PyverbsRDMAError as ex:
            return {'errno': ex.error_code}
        self.mrs.append(mr)
        return {'errno': 0, 'addr': mr.buf, 'rkey': mr.rkey, 'lkey': mr.lkey,
                'index': len(self.mrs) - 1}

    def deregister(self, index):
        self.mrs[index].close()

    # --- work

    def sge_list(self, pieces, lkey):
        key = self.mr.lkey if lkey is None else lkey
        return [SGE(self.mr.buf + offset, length, key) for offset, length in pieces]

    def post_recv(self, pieces, wr_id=0, lkey=None):
        """pieces: list of (offset, length) in the region. Returns errno."""
        sges = self.sge_list(pieces, lkey)
        wr = RecvWR(wr_id=wr_id, num_sge=len(sges), sg=sges)
        try:
            (self.srq or self.qp).post_recv(wr)
        except PyverbsRDMAError as ex:
            return ex.error_code
        return 0

    def post_send(self, op, pieces, wr_id=0, flags=SIGNALED, lkey=None, imm=0,
                  remote_offset=0, rkey=None, raddr=None, compare=0, swap=0,
                  dest_qpn=None, qkey=QKEY, **route):
        """Post one work request. Returns errno."""
        sges = self.sge_list(pieces, lkey)
        wr = SendWR(wr_id=wr_id, opcode=OPS[op], num_sge=len(sges), sg=sges,
                    imm_data=imm, send_flags=flags)
        remote = self.remote
        address = remote['addr'] + remote_offset if raddr is None else raddr
        key = remote['rkey'] if rkey is None else rkey
        if op in ('CAS', 'FADD'):
            wr.set_wr_atomic(key, address, compare, swap)
        elif op.startswith('WRITE') or op == 'READ':
            wr.set_wr_rdma(key, address)
        if self.type == 'UD':
            wr.set_wr_ud(self.address_handle(remote['gid'], route),
                         remote['qpn'] if dest_qpn is None else dest_qpn, qkey)
        try:
            self.qp.post_send(wr)
        except PyverbsRDMAError as ex:
            return ex.error_code
        return 0

    def build_inline(self, length, wr_id):
        """SEND from the start of the region by ibv_wr_*() of an extended QP. Returns errno."""
        self.qp.wr_start()
        self.qp.wr_id, self.qp.wr_flags = wr_id, SIGNALED
        self.qp.wr_send()
        self.qp.wr_set_inline_data(self.mr.buf, length)
        try:
            self.qp.wr_complete()
        except PyverbsRDMAError as ex:
            return ex.error_code
        return 0

    def bind_window(self):
        """Returns the key of a new type 2 window."""
        mr = MR(self.pd, 4096, LOCAL | e.IBV_ACCESS_MW_BIND)
        mw = MW(self.pd, e.IBV_MW_TYPE_2)
        wr = SendWR(opcode=e.IBV_WR_BIND_MW)
        wr.set_bind_wr(mw, MWBindInfo(mr, mr.buf, 4096, e.IBV_ACCESS_REMOTE_WRITE))
        self.qp.post_send(wr)
        self.wait()
        self.mrs += [mw, mr]
        return wr.rkey

    def address_handle(self, gid, route):
        key = (gid, tuple(sorted(route.items())))
        if key not in self.ahs:
            self.ahs[key] = AH(self.pd, attr=self.route(gid, **route))
        return self.ahs[key]

    def wait(self, count=1, seconds=60, spin=False):
        """Up to count completions as dicts, in order."""
        done, end = [], time.monotonic() + seconds * SLOW
        while len(done) < count:
            n, wcs = self.cq.poll(count - len(done))
            # Debian 13's pyverbs uses members of an enum here, which repr() names
            done += [{'status': int(w.status), 'wr_id': w.wr_id, 'opcode': int(w.opcode),
                      'len': w.byte_len, 'imm': w.imm_data, 'flags': int(w.wc_flags),
                      'src_qp': w.src_qp, 'qpn': w.qp_num, 'sl': w.sl} for w in wcs[:n]]
            if n:
                continue
            if time.monotonic() > end:
                break
            if not spin:
                time.sleep(0.0005)
        return done

    def notify(self, solicited=False):
        self.cq.req_notify(solicited)

    def resize_cq(self, entries):
        self.cq.resize(entries)
        return self.cq.cqe

    def event(self, seconds=60):
        """Whether a completion event arrives in time (it is then acknowledged)."""
        fd = completion_fd(self.ctx.cmd_fd)
        if not select.select([fd], [], [], seconds * SLOW)[0]:
            return False
        self.channel.get_cq_event(self.cq)
        self.cq.ack_events(1)
        return True

    def async_event(self, seconds=60):
        """Name and number of the next asynchronous event, None if there is none."""
        if not select.select([async_fd(self.ctx)], [], [], seconds * SLOW)[0]:
            return None
        event = self.ctx.get_async_event()
        kind = event.event_type
        event.ack()
        return kind

    def srq_limit(self, limit):
        self.srq.modify(SrqAttr(max_wr=0, srq_limit=limit), e.IBV_SRQ_LIMIT)

    def close(self):
        for ah in self.ahs.values():
            ah.close()
        self.qp.close()
        if self.srq:
            self.srq.close()
        for mr in [self.mr, *self.mrs]:
            mr.close()
        self.cq.close()
        if self.channel:
            self.channel.close()
        self.pd.close()
        self.ctx.close()


def fds(kind):
    for fd in sorted(os.listdir('/proc/self/fd'), key=int):
        try:
            if kind in os.readlink('/proc/self/fd/' + fd):
                yield int(fd)
        except OSError:
            pass


def async_fd(ctx):
    """The event descriptor opened with this context (the next one)."""
    return next(fd for fd in fds('[infinibandevent]') if fd > ctx.cmd_fd)


def completion_fd(cmd_fd):
    """The completion channel's: the second event descriptor after the context's."""
    return [fd for fd in fds('[infinibandevent]') if fd > cmd_fd][1]


class RemoteEnd:
    """An End held by `verbs.py --serve`; every method call is forwarded."""

    def __init__(self, host, port, args, kwargs):
        self.type = kwargs.get('qp_type', 'RC')
        self.size = kwargs.get('size', 1 << 18)
        self.sock = socket.create_connection((host, port), timeout=300)
        self.file = self.sock.makefile('rwb')
        self.ask(None, args, kwargs)

    def ask(self, name, args, kwargs):
        pickle.dump((name, args, kwargs), self.file)
        self.file.flush()
        good, value = pickle.load(self.file)
        if not good:
            raise RuntimeError(value)
        return value

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.ask(name, args, kwargs)

    def close(self):
        self.ask('close', (), {})
        self.sock.close()


def serve(port):
    """Hold one End for each connection, one connection after the other."""
    listener = socket.create_server(('', port), reuse_port=True)
    print(f'serving on {port}', flush=True)
    while True:
        conn, _ = listener.accept()
        if os.fork():
            conn.close()
            continue
        file, end = conn.makefile('rwb'), None
        while True:
            try:
                name, args, kwargs = pickle.load(file)
            except EOFError:
                os._exit(0)
            try:
                if name is None:
                    end, value = End(*args, **kwargs), None
                else:
                    value = getattr(end, name)(*args, **kwargs)
                answer = (True, value)
            except Exception as ex:  # noqa: BLE001 - reported to the caller
                answer = (False, f'{type(ex).__name__}: {ex}')
            pickle.dump(answer, file)
            file.flush()


def arguments(doc):
    """The parser of a program with arguments for two devices and a GID index of each."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument('a')
    parser.add_argument('index_a', type=int)
    parser.add_argument('b')
    parser.add_argument('index_b', type=int)
    return parser


def connect(a, b, **attrs):
    """Bring both ends to RTS, connected to each other."""
    ia, ib = a.info(), b.info()
    a.connect(ib, **attrs)
    b.connect(ia, **attrs)


FAILED = 0


def check(what, expected, got):
    """Print a line: ok or FAIL with expected and got."""
    global FAILED
    good = got in expected if isinstance(expected, (set, tuple)) else got == expected
    if good:
        print(f'ok   {what}', flush=True)
    else:
        FAILED += 1
        print(f'FAIL {what}: expected {expected!r}, got {got!r}', flush=True)
    return good


def statuses(completions):
    return [c['status'] for c in completions]


def finish():
    sys.exit(1 if FAILED else 0)


if __name__ == '__main__':
    if len(sys.argv) == 3 and sys.argv[1] == '--serve':
        serve(int(sys.argv[2]))
    sys.exit('usage: verbs.py --serve PORT')
