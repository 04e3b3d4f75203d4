#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The end that survives: survivor.py A INDEX_A B INDEX_B --victim sender|receiver

A sends to B; one of them runs elsewhere (HOST:PORT/DEVICE) and is killed while
data flows. This process prints "running", then what its own end was told.
"""

import os
import time

import verbs
from verbs import FLUSH, RETRY_EXC, SUCCESS, check

parser = verbs.arguments(__doc__)
parser.add_argument('--victim', choices=('sender', 'receiver'), required=True)
args = parser.parse_args()

a = verbs.End.open(args.a, args.index_a)
b = verbs.End.open(args.b, args.index_b)
verbs.connect(a, b, timeout=16, retry=3, rnr_retry=7)
limit = time.monotonic() + 300 * verbs.SLOW

if args.victim == 'receiver':
    # WRITEs need no process at the other end: they continue until the QP is gone.
    count, seen = 0, []
    while not any(seen) and time.monotonic() < limit:
        for _ in range(8):
            a.post_send('WRITE', [(0, 50000)])
        seen = verbs.statuses(a.wait(8, 60))
        count += seen.count(SUCCESS)
        if count >= 16 and not any(seen):
            print('running', flush=True)
    first = next((s for s in seen if s), None)
    check(f'peer killed after {count} writes: 12, then flush', True,
          first == RETRY_EXC and all(s == FLUSH for s in seen[seen.index(first) + 1:]))
    check('the QP is in ERROR', 'ERR', a.state())
else:
    # The receiver of a killed sender gets no notification; its own attempt to answer fails.
    for i in range(32):
        b.post_recv([(0, 60000)], wr_id=i)
    for _ in range(8):
        a.post_send('SEND', [(0, 50000)])
    got = verbs.statuses(b.wait(8, 60))
    check('data arrived before the kill', [SUCCESS] * 8, got)
    print('running', flush=True)
    while True:
        b.post_send('SEND', [(0, 64)])
        got = verbs.statuses(b.wait(1, 300))
        if got != [SUCCESS] or time.monotonic() > limit:
            break
        time.sleep(0.05)
    check('peer killed: the answer gets 12 or 13', True, got in ([RETRY_EXC], [13]))
    left = verbs.statuses(b.wait(24, 30))
    check('its posted receives are flushed', [FLUSH] * 24, left)
(a if args.victim == 'receiver' else b).close()
os._exit(1 if verbs.FAILED else 0)
