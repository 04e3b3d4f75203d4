#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tenants on one wire: who hears whom by which P_Keys, changed live, and who is notified.

usage: partitions.py A INDEX_A B INDEX_B

Both tables are left with 0xffff at index 0 and nothing else.
"""

import errno
import select
import socket
import sys
import time

import verbs
from verbs import RETRY_EXC, SUCCESS, e
from pyverbs.pyverbs_error import PyverbsRDMAError

NAME_A, INDEX_A, NAME_B, INDEX_B = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
SLOT = 5                # of the table; not 0
NETLINK_KOBJECT_UEVENT = 15
QUICK = {'timeout': 15, 'retry': 1}     # RC gives up in 0.4 s: for packets to be lost
PATIENT = {'timeout': 20, 'retry': 7}   # a busy machine may stall: for packets to arrive


def check(what, expected, got):
    """Tuples are values here, not alternatives."""
    return verbs.check(what, repr(expected), repr(got))


def path(name, file):
    return f'/sys/class/infiniband/{name}/{file}'


def table(name, *lines):
    """Write a value; returns errno."""
    try:
        with open(path(name, 'partitions/1/pkeys'), 'w') as file:
            file.write(','.join(lines))
    except OSError as ex:
        return ex.errno
    return 0


def show(name):
    with open(path(name, 'partitions/1/pkeys')) as file:
        return file.read().split('\n')[:-1]


def counter(name, which):
    with open(path(name, f'ports/1/hw_counters/{which}')) as file:
        return int(file.read())


def grows(name, which, before, seconds=60):
    """Whether the counter exceeds a value in time."""
    end = time.monotonic() + seconds * verbs.SLOW
    while counter(name, which) <= before:
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def ends(kind, attrs=PATIENT):
    a = verbs.End(NAME_A, INDEX_A, kind)
    b = verbs.End(NAME_B, INDEX_B, kind)
    verbs.connect(a, b, pkey_index=SLOT, **attrs)
    return a, b


def arrives(what, a, b):
    b.post_recv([(0, 300)])
    a.post_send('SEND', [(0, 60)])
    check(f'{what}: sent and received', ([SUCCESS], [SUCCESS]),
          (verbs.statuses(a.wait(1)), verbs.statuses(b.wait(1))))


def is_lost(what, a, b, name, which):
    """Nothing is delivered at b, and its device's counter shows why."""
    before = counter(name, which)
    b.post_recv([(0, 300)])
    a.post_send('SEND', [(0, 60)])
    check(f'{what}: the sender', [RETRY_EXC if a.type == 'RC' else SUCCESS],
          verbs.statuses(a.wait(1)))
    check(f'{what}: {which} of {name} counts', True, grows(name, which, before))
    check(f'{what}: nothing is received', [], b.wait(1, 0))


def matrix():
    for ours, theirs, hears in (
            (0x8001, 0x8001, True), (0x8001, 0x8002, False), (0x0001, 0x0001, False),
            (0x0001, 0x8001, True), (0x8001, 0x0001, True), (0xffff, 0x8001, False)):
        # The default P_Key at index 0 of both must not help.
        at = SLOT if ours != 0xffff else 0
        table(NAME_A, '0 0', f'{SLOT} {ours:#06x}')
        table(NAME_B, f'0 {"0" if at else "0xffff"}', f'{SLOT} {theirs:#06x}')
        for kind in ('RC', 'UC', 'UD'):
            a, b = ends(kind, PATIENT if hears else QUICK)
            what = f'{kind} {ours:#06x} to {theirs:#06x}'
            if hears:
                arrives(what, a, b)
            else:
                is_lost(what, a, b, NAME_B, 'rx_dropped_bad_pkey')
            a.close()
            b.close()


def revocation():
    """The table changes under connected QPs."""
    for name in (NAME_A, NAME_B):
        table(name, f'{SLOT} 0x8001')
    for kind in ('UC', 'UD', 'RC'):
        a, b = ends(kind)
        # A lost request ends an RC connection soon: use a second pair for it
        lost_a, lost_b = ends(kind, QUICK) if kind == 'RC' else (a, b)
        arrives(f'{kind} before', a, b)
        table(NAME_B, f'{SLOT} 0x8002')
        if kind != 'RC':
            is_lost(f'{kind}, the receiver moved', a, b, NAME_B, 'rx_dropped_bad_pkey')
        table(NAME_A, f'{SLOT} 0x8002')
        arrives(f'{kind}, both moved', a, b)
        table(NAME_A, f'{SLOT} 0')
        is_lost(f'{kind}, the sender has none', lost_a, lost_b, NAME_A, 'tx_dropped_bad_pkey')
        for name in (NAME_A, NAME_B):
            table(name, f'{SLOT} 0x8001')
        if kind != 'RC':
            arrives(f'{kind}, allowed again', a, b)
        else:
            lost_a.close()
            lost_b.close()
        a.close()
        b.close()
    a, b = ends('RC')
    lost_a, lost_b = ends('RC', QUICK)
    arrives('RC before', a, b)
    table(NAME_B, f'{SLOT} 0')
    is_lost('RC, the receiver has none', lost_a, lost_b, NAME_B, 'rx_dropped_bad_pkey')
    for end in (a, b, lost_a, lost_b):
        end.close()


def refusals():
    end = verbs.End(NAME_A, INDEX_A, 'UD')
    for index in (SLOT + 1, 127, 128, 65535):
        try:
            end.connect(None, pkey_index=index)
            got = 0
        except PyverbsRDMAError as ex:
            got = ex.error_code
        check(f'modify_qp with index {index}, which has no P_Key', errno.EINVAL, got)
    end.close()


class Uevents:
    """Uevents of RDMA devices."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_KOBJECT_UEVENT)
        self.sock.bind((0, 1))

    def next(self, name, seconds):
        end = time.monotonic() + seconds * verbs.SLOW
        while select.select([self.sock], [], [], max(0, end - time.monotonic()))[0]:
            words = self.sock.recv(8192).decode().split('\0')
            said = dict(w.split('=', 1) for w in words if '=' in w)
            if said.get('EVENT') == 'PKEY_VIOLATION' and said.get('NAME') == name:
                return said
        return None


def events():
    """Users get an event for the change, administrators a report of the violation."""
    table(NAME_A, f'{SLOT} 0x8001')
    table(NAME_B, f'{SLOT} 0x8001')
    a, b = ends('UD')
    time.sleep(1.1)             # let the last report of earlier cases expire
    while b.async_event(0) is not None:
        pass                    # events of earlier changes
    uevents = Uevents()
    table(NAME_B, f'{SLOT} 0x8002')
    check('the change is an event of the port', int(e.IBV_EVENT_PKEY_CHANGE), b.async_event())
    before = counter(NAME_B, 'rx_dropped_bad_pkey')
    started = time.monotonic()
    for _ in range(20):
        a.post_send('SEND', [(0, 60)])
    a.wait(20)
    check('20 violations are counted', True, grows(NAME_B, 'rx_dropped_bad_pkey', before + 19))
    said = uevents.next(NAME_B, 60) or {}
    here, there = a.info(), b.info()
    want = {'ACTION': 'change', 'SUBSYSTEM': 'infiniband', 'PORT': '1', 'PKEY': '0x8001',
            'QPN': f'{there["qpn"]:#08x}', 'SGID': here['gid'], 'DGID': there['gid']}
    got = {key: said.get(key) for key in want}
    for key in ('SGID', 'DGID'):        # IPv6 addresses may be written in two ways
        want[key], got[key] = (socket.inet_pton(socket.AF_INET6, g) if g else g
                               for g in (want[key], got[key]))
    check('the uevent has the contents of trap 257', want, got)
    more = 0
    while uevents.next(NAME_B, 0.3):
        more += 1
    check(f'20 at once cause fewer uevents: after the first {more}, at most one a second', True,
          more <= time.monotonic() - started)
    told = set()
    while (kind := b.async_event(0.1)) is not None:
        told.add(int(kind))
    check('the process gets no event of its QP', set(), told - {int(e.IBV_EVENT_PKEY_CHANGE)})
    check('the QP is not in ERR', 'RTS', b.state())
    a.close()
    b.close()


matrix()
revocation()
refusals()
events()
for device in (NAME_A, NAME_B):
    table(device, '0 0xffff', f'{SLOT} 0')
    check(f'{device}: the table is unchanged', ['0 0xffff'], show(device))
verbs.finish()
