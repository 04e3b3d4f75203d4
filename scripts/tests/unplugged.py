#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A process that polls while its device is unplugged: unplugged.py DEVICE INDEX

Prints "posted" when each of its QPs, in INIT, RTR, RTS and ERR, has receive
requests and the one in RTS has sends to a peer that is not there. Then it polls,
and never enters the kernel for a verb: all requests must complete as flushed. The
QP in ERR gets its requests when the device is on its way out or just before.
"""

import sys
import time

import verbs
from verbs import FLUSH, check, statuses

RECVS = 1000
SENDS = 20

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

for state, end in ends.items():
    expected = RECVS + (SENDS if state == 'RTS' else 0)
    done = end.wait(expected, 60)
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
