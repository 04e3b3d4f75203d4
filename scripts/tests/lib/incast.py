#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Measure what arrives from several senders at one port while all of them send. Run it in
the port's network namespace.

usage: incast.py SECONDS MBIT DUPLICATES_FILE NAME=ADDRESS=HEADERS...

Prints "NAME BYTES STANDSTILL_MS" for each sender, of payload: HEADERS are the bytes of a packet
that are none. The standstill is the longest time
in which certainly nothing arrived from it, then "all GOODPUT SECONDS SAMPLES": a lower
bound for the share of the wire that payload of first copies has. Measurement starts one second after
all senders have been heard. On a busy machine there are fewer samples, and each takes long:
a sample is only known to be taken between two times.
"""

import json
import subprocess
import sys
import time

TABLE = 'incast'
STEP = 0.1
PATIENCE = 180      # a busy machine starts slowly


def nft(*words, text=None):
    return subprocess.run(('nft', *words), input=text, check=True, capture_output=True, text=True).stdout


def make(senders):
    rules = '; '.join(f'ip saddr {address} counter' for address in senders.values())
    nft('-f', '-', text=f'table ip {TABLE} {{ chain in {{ type filter hook prerouting '
        f'priority raw; {rules}; }}; }}')


def count(senders):
    """(packets, bytes) of each sender, in their order"""
    items = json.loads(nft('-j', 'list', 'table', 'ip', TABLE))['nftables']
    found = {}
    for rule in (item['rule'] for item in items if 'rule' in item):
        match, counter = (expression for expression in rule['expr'])
        found[match['match']['right']] = counter['counter']
    return [(found[address]['packets'], found[address]['bytes']) for address in senders.values()]


def sample(senders):
    """(lower bound of the time, counts, upper bound of the time)"""
    begin = time.monotonic()
    counted = count(senders)
    return begin, counted, time.monotonic()


def duplicates(path):
    """Packets received before: of RoCE, and of TCP as reported by DSACKs"""
    with open(path) as file:
        total = int(file.read())
    with open('/proc/net/netstat') as file:
        for head, values in zip(*[iter(file)] * 2):
            found = dict(zip(head.split()[1:], map(int, values.split()[1:])))
            total += sum(found.get(f'TCPDSACK{what}Sent', 0) for what in ('Old', 'Ofo'))
    return total


def wait_for_all(senders):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        silent = [name for name, (packets, _) in zip(senders, count(senders)) if packets < 10]
        if not silent:
            return True
        time.sleep(STEP)
    print('silent', *silent)
    return False


def standstill(samples, which):
    """Longest time between two samples with the same count of a sender, ms"""
    longest, since, last = 0, samples[0][2], samples[0][1][which]
    for begin, counted, end in samples[1:]:
        if counted[which] != last:
            since, last = end, counted[which]
        longest = max(longest, begin - since)
    return int(1000 * longest)


def main():
    seconds, mbit, path = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
    words = [word.split('=') for word in sys.argv[4:]]
    senders = {name: address for name, address, _ in words}
    make(senders)
    try:
        if not wait_for_all(senders):
            return 1
        time.sleep(1)
        before = duplicates(path)
        samples = [sample(senders)]
        while samples[-1][0] < samples[0][0] + seconds:
            time.sleep(STEP)
            samples.append(sample(senders))
        again = duplicates(path) - before
    finally:
        nft('delete', 'table', 'ip', TABLE)
    took = samples[-1][2] - samples[0][0]
    grown = []
    for was, after, word in zip(samples[0][1], samples[-1][1], words):
        packets = after[0] - was[0]
        grown.append((packets, after[1] - was[1] - packets * int(word[2])))
    for which, name in enumerate(senders):
        print(name, grown[which][1], standstill(samples, which))
    packets, octets = (sum(column) for column in zip(*grown))
    share = octets * 8e-6 / took / mbit
    print('all', f'{share * (1 - again / max(packets, 1)):.3f} {took:.1f} {len(samples)}')
    return 0


sys.exit(main())
