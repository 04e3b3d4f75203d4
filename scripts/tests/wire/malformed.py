#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Packets that nobody should send, thrown at a device.

usage: malformed.py A INDEX_A B INDEX_B --netns PATH --netdev NAME --src-mac M
           --dst-mac M --src-ip IP --dst-ip IP --version v1|v2 [--count-drops]

Frames are sent through a packet socket on B's netdev, as if B had sent them, and
reach A. Every class must move one of A's drop counters (--count-drops), harm no other
QP, and checked traffic must still pass between A and B after each class.
"""

import glob
import ipaddress
import struct
import time

import frames
import verbs
from frames import bth, gid, reth, rng
from verbs import SUCCESS, check, statuses

parser = verbs.arguments(__doc__)
frames.add_arguments(parser)
parser.add_argument('--count-drops', action='store_true')
parser.add_argument('--fuzz', type=int, default=1500, help='random packets of each kind')
args = parser.parse_args()

WIRE = frames.Wire(args)
frame, throw = WIRE.frame, WIRE.throw
SRC, V1 = WIRE.src, WIRE.v1


# --- victims --------------------------------------------------------------------

class Victim:
    """An RC connection whose A side is the target, created again if it breaks."""

    def __init__(self):
        self.new()

    def new(self):
        self.a = verbs.End.open(args.a, args.index_a)
        self.b = verbs.End.open(args.b, args.index_b)
        verbs.connect(self.a, self.b, sq_psn=100, rq_psn=100, timeout=17)
        info = self.a.info()
        self.qpn, self.rkey, self.addr = info['qpn'], info['rkey'], info['addr']
        for i in range(32):
            self.a.post_recv([(0, 4096)], wr_id=i)

    def fresh(self):
        """Create it again, as it may have been damaged (or have advanced)."""
        self.a.close()
        self.b.close()
        self.new()


def drops():
    total = 0
    for path in glob.glob(f'/sys/class/infiniband/{args.a}/ports/1/hw_counters/rx_dropped_*') + \
            glob.glob(f'/sys/class/infiniband/{args.a}/ports/1/hw_counters/rx_icrc_encapsulated'):
        with open(path) as file:
            total += int(file.read())
    return total


def healthy(label):
    """Traffic on other QPs, with its data checked."""
    a = verbs.End.open(args.a, args.index_a)
    b = verbs.End.open(args.b, args.index_b)
    verbs.connect(a, b)
    data = rng.randbytes(3000)
    for one, two in ((a, b), (b, a)):
        two.post_recv([(8192, 4096)])
        one.fill(data)
        one.post_send('SEND', [(0, 3000)])
        got = (statuses(one.wait(1, 30)), statuses(two.wait(1, 30)), two.read(3000, 8192) == data)
        if got != ([SUCCESS], [SUCCESS], True):
            check(f'{label}: other traffic afterwards', repr(([SUCCESS], [SUCCESS], True)), repr(got))
            return
    a.close()
    b.close()
    check(f'{label}: other traffic afterwards', True, True)


def volley(label, volleys, least=1):
    """Send them all; the drop counters must grow by at least this much, and count none twice."""
    before, count = drops(), 0
    for data in volleys:
        throw(data)
        count += 1
    if args.count_drops:
        end = time.monotonic() + 60
        while drops() - before < least and time.monotonic() < end:
            time.sleep(0.02)
        moved = drops() - before
        check(f'{label}: {count} packets, {moved} counted as dropped, at least {least}', True,
              least <= moved <= count)
    healthy(label)


victim = Victim()
ud = verbs.End.open(args.a, args.index_a, qp_type='UD')
ud.connect({'qpn': 0, 'gid': victim.b.info()['gid'], 'addr': 0, 'rkey': 0})
ud_qpn = ud.info()['qpn']


def right_packets():
    """(name, transport bytes) of packets that would be valid for the target."""
    q, psn = victim.qpn, 100
    deth = struct.pack('!II', verbs.QKEY, 77)
    yield 'WRITE_ONLY', bth(0x0a, q, psn) + reth(victim.addr, victim.rkey, 64) + b'w' * 64
    yield 'WRITE_FIRST', bth(0x06, q, psn) + reth(victim.addr, victim.rkey, 2048) + b'w' * 1024
    yield 'WRITE_ONLY_IMM', bth(0x0b, q, psn) + reth(victim.addr, victim.rkey, 4) + b'imm!' + b'w' * 4
    yield 'SEND_ONLY', bth(0x04, q, psn) + b's' * 64
    yield 'SEND_ONLY_IMM', bth(0x05, q, psn) + b'imm!' + b's' * 16
    yield 'SEND_ONLY_INV', bth(0x17, q, psn) + struct.pack('!I', 5) + b's' * 16
    yield 'READ_REQUEST', bth(0x0c, q, psn) + reth(victim.addr, victim.rkey, 64)
    yield 'COMPARE_SWAP', bth(0x13, q, psn) + struct.pack('!QIQQ', victim.addr, victim.rkey, 1, 2)
    yield 'FETCH_ADD', bth(0x14, q, psn) + struct.pack('!QIQQ', victim.addr, victim.rkey, 1, 0)
    yield 'ACKNOWLEDGE', bth(0x11, q, psn) + struct.pack('!I', 0x1f000001)
    yield 'NAK', bth(0x11, q, psn) + struct.pack('!I', 0x60000001)
    yield 'RNR_NAK', bth(0x11, q, psn) + struct.pack('!I', 0x21000001)
    yield 'ATOMIC_ACK', bth(0x12, q, psn) + struct.pack('!IQ', 0x1f000001, 3)
    yield 'READ_RESPONSE_ONLY', bth(0x10, q, psn) + struct.pack('!I', 0x1f000001) + b'r' * 64
    yield 'READ_RESPONSE_MIDDLE', bth(0x0e, q, psn) + b'r' * 1024
    yield 'UD_SEND_ONLY', bth(0x64, ud_qpn, 0) + deth + b'u' * 64
    yield 'UD_SEND_ONLY_IMM', bth(0x65, ud_qpn, 0) + deth + b'imm!' + b'u' * 16
    yield 'QP1', bth(0x64, 1, 0) + struct.pack('!II', 0x80010000, 1) + b'\1\7\2\3' + bytes(252)
    yield 'CNP', bth(0x81, q, 0) + bytes(16)


LABEL = f'{args.version} IPv{SRC.version}'


def name(text):
    return f'{LABEL} {text}'


# Truncated, with lengths in the headers and ICRC adapted.
for what, packet in list(right_packets()):
    cuts = [packet[:n] for n in range(len(packet) if len(packet) < 90 else 90)]
    # A packet shorter than the headers of its opcode cannot be valid. (ACKs and the like to an
    # idle QP are dropped silently as ghosts, so only the shortest ones of these, or those to
    # QP1, are counted.)
    volley(name(f'{what} truncated at {len(cuts)} lengths'), (frame(cut) for cut in cuts), least=8)
    victim.fresh()

# Truncated on the wire: IP or GRH lengths are those of the whole packet.
whole = frame(next(right_packets())[1])
volley(name('whole frame cut at each length'), [whole[:n] for n in range(14, len(whole))], least=1 if V1 else 0)
victim.fresh()


def lying_lengths():
    for what, packet in list(right_packets()):
        for lie in (-8, -4, -1, 1, 4, 100, 60000):
            yield frame(packet, extra=lie)
            if not V1:
                yield frame(packet, udp_extra=lie)
                yield frame(packet, extra=lie, udp_extra=lie)
        yield frame(packet, tail=b'tail' * 10)


volley(name('lying GRH, IP and UDP lengths'), lying_lengths(), least=1)
victim.fresh()


def lying_reth():
    for opcode in (0x0a, 0x06, 0x0b, 0x2a, 0x26):
        for length in (0, 1, 63, 65, 1023, 1025, 1 << 31, (1 << 32) - 1):
            payload = b'w' * (1024 if opcode in (6, 0x26) else 64)
            yield frame(bth(opcode, victim.qpn, 100) + reth(victim.addr, victim.rkey, length) + payload)


volley(name('RETH length against payload'), lying_reth(), least=0)
victim.fresh()

KNOWN = set(range(0x00, 0x20)) | set(range(0x20, 0x2c)) | {0x64, 0x65, 0x81}
strange = [op for op in range(256) if op not in KNOWN]
volley(name('opcodes of no transport'),
       (frame(bth(op, victim.qpn, 100) + bytes(64)) for op in strange), least=len(strange) // 2)
victim.fresh()
volley(name('opcodes of another transport'),
       [frame(bth(op, victim.qpn, 100) + bytes(64)) for op in range(0x20, 0x2c)] +
       [frame(bth(op, ud_qpn, 100) + bytes(64)) for op in (4, 0x0a, 0x0c, 0x11, 0x24)], least=5)
victim.fresh()
volley(name('pad count against payload'),
       [frame(bth(0x04, victim.qpn, 100, pad=pad) + b'x' * size) for pad in range(4) for size in (0, 1, 2, 3)
        if pad > size or (size + 0) % 4] +
       [frame(bth(0x0c, victim.qpn, 100, pad=3) + reth(victim.addr, victim.rkey, 64))], least=1)
victim.fresh()
volley(name('wrong ICRC'),
       [frame(packet, icrc=lambda right, bit=bit: right ^ 1 << bit) for bit in range(32)
        for what, packet in right_packets() if what in ('WRITE_ONLY', 'SEND_ONLY', 'QP1', 'UD_SEND_ONLY')] +
       [frame(next(right_packets())[1], icrc=lambda right: 0)], least=128)
victim.fresh()
volley(name('transport header version'),
       [frame(bth(0x04, victim.qpn, 100, version=v) + b's' * 8) for v in range(1, 16)], least=15)
victim.fresh()
volley(name('P_Keys of another partition'),
       [frame(bth(0x04, victim.qpn, 100, pkey=key) + b's' * 8) for key in (0, 1, 0x8000, 0x1234, 0x9234)], least=3)
victim.fresh()
volley(name('Q_Keys of another'),
       [frame(bth(0x64, ud_qpn, 100) + struct.pack('!II', key, 77) + b's' * 8)
        for key in (0, 1, 0x80010000, 0x11111110)], least=4)
volley(name('QP numbers of nobody'),
       [frame(bth(0x04, qpn, 100) + b's' * 8) for qpn in (0xfffffe, 0x7fffff, 0xabcdef, victim.qpn + 0x10000)],
       least=3)
volley(name('QP 0, a multicast QP'),
       [frame(bth(0x64, qpn, 100) + struct.pack('!II', verbs.QKEY, 77) + b's' * 256) for qpn in (0, 0xffffff)],
       least=1)

idle = verbs.End.open(args.a, args.index_a)
idle_qpn = idle.info()['qpn']
volley(name('a QP in RESET'), [frame(bth(0x04, idle_qpn, 100) + b's' * 8)] * 4, least=4)
idle.connect(victim.b.info(), state='INIT')
volley(name('a QP in INIT'), [frame(bth(0x04, idle_qpn, 100) + b's' * 8)] * 4, least=4)
idle.modify('ERR')
volley(name('a QP in ERROR'), [frame(bth(0x04, idle_qpn, 100) + b's' * 8)] * 4, least=4)
idle.close()

if V1:
    packet = bth(0x04, victim.qpn, 100) + b's' * 8
    volley(name('a GRH for somebody else'),
           [frame(packet, dgid=gid(ipaddress.ip_address(ip))) for ip in ('10.9.0.77', 'fd09::77', '::')], least=3)
    volley(name('a GRH with another version or next header'),
           [frame(packet, ipver=v) for v in (0, 4, 7, 15)] + [frame(packet, nxthdr=n) for n in (0, 6, 17, 59, 255)],
           least=5)
volley(name('from somebody the QP is not connected to'),
       [frame(bth(0x04, victim.qpn, 100) + b's' * 8, **({'sgid': gid(ipaddress.ip_address('10.9.0.66'))} if V1 else {}))]
       if V1 else [frame(bth(0x04, victim.qpn, 100, pkey=0x7ffe) + b's' * 8)], least=1)
victim.fresh()

# Every distance from the expected PSN.
volley(name('PSNs far and near'),
       [frame(bth(op, victim.qpn, (100 + step) % 2**24) + (reth(victim.addr, victim.rkey, 8) if op in (0x0a, 0x0c) else b'')
              + (b'' if op == 0x0c else b'd' * 8))
        for step in (1, 2, 1000, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff) for op in (0x04, 0x0a, 0x0c)],
       least=0)
victim.fresh()
# Middle and last packets without a first; first packets without a last.
volley(name('segments out of their order'),
       [frame(bth(op, victim.qpn, 100) + b'd' * 1024) for op in (1, 2, 7, 8, 3, 9)] +
       [frame(bth(0x00, victim.qpn, 100 + n) + b'd' * 1024) for n in range(3)], least=0)
victim.fresh()
# ATOMIC and READ responses and acknowledgements that were not requested.
volley(name('answers to nothing'),
       [frame(bth(op, victim.qpn, psn) + struct.pack('!I', syndrome << 24) + bytes(extra))
        for op, extra in ((0x11, 0), (0x12, 8), (0x10, 64), (0x0d, 1024), (0x0f, 8))
        for psn in (0, 99, 100, 101, 0x800064) for syndrome in (0x1f, 0x20, 0x60, 0x61, 0x62, 0x63, 0x64, 0x7f)],
       least=0)
victim.fresh()


# --- valid packets at the wrong time ----------------------------------------------

def stale_answers():
    """An old or early NAK, duplicated or delayed by the network, changes nothing."""
    for what, syndrome in (('RNR NAK', 0x21), ('sequence NAK', 0x60), ('invalid request', 0x61),
                           ('access', 0x62), ('operational', 0x63), ('ACK', 0x1f)):
        for step, when in ((-1, 'the last acknowledged'), (-3, 'an older'), (0, 'the next'), (5, 'a future')):
            victim.fresh()
            a, b = victim.a, victim.b
            for _ in range(4):
                a.post_send('WRITE', [(0, 16)], remote_offset=4096)
            if statuses(a.wait(4, 30)) != [SUCCESS] * 4:
                check(name('stale answers: WRITEs before'), True, False)
                return
            throw(frame(bth(0x11, victim.qpn, 104 + step) + struct.pack('!I', syndrome << 24 | 4)))
            time.sleep(0.02)
            b.post_recv([(8192, 64)], wr_id=1)
            b.post_recv([(8192 + 64, 64)], wr_id=2)
            a.fill(b'first of the two')
            a.post_send('SEND', [(0, 16)])
            sent = statuses(a.wait(1, 30))
            a.fill(b'the other of two')
            a.post_send('SEND', [(0, 16)])
            sent += statuses(a.wait(1, 30))
            received = [(done['status'], done['wr_id']) for done in b.wait(2)]
            got = (sent, received, b.read(16, 8192), b.read(16, 8192 + 64))
            check(name(f'{what} for {when} PSN'), repr(
                ([SUCCESS] * 2, [(SUCCESS, 1), (SUCCESS, 2)], b'first of the two', b'the other of two')), repr(got))


def reserved_opcodes():
    """RC: still a request, which ends the connection."""
    for op in (0x15, 0x18, 0x1f):
        victim.fresh()
        throw(frame(bth(op, victim.qpn, 100) + b'?' * 8))
        end = time.monotonic() + 60
        while victim.a.state() != 'ERR' and time.monotonic() < end:
            time.sleep(0.02)
        check(name(f'reserved opcode {op:#x}: the QP'), 'ERR', victim.a.state())


def broken_uc_message():
    """A first packet without its last, then a WRITE: no receive completes for it."""
    a = verbs.End.open(args.a, args.index_a, qp_type='UC')
    b = verbs.End.open(args.b, args.index_b, qp_type='UC')
    verbs.connect(a, b, sq_psn=100, rq_psn=100)
    info = a.info()
    for i in range(2):
        a.post_recv([(4096 * i, 4096)], wr_id=i)
    throw(frame(bth(0x20, info['qpn'], 100) + b'1' * 1024))
    throw(frame(bth(0x2a, info['qpn'], 105) + reth(info['addr'] + 65536, info['rkey'], 8) + b'written!'))
    check(name('UC: broken SEND, then a WRITE: no receive completes'), [], statuses(a.wait(1, 0.5)))
    end = time.monotonic() + 60
    while a.read(8, 65536) != b'written!' and time.monotonic() < end:
        time.sleep(0.02)
    check(name('UC: the WRITE arrived'), b'written!', a.read(8, 65536))
    throw(frame(bth(0x24, info['qpn'], 106) + b'whole'.ljust(8)))
    check(name('UC: the next SEND completes the first receive'), repr([(SUCCESS, 0, 8)]),
          repr([(done['status'], done['wr_id'], done['len']) for done in a.wait(1, 30)]))
    a.close()
    b.close()


def oversized_datagrams():
    """Longer than the receive buffer: dropped, for QP1 as for any UD QP."""
    a = verbs.End.open(args.a, args.index_a, qp_type='UD')
    a.connect({'qpn': 0, 'gid': victim.b.info()['gid'], 'addr': 0, 'rkey': 0})
    qpn = a.info()['qpn']
    a.post_recv([(0, 100)], wr_id=1)
    deth = struct.pack('!II', verbs.QKEY, 77)
    throw(frame(bth(0x64, qpn, 0) + deth + b'u' * 400))
    check(name('UD: longer than its buffer: no completion'), [], statuses(a.wait(1, 0.3)))
    check(name('UD: and the QP is well'), 'RTS', a.state())
    throw(frame(bth(0x64, qpn, 0) + deth + b'u' * 60))
    check(name('UD: the next one that fits'), repr([(SUCCESS, 1, 100)]),
          repr([(done['status'], done['wr_id'], done['len']) for done in a.wait(1, 30)]))
    a.close()
    for size in (260, 1000, 4096):
        throw(frame(bth(0x64, 1, 0) + struct.pack('!II', 0x80010000, 1) + b'\1\7\2\3' + bytes(size - 4)))


stale_answers()
reserved_opcodes()
broken_uc_message()
oversized_datagrams()      # connections after this program show that QP1 works
victim.fresh()


# --- random, from a fixed seed ----------------------------------------------------

def random_frames(count):
    """Noise after valid network headers, with a valid ICRC or not."""
    for _ in range(count):
        body = rng.randbytes(rng.choice((0, 1, 4, 11, 12, 13, 16, 20, 28, 40, 60, 100, 300, 1100)))
        if len(body) >= 12 and rng.random() < 0.8:
            qpn = rng.choice((victim.qpn, ud_qpn, 1, 0, 0xffffff))
            body = bytes([rng.choice((body[0], rng.randrange(0x18), 0x64, 0x65))]) + \
                bytes([body[1] & 0xf0]) + b'\xff\xff' + struct.pack('!I', qpn) + \
                struct.pack('!I', 1 << 31 | (100 + rng.randrange(-3, 4))) + body[12:]
        yield frame(body, icrc=None if rng.random() < 0.8 else lambda right: rng.getrandbits(32))


def mutants(count):
    """Valid packets with a few bytes changed, and a valid ICRC."""
    packets = [packet for _, packet in right_packets()]
    for _ in range(count):
        packet = bytearray(rng.choice(packets))
        for _ in range(rng.randrange(1, 5)):
            packet[rng.randrange(min(len(packet), 44))] = rng.choice((0, 1, 0x7f, 0x80, 0xff, rng.getrandbits(8)))
        if rng.random() < 0.3:
            packet = packet[:rng.randrange(len(packet))]
        yield frame(bytes(packet))


for number in range(4):
    volley(name(f'noise {number}'), random_frames(args.fuzz // 4), least=args.fuzz // 20)
    victim.fresh()
    volley(name(f'mutants {number}'), mutants(args.fuzz // 4), least=1)
    victim.fresh()


def whole_noise(count):
    for _ in range(count):
        yield WIRE.ethernet + rng.randbytes(rng.randrange(0, 200))


volley(name('noise behind the EtherType'), whole_noise(args.fuzz // 2), least=1 if V1 else 0)
verbs.finish()
