#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Memory that is written to while it is being transferred.

usage: changing.py A INDEX_A B INDEX_B [--deregister] [--label L]

A process writes without a pause to memory that is sent, written and READ. The data
that arrives may be old or new, but each packet is right: no wrong ICRC is counted,
nothing is repeated (except what a busy machine answers late), no round takes as long
as a timeout, and slow rounds take no more than twice as long as while the process
writes to other memory. With --deregister: the answer to a READ is in a slow queue
while its region is deregistered and overwritten; the old bytes arrive.
"""

import ctypes
import mmap
import os
import signal
import statistics
import time

import verbs
from verbs import FULL, MR, SUCCESS, check, statuses

parser = verbs.arguments(__doc__)
parser.add_argument('--deregister', action='store_true')
parser.add_argument('--label', default='')
args = parser.parse_args()

SIZE = 1 << 20
ROUNDS = 4		# per turn
TURNS = 2		# of each kind, alternating: a machine that becomes busy slows both
TRIES = 3		# of a measurement: other work on the machine only adds time
SLACK_S = 0.02		# two writers use the processors, too
TIMEOUT = 21		# 8.6 s, by IBTA's 4.096 us * 2^21: longer than any round
WORST_S = 4.096e-6 * 2**TIMEOUT * verbs.SLOW
# Errors, retransmissions and timeouts; and drops, which tell the reason
COUNTERS = ('rx_icrc_encapsulated', 'packet_seq_err', 'out_of_sequence',
            'local_ack_timeout_err', 'implied_nak_seq_err', 'rnr_nak_retry_err')
# A late response may be requested again: this counts how often
PROBES, REPEATS = 'roce_adp_retrans', 'duplicate_request'
# and then it arrives twice, with all packets of a READ chunk
LATE, CHUNK = 'rx_dropped_out_of_window', 32
DROPS = ('rx_dropped', 'tx_dropped')


def folder(device):
    return f'/sys/class/infiniband/{device}/ports/1/hw_counters'


def counter(device, name):
    with open(f'{folder(device)}/{name}') as file:
        return int(file.read())


def kernel_drops():
    """Packets that found the queues between netdevs and protocols full, on all processors."""
    with open('/proc/net/softnet_stat') as file:
        return sum(int(line.split()[1], 16) for line in file)


def counters():
    names = [*COUNTERS, *(name for name in sorted(os.listdir(folder(args.a)))
                          if name.startswith(DROPS))]
    names += [PROBES, REPEATS]
    return {**{name: counter(args.a, name) + counter(args.b, name) for name in names},
            'softnet_stat': kernel_drops()}


def wrong_icrcs():
    return sum(counter(name, 'rx_icrc_encapsulated') for name in (args.a, args.b))


class Shared:
    """Memory that a child process writes to until told to stop."""

    def __init__(self, end):
        self.map = mmap.mmap(-1, SIZE)
        self.view = memoryview(self.map)
        self.mr = MR(end.pd, SIZE, FULL, address=address_of(self.map))
        self.child = 0

    def start(self):
        if self.child:
            os.kill(self.child, signal.SIGCONT)
            return
        self.child = os.fork()
        if self.child:
            return
        blocks = [bytes([value]) * SIZE for value in (0x55, 0xaa)]
        while True:
            for block in blocks:
                self.view[:] = block

    def stop(self):
        os.kill(self.child, signal.SIGSTOP)

    def end(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)


def address_of(mapping):
    return ctypes.addressof(ctypes.c_char.from_buffer(mapping))


def run(op, size, shared):
    """Send from, or READ, the changing memory."""
    if op == 'READ':
        post = {'pieces': [(0, size)], 'rkey': shared.mr.rkey, 'raddr': shared.mr.buf}
    else:
        post = {'pieces': [(shared.mr.buf - a.mr.buf, size)], 'lkey': shared.mr.lkey}
    done, times = [], []
    for _ in range(ROUNDS):
        if op == 'SEND':
            b.post_recv([(0, size)])
        began = time.monotonic()
        a.post_send(op, **post)
        done += a.wait()
        times.append(time.monotonic() - began)
        if op == 'SEND':
            done += b.wait()
    return statuses(done), times


def turn(op, size, what, shared, written):
    """Times of some rounds while two processes write to memory."""
    for one in written:
        one.start()
    done, times = run(op, size, shared)
    for one in written:
        one.stop()
    check(f'{args.label}{op} of {size} bytes, {what}', [SUCCESS], sorted(set(done)))
    return times


def measure(op, size, ours, others):
    """Times of rounds while other memory is written to, and while the payload is."""
    shared = ours[op == 'READ']
    calm, changed = [], []
    for _ in range(TURNS):
        calm += turn(op, size, 'while others change', shared, others)
        changed += turn(op, size, 'which change', shared, ours)
    return calm, changed


def changing():
    ours, others = (Shared(a), Shared(b)), (Shared(a), Shared(b))
    before, worst = counters(), 0
    for op in ('WRITE', 'SEND', 'READ'):
        for size in (64, 4096, 65536, SIZE):
            for _ in range(TRIES):
                calm, changed = measure(op, size, ours, others)
                worst = max(worst, *calm, *changed)
                # For small messages SLACK_S dominates: their counters are checked
                was, now = statistics.median(calm), statistics.median(changed)
                quick = now <= 2 * was + SLACK_S
                if quick:
                    break
            check(f'{args.label}{op} of {size} bytes takes no more than twice the time when they '
                  f'change ({was * 1e3:.1f} ms, {now * 1e3:.1f} ms)', True, quick)
    after = counters()
    for one in (*ours, *others):
        one.end()
    rise = {name: after[name] - before[name] for name in (PROBES, REPEATS, LATE)}
    check(f'{args.label}{rise[REPEATS]} repeats for {rise[PROBES]} late answers, '
          f'{rise[LATE]} came twice', True,
          rise[REPEATS] <= rise[PROBES] and rise[LATE] <= CHUNK * rise[PROBES])
    for name in rise:
        del before[name], after[name]
    moved = [name for name in before if name in COUNTERS or before[name] != after[name]]
    check(f'{args.label}no wrong data and no retransmission',
          {name: before[name] for name in moved}, {name: after[name] for name in moved})
    check(f'{args.label}no round waits for a timeout ({worst:.2f} s)', True, worst < WORST_S)


def deregister():
    size = 3000
    old, new = bytes(range(250)) * 12, b'\xee' * size
    region = Shared(b)
    region.view[:size] = old
    sent = counter(args.b, 'tx_packets')
    a.post_send('READ', [(0, size)], rkey=region.mr.rkey, raddr=region.mr.buf)
    while counter(args.b, 'tx_packets') == sent:
        time.sleep(0.01)
    region.mr.close()
    region.view[:size] = new
    before = wrong_icrcs()
    check(f'{args.label}READ whose region was deregistered afterwards', [SUCCESS],
          statuses(a.wait()))
    check(f'{args.label}data written later was not sent', True, a.read(size) == old)
    check(f'{args.label}no wrong ICRC', before, wrong_icrcs())


a = verbs.End(args.a, args.index_a, size=SIZE)
b = verbs.End(args.b, args.index_b, size=SIZE)
verbs.connect(a, b, mtu=4096, timeout=TIMEOUT)
if args.deregister:
    deregister()
else:
    changing()
verbs.finish()
