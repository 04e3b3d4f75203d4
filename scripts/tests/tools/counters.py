#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Every drop reason moves its own counter and no other.

usage: counters.py A INDEX_A B INDEX_B --netns PATH --netdev NAME --src-mac M
           --dst-mac M --src-ip IP --dst-ip IP --version v1|v2
           [--netns-a NAME --netdev-a NAME] [--index6-a INDEX --ip6 ADDRESS]

Single frames are sent through a packet socket on B's netdev, as if B had sent them,
and reach A; after each, the counters of A that report events are compared with those
before. Datagrams that A cannot send are counted likewise. Optional counters count
while they are enabled.
"""

import ipaddress
import json
import os
import struct
import subprocess
import time

import frames
import verbs
from frames import bth, reth
from verbs import check

parser = verbs.arguments(__doc__)
frames.add_arguments(parser)
parser.add_argument('--netns-a')
parser.add_argument('--netdev-a')
parser.add_argument('--index6-a', type=int, help='an IPv6 GID of A')
parser.add_argument('--ip6', help='an address of B')
args = parser.parse_args()
wire = frames.Wire(args)
FOLDER = f'/sys/class/infiniband/{args.a}/ports/1'
# Counters that valid packets move as well, above all by the answers to some of these; and those
# of requests without an answer, which are retransmitted.
TRAFFIC = ('rx_packets', 'rx_bytes', 'tx_packets', 'tx_bytes', 'lifespan',
           'tx_retransmitted_packets', 'roce_adp_retrans')
IDLE_PSN = 100


def read(group):
    values = {}
    for name in os.listdir(f'{FOLDER}/{group}'):
        with open(f'{FOLDER}/{group}/{name}') as file:
            values[name] = int(file.read())
    return values


def moved(group, before):
    return {name: value - before[name] for name, value in read(group).items()
            if value != before[name] and name not in TRAFFIC}


def counts(what, expected, action, port=None):
    """A frame, or a call, moves these counters, in hw_counters and (port) in counters."""
    hw, counters = read('hw_counters'), read('counters')
    if callable(action):
        action()
    else:
        wire.throw(action)
    end = time.monotonic() + 60
    while moved('hw_counters', hw) != expected and time.monotonic() < end:
        time.sleep(0.02)
    time.sleep(0.1)         # longer than read values are cached: nothing else moves
    check(f'{args.version} {what}: {expected}', expected, moved('hw_counters', hw))
    errors = {name: value for name, value in moved('counters', counters).items()
              if 'packets' not in name and 'data' not in name}
    check(f'{args.version} {what}: counters/ {port or {}}', port or {}, errors)


def end(qp_type='RC', **attrs):
    """A QP of A that the frames are sent to; its answers reach no QP."""
    one = verbs.End.open(args.a, args.index_a, qp_type=qp_type, access=attrs.pop('access', verbs.FULL))
    peer = {'qpn': 0xbeef, 'gid': gid_b, 'addr': 0, 'rkey': 0}
    one.connect(peer, rq_psn=IDLE_PSN, sq_psn=IDLE_PSN, timeout=0, **attrs)
    return one, one.info()


b = verbs.End.open(args.b, args.index_b)
gid_b = b.info()['gid']
b.close()

rc, at_rc = end()
uc, at_uc = end('UC', access=verbs.LOCAL)
ud, at_ud = end('UD')
reset = verbs.End.open(args.a, args.index_a)
rc_qpn, uc_qpn, ud_qpn = at_rc['qpn'], at_uc['qpn'], at_ud['qpn']
send = bth(0x04, rc_qpn, IDLE_PSN) + b's' * 8
datagram = bth(0x64, ud_qpn, 0) + struct.pack('!II', verbs.QKEY, 77) + b'u' * 64
STRANGER = ipaddress.ip_address('10.9.0.66' if wire.src.version == 4 else 'fd09::66')
errors = {'port_rcv_errors': 1}

# --- before a QP is found, or admitted
counts('shorter than its headers', {'rx_dropped_truncated': 1},
       wire.frame(bth(0x0a, rc_qpn, IDLE_PSN)), port=errors)
counts('padding without payload', {'rx_dropped_bad_length': 1},
       wire.frame(bth(0x04, rc_qpn, IDLE_PSN, pad=3)), port=errors)
counts('wrong ICRC', {'rx_icrc_encapsulated': 1},
       wire.frame(send, icrc=lambda right: right ^ 1), port=errors)
counts('opcode of no transport', {'rx_dropped_bad_opcode': 1}, wire.frame(bth(0xe0, rc_qpn, 0) + bytes(8)))
counts('opcode of another transport', {'rx_dropped_bad_opcode': 1}, wire.frame(bth(0x24, rc_qpn, 0) + bytes(8)))
counts('no such QP', {'rx_dropped_no_qp': 1}, wire.frame(bth(0x04, 0xabcdef, 0) + bytes(8)))
counts('QP in RESET', {'rx_dropped_qp_state': 1}, wire.frame(bth(0x04, reset.info()['qpn'], 0) + bytes(8)))
counts('from a stranger', {'rx_dropped_not_for_us': 1},
       wire.frame(send, src=STRANGER, sgid=frames.gid(STRANGER)))
counts('P_Key', {'rx_dropped_bad_pkey': 1}, wire.frame(bth(0x04, rc_qpn, IDLE_PSN, pkey=0x9234) + bytes(8)),
       port={'port_rcv_constraint_errors': 1})
counts('CNP', {'rp_cnp_ignored' if wire.v1 else 'rp_cnp_handled': 1}, wire.frame(bth(0x81, rc_qpn, 0) + bytes(16)))

# --- datagrams
counts('Q_Key', {'rx_dropped_bad_qkey': 1},
       wire.frame(bth(0x64, ud_qpn, 0) + struct.pack('!II', 7, 77) + b'u' * 8))
counts('no receive posted', {'out_of_buffer': 1}, wire.frame(datagram))
ud.post_recv([(0, 50)])
counts('longer than its buffer', {'resp_local_length_error': 1}, wire.frame(datagram))
# Its receive is kept for the next datagram. RoCE v1 has no ECN.
counts('ECN mark', {} if wire.v1 else {'np_ecn_marked_roce_packets': 1}, wire.frame(datagram[:-56], tclass=3))

# --- UC, where faults are dropped
counts('UC: a WRITE without the right', {'rx_dropped_no_access': 1},
       wire.frame(bth(0x2a, uc_qpn, IDLE_PSN, ack=False) + reth(at_uc['addr'], at_uc['rkey'], 8) + bytes(8)))
counts('UC: the middle of nothing', {'rx_dropped_bad_sequence': 1},
       wire.frame(bth(0x21, uc_qpn, IDLE_PSN + 1, ack=False) + bytes(1024)))
counts('UC: the rest of a message after a gap', {'out_of_sequence': 1, 'rx_dropped_bad_sequence': 1},
       wire.frame(bth(0x21, uc_qpn, IDLE_PSN + 9, ack=False) + bytes(1024)))
counts('UC: longer than the path MTU', {'rx_dropped_bad_length': 1, 'path_mtu_mismatch': 1},
       wire.frame(bth(0x24, uc_qpn, IDLE_PSN + 10, ack=False) + bytes(1028)), port=errors)

# --- RC
counts('RC: executed before', {'duplicate_request': 1}, wire.frame(bth(0x04, rc_qpn, IDLE_PSN - 1) + bytes(8)))
# Held until the missing packets arrive, and dropped if they have not within two seconds
counts('RC: packets missing', {'out_of_sequence': 1, 'rx_held': 1, 'rx_held_dropped': 1},
       wire.frame(bth(0x04, rc_qpn, IDLE_PSN + 5) + bytes(8)))
counts('RC: an answer to nothing', {'rx_dropped_out_of_window': 1},
       wire.frame(bth(0x11, rc_qpn, IDLE_PSN + 50, ack=False) + struct.pack('!I', 0x1f000001)))
rc.post_send('SEND', [(0, 8)])
counts('RC: a reserved answer', {'rx_dropped_bad_syndrome': 1},
       wire.frame(bth(0x11, rc_qpn, IDLE_PSN, ack=False) + struct.pack('!I', 0x40000001)))
counts('RC: a reserved NAK', {'rx_dropped_bad_syndrome': 1},
       wire.frame(bth(0x11, rc_qpn, IDLE_PSN, ack=False) + struct.pack('!I', 0x7f000001)))
counts('RC: NAK invalid request', {'req_cqe_error': 1, 'req_remote_invalid_request': 1},
       wire.frame(bth(0x11, rc_qpn, IDLE_PSN, ack=False) + struct.pack('!I', 0x61000001)))
rc.close()
rc, at_rc = end()
counts('RC: the middle of nothing', {'resp_invalid_requests': 1},
       wire.frame(bth(0x01, at_rc['qpn'], IDLE_PSN) + bytes(1024)))
rc.close()
rc, at_rc = end()
counts('RC: a key of nobody', {'resp_remote_access_errors': 1},
       wire.frame(bth(0x0a, at_rc['qpn'], IDLE_PSN) + reth(at_rc['addr'], at_rc['rkey'] ^ 0x5500, 8) + bytes(8)))
rc.close()


# --- packets that cannot be sent
def in_a(command):
    words = ['ip', 'netns', 'exec', args.netns_a] if args.netns_a else []
    return subprocess.run(words + command.split(), stderr=subprocess.DEVNULL, check=False).returncode


def gid_on(netdev):
    """Index of a GID of this version on a netdev, once there is one."""
    kind = 'IB/RoCE v1' if wire.v1 else 'RoCE v2'
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for index in range(128):
            try:
                with open(f'{FOLDER}/gid_attrs/ndevs/{index}') as ndev, open(f'{FOLDER}/gid_attrs/types/{index}') as type_:
                    if ndev.read().strip() == netdev and type_.read().strip() == kind:
                        return index
            except OSError:     # an empty entry
                continue
        time.sleep(0.1)
    raise SystemExit(f'{args.a} has no {kind} GID on {netdev}')


def unsent(what, counter, breaks, mends, sender=ud, size=8):
    """A datagram that leaves the QP but not the host."""
    if in_a(breaks):
        print(f'# {what}: not on this kernel: {breaks}', flush=True)
        return
    counts(what, {counter: 1}, lambda: sender.post_send('SEND', [(0, size)]), port={'port_xmit_discards': 1})
    check(f'{args.version} {what}: mended', 0, in_a(mends))


# The route of an address handle is resolved when its first datagram is sent.
ud.remote = {'qpn': 0xbeef, 'gid': gid_b, 'addr': 0, 'rkey': 0}
ud.post_send('SEND', [(0, 8)])
if args.netdev_a:
    name = args.netdev_a
    unsent('full queue', 'tx_dropped', f'tc qdisc replace dev {name} root pfifo limit 0',
           f'tc qdisc del dev {name} root')
    if not wire.v1:
        in_a('nft add table ip rhca')
        in_a('nft add chain ip rhca out { type filter hook output priority 0; }')
        unsent('netfilter', 'tx_dropped_filtered', 'nft add rule ip rhca out udp dport 4791 drop',
               'nft delete table ip rhca')
        subnet = ipaddress.ip_network(f'{args.dst_ip}/24', strict=False)
        route = f'ip route change {subnet} dev {name} proto kernel scope link src {args.dst_ip}'
        unsent('larger than the route takes', 'tx_dropped_too_long', route + ' mtu 600', route, size=1000)
    else:
        # Its GID is removed with the VLAN, but the address handle holds the entry.
        in_a(f'ip link add link {name} name {name}.9 type vlan id 9')
        in_a(f'ip link set {name}.9 up')
        on_vlan = verbs.End.open(args.a, gid_on(f'{name}.9'), qp_type='UD')
        on_vlan.connect({**ud.remote, 'gid': 'fe80:0000:0000:0000:0000:00ff:fe00:0001'})
        on_vlan.post_send('SEND', [(0, 8)])
        unsent('the VLAN has gone', 'tx_dropped_no_netdev', f'ip link del {name}.9', 'true', on_vlan)
        on_vlan.close()
if args.netdev_a and args.index6_a:
    # IPv4 considers an address without a route to be on the link
    ud6 = verbs.End.open(args.a, args.index6_a, qp_type='UD')
    ud6.connect({**ud.remote, 'gid': verbs.gid_text(args.ip6)})
    ud6.post_send('SEND', [(0, 8)])
    subnet = ipaddress.ip_network(f'{args.ip6}/64', strict=False)
    unsent('no route', 'tx_dropped_no_route', f'ip -6 route del {subnet} dev {name}',
           f'ip -6 route add {subnet} dev {name}', ud6)


# --- optional counters
def statistic(*words):
    return subprocess.run(['rdma', '-j', 'statistic', *words], stdout=subprocess.PIPE, check=True).stdout


def optional():
    shown = json.loads(statistic('show', 'link', args.a + '/1'))[0]
    return {name: shown[name] for name in ('cc_rx_ce_pkts', 'cc_rx_cnp_pkts', 'rx_ecn_capable_pkts')
            if name in shown}


def marked():
    """A CE mark, an ECT mark, a CNP."""
    for tclass in (3, 2):
        ud.post_recv([(0, 4096)])
        wire.throw(wire.frame(datagram, tclass=tclass))
        ud.wait(1)
    before = read('hw_counters')['rp_cnp_ignored']
    wire.throw(wire.frame(bth(0x81, ud.qp.qp_num, 0) + bytes(16)))
    end_at = time.monotonic() + 60
    while read('hw_counters')['rp_cnp_ignored'] == before and time.monotonic() < end_at:
        time.sleep(0.02)
    time.sleep(0.1)


link = args.a + '/1'
check(f'{args.version} optional counters are off', {}, optional())
statistic('set', 'link', link, 'optional-counters', 'cc_rx_ce_pkts,cc_rx_cnp_pkts')
zero = optional()
marked()
now = optional()
check(f'{args.version} two of them on', {'cc_rx_ce_pkts': int(not wire.v1), 'cc_rx_cnp_pkts': 1},
      {name: now[name] - zero[name] for name in now})
statistic('set', 'link', link, 'optional-counters', 'rx_ecn_capable_pkts')
zero = optional()
marked()
check(f'{args.version} the third alone', {'rx_ecn_capable_pkts': zero['rx_ecn_capable_pkts'] + (not wire.v1)},
      optional())
statistic('set', 'link', link, 'optional-counters', 'cc_rx_ce_pkts,cc_rx_cnp_pkts')
check(f'{args.version} the two again: they did not count while off', now, optional())
statistic('unset', 'link', link, 'optional-counters')
check(f'{args.version} all off again', {}, optional())
verbs.finish()
