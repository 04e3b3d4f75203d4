#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A process that polls while its device is unplugged: unplugged.py DEVICE INDEX

Prints "posted" when each of its QPs, in INIT, RTR, RTS and ERR, has receive
requests and the one in RTS has sends to a peer that is not there. Then it polls,
and never enters the kernel for a verb: all requests must complete as flushed. The
QP in ERR gets its requests when the device is on its way out or just before.
Once the device is gone nothing completes any more: what has not by then is lost.
"""

import os
import sys
import time

import verbs
from verbs import FLUSH, check, statuses

RECVS = 1000
SENDS = 20

PATIENCE_S = 60 * verbs.SLOW    # for the device to go, of all QPs together
GRACE_S = 5 * verbs.SLOW        # to poll what has completed before it went

device, index = sys.argv[1], int(sys.argv[2])
ends = {}
for state in ('INIT', 'RTR', 'RTS', 'ERR'):
    end = verbs.End(device, index, depth=RECVS)
    nobody = dict(end.info(), qpn=0xfffffe)
    # No acknowledgement timeout: only the end of the device completes the sends.
    end.connect(nobody, timeout=0, state='RTS' if state == 'ERR' else state)
    if state == 'ERR':
        end.modify('ERR')
    ends[state] = end
for state, end in ends.items():
    for number in range(RECVS):
        if end.post_recv([(0, 64)], wr_id=number):
            sys.exit(f'FAIL receive {number} in {state} is refused')
for number in range(SENDS):
    if ends['RTS'].post_send('SEND', [(0, 64)], wr_id=number):
        sys.exit(f'FAIL send {number} is refused')
print('posted', flush=True)

until, gone = time.monotonic() + PATIENCE_S, False


def completions(end, number):
    """Of an end, until they are all there or nothing can come any more."""
    global until, gone
    done = end.wait(number, 0)
    while len(done) < number and time.monotonic() < until:
        done += end.wait(number - len(done), 0.1)
        if not gone and not os.path.exists(f'/sys/class/infiniband/{device}'):
            until, gone = time.monotonic() + GRACE_S, True
    return done


for state, end in ends.items():
    expected = RECVS + (SENDS if state == 'RTS' else 0)
    done = completions(end, expected)
    check(f'{state}: {expected} requests complete as flushed', [expected, {FLUSH}],
          [len(done), set(statuses(done))])
# The device is gone: nothing to close, and nothing that hangs.
start = time.monotonic()
for end in ends.values():
    try:
        end.close()
    except Exception as ex:  # noqa: BLE001
        print(f'# closing: {ex}', flush=True)
check('closing what is left takes no time', True, time.monotonic() - start < 60)
verbs.finish()
