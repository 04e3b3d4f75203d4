#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Congestion notification packets, genuine and forged, and the CNPs caused by ECN marks;
annex A17.9.3.

usage: cnp.py A INDEX_A B INDEX_B --netns PATH --netdev NAME --src-mac M --dst-mac M
           --src-ip IP --dst-ip IP --version v1|v2

Frames are sent through a packet socket on B's netdev, as if B had sent them, and reach A.
"""

import ipaddress
import json
import os
import re
import struct
import subprocess
import time
import zlib

import frames
import verbs
from frames import bth
from verbs import SUCCESS, check, statuses

CNP, WRITE_ONLY, SEND_ONLY_UD = 0x81, 0x0a, 0x64
BECN, CE, DSCP = 1 << 30, 3, 48
ETH_P_ALL = 3

parser = verbs.arguments(__doc__)
frames.add_arguments(parser)
args = parser.parse_args()
WIRE = frames.Wire(args)
COUNTERS = ('rp_cnp_handled', 'rp_cnp_ignored', 'rx_icrc_encapsulated', 'rx_packets')
PORT = f'/sys/class/infiniband/{args.a}/ports/1'


def count(name):
    with open(f'{PORT}/hw_counters/{name}') as file:
        return int(file.read())


def setting(name, value):
    with open(f'{PORT}/cc/{name}', 'w') as file:
        file.write(str(value))


def cnp(qpn, pkey=0xffff):
    return bth(CNP, qpn | BECN, 0, pkey=pkey, ack=False) + bytes(16)


def counts(frame):
    """Increases of COUNTERS by a frame."""
    before = [count(name) for name in COUNTERS]
    WIRE.throw(frame)
    time.sleep(0.05)
    return [count(name) - was for name, was in zip(COUNTERS, before)]


def refusals(a, datagram):
    stranger = ipaddress.ip_address(int(WIRE.src) + 7)
    qpn = a.info()['qpn']
    if not WIRE.v1:
        check('a CNP from the peer is handled', '[1, 0, 0, 1]', repr(counts(WIRE.frame(cnp(qpn)))))
        check('from another address: ignored', '[0, 1, 0, 0]',
              repr(counts(WIRE.frame(cnp(qpn), src=stranger))))
        check('of another partition: ignored', '[0, 1, 0, 0]',
              repr(counts(WIRE.frame(cnp(qpn, pkey=0x9234)))))
        check('with a wrong ICRC: counted as that', '[0, 0, 1, 0]',
              repr(counts(WIRE.frame(cnp(qpn), icrc=lambda right: right ^ 1))))
        setting('enable', 0)
        check('with cc/enable 0: ignored', '[0, 1, 0, 0]', repr(counts(WIRE.frame(cnp(qpn)))))
        setting('enable', 1)
    else:
        check('RoCE v1 has no CNPs: ignored', '[0, 1, 0, 0]', repr(counts(WIRE.frame(cnp(qpn)))))
    check('for a UD QP: ignored', '[0, 1, 0, 0]',
          repr(counts(WIRE.frame(cnp(datagram.info()['qpn'])))))
    check('for no QP: nothing', '[0, 0, 0, 0]', repr(counts(WIRE.frame(cnp(0xfffff0)))))


def marked(qpn, pkey=0xffff, **other):
    """An out-of-sequence packet for A, so nothing changes but that it was marked."""
    reth = frames.reth(0, 0, 0)
    return WIRE.frame(bth(WRITE_ONLY, qpn, 5000, pkey=pkey) + reth, tclass=CE, **other)


def next_cnp(wire):
    """The next CNP on the wire, as (traffic class, BTH and rest), or None"""
    skip = 14 + (40 if WIRE.ipv6 else 20) + 8
    until = time.monotonic() + 2
    while time.monotonic() < until:
        try:
            frame = wire.recv(256)
        except TimeoutError:
            return None
        if len(frame) >= skip + 12 and frame[12:14] == WIRE.kind and frame[skip] == CNP \
                and frame[:6] != WIRE.ethernet[:6]:
            tclass = (struct.unpack_from('!H', frame, 14)[0] >> 4 & 0xff) if WIRE.ipv6 else frame[15]
            return tclass, frame[14:skip], frame[skip:]
    return None


def icrc_of(network, transport):
    masked, shadow = bytearray(network), bytearray(transport)
    if WIRE.ipv6:
        masked[0] |= 0x0f
        masked[1] = masked[2] = masked[3] = masked[7] = 0xff
    else:
        masked[1] = masked[8] = masked[10] = masked[11] = 0xff
    masked[-2:] = b'\xff\xff'
    shadow[4] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(masked) + bytes(shadow)))


def marks(a, b):
    qpn = a.info()['qpn']
    wire = frames.open_wire(args)
    wire.bind((args.netdev, ETH_P_ALL))
    wire.settimeout(2)
    setting('np_min_time_between_cnps', 1000)
    before = count('np_cnp_sent')
    WIRE.throw(marked(qpn))
    answer = None if WIRE.v1 else next_cnp(wire)
    if WIRE.v1:
        time.sleep(0.1)
        check('a mark causes no CNP in RoCE v1', 0, count('np_cnp_sent') - before)
        return
    check('a mark causes a CNP', True, answer is not None)
    if answer:
        tclass, network, packet = answer
        expected = bth(CNP, b.info()['qpn'] | BECN, 0, ack=False) + bytes(16)
        check('its DSCP, not ECN-capable', DSCP << 2, tclass)
        check('its bytes', expected.hex(), packet[:28].hex())
        check('its ICRC', icrc_of(network, packet[:28]).hex(), packet[28:32].hex())
    time.sleep(0.01)
    before, began = count('np_cnp_sent'), time.monotonic()
    for _ in range(200):
        WIRE.throw(marked(qpn))
    took = time.monotonic() - began
    time.sleep(0.05)
    sent = count('np_cnp_sent') - before
    check('many marks cause one CNP a millisecond', True, 1 <= sent <= took * 1000 + 2)
    print(f'# 200 marks in {took * 1000:.0f} ms, {sent} CNPs')
    setting('np_min_time_between_cnps', 50)
    for what, frame in (('with a wrong ICRC', marked(qpn, icrc=lambda right: right ^ 1)),
                        ('of another address', marked(qpn, src=ipaddress.ip_address(int(WIRE.src) + 7))),
                        ('of another partition', marked(qpn, pkey=0x9234))):
        before = count('np_cnp_sent')
        WIRE.throw(frame)
        time.sleep(0.05)
        check(f'a mark {what} causes none', 0, count('np_cnp_sent') - before)
    setting('enable', 0)
    before = count('np_cnp_sent')
    WIRE.throw(marked(qpn))
    time.sleep(0.1)
    check('none with cc/enable 0', 0, count('np_cnp_sent') - before)
    setting('enable', 1)


def seconds(a, b, messages, size):
    """Time of that many WRITEs, 8 of them in flight"""
    begin, posted, done = time.monotonic(), 0, 0
    while done < messages:
        while posted < messages and posted - done < 8:
            a.post_send('WRITE', [(0, size)], raddr=b.info()['addr'], rkey=b.info()['rkey'])
            posted += 1
        completions = a.wait(1, 30)
        if not completions or set(statuses(completions)) != {SUCCESS}:
            check('WRITEs complete', '[0]', repr(statuses(completions)))
            break
        done += len(completions)
    return time.monotonic() - begin


def rate_of(qpn):
    """Rate in Mbit/s to which CNPs limit a QP of A, None if none does"""
    rows = json.loads(subprocess.run(('rdma', '-j', '-dd', 'resource', 'show', 'qp', 'link', args.a),
                                     check=True, capture_output=True, text=True).stdout)
    return next(row.get('drv_rate') for row in rows if row.get('lqpn') == qpn)


def traced(qpn):
    """(rate in kbit/s, cause) of each rhca_rate event of a QP; None without tracing"""
    path = '/sys/kernel/tracing/trace'
    if not os.path.exists('/sys/kernel/tracing/events/rhca'):
        return None
    with open(path) as file:
        found = re.findall(rf'rhca_rate: dev={args.a} qpn={qpn} rate=(\d+) .*cause=(\w+)', file.read())
    return [(int(rate), cause) for rate, cause in found]


def storm():
    """Endless CNPs slow a QP down to rp_min_rate and no further; then it recovers."""
    least, burst, bursts = 20, 100, 100
    setting('rp_min_rate', least)
    # A busy host is slow to send and to check: nothing must decay or increase meanwhile
    for name in ('rp_dce_tcp_rtt', 'rp_time_reset'):
        setting(name, 131071)
    a, b = verbs.End.open(args.a, args.index_a), verbs.End.open(args.b, args.index_b)
    verbs.connect(a, b, mtu=4096)
    qpn = a.info()['qpn']
    seconds(a, b, 4, 32768)     # so that the round trip is known, and thus an initial rate
    # A QP is slowed down once in the time of four of its packets, so a fast host needs more
    # CNPs in a burst than a slow one
    for _ in range(bursts):
        before = count('rp_cnp_handled')
        for _ in range(burst):
            WIRE.throw(WIRE.frame(cnp(qpn)))
        while count('rp_cnp_handled') < before + burst:
            time.sleep(0.01)
        rate = rate_of(qpn)
        if rate in (least, None):
            break
    for _ in range(burst):
        WIRE.throw(WIRE.frame(cnp(qpn)))
    check('a storm of CNPs ends at rp_min_rate', True, rate in (least, None))
    if rate is None:
        print('# the last CNP was more than a second ago')
    setting('rp_dce_tcp_rtt', 55)
    setting('rp_time_reset', 300)
    seconds(a, b, 4, 32768)
    while rate_of(qpn) is not None:
        seconds(a, b, 4, 32768)
    check('afterwards nothing limits the QP', 'RTS', a.state())
    seconds(a, b, 1, 32768)
    events = traced(qpn)
    if events is not None:
        rates = [rate for rate, cause in events if cause == 'cnp']
        # It has not got there if the machine stood still for the second after which it is over
        check(f'no CNP lowers a rate below rp_min_rate ({min(rates)})', True, min(rates) >= least * 1000)
        check('the rate limit ends when no more arrive', 'over', events[-1][1])
    setting('rp_min_rate', 10)


def pace():
    """A QP does not exceed its rate."""
    size = 32768
    for rate in (50, 400):
        setting('rp_max_rate', rate)
        a, b = verbs.End.open(args.a, args.index_a), verbs.End.open(args.b, args.index_b)
        verbs.connect(a, b, mtu=4096)
        took = seconds(a, b, rate * 1000000 // 8 // size, size)
        # Headers are counted as well: 4096 bytes are 4166 on IPv4. Being slower may also be due
        # to the machine.
        check(f'{rate} Mbit/s for a second: not faster', True, 0.93 < took)
        print(f'# {rate} Mbit/s: {1 / took * rate * 4166 / 4096:.1f} Mbit/s with headers')
    setting('rp_max_rate', 0)


def main():
    a, b = verbs.End.open(args.a, args.index_a), verbs.End.open(args.b, args.index_b)
    verbs.connect(a, b, sq_psn=100, rq_psn=100, timeout=17)
    datagram = verbs.End.open(args.a, args.index_a, qp_type='UD')
    verbs.connect(datagram, verbs.End.open(args.b, args.index_b, qp_type='UD'))
    refusals(a, datagram)
    marks(a, b)
    if not WIRE.v1:
        storm()
    pace()
    verbs.finish()


main()
