#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Steady traffic between two ends until told to stop or something breaks.

usage: traffic.py A INDEX_A B INDEX_B [--seconds S] [--messages N] [--size N]
                  [--least N] [--until-error] [--expect-fatal] [--stay] [--mtu M]
                  [--timeout T]

Prints "running" once data flows. SIGTERM ends it early but cleanly. Each message is
a SEND with a number in it: the receiver checks that numbers arrive in order and that
every byte is right. At the end one line: `ok` or `FAIL` and the number of messages
that passed.
--messages     this many, however long they take
--least        do not end before this many have passed, however long they take
--until-error  continue until a completion reports an error, or the device is gone
--expect-fatal the device must announce IBV_EVENT_DEVICE_FATAL
--stay         afterwards keep the device open until killed
--gap          print the longest time in which nothing arrived
"""

import os
import random
import signal
import struct
import time

import verbs
from verbs import SUCCESS, check, e

parser = verbs.arguments(__doc__)
parser.add_argument('--seconds', type=float, default=5)
parser.add_argument('--messages', type=int)
parser.add_argument('--size', type=int, default=20000)
parser.add_argument('--mtu', type=int, default=1024)
parser.add_argument('--timeout', type=int, default=17)
parser.add_argument('--retry', type=int, default=7)
parser.add_argument('--window', type=int, default=8)
parser.add_argument('--least', type=int, default=1)
parser.add_argument('--read', action='store_true', help='READ and WRITE beside the SENDs')
parser.add_argument('--until-error', action='store_true')
parser.add_argument('--expect-fatal', action='store_true')
parser.add_argument('--flow-label', type=int, default=0)
parser.add_argument('--gap', action='store_true')
parser.add_argument('--stay', action='store_true')
args = parser.parse_args()

PATTERN = random.Random(1).randbytes(args.size)
a = verbs.End.open(args.a, args.index_a, size=1 << 20)
b = verbs.End.open(args.b, args.index_b, size=1 << 20)
verbs.connect(a, b, mtu=args.mtu, timeout=args.timeout, retry=args.retry, flow_label=args.flow_label)

slot = (args.size + 4095) // 4096 * 4096
slots = (1 << 20) // slot
window = min(args.window, slots // 2)
sent = received = outstanding = 0
wrong = None


def message(number):
    """A number, followed by a pattern that starts at a place derived from it."""
    cut = number * 7 % args.size
    return struct.pack('!Q', number) + (PATTERN[cut:] + PATTERN[:cut])[8:]


def post(number):
    where = number % window * slot
    b.post_recv([(where, args.size)], wr_id=number)
    a.fill(message(number), where)
    if args.read and number % 3 == 1:
        half = window * slot
        a.post_send('WRITE', [(where, args.size)], wr_id=1 << 40, flags=0, remote_offset=half)
        a.post_send('READ', [(half, args.size)], wr_id=1 << 40, flags=0, remote_offset=half)
    return a.post_send('SEND', [(where, args.size)], wr_id=number)


def progress():
    """Poll completions; returns False on the first error."""
    global received, outstanding, wrong
    for done in a.wait(window, 0):
        if done['status'] != SUCCESS:
            wrong = wrong or f'sender: status {done["status"]} of {done["wr_id"]}'
        outstanding -= 1
    for done in b.wait(window, 0):
        if done['status'] != SUCCESS:
            wrong = wrong or f'receiver: status {done["status"]} of {done["wr_id"]}'
            continue
        if done['wr_id'] != received or b.read(args.size, received % window * slot) != message(received):
            wrong = wrong or f'message {received} arrived wrong'
            check('data equals what was sent', '', wrong)
        received += 1
    return wrong is None


EVENTS = []


def fatal(seconds=0):
    """Whether either device reports its removal within some time."""
    limit = time.monotonic() + seconds
    while True:
        for one in (a, b):
            while (kind := one.async_event(0)) is not None:
                EVENTS.append(kind)
        if e.IBV_EVENT_DEVICE_FATAL in EVENTS:
            return True
        if time.monotonic() >= limit:
            return False
        time.sleep(0.05)


told = False


def stop(_signal, _frame):
    global told
    told = True


def enough():
    """Whether no more messages are to be sent."""
    if args.until_error:
        return False
    if args.messages:
        return told or sent >= args.messages
    return (told or time.monotonic() >= end) and sent >= args.least


signal.signal(signal.SIGTERM, stop)
end = time.monotonic() + args.seconds * verbs.SLOW
stalled = time.monotonic()
gap = 0
while wrong is None and not enough():
    # A slot is reused only after its message was received and checked.
    if sent - received < window and outstanding < window:
        ret = post(sent)
        if ret:
            wrong = f'post_send: errno {ret}'
            break
        sent += 1
        outstanding += 1
        if sent == 2:
            print('running', flush=True)
    before = received
    progress()
    if received != before:
        gap = max(gap, time.monotonic() - stalled)
        stalled = time.monotonic()
    elif args.expect_fatal and fatal():
        # A removed device need not complete anything any more.
        wrong = 'device fatal'
    if time.monotonic() - stalled > 60 * verbs.SLOW:
        wrong = 'nothing arrived for 60 s'
while wrong is None and received < sent and time.monotonic() - stalled < 60 * verbs.SLOW:
    if progress():
        time.sleep(0.001)

if args.until_error:
    check(f'traffic ended by an error, after {received} messages', True,
          wrong is not None and 'arrived' not in wrong)
    print(f'# {wrong}', flush=True)
else:
    check(f'{received} messages of {args.size} bytes', repr((None, sent, True)),
          repr((wrong, received, received >= args.least)))
if args.gap:
    print(f'# longest gap {gap * 1000:.0f} ms', flush=True)
if args.expect_fatal:
    check('the process gets DEVICE_FATAL', True, fatal(60))
if args.stay:
    print('staying', flush=True)
    time.sleep(600)
if args.expect_fatal:
    # The objects that are left must close without hanging, whatever the device returns.
    try:
        a.close()
        b.close()
    except Exception as ex:  # noqa: BLE001
        print(f'# closing: {ex}', flush=True)
    os._exit(1 if verbs.FAILED else 0)
a.close()
b.close()
verbs.finish()
