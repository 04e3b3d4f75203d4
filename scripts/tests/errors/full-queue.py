#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Sends through a queueing discipline that drops: full-queue.py A INDEX_A B INDEX_B

Every unreliable send completes, dropped or not, without another post; B receives intact
data.
"""

import verbs
from verbs import SUCCESS, check, statuses

parser = verbs.arguments(__doc__)
parser.add_argument('--label', default='')
args = parser.parse_args()

# A message must fit into the queue: a queue that segments a block enqueues all packets before
# it sends the first.
for kind, size in (('UD', 1000), ('UC', 6000)):
    a = verbs.End.open(args.a, args.index_a, qp_type=kind)
    b = verbs.End.open(args.b, args.index_b, qp_type=kind)
    verbs.connect(a, b)
    a.fill(b'q' * size)
    for i in range(60):
        b.post_recv([(0, size + verbs.GRH)], wr_id=i)
    for i in range(60):
        a.post_send('SEND', [(0, size)], wr_id=i)
    done = a.wait(60, 30)
    check(f'{args.label}{kind}: 60 sends into a full queue complete in order',
          repr([(SUCCESS, i) for i in range(60)]), repr([(c['status'], c['wr_id']) for c in done]))
    received = b.wait(60, 2)
    check(f'{args.label}{kind}: {len(received)} of 60 arrived, at least 1 and well', True,
          0 < len(received) <= 60 and set(statuses(received)) == {SUCCESS})
    a.close()
    b.close()
verbs.finish()
