#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Two ends with different path MTUs: what fails, how, and whether it is counted.

usage: path-mtu.py A INDEX_A B INDEX_B
"""

import sys

import verbs
from verbs import REM_INV_REQ, SUCCESS, check, statuses

BAD_RESP = 7
NAME_A, INDEX_A, NAME_B, INDEX_B = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def counter(name):
    with open(f'/sys/class/infiniband/{name}/ports/1/hw_counters/path_mtu_mismatch') as file:
        return int(file.read())


def case(what, kind, op, size, theirs, ours, expected, noticed_at, counts):
    a, b = verbs.End(NAME_A, INDEX_A, kind), verbs.End(NAME_B, INDEX_B, kind)
    a.connect(b.info(), mtu=theirs)
    b.connect(a.info(), mtu=ours)
    b.post_recv([(0, 8192)])
    before = counter(noticed_at)
    check(f'{what}: posted', 0, a.post_send(op, [(0, size)]))
    check(f'{what}: status', expected, statuses(a.wait(1))[0])
    if expected == SUCCESS and not counts:
        check(f'{what}: received', [SUCCESS], statuses(b.wait(1)))
    end = verbs.time.monotonic() + 60 * verbs.SLOW
    while counter(noticed_at) < before + counts and verbs.time.monotonic() < end:
        verbs.time.sleep(0.02)
    check(f'{what}: counted', before + counts, counter(noticed_at))
    print(f'# {what}: {b.qp.qp_num:#x} heard {a.qp.qp_num:#x}', flush=True)
    a.close()
    b.close()


case('RC 4096 to 1024, one packet', 'RC', 'SEND', 3000, 4096, 1024, REM_INV_REQ, NAME_B, 1)
case('RC 512 to 1024', 'RC', 'WRITE', 3000, 512, 1024, REM_INV_REQ, NAME_B, 1)
case('RC READ by 512 from 2048', 'RC', 'READ', 4096, 512, 2048, BAD_RESP, NAME_A, 1)
case('RC 4096 to 1024, all fits', 'RC', 'SEND', 1024, 4096, 1024, SUCCESS, NAME_B, 0)
case('UC 4096 to 256, three packets', 'UC', 'SEND', 8192 + 100, 4096, 256, SUCCESS, NAME_B, 1)
verbs.finish()
