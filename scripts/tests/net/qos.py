#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Messages sent while traffic class and TTL of their port are changed.

usage: qos.py send SENDER RECEIVER EXPECTED V1 V2_IPV4 V2_IPV6
       qos.py send_by_adapter SENDER RECEIVER EXPECTED V1 V2_IPV4 V2_IPV6
       qos.py judge LIST EXPECTED
       qos.py judge_by_adapter LIST EXPECTED

Each message has a unique length. "send" records in the file EXPECTED what the packet
of that length must carry; "judge" compares that with LIST, the output of
"check-icrc.py --list" for a capture. V1 and so on are the indexes of GIDs on a VLAN,
each "INDEX_OF_SENDER,INDEX_OF_RECEIVER".

With an adapter, changes apply to connections made afterwards: each message uses a new
one, and some use an old one, which must not change. Datagrams of processes carry the
values of their library, since no driver sees them. The two ECN bits are the adapter's.
"""

import sys

import verbs
from verbs import SUCCESS, check

CLASS = 0x60                    # of the address vectors: priority 3
TTL = 64


class Sender:
    """Sends messages of lengths not used otherwise."""

    def __init__(self, sender, receiver, expected, by_adapter=False):
        self.by_adapter, self.made = by_adapter, {}
        self.names = sender, receiver
        self.folder = f'/sys/class/infiniband/{sender}'
        self.expected = open(expected, 'w', encoding='ascii')
        self.length = 100
        self.ends, self.failed = [], []

    def connect(self, gids, kind='RC', **route):
        ends = [verbs.End.open(name, int(index), kind)
                for name, index in zip(self.names, gids.split(','))]
        verbs.connect(*ends, **({} if kind == 'UD' else {'traffic_class': CLASS, **route}))
        self.ends += ends
        self.made[id(ends[0])] = gids, kind, route
        return ends

    def again(self, ends):
        """Create the same connection once more."""
        gids, kind, route = self.made[id(ends[0])]
        for end in ends:
            self.ends.remove(end)
            end.close()
        ends[:] = self.connect(gids, kind, **route)

    def put(self, *lines, file='tc/1/traffic_class'):
        for line in lines:
            print(f'+ echo {line} > {file}', flush=True)
            with open(f'{self.folder}/{file}', 'w', encoding='ascii') as f:
                f.write(line + '\n')

    def send(self, what, ends, tclass=CLASS, ttl=TTL, pcp=None):
        """Send one message; record what its packet must carry."""
        if self.by_adapter:
            self.again(ends)
        self.send_old(what, ends, tclass, ttl, pcp)

    def send_old(self, what, ends, tclass=CLASS, ttl=TTL, pcp=None, sl=0):
        """With the connection's own values; a datagram with this service level."""
        a, b = ends
        self.length += 4
        route = {'traffic_class': CLASS, 'sl': sl} if a.type == 'UD' else {}
        b.post_recv([(0, self.length + verbs.GRH)])
        a.post_send('SEND', [(0, self.length)], **route)
        got = [c['status'] for c in a.wait() + b.wait()]
        if got != [SUCCESS, SUCCESS]:
            self.failed.append(what)
        pcp = tclass >> 5 if pcp is None else pcp
        self.expected.write(f'{self.length} vlan=7 pcp={pcp} tclass={tclass} ttl={ttl} # {what}\n')

    def close(self):
        self.expected.close()
        for end in self.ends:
            end.close()


def one_connection(s, gids):
    """Rules of every kind are added and removed; the connection remains."""
    rc = s.connect(gids)
    s.send('address vector', rc)
    s.put('160')
    if s.by_adapter:
        s.send_old('a connection that was there', rc)
    s.send('global', rc, 160)
    s.put('-1')
    s.send('global off', rc)
    s.put('tclass=32,dst_ip=10.9.7.0/24')
    s.send('destination by net', rc, 32)
    s.put('tclass=64,dst_ip=10.9.7.1')
    s.send('destination', rc, 64)
    s.put('tclass=128,src_ip=10.9.7.2')
    s.send('destination before source', rc, 64)
    s.put('tclass=192,src_ip=10.9.7.2,dst_ip=10.9.0.0/16')
    s.send('both addresses', rc, 192)
    s.put('tclass=196,src_ip=10.9.7.2,dst_ip=10.9.0.0/16')
    s.send('the rule has another class', rc, 196)
    late = s.connect(gids)
    s.send('a connection made under a rule', late, 196)
    s.put('0')
    s.send('global 0 before all rules', rc, 0)
    s.send('global 0, the other connection', late, 0)
    s.put('106')
    s.send('global without its ECN bits', rc, 104)
    s.put('-1', 'tclass=-1,src_ip=10.9.7.2,dst_ip=10.9.0.0/16')
    s.send('both addresses removed', rc, 64)
    s.put('tclass=-1,dst_ip=10.9.7.1', 'tclass=-1,dst_ip=10.9.7.0/24')
    s.send('source is left', rc, 128)
    s.put('tclass=-1,src_ip=10.9.7.2', 'tclass=224,src_ip=10.9.7.9', 'tclass=224,dst_ip6=fd97::1')
    s.send('no rule is for it', rc)
    s.send('no rule is for the other connection', late)
    s.put('7', file='ttl/1/ttl')
    s.send('TTL', rc, ttl=7)
    s.put('255', file='tc/1/ttl')
    s.send('TTL by the other file', rc, ttl=255)
    s.put('0', file='tc/1/ttl')
    s.send('TTL off', rc)


def who_is_concerned(s, v1, ipv4, ipv6):
    """There is a rule for fd97::1."""
    over6, over1, sl6 = s.connect(ipv6), s.connect(v1), s.connect(ipv4, sl=6)
    sl0 = s.connect(ipv4, traffic_class=0)
    uc, ud = s.connect(ipv4, 'UC'), s.connect(ipv4, 'UD')
    s.send('destination over IPv6', over6, 224)
    s.send('service level before class', sl6, pcp=6)
    s.send('neither service level nor class', sl0, 0)
    # An adapter's driver cannot choose priority or TTL of a process's datagrams
    of_process = {'pcp': 0} if s.by_adapter else {}
    s.send('UD', ud, **of_process)
    if not s.by_adapter:
        s.send_old('UD, service level as in a completion over IPv4', ud, sl=0xa)
    s.put('160')
    s.put('9', file='tc/1/ttl')
    s.send('global over IPv6', over6, 160, 9)
    s.send('v1 has its own', over1)
    s.send('service level before forced class', sl6, 160, 9, pcp=6)
    s.send('forced class where there was none', sl0, 160, 9)
    s.send('UC has its own class', uc, ttl=9)
    s.send('UD has its own class', ud, ttl=TTL if s.by_adapter else 9, **of_process)
    s.put('-1', 'tclass=-1,src_ip=10.9.7.9', 'tclass=-1,dst_ip6=fd97::1')
    s.put('0', file='tc/1/ttl')
    s.send('nothing is left over IPv6', over6)


def send_by_adapter(*args):
    send(*args, by_adapter=True)


def send(sender, receiver, expected, v1, ipv4, ipv6, by_adapter=False):
    s = Sender(sender, receiver, expected, by_adapter)
    one_connection(s, ipv4)
    who_is_concerned(s, v1, ipv4, ipv6)
    s.close()
    check('messages that were not sent and received', [], s.failed)


def judge_by_adapter(*args):
    judge(*args, ecn=3)


def judge(listed, expected, ecn=0):
    packets = {}
    with open(listed, encoding='ascii') as f:
        for words in map(str.split, f):
            if len(words) > 3 and words[0].isdigit() and words[2].endswith('SEND_ONLY'):
                fields = dict(w.split('=') for w in words[3:])
                fields['tclass'] = str(int(fields.get('tclass', 0)) & ~ecn)
                packets.setdefault(fields['length'], []).append(fields)
    with open(expected, encoding='ascii') as f:
        for line in f:
            numbers, what = line.strip().split(' # ')
            length, *wanted = numbers.split()
            got = {' '.join(f'{k}={p.get(k)}' for k in ('vlan', 'pcp', 'tclass', 'ttl'))
                   for p in packets.get(length, [])}
            check(f'{what}: {" ".join(wanted)}', ' '.join(wanted), ', '.join(sorted(got)))


{'send': send, 'send_by_adapter': send_by_adapter,
 'judge': judge, 'judge_by_adapter': judge_by_adapter}[sys.argv[1]](*sys.argv[2:])
verbs.finish()
