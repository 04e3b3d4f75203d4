#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""From a kernel trace: how much is sent and received in one section with bottom halves off.

usage: sections.py TRACE

A section is a tasklet, or the handling of one received packet or block, or, outside of
these, a turn of a QP. ACKs come on top: at most one for each packet.
"""

import collections
import os
import re
import sys

import verbs
from verbs import check

MOST_PACKETS = 64
MOST_PAYLOAD = 64 * 1024 if os.path.exists('/sys/kernel/realtime') else MOST_PACKETS * 4096
NETWORK = 20 + 8        # IPv4, UDP
MOST_HEADERS = 12 + 16 + 4 + 4 + 3      # BTH, RETH, immediate data, ICRC, padding
ACK = 12 + 4 + 4        # BTH, AETH, ICRC

LINE = re.compile(r'\[(\d+)\] .*? [\d.]+: (\w+): (.*)')


class Section:
    """Packets sent or received in one section."""

    def __init__(self, kind):
        self.kind, self.packets, self.bytes, self.skbs = kind, 0, 0, 0

    def add(self, packets, size):
        self.packets += packets
        self.bytes += size
        self.skbs += 1


def least_payload(packets, size, skbs):
    return size - skbs * NETWORK - packets * MOST_HEADERS


class Most:
    """The maximum of any section of a kind."""

    def __init__(self):
        self.sections, self.packets, self.payload = 0, 0, 0

    def note(self, packets, payload):
        self.sections += 1
        self.packets = max(self.packets, packets)
        self.payload = max(self.payload, payload)


most = collections.defaultdict(Most)
open_on = {}


def end(cpu):
    section = open_on.pop(cpu, None)
    if section and section.packets:
        most[section.kind].note(section.packets, least_payload(section.packets, section.bytes,
                                                               section.skbs))


def numbers(text, *names):
    return [int(re.search(rf'\b{name}=(\d+)', text).group(1)) for name in names]


def begins(cpu, kind):
    end(cpu)
    open_on[cpu] = Section(kind)


def arrives(cpu, text):
    segments, size = numbers(text, 'segments', 'bytes')
    most['taken'].note(segments, least_payload(segments, size, 1))
    if cpu not in open_on or open_on[cpu].kind != 'tasklet':
        begins(cpu, 'arrival')


def leaves(cpu, text):
    packets, size = numbers(text, 'packets', 'bytes')
    if cpu in open_on and size > NETWORK + packets * ACK:
        open_on[cpu].add(packets, size)


def turns(cpu, text):
    if '->RUNNING' in text and cpu not in open_on:
        begins(cpu, 'turn')
    elif 'RUNNING->' in text and cpu in open_on and open_on[cpu].kind == 'turn':
        end(cpu)


def handle(cpu, event, text):
    if event == 'tasklet_entry':
        begins(cpu, 'tasklet')
    elif event in ('tasklet_exit', 'softirq_entry', 'softirq_exit'):
        end(cpu)
    elif event == 'rhca_rx':
        arrives(cpu, text)
    elif event == 'rhca_tx':
        leaves(cpu, text)
    elif event == 'rhca_turn':
        turns(cpu, text)


with open(sys.argv[1], encoding='ascii', errors='replace') as trace:
    for line in trace:
        found = LINE.search(line)
        if found:
            handle(int(found.group(1)), found.group(2), found.group(3))

check('packets were taken', True, most['taken'].sections > 0)
for name, what in sorted(most.items()):
    print(f'# {name}: {what.sections} with packets, {what.packets} packets and '
          f'{what.payload} bytes at most')
    check(f'{name}: no more than {MOST_PACKETS} packets', True, what.packets <= MOST_PACKETS)
    check(f'{name}: no more than {MOST_PAYLOAD >> 10} KiB', True, what.payload <= MOST_PAYLOAD)
verbs.finish()
