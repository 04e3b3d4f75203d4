#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Far more to send than a slow queue takes: tx-memory.py A INDEX_A B INDEX_B KIND

UC: A writes 256 MiB to B; READ: B reads as much from A. Prints "running", and stays.
"""

import time

import verbs

MIB = 1 << 20

parser = verbs.arguments(__doc__)
parser.add_argument('kind', choices=('UC', 'READ'))
args = parser.parse_args()

kind = {'qp_type': 'UC'} if args.kind == 'UC' else {}
a, b = [verbs.End(*where, size=16 * MIB, **kind)
        for where in ((args.a, args.index_a), (args.b, args.index_b))]
verbs.connect(a, b, mtu=4096, timeout=0)
for _ in range(16):
    if args.kind == 'UC':
        a.post_send('WRITE', [(0, 16 * MIB)])
    else:
        b.post_send('READ', [(0, 16 * MIB)])
print('running', flush=True)
time.sleep(3600)
