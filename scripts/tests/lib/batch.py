#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Many messages sent at once: batch.py A INDEX_A B INDEX_B [options]

They are posted while the send queue is drained (SQD), so that RTS sends all of them. Each
has its own number and content; UD and RC messages must all arrive, in order, and so must
UC messages if nothing is lost.
"""

import random
import struct

import mcast
import verbs
from verbs import SUCCESS, check, statuses

parser = verbs.arguments(__doc__)
parser.add_argument('--type', default='UD')
parser.add_argument('--count', type=int, default=40)
parser.add_argument('--size', type=int, default=700)
parser.add_argument('--read', action='store_true', help='READs in place of SENDs')
parser.add_argument('--group', help='a multicast group that b joins')
parser.add_argument('--rounds', type=int, default=3)
parser.add_argument('--label', default='')
args = parser.parse_args()

SLOT = 1 << 11
FAR = 64 * SLOT
rng = random.Random(4791)
a = verbs.End.open(args.a, args.index_a, qp_type=args.type)
b = verbs.End.open(args.b, args.index_b, qp_type=args.type)
verbs.connect(a, b)
grh = verbs.GRH if args.type == 'UD' else 0
target = {}
if args.group:
    check('b joins the group', 0, mcast.group_command(b, mcast.ATTACH, args.group))
    a.remote = {'gid': verbs.gid_text(args.group), 'addr': 0, 'rkey': 0}
    target = {'dest_qpn': mcast.GROUP_QPN}


def post(number, size):
    if args.read:
        return a.post_send('READ', [(FAR + number * SLOT, size)], wr_id=number,
                           remote_offset=number * SLOT)
    b.post_recv([(FAR + number * SLOT, size + grh)], wr_id=number)
    return a.post_send('SEND', [(number * SLOT, size)], wr_id=number, **target)


for turn in range(args.rounds):
    # The last one is shorter, as at the end of a block
    sizes = [args.size] * (args.count - 1) + [args.size // 2 + turn]
    source, sink = (b, a) if args.read else (a, b)
    data = [struct.pack('!I', i) + rng.randbytes(size - 4) for i, size in enumerate(sizes)]
    for i, message in enumerate(data):
        source.fill(message, i * SLOT)
        sink.fill(bytes(SLOT), FAR + i * SLOT)
    a.modify('SQD')
    errors = {post(i, size) for i, size in enumerate(sizes)}
    a.modify('RTS')
    done = sink.wait(args.count)
    if sink is not a:
        check(f'{args.label}sent', [SUCCESS] * args.count, statuses(a.wait(args.count)))
    whole = all(sink.read(len(message), FAR + i * SLOT + grh) == message
                for i, message in enumerate(data))
    check(f'{args.label}{args.type} {"READ" if args.read else "SEND"} {args.size} x {args.count}: '
          'all arrive, in order', [{0}, [(SUCCESS, i) for i in range(args.count)], True],
          [errors, [(c['status'], c['wr_id']) for c in done], whole])
if args.group:
    check('b leaves the group', 0, mcast.group_command(b, mcast.DETACH, args.group))
a.close()
b.close()
verbs.finish()
