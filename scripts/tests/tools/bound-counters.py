#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""QPs bound to counters of their own, manually and by rule; nothing is counted twice or
lost, even if they are bound and unbound in the middle of traffic.

usage: bound-counters.py A INDEX_A B INDEX_B
"""

import json
import subprocess
import sys
import threading
import time

import verbs
from verbs import SUCCESS, check, statuses

A, INDEX_A, B, INDEX_B = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
LINK = f'{A}/1'
FOLDER = f'/sys/class/infiniband/{A}/ports/1'
# IPv4 20, UDP 8, BTH 12, RETH 16, payload 64, ICRC 4
WRITE_BYTES = 124


def rdma(*words):
    """0; another value if the kernel rejects the command."""
    return subprocess.run(['rdma', 'statistic', 'qp', *words], stderr=subprocess.DEVNULL,
                          check=False).returncode


def bound():
    """QPNs and counters of each counter, by its number."""
    text = subprocess.run(['rdma', '-j', 'statistic', 'qp', 'show', 'link', LINK],
                          stdout=subprocess.PIPE, check=True).stdout
    return {row['cntn']: row for row in json.loads(text or '[]') if 'cntn' in row}


def read(path):
    with open(f'{FOLDER}/{path}') as file:
        return int(file.read())


def sent():
    """Packets: the sum that ib_core computes, and the port's own."""
    time.sleep(0.1)         # longer than read values are cached, and than jiffies may lag
    return [read('hw_counters/tx_packets'), read('counters/port_xmit_packets')]


def pair(qp_type='RC'):
    a = verbs.End.open(A, INDEX_A, qp_type=qp_type)
    b = verbs.End.open(B, INDEX_B, qp_type=qp_type)
    # No ACK timeout: retransmissions due to a stalled machine would be counted as well.
    verbs.connect(a, b, timeout=0)
    return a, b


def write(end, times):
    for _ in range(times):
        end.post_send('WRITE', [(0, 64)])
        if statuses(end.wait(1, 30)) != [SUCCESS]:
            check('a WRITE', True, False)


def only(counters):
    return next(iter(counters.values()), {})


def close(*ends):
    for end in ends:
        end.close()


# --- by hand
start = sent()
a, b = pair()
a2, b2 = pair()
qpn, qpn2 = a.info()['qpn'], a2.info()['qpn']
write(a, 4)
check('nothing is bound', {}, bound())
check('bind', 0, rdma('bind', 'link', LINK, 'lqpn', str(qpn)))
write(a, 10)
write(a2, 5)
row = only(bound())
cntn = str(row.get('cntn'))
check('the counter has its QP', [qpn], row.get('lqpn'))
check('the counter has what the QP did since: packets, bytes, answers',
      [10, 10 * WRITE_BYTES, 10], [row.get('tx_packets'), row.get('tx_bytes'), row.get('rx_packets')])
check('the port has all of it, either way', [start[0] + 19, start[1] + 19], sent())
check('bind a second QP to it', 0, rdma('bind', 'link', LINK, 'lqpn', str(qpn2), 'cntn', cntn))
write(a2, 3)
row = only(bound())
check('both count there', [[qpn, qpn2], 13], [sorted(row.get('lqpn', [])), row.get('tx_packets')])
check('a QP is bound once', True, rdma('bind', 'link', LINK, 'lqpn', str(qpn)) != 0)
check('a QP that does not exist', True, rdma('bind', 'link', LINK, 'lqpn', '0xfffff0') != 0)
check('a counter that does not exist', True, rdma('bind', 'link', LINK, 'lqpn', str(qpn), 'cntn', '999') != 0)
check('no rule while QPs are bound by hand', True, rdma('set', 'link', LINK, 'auto', 'type', 'on') != 0)
check('unbind one', 0, rdma('unbind', 'link', LINK, 'cntn', cntn, 'lqpn', str(qpn2)))
write(a2, 2)
check('it counts for the port again', [[qpn], 13], [only(bound()).get('lqpn'), only(bound()).get('tx_packets')])
a.modify('RESET')
a.connect(b.info(), timeout=0)
check('a QP that was reset stays bound', [qpn], only(bound()).get('lqpn'))
before = sent()
check('until here', [start[0] + 24, start[1] + 24], before)
close(a, b)
check('the counter ends with its last QP', {}, bound())
check('what it had stays with the port', before, sent())
close(a2, b2)

# --- by rule
check('rule: by type', 0, rdma('set', 'link', LINK, 'auto', 'type', 'on'))
one, two, three = pair(), pair(), pair('UC')
write(one[0], 3)
write(two[0], 4)
write(three[0], 5)
got = sorted((row.get('qp-type'), len(row.get('lqpn', [])), row.get('tx_packets')) for row in bound().values())
check('rule: a counter for each type', [('RC', 2, 7), ('UC', 1, 5)], got)
before = sent()
close(*one, *two, *three)
check('rule: the counters end with the QPs', {}, bound())
check('rule: what they had stays', before, sent())
check('rule: off', 0, rdma('set', 'link', LINK, 'auto', 'off'))

# --- in the middle of traffic
a, b = pair()
stop, number = threading.Event(), [0]


def traffic():
    while not stop.is_set():
        write(a, 10)
        number[0] += 10


before = sent()
thread = threading.Thread(target=traffic)
thread.start()
refused = 0
for _ in range(15):
    refused += rdma('bind', 'link', LINK, 'lqpn', str(a.info()['qpn']))
    cntn = str(only(bound()).get('cntn'))
    refused += rdma('unbind', 'link', LINK, 'cntn', cntn, 'lqpn', str(a.info()['qpn']))
stop.set()
thread.join()
check('bound and unbound 15 times in traffic', 0, refused)
end = time.monotonic() + 60
wanted = [before[0] + number[0], before[1] + number[0]]
while sent() != wanted and time.monotonic() < end:
    time.sleep(0.05)
check(f'every one of {number[0]} packets was counted once', wanted, sent())
close(a, b)
verbs.finish()
