#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Does what B sends reach A? admission.py A INDEX_A B INDEX_B [--refused] [--types T] [--label L]

RC, UC and UD, or --types. Packets that must not reach A are counted there as not for us, at
least one each, and the RC request fails without an answer.
"""

import verbs
from verbs import RETRY_EXC, SUCCESS, check, statuses

parser = verbs.arguments(__doc__)
parser.add_argument('--refused', action='store_true')
parser.add_argument('--types', default='RC,UC,UD')
parser.add_argument('--label', default='')
args = parser.parse_args()


def not_for_us():
    with open(f'/sys/class/infiniband/{args.a}/ports/1/hw_counters/rx_dropped_not_for_us',
              encoding='ascii') as counter:
        return int(counter.read())


for kind in args.types.split(','):
    a = verbs.End(args.a, args.index_a, qp_type=kind)
    b = verbs.End(args.b, args.index_b, qp_type=kind)
    # If an answer is expected, a stalled machine needs time to send it
    verbs.connect(a, b, **({'timeout': 10, 'retry': 1} if args.refused else {}))
    a.post_recv([(0, 256)], wr_id=7)
    before = not_for_us()
    b.post_send('SEND', [(0, 64)], wr_id=8)
    sent = statuses(b.wait(1, 60))
    check(f'{args.label}{kind}: completion of the sender',
          [RETRY_EXC if args.refused and kind == 'RC' else SUCCESS], sent)
    received = statuses(a.wait(1, 1 if args.refused else 60))
    check(f'{args.label}{kind}: messages received', [] if args.refused else [SUCCESS], received)
    check(f'{args.label}{kind}: counted as not for us', args.refused, not_for_us() > before)
    a.close()
    b.close()
verbs.finish()
