#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every operation with its data checked: ops.py A INDEX_A B INDEX_B [options]

A and B are devices of this host, or HOST:PORT/DEVICE of a `verbs.py --serve`.
Sizes cover zero, every pad count, both sides of each MTU boundary and messages
of many packets; PSNs start just before the 24-bit wrap.
"""

import random
import struct

import verbs
from verbs import SUCCESS, check, statuses

parser = verbs.arguments(__doc__)
parser.add_argument('--types', default='RC,UC,UD')
parser.add_argument('--mtu', type=int, default=1024)
parser.add_argument('--sl', type=int, default=0)
parser.add_argument('--tclass', type=int, default=0)
parser.add_argument('--quick', action='store_true', help='few sizes')
parser.add_argument('--rounds', type=int, default=1)
parser.add_argument('--wait', type=float, default=60, help='seconds for one completion')
parser.add_argument('--timeout', type=int, default=17, help='local ACK timeout of RC QPs')
parser.add_argument('--label', default='')
parser.add_argument('--unfenced', action='store_true', help='no request waits for READs and atomics')
parser.add_argument('--ours', action='store_true', help='also what rdma_rxe does wrong')
parser.add_argument('--received-sl', type=lambda text: int(text, 0),
                    help='service level that completions of datagrams report')
args = parser.parse_args()

rng = random.Random(4791)
MTU = args.mtu
SIZES = [0, 1, 2, 3, 4, 5, 8, 63, 64, MTU - 1, MTU, MTU + 1, 2 * MTU, 4 * MTU + 3, 65536, 100001]
if args.quick:
    SIZES = [0, 1, 2, 3, 64, MTU, MTU + 1, 3 * MTU + 3]
FAR = 1 << 17           # start of the target half of each region
ROUTE = {'sl': args.sl, 'traffic_class': args.tclass}


def name(text):
    return f'{args.label}{text}'


def fresh(end, length, offset):
    """Put random bytes at the offset; returns them."""
    data = rng.randbytes(length)
    if length:
        end.fill(data, offset)
    return data


def blank(end, length, offset):
    end.fill(b'\xee' * (length + 8), offset)


def arrived(end, data, offset):
    """The data has arrived and the eight bytes after it are unchanged."""
    return end.read(len(data) + 8, offset) == data + b'\xee' * 8


def send(a, b, size, imm=None, inline=False, pieces=None, extra=None, built=False, key=None):
    data = fresh(a, size, 0)
    blank(b, size, FAR)
    grh = verbs.GRH if a.type == 'UD' else 0
    b.post_recv([(FAR - grh, size + grh + 8)], wr_id=7)
    flags = verbs.SIGNALED | (verbs.e.IBV_SEND_INLINE if inline else 0) | (extra or 0)
    kind = 'SEND_INV' if key else 'SEND' if imm is None else 'SEND_IMM'
    if built:
        ret = a.build_inline(size, wr_id=9)
    else:
        ret = a.post_send(kind, pieces or [(0, size)], wr_id=9, flags=flags, imm=key or imm or 0,
                          **ROUTE_UD(a))
    what = name(f'{a.type} {kind} {size}{" inline" if inline else ""}{" pieces" if pieces else ""}'
                f'{" by ibv_wr_send()" if built else ""}')
    if ret:
        return done_well(what + ' posted', 0, ret)
    sent, received = a.wait(1, args.wait), b.wait(1, args.wait)
    got = (statuses(sent), statuses(received), [r['len'] - grh for r in received],
           [r['wr_id'] for r in received], arrived(b, data, FAR))
    good = done_well(what, repr(([SUCCESS], [SUCCESS], [size], [7], True)), repr(got))
    if good and a.type == 'UD' and args.received_sl is not None:
        check(what + ' service level', args.received_sl, received[0]['sl'])
    if good and imm is not None:
        check(what + ' immediate', imm, received[0]['imm'])
    if good and key:
        check(what + ' key', [key, verbs.e.IBV_WC_WITH_INV],
              [received[0]['imm'], received[0]['flags'] & verbs.e.IBV_WC_WITH_INV])


def ROUTE_UD(end):
    return ROUTE if end.type == 'UD' else {}


def write(a, b, size, imm=None):
    data = fresh(a, size, 0)
    blank(b, size, FAR)
    if imm is not None:
        b.post_recv([(0, 0)], wr_id=8)
    kind = 'WRITE' if imm is None else 'WRITE_IMM'
    a.post_send(kind, [(0, size)], imm=imm or 0, remote_offset=FAR)
    what = name(f'{a.type} {kind} {size}')
    done = a.wait(1, args.wait)
    if imm is not None:
        received = b.wait(1, args.wait)
        done_well(what + ' notice', repr(([SUCCESS], [imm], [size])),
              repr((statuses(received), [r['imm'] for r in received], [r['len'] for r in received])))
    elif a.type == 'UC':
        # Nothing reports the arrival of an unacknowledged WRITE: a SEND after it does.
        b.post_recv([(0, 8)])
        a.post_send('SEND', [(0, 0)])
        a.wait(1, args.wait)
        b.wait(1, args.wait)
    done_well(what, repr(([SUCCESS], True)), repr((statuses(done), arrived(b, data, FAR))))


def read(a, b, size):
    data = fresh(b, size, 0)
    blank(a, size, FAR)
    a.post_send('READ', [(FAR, size)], remote_offset=0)
    done = a.wait(1, args.wait)
    done_well(name(f'RC READ {size}'), repr(([SUCCESS], [size] if size else [0], True)),
          repr((statuses(done), [c['len'] for c in done], arrived(a, data, FAR))))


def atomics(a, b):
    old = rng.getrandbits(64)
    b.fill(struct.pack('=Q', old), FAR)
    a.post_send('FADD', [(0, 8)], remote_offset=FAR, compare=5)
    done = a.wait(1, args.wait)
    got = (statuses(done), struct.unpack('=Q', a.read(8, 0))[0], struct.unpack('=Q', b.read(8, FAR))[0])
    done_well(name('RC FETCH_ADD'), repr(([SUCCESS], old, (old + 5) % 2**64)), repr(got))
    now = (old + 5) % 2**64
    for compare, swap, after, what in ((now, 42, 42, 'equal'), (7, 9, 42, 'unequal')):
        before = now if what == 'equal' else 42
        a.post_send('CAS', [(0, 8)], remote_offset=FAR, compare=compare, swap=swap)
        done = a.wait(1, args.wait)
        got = (statuses(done), struct.unpack('=Q', a.read(8, 0))[0], struct.unpack('=Q', b.read(8, FAR))[0])
        done_well(name(f'RC COMPARE_SWAP {what}'), repr(([SUCCESS], before, after)), repr(got))


def many(a, b, count=40):
    """A full queue of mixed requests: all complete, in order, with fenced READs."""
    fence = 0 if args.unfenced else verbs.e.IBV_SEND_FENCE
    fresh(a, 4096, 0)
    fresh(b, 4096, 0)
    for i in range(count):
        op = ('WRITE', 'READ', 'WRITE', 'FADD')[i % 4]
        flags = verbs.SIGNALED | (fence if i % 3 == 0 else 0)
        pieces = [(FAR + 4096 * (i % 8), 8)] if op == 'FADD' else [(FAR + 4096 * (i % 8), 2000)]
        a.post_send(op, pieces, wr_id=i, flags=flags, remote_offset=FAR + 8 * 512 * (i % 8), compare=1)
    done = a.wait(count, args.wait * 2)
    done_well(name(f'RC {count} mixed requests complete in order'), repr([(0, i) for i in range(count)]),
          repr([(c['status'], c['wr_id']) for c in done]))


def unsignalled(a, b):
    for i in range(5):
        a.post_send('WRITE', [(0, 64)], wr_id=i, flags=0, remote_offset=FAR)
    a.post_send('WRITE', [(0, 64)], wr_id=99, remote_offset=FAR)
    done = a.wait(1, args.wait)
    more = a.wait(1, 0.3)
    done_well(name(f'{a.type} unsignalled requests complete silently'), repr(([(0, 99)], [])),
          repr(([(c['status'], c['wr_id']) for c in done], more)))


def many_sges(a, b):
    """Gather from four pieces, scatter to four others."""
    data = fresh(a, 4000, 0)
    b.fill(b'\xee' * 8192, FAR)
    grh = verbs.GRH if a.type == 'UD' else 0
    total = 1000 if a.type == 'UD' else 3997
    cut = [(0, 1), (1, total // 2), (1 + total // 2, 3), (4 + total // 2, total - 4 - total // 2)]
    spread = [(FAR, grh + 5), (FAR + 1024, 700), (FAR + 2048, 1), (FAR + 4096, 4000)]
    b.post_recv(spread)
    a.post_send('SEND', cut, **ROUTE_UD(a))
    sent, received = a.wait(1, args.wait), b.wait(1, args.wait)
    whole = b''.join(b.read(length, offset) for offset, length in spread)[grh:grh + total]
    done_well(name(f'{a.type} SEND gathered from 4 and scattered to 4 pieces'),
          repr(([SUCCESS], [SUCCESS], True)),
          repr((statuses(sent), statuses(received), whole == data[:total])))


def run(kind):
    """All of one QP type; an error ends it, as the QP is in ERROR then."""
    try:
        run_all(kind)
    except Dead:
        print(f'# {kind}: the rest is left out, its QP is in ERROR', flush=True)


class Dead(Exception):
    """A request completed with an error."""


def done_well(what, expected, got):
    if not check(what, expected, got):
        raise Dead
    return True


def run_all(kind):
    a = verbs.End.open(args.a, args.index_a, qp_type=kind, extended=args.ours)
    b = verbs.End.open(args.b, args.index_b, qp_type=kind, extended=args.ours)
    wrap = 0xffffff - 20
    route = {} if kind == 'UD' else ROUTE
    verbs.connect(a, b, mtu=MTU, sq_psn=wrap, rq_psn=wrap, timeout=args.timeout, **route)
    for one, two in ((a, b), (b, a)):
        for size in SIZES:
            if kind == 'UD' and size > MTU:
                continue
            send(one, two, size)
            if kind != 'UD':
                write(one, two, size)
            if kind == 'RC':
                read(one, two, size)
        for size in (0, 13, MTU):
            send(one, two, size, imm=0x1234abcd)
            if kind != 'UD':
                write(one, two, size, imm=0xfeedbeef)
        send(one, two, 29, inline=True)
        if args.ours and kind != 'UD':
            send(one, two, 29, built=True)
        if args.ours and kind == 'RC':
            send(one, two, 29, key=two.bind_window())
        many_sges(one, two)
        if kind == 'RC':
            atomics(one, two)
            many(one, two)
        if kind != 'UD':
            unsignalled(one, two)
    a.close()
    b.close()


for _ in range(args.rounds):
    for kind in args.types.split(','):
        run(kind)
verbs.finish()
