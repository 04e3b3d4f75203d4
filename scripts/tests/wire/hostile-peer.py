#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A peer that tries to exhaust memory, or acknowledges what it has not received.

usage: hostile-peer.py A INDEX_A B INDEX_B --netns PATH --netdev NAME --src-mac M
           --dst-mac M --src-ip IP --dst-ip IP --version v1|v2

Frames are sent through a packet socket on B's netdev, as if B had sent them, and reach A.
"""

import random
import struct
import time

import frames
import verbs
from frames import bth
from verbs import SUCCESS, check, statuses

SEND_ONLY, READ_RESPONSE_ONLY, ACKNOWLEDGE = 0x04, 0x10, 0x11
ACK, NAK_PSN = 0x1f, 0x60
NOBODY = 0xfffff0       # a QP number that does not exist
FIRST = 100             # PSN, in both directions
SLOTS = 128             # PSNs after a gap, including the gap itself
PORT_BYTES = 16 << 20
AGE_S = 2
QPS = 64
PAYLOAD = 4096

parser = verbs.arguments(__doc__)
frames.add_arguments(parser)
args = parser.parse_args()
WIRE = frames.Wire(args)
COUNTERS = f'/sys/class/infiniband/{args.a}/ports/1/hw_counters'
noise = random.Random(7).randbytes(PAYLOAD)


def count(name):
    with open(f'{COUNTERS}/{name}') as file:
        return int(file.read())


def reaches(name, least, seconds=60):
    """Wait for a counter; returns its value."""
    until = time.monotonic() + seconds * verbs.SLOW
    while count(name) < least and time.monotonic() < until:
        time.sleep(0.01)
    return count(name)


def settle():
    """Wait until all frames sent were processed, as shown by one sent after them."""
    seen = count('rx_dropped_no_qp')
    WIRE.throw(WIRE.frame(bth(SEND_ONLY, NOBODY, 0)))
    reaches('rx_dropped_no_qp', seen + 1)


def grown(thrown, *names):
    before = [count(name) for name in names]
    for frame in thrown:
        WIRE.throw(frame)
    settle()
    return [count(name) - was for name, was in zip(names, before)]


def ahead(end, packets, first=1):
    """Packets after a missing one"""
    qpn = end.info()['qpn']
    return [WIRE.frame(bth(SEND_ONLY, qpn, FIRST + first + i, ack=False) + noise)
            for i in range(packets)]


def target(b):
    """An end of A with B's address as its peer; B's QP knows nothing of it."""
    end = verbs.End.open(args.a, args.index_a, size=1 << 14, depth=8)
    end.connect(b.info(), mtu=4096, sq_psn=FIRST, rq_psn=FIRST)
    return end


def lives(a, b, what):
    a.post_recv([(0, 4096)])
    b.post_send('SEND', [(0, 1000)])
    check(f'{what}: the QP is not in ERR', repr(([SUCCESS], [SUCCESS])),
          repr((statuses(b.wait(1)), statuses(a.wait(1)))))

# --- memory -----------------------------------------------------------------------


def gap_on_one():
    a, b = verbs.End.open(args.a, args.index_a), verbs.End.open(args.b, args.index_b)
    verbs.connect(a, b, mtu=4096, sq_psn=FIRST, rq_psn=FIRST)
    check('after a gap 127 packets are held', '[127, 0]',
          repr(grown(ahead(a, SLOTS - 1), 'rx_held', 'rx_held_dropped')))
    check('none further ahead is held', '[0, 20]',
          repr(grown(ahead(a, 20, first=SLOTS), 'rx_held', 'rx_held_dropped')))
    dropped = count('rx_held_dropped')
    check('they are freed after a while', dropped + SLOTS - 1,
          reaches('rx_held_dropped', dropped + SLOTS - 1))
    lives(a, b, 'gaps')
    a.close()
    b.close()


def room_again(b, when):
    """If the port held too much, another QP would have room for only a part."""
    end = target(b)
    check(f'{when} there is room again', f'[{SLOTS - 1}, 0]',
          repr(grown(ahead(end, SLOTS - 1), 'rx_held', 'rx_held_dropped')))
    end.close()


def gaps_on_many():
    b = verbs.End.open(args.b, args.index_b)
    ends = [target(b) for _ in range(QPS)]
    held, dropped, came = count('rx_held'), count('rx_held_dropped'), count('rx_packets')
    thrown = [frame for end in ends for frame in ahead(end, SLOTS - 1)]
    began = time.monotonic()
    for frame in thrown:
        WIRE.throw(frame)
    settle()
    took = time.monotonic() - began
    check('all packets arrived', len(thrown), reaches('rx_packets', came + len(thrown)) - came)
    held = count('rx_held') - held
    if took < AGE_S:        # otherwise the first were freed, and made room
        check('they hold no more than the port may', True, 0 < held * PAYLOAD <= PORT_BYTES)
        check('and more than half of that', True, held * PAYLOAD > PORT_BYTES // 4)
    print(f'# {len(thrown)} packets on {QPS} QPs in {took:.2f} s: {held} held')
    check('each is counted as dropped in the end', len(thrown),
          reaches('rx_held_dropped', dropped + len(thrown)) - dropped)
    room_again(b, 'then')
    for frame in thrown:
        WIRE.throw(frame)
    settle()
    for end in ends:
        end.modify('RESET')
    room_again(b, 'after RESET')
    for end in ends:
        end.close()
    b.close()

# --- acknowledgements -----------------------------------------------------------------


def answer(qpn, opcode, psn, syndrome=ACK, payload=b''):
    return WIRE.frame(bth(opcode, qpn, psn, ack=False) + struct.pack('!I', syndrome << 24 | 1) + payload)


def acknowledgements():
    """No process uses B's QP: A only receives frames sent here. It never gives up."""
    a, b = verbs.End.open(args.a, args.index_a), verbs.End.open(args.b, args.index_b)
    a.connect(b.info(), sq_psn=FIRST, rq_psn=FIRST, timeout=0, dest_qpn=NOBODY)
    qpn = a.info()['qpn']
    for _ in range(4):
        a.post_send('WRITE', [(0, 1000)])
    out = 'rx_dropped_out_of_window'
    for what, frame in (('ACK of what was not sent', answer(qpn, ACKNOWLEDGE, FIRST + 4)),
                        ('ACK of what will be sent', answer(qpn, ACKNOWLEDGE, FIRST + 60)),
                        ('NAK of what was not sent', answer(qpn, ACKNOWLEDGE, FIRST + 9, NAK_PSN)),
                        ('response that nobody asked for',
                         answer(qpn, READ_RESPONSE_ONLY, FIRST + 8, payload=bytes(1000))),
                        ('ACK from the other half of all PSNs',
                         answer(qpn, ACKNOWLEDGE, FIRST + 0x800000))):
        check(f'{what}: dropped and counted', '[1]', repr(grown([frame], out)))
    check('nothing has completed', '[]', repr(a.wait(1, 0)))
    WIRE.throw(answer(qpn, ACKNOWLEDGE, FIRST + 3))
    check('an ACK that is too early harms its sender only', repr([SUCCESS] * 4),
          repr(statuses(a.wait(4))))

    a.fill(bytes(1000))
    a.post_send('READ', [(0, 1000)])        # PSN FIRST + 4
    a.post_send('WRITE', [(1000, 1000)])
    check('ACK after a READ', '[1]',
          repr(grown([answer(qpn, ACKNOWLEDGE, FIRST + 5)], 'implied_nak_seq_err')))
    check('does not complete it', '[]', repr(a.wait(1, 0)))
    WIRE.throw(answer(qpn, READ_RESPONSE_ONLY, FIRST + 4, payload=noise[:1000]))
    WIRE.throw(answer(qpn, ACKNOWLEDGE, FIRST + 5))
    check('its response does', repr([SUCCESS] * 2), repr(statuses(a.wait(2))))
    check('with its data', True, a.read(1000) == noise[:1000])
    check('the QP is not in ERR', 'RTS', a.state())
    a.close()
    b.close()


def main():
    with open(f'{COUNTERS}/lifespan', 'w') as file:
        file.write('0')
    gap_on_one()
    gaps_on_many()
    acknowledgements()
    verbs.finish()


main()
